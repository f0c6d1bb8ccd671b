#!/usr/bin/env bash
# A scheduler that was killed, and is away for three times the lease, costs nobody anything: its edl-lease-keeper answers meanwhile,
# and ends when the next scheduler calls it. From then on a node that is silent is lost as ever.
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
cluster_start --nodes 3 --lease 10s
figure() { api GET /metrics | sed -n "s/^$1 //p"; }
seconds_since() { [ $(($(cut -d. -f1 /proc/uptime) - $1)) -ge "$2" ]; }
# each has reported to this scheduler, and so knows the key of its keeper
ready() { [ "$(api GET /nodes | jq '[.nodes[] | select(.state == "ready" and .last_report_us > 0)] | length')" = 3 ]; }
await 120 'all nodes report' ready
for job in one two three; do edl submit --name $job -- sleep 600 >/dev/null; done
all_run() { [ "$(figure 'edl_processes{state="running"}')" = 3 ]; }
await 120 'all run' all_run
who() { for job in one two three; do api GET "/jobs/$job/processes?state=all" | jq -c '.processes[] | [.job_id, .incarnation, .pid, .state]'; done | sort; }
before=$(who)
for round in 1 2; do
    scheduler=$(pgrep -f -- "edl-scheduler .*$work" | head -n 1)
    starter=$(ps -o ppid= -p "$scheduler" | tr -d ' ')
    kill -STOP "$starter" # it would start another one at once
    kill -9 "$scheduler"
    await 120 'three leases have passed' seconds_since "$(cut -d. -f1 /proc/uptime)" 31
    kill -CONT "$starter"
    await 120 'another scheduler answers' ready
    # it starts nothing before all nodes have told what runs there
    edl submit --name "probe-$round" -- true >/dev/null
    edl wait "probe-$round" --timeout 120 || fail "round $round: nothing is started any more"
    [ "$(who)" = "$before" ] || fail "round $round: other processes run: $before; now $(who)"
done
cat "$work"/state/*.log | lacks 'may still answer' || fail 'it waited for a keeper that it could call'
# what the last keeper promised is no reason to wait: a node that is silent is lost after lease and margin
node=$(api GET '/jobs/one/processes?state=live' | jq -r '.processes[0].node')
agent=$(pgrep -f -- "edl-agent .*--node $node .*$work" | head -n 1)
after=$(api GET '/events?limit=1' | jq .newest)
kill -STOP "$agent"
lost() { [ "$(api GET "/nodes/$node" | jq -r .state)" = lost ]; }
await 120 'the silent node is lost' lost
silent_us=$(api GET "/events?limit=1000&after=$after" | jq --argjson node "$(api GET "/nodes/$node")" '
    [.events[] | select(.event == "node-lost" and .node == $node.name)][0].time_us - $node.last_report_us')
[ "$silent_us" -lt 20000000 ] || fail "it was lost $silent_us us after its last report"
kill -CONT "$agent"
cluster_stop
