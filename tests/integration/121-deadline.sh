#!/usr/bin/env bash
# A submission tells whether its deadline can be kept: not before a job like it has ended, then by how long that one took, beside
# what other jobs with deadlines need; the plan says the same as the submission, and a job that cannot be in time is accepted.
# Takes 28 s: a job of 20 s runs, and one until its deadline of 3 s
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
cluster_start --nodes 1 --cpu 1000m --max-load 1.0

job() { # NAME DEADLINE: twenty seconds, in which the test asks about one that runs
    cat <<JOB
apiVersion: paddlepaddle.org/v1
kind: TrainingJob
metadata: {name: $1}
spec:
  fault_tolerant: true
  grace: 1s
  deadline: $2
  trainer:
    entrypoint: exec sleep 20
    min-instance: 1
    max-instance: 2
    resources: {requests: {cpu: 500m, memory: 16Mi}}
JOB
}

outlook() { # NAME DEADLINE: of a plan; nothing is stored
    job "$1" "$2" | edl plan --json - | jq .outlook
}

# nobody knows
job first 1h >"$work/first.yaml"
edl submit --json "$work/first.yaml" >"$work/first.json"
holds '.outlook | .verdict == "unknown" and .code == "family-unknown" and .seconds.least == null' <"$work/first.json" ||
    fail "first: $(cat "$work/first.json")"
edl wait first --timeout 120 >/dev/null || fail "first: $(job_field first .reason)"

# one like it took twenty seconds of two instances
outlook second 1h | holds '.verdict == "in-time" and .instances == 1 and .seconds.most >= 20 and .seconds.most <= 300
    and .late_seconds == null and .change == {max_instance: null, deadline: null} and .others_late.count == 0' ||
    fail "second: $(outlook second 1h)"
outlook second 3s | holds '.verdict == "too-late" and .code == "too-slow" and .late_seconds >= 1 and .change.deadline != null' ||
    fail "too late: $(outlook second 3s)"

# it is accepted all the same, told so in a line, and ended by its deadline
job late 3s >"$work/late.yaml"
edl submit "$work/late.yaml" >"$work/late"
grep -Eq '^deadline: too late by [0-9]+ s at best: alone in the cluster it takes ' "$work/late" || fail "late: $(cat "$work/late")"
edl wait late --timeout 120 >/dev/null && fail 'late succeeded'
job_field late .reason_code | grep -qx deadline || fail "late: $(job_field late .)"

# one that runs and says nothing of itself: as long as those like it
job second 1h | edl submit - >"$work/second"
grep -q '^deadline: in time: over within ' "$work/second" || fail "second: $(cat "$work/second")"
await 120 'second runs' at_least second trainer 1
edl why second | grep -Eq '^with its [12] instances? it is over in [0-9][0-9a-z]*, at 20.*, as long as jobs like it took$' ||
    fail "why: $(edl why second)"
# one that has time takes none from it
edl plan --json - <<JOB | holds '.outlook.others_late.count == 0' || fail 'both have time'
$(job third 1h)
JOB
edl kill second >/dev/null
cluster_stop
