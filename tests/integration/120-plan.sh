#!/usr/bin/env bash
# `edl plan`: tells who would shrink for a job, stores nothing, and what it told is what a submission then does.
# Takes 65 s: waits for a job that tells nothing for a minute
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
cluster_start --nodes 2 --cpu 1000m --max-load 1.0

revision() {
    api GET '/events?after=0' | jq '[.events[].revision] | max // 0'
}

plan() { # STATUS ARGUMENTS...: `edl plan`, its exit status
    local wanted=$1 status=0
    shift
    edl plan "$@" >"$work/plan" 2>"$work/plan.err" || status=$?
    [ $status = "$wanted" ] || fail "edl plan $*: exit status $status, not $wanted: $(cat "$work/plan" "$work/plan.err")"
}

settled() { # JOB N: N trainers run and the job is not on its way to another size
    job_is "$1" running && [ "$(running "$1" trainer)" = "$2" ]
}

job() { # NAME MIN MAX: a job document
    cat <<JOB
apiVersion: paddlepaddle.org/v1
kind: TrainingJob
metadata: {name: $1}
spec:
  image: ignored
  fault_tolerant: true
  grace: 5s
  trainer:
    entrypoint: exec sleep 1000
    min-instance: $2
    max-instance: $3
    resources: {requests: {cpu: 100m, memory: 16Mi}}
JOB
}

# an empty cluster: at once, and it would grow
job one 2 10 >"$work/one.yaml"
plan 0 "$work/one.yaml"
grep -q '^would start now on node-' "$work/plan" || fail "plan: $(cat "$work/plan")"
# what nothing was measured of grows to four times its minimum first
grep -q '^then from 2 to 8 trainers' "$work/plan" || fail "plan: $(cat "$work/plan")"
grep -q 'is ignored' "$work/plan.err" || fail 'the ignored key was not told'
[ "$(api GET '/jobs?state=all' | jq '.jobs | length')" = 0 ] || fail 'a plan made a job'

edl submit "$work/one.yaml" 2>/dev/null
await 300 'one fills the cluster, once it told nothing for a minute' settled one 10

# a full cluster: one gives way; nothing of the asking is stored
job two 3 3 >"$work/two.yaml"
all_jobs() { api GET '/jobs?state=all' | jq -c 'del(.jobs[].usage, .jobs[].lasted_us)'; } # both grow with the time
before=$(all_jobs)
revision=$(revision)
plan 0 --json "$work/two.yaml"
holds '.dry_run and .verdict == "after-shrinking" and .reason.code == "gives-way" and
       .wait_us.least > 0 and .wait_us.most == 5000000 and (.placements | length) == 3 and
       (.jobs | length) == 1 and .jobs[0].job == "one" and .jobs[0].from == 10 and .jobs[0].to == 7 and
       (.jobs[0].victims | length) == 3 and .cost.stopped == 3 and .cost.resizes == 1 and
       (.ignored | length) == 1' <"$work/plan" || fail "plan: $(cat "$work/plan")"
cp "$work/plan" "$work/told"
plan 0 "$work/two.yaml"
grep -q '^would start in about 1s (at most 5s) on node-.*: job one gives up 3 of 10 trainers' "$work/plan" || fail "plan: $(cat "$work/plan")"
plan 0 --drain node-1
grep -q '^node node-1 would be empty in about 1s .*: job one gives up 5 of 10 trainers' "$work/plan" || fail "plan: $(cat "$work/plan")"
plan 0 --scale one 2:4
grep -q ': job one gives up 6 of 10 trainers' "$work/plan" || fail "plan: $(cat "$work/plan")"
plan 4 --min 9 --cpu 100m --name three -- sleep 1
grep -q '^would wait to start: its minimum of 9 processes' "$work/plan" || fail "plan: $(cat "$work/plan")"
plan 5 --cpu 64 --name three -- sleep 1
grep -q '^would never start: one trainer needs' "$work/plan" || fail "plan: $(cat "$work/plan")"
# an array: all of it, or as much as there is room for
plan 0 --array 0-2 --cpu 100m --name grid -- sleep 1
grep -q '^would start in about 1s .*: job one gives up 3 of 10 trainers' "$work/plan" || fail "plan: $(cat "$work/plan")"
grep -q '^array: 3 of 3 jobs start, the first in about 1s' "$work/plan" || fail "plan: $(cat "$work/plan")"
plan 4 --array 0-19 --cpu 100m --name grid -- sleep 1
grep -q '^would wait to start: job grid-8: ' "$work/plan" || fail "plan: $(cat "$work/plan")"
grep -q '^array: 8 of 20 jobs start before any job ends, the first in about 1s' "$work/plan" || fail "plan: $(cat "$work/plan")"
plan 1 "$work/one.yaml"
grep -q 'a job named one' "$work/plan.err" || fail "plan: $(cat "$work/plan.err")"
plan 2 --min 2 --max 1 -- sleep 1
plan 2
status=$(api POST '/jobs?dry_run=perhaps' --data-binary "@$work/two.yaml" -o /dev/null -w '%{http_code}')
[ "$status" = 400 ] || fail "dry_run=perhaps was answered with $status"
status=$(curl -sS -X POST --data-binary "@$work/two.yaml" -o /dev/null -w '%{http_code}' "$EDL_SERVER/jobs?dry_run=1")
[ "$status" = 401 ] || fail "a dry run without a token was answered with $status"
[ "$(revision)" = "$revision" ] || fail 'asking made events'
[ "$(all_jobs)" = "$before" ] || fail 'asking changed a job'

# told is what happens: the same processes stop, and the new ones come to the same nodes
edl submit "$work/two.yaml" 2>/dev/null
await 120 'two runs' settled two 3
await 120 'one has shrunk' settled one 7
told=$(jq -c '[.jobs[0].victims[] | [.process, .node]] | sort' "$work/told")
seen=$(api GET '/jobs/one/processes?state=all' | jq -c '[.processes[] | select(.state == "exited") | ["\(.role)-\(.index)", .node]] | sort')
[ "$told" = "$seen" ] || fail "told were $told, stopped have $seen"
told=$(jq -c '[.placements[] | [.index, .node]] | sort' "$work/told")
seen=$(api GET '/jobs/two/processes' | jq -c '[.processes[] | [.index, .node]] | sort')
[ "$told" = "$seen" ] || fail "told was $told, it is $seen"

# one that waits is told what is free where, and what would start it
edl submit --min 2 --cpu 450m --memory 16Mi --name three -- sleep 1 >/dev/null 2>&1
edl why three >"$work/why"
grep -q 'what would start it: [0-9]*m more CPU on one node; node-[12] is the nearest' "$work/why" || fail "why: $(cat "$work/why")"
grep -q '^node-1 .*not enough is free' "$work/why" || fail "why: $(cat "$work/why")"
grep -q '^needed by trainer  *0.45 .*each of 2' "$work/why" || fail "why: $(cat "$work/why")"
edl kill one two >/dev/null
edl wait three --timeout 120 >/dev/null || fail "three: $(job_field three .reason)"
cluster_stop
