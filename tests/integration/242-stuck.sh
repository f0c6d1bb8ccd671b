#!/usr/bin/env bash
# A process that SIGKILL does not end: it is told who it is, only what it holds stays taken, and all of it is free once it goes.
# What is frozen by the freezer of cgroup v1 waits in the kernel like one whose disk or server does not answer.
# Takes 23 s: a process that SIGKILL has not ended is told of some seconds later, and jobs run meanwhile
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
freezer=/sys/fs/cgroup/freezer/edl-test-$$
if ! mkdir "$freezer" 2>/dev/null; then
    echo "nothing here can be frozen: there is no freezer of cgroup v1, or it is not ours"
    exit 77
fi
thaw_and_exit() {
    local status=$? frozen
    echo THAWED >"$freezer/freezer.state"
    while read -r frozen; do echo "$frozen" >"$freezer/../cgroup.procs"; done <"$freezer/cgroup.procs"
    rmdir "$freezer"
    (exit $status)
    on_exit
}
trap thaw_and_exit EXIT
cluster_start --nodes 1
cores=$(api GET /nodes | jq '.nodes[0].cpu_millicores')
half=$((cores / 2))m

jq -n --arg cpu "$half" '{metadata: {name: "sticks"}, spec: {grace: "1s", trainer: {entrypoint: "exec sleep 1000", "min-instance": 1, "max-instance": 1,
    resources: {requests: {cpu: $cpu}}}}}' >"$work/job.json"
edl submit "$work/job.json" >/dev/null
await 120 'it runs' job_is sticks running
pid=$(pids sticks trainer)
echo "$pid" >"$freezer/cgroup.procs"
echo FROZEN >"$freezer/freezer.state"
edl kill sticks >/dev/null

told() { api GET '/events?after=0&limit=1000' | holds '.events[] | select(.event == "process-stuck")'; }
await 120 'it is told' told
api GET '/events?after=0&limit=1000' | jq -r '.events[] | select(.event == "process-stuck").text' >"$work/text"
grep -q "trainer-0: process $pid (sleep) was killed and waits in the kernel (.*); its resources stay taken until it goes" "$work/text" ||
    fail "it says: $(cat "$work/text")"
edl why sticks | grep -q "trainer-0 does not end on node node-1: process $pid" || fail "why: $(edl why sticks)"
api GET '/jobs/sticks/processes?state=live' | holds '.processes[0].stuck | test("was killed")' || fail 'the process does not say so'
job_is sticks stopping || fail 'it is not stopping any more'

# the rest of the node goes on, and nobody gets what it holds
edl submit --name beside --cpu "$half" -- true >/dev/null
edl wait beside --timeout 120 || fail "what fits beside it does not run: $(edl why beside)"
edl submit --name whole --cpu "${cores}m" -- true >/dev/null
await 120 'it waits' job_is whole queued
edl scale whole --priority -1 >/dev/null # what comes later may pass it
edl submit --name again --cpu "$half" -- true >/dev/null
edl wait again --timeout 120 >/dev/null || fail "what fits does not run before it: $(edl why again)"
job_is whole queued || fail 'cores that are still held were granted'

echo THAWED >"$freezer/freezer.state"
await 120 'it is gone' job_is sticks killed
edl wait whole --timeout 120 || fail "its cores are not free: $(edl why whole)"
if kill -0 "$pid" 2>/dev/null; then fail 'it is still there'; fi
[ "$(api GET '/events?after=0&limit=1000' | jq '[.events[] | select(.event == "process-stuck")] | length')" = 1 ] || fail 'it was told more than once'
cluster_stop
