#!/usr/bin/env bash
# Jobs in an order: one after another, many of one document, over by a time, and what an ended one keeps.
# Takes 7 s: two dozen jobs run, end or wait in their order, one until its deadline of 1 s
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
cluster_start --nodes 2

# an array, whose jobs know which one they are; and one job after it
# shellcheck disable=SC2016
edl submit --name many --array 3-5 --cpu 100m -- sh -c 'echo "I am $EDL_ARRAY $EDL_ARRAY_INDEX of $EDL_ARRAY_JOBS"' >"$work/out"
grep -q '^array many: 3 jobs' "$work/out" || fail "submit: $(cat "$work/out")"
edl submit --name last --after many --follow -- echo the last one >"$work/out"
for i in 3 4 5; do
    job_is "many-$i" succeeded || fail "last ran before many-$i had succeeded"
    edl logs "many-$i" | grep -q "I am many $i of 3" || fail "many-$i: $(edl logs "many-$i")"
done
[ "$(edl ps --all --array many | grep -c many-)" = 3 ] || fail "ps: $(edl ps --all --array many)"

# one of an array that comes to nothing takes what waits for all of it along, and is named
edl submit --name grid --array 0-2 --cpu 100m -- sh -c '[ $EDL_ARRAY_INDEX != 1 ] && sleep 1000' >/dev/null
status=0; edl submit --name behind --after grid -- true >"$work/out" 2>&1 || status=$?
if [ $status = 0 ]; then # unless grid-1 was faster
    edl wait behind --timeout 120 >/dev/null || true
    job_is behind failed || fail "behind: $(edl show behind)"
    edl show behind | grep -q 'it was to run after grid-1 (' || fail "behind: $(edl show behind)"
fi
status=0; edl submit --name behind-2 --after grid -- true >"$work/out" 2>&1 || status=$?
[ $status != 0 ] && grep -q 'job grid-1 (.*) is failed: a job after it would never run' "$work/out" ||
    fail "after an array of which one failed: $status $(cat "$work/out")"
edl kill --array grid >/dev/null

# one of which nothing comes takes what waits for it along
edl submit --name base -- sleep 1000 >/dev/null
edl submit --name chain-1 --after base -- true >/dev/null
edl submit --name chain-2 --after chain-1 -- true >/dev/null
edl why chain-1 | grep -q 'waits for base' || fail "why: $(edl why chain-1)"
status=0; edl submit --name never --after nobody -- true 2>"$work/out" || status=$?
[ $status != 0 ] && grep -q 'no job "nobody"' "$work/out" || fail "after nobody: $status $(cat "$work/out")"
# an error points into the document as it was sent
pointer() { # DOCUMENT
    curl -sS -H "Authorization: Bearer $(cat "$EDL_TOKEN_FILE")" -d "$1" "$EDL_SERVER/jobs" | jq -r '.errors[0].pointer'
}
[ "$(pointer '{"name":"x","after":["nobody"],"trainer":{"entrypoint":"x"}}')" = /after/0 ] || fail 'pointer, flat'
[ "$(pointer '{"metadata":{"name":"x"},"spec":{"after":["nobody"],"trainer":{"entrypoint":"x"}}}')" = /spec/after/0 ] || fail 'pointer, wrapped'
[ "$(pointer '{"name":"base","trainer":{"entrypoint":"x"}}')" = /name ] || fail 'pointer, a name that is taken'
edl kill base >/dev/null
status=0; edl wait chain-2 --timeout 120 >/dev/null || status=$?
[ $status = 1 ] && job_is chain-2 failed || fail "chain-2: $status $(edl show chain-2)"
job_field chain-2 .reason_code | grep -qx dependency-failed || fail "chain-2: $(job_field chain-2 .reason_code)"

# all of an array is stopped by one call
edl submit --name crowd --array 0-9 --cpu 100m -- sleep 1000 >/dev/null
edl kill --array crowd >"$work/out"
grep -q '^array crowd: 10 jobs' "$work/out" || fail "kill: $(cat "$work/out")"
for i in 0 9; do
    edl wait "crowd-$i" --timeout 120 >/dev/null || true
    job_is "crowd-$i" killed || fail "crowd-$i is not killed"
done

# a deadline ends it
edl submit --name late --deadline 1s --expected 20m -- sleep 1000 >/dev/null
[ "$(edl show late --json | jq -r .job.spec.expected)" = 1200s ] || fail "it is expected to take $(edl show late --json | jq -c .job.spec)"
edl wait late --timeout 120 >/dev/null || true
job_is late killed || fail "late: $(edl show late)"
job_field late .reason_code | grep -qx deadline || fail "late: $(job_field late .reason_code)"

# its time limit ends it, which is known to whoever waits for its room
edl submit --name hours --min 2 --cpu 900m --time 2h -- sleep 1000 >/dev/null
await 120 'hours runs' job_is hours running
cat >"$work/wide.yaml" <<'YAML'
name: wide
trainer: {min-instance: 2, max-instance: 2, entrypoint: 'true', resources: {requests: {cpu: 900m}}}
YAML
edl plan "$work/wide.yaml" >"$work/out" 2>&1 || true # it cannot start at once
grep -q "when job hours has ended, in about 2 h 0 min at the latest, by its time limit" "$work/out" || fail "wide: $(cat "$work/out")"
edl kill hours >/dev/null
edl submit --name minute --time 1s -- sleep 1000 >/dev/null
edl wait minute --timeout 120 >/dev/null || true
job_is minute killed || fail "minute: $(edl show minute)"
job_field minute .reason_code | grep -qx time-limit || fail "minute: $(job_field minute .reason_code)"
[ "$(edl show minute --json | jq -r .job.spec.time_limit)" = 1s ] || fail "its limit is $(edl show minute --json | jq -c .job.spec)"
status=0; edl submit --name minute-2 --time soon -- true >"$work/out" 2>&1 || status=$?
[ $status != 0 ] && grep -q 'time_limit' "$work/out" || fail "--time soon: $status $(cat "$work/out")"

# autoclean: false - the server stays until the job is killed, which has succeeded
cat >"$work/kept.yaml" <<'YAML'
name: kept
autoclean: false
pserver: {entrypoint: exec sleep 1000}
trainer: {entrypoint: 'true'}
YAML
edl submit "$work/kept.yaml" >/dev/null
await 120 'kept has ended' sh -c 'edl show kept | grep -q "stay until it is killed"'
edl show kept | grep -q running || fail "its pserver does not run: $(edl show kept)"
edl kill kept >/dev/null
edl wait kept --timeout 120 >/dev/null || fail "kept: $(edl show kept)"
job_is kept succeeded || fail "kept: $(edl show kept)"
cluster_stop
