#!/usr/bin/env bash
# on_disconnect: keep. A process goes on although its node is cut off, for longer than any lease, and nothing is started in its
# place: not before the node is back, or somebody says that its machine is gone.
# Takes 29 s: waits for two leases of 10 s to end
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
cluster_start --nodes 2 --lease 10s
# it appends a line with its incarnation every 0.1 s, as long as it acts
# shellcheck disable=SC2016
for policy in keep stop; do
    cat >"$work/$policy.json" <<JOB
{"metadata":{"name":"$policy"},"spec":{"fault_tolerant":true,"mode":"collective","on_disconnect":"$policy","trainer":{"min-instance":1,
 "max-instance":1,"command":["bash","-c","while :; do echo \"\$EDL_INCARNATION\" >>$work/$policy.beats; read -t 0.1 <> <(:); done"]}}}
JOB
done
edl submit "$work/keep.json"
await 120 'it runs' job_is keep running
node=$(api GET '/jobs/keep/processes?state=live' | jq -r '.processes[0].node')
edl node cordon "$(api GET /nodes | jq -r ".nodes[].name | select(. != \"$node\")")"
edl submit "$work/stop.json"
await 120 'both run, on one node' job_is stop running
edl node uncordon "$(api GET /nodes | jq -r ".nodes[].name | select(. != \"$node\")")"
agent=$(pgrep -f -- "edl-agent .*--node $node .*$work" | head -n 1)
incarnations() { sort -un "$work/$1.beats" | paste -sd' '; }
is_lost() { [ "$(api GET "/nodes/$node" | jq -r .state)" = lost ]; }
beats_on() { [ "$(wc -l <"$work/keep.beats")" -ge $((count + 10)) ]; } # a second's worth

kill -STOP "$agent" # alive but dumb: edl dev does not restart it, its lease runs out
await 120 'the node is lost' is_lost
count=$(wc -l <"$work/keep.beats")
moved() { [ "$(incarnations stop)" = '1 2' ]; }
await 120 'the other is started elsewhere' moved
await 120 'it goes on' beats_on
[ "$(incarnations keep)" = 1 ] || fail "incarnations $(incarnations keep) acted"
job_is keep running || fail "it is $(job_field keep .state)"
api GET '/events?after=0' | holds '[.events[] | select(.event == "process-kept")] | length == 1' || fail 'no event tells'
if edl node remove "$node" 2>"$work/err"; then fail 'a node that keeps a process was removed'; fi
grep -q "edl node remove --gone $node" "$work/err" || fail "no word of what to do: $(cat "$work/err")"

# back: the same process, known as before
kill -CONT "$agent"
node_is_back() { [ "$(api GET "/nodes/$node" | jq -r .state)" = ready ]; }
await 120 'the node is back' node_is_back
count=$(wc -l <"$work/keep.beats")
await 120 'it goes on' beats_on
if edl node remove --gone "$node" 2>"$work/err"; then fail 'a node that is there was given up'; fi
grep -q 'it is not gone' "$work/err" || fail "no word of why: $(cat "$work/err")"

# gone for good, and somebody says so: only then another is started
pid=$(pids keep trainer)
supervisor=$(ps -o ppid= -p "$pid")
kill -STOP "$agent"
await 120 'the node is lost' is_lost
# shellcheck disable=SC2086
kill -9 $supervisor
[ "$(incarnations keep)" = 1 ] || fail "incarnations $(incarnations keep) acted"
edl node remove --gone "$node"
second() { [ "$(incarnations keep)" = '1 2' ]; }
await 120 'another is started' second
kill -CONT "$agent"
edl kill keep stop
edl wait keep --timeout 120 || true
edl wait stop --timeout 120 || true
cluster_stop
