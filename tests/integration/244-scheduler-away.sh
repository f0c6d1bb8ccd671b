#!/usr/bin/env bash
# A scheduler that was killed, and is away for three times the lease, ends nothing: what runs is frozen before its lease is over, and
# the same processes go on when the next scheduler has heard their nodes. From then on a node that is silent is lost as ever.
# Takes 85 s: waits for three leases of 10 s, in two rounds
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
cluster_start --nodes 3 --lease 10s
figure() { api GET /metrics | sed -n "s/^$1 //p"; }
seconds_since() { [ $(($(cut -d. -f1 /proc/uptime) - $1)) -ge "$2" ]; }
ready() { [ "$(api GET /nodes | jq '[.nodes[] | select(.state == "ready" and .last_report_us > 0)] | length')" = 3 ]; }
await 120 'all nodes report' ready
for job in one two three; do edl submit --name $job -- sleep 600 >/dev/null; done
all_run() { [ "$(figure 'edl_processes{state="running"}')" = 3 ]; }
await 120 'all run' all_run
who() { for job in one two three; do api GET "/jobs/$job/processes?state=all" | jq -c '.processes[] | [.job_id, .incarnation, .pid, .state]'; done | sort; }
before=$(who)
group_of() { # PID: the folder of its control group
    local group root
    group=$(sed -n 's/^0:://p' "/proc/$1/cgroup")
    for root in /sys/fs/cgroup/unified /sys/fs/cgroup; do [ ! -w "$root$group/cgroup.freeze" ] || { echo "$root$group" && return; }; done
}
groups=$(for pid in $(jq '.[2]' <<<"$before"); do group_of "$pid"; done)
[ "$(wc -w <<<"$groups")" = 3 ] || {
    for job in one two three; do edl kill $job && { edl wait $job --timeout 120 || true; }; done
    cluster_stop
    echo 'processes have no control group here that can be frozen'
    exit 77
}
stand() { [ "$(for group in $groups; do cat "$group/cgroup.events"; done | grep -c "^frozen $1\$")" = 3 ]; } # 1: still; 0: not
for round in 1 2; do
    scheduler=$(pgrep -f -- "edl-scheduler .*$work" | head -n 1)
    starter=$(ps -o ppid= -p "$scheduler" | tr -d ' ')
    kill -STOP "$starter" # it would start another one at once
    kill -9 "$scheduler"
    killed_s=$(cut -d. -f1 /proc/uptime)
    await 120 'what runs is frozen' stand 1
    await 120 'three leases have passed' seconds_since "$killed_s" 31
    stand 1 || fail "round $round: something is not frozen any more"
    kill -CONT "$starter"
    await 120 'another scheduler answers' ready
    await 120 'what ran goes on' stand 0
    # it starts nothing before all nodes have told what runs there
    edl submit --name "probe-$round" -- true >/dev/null
    edl wait "probe-$round" --timeout 120 || fail "round $round: nothing is started any more"
    [ "$(who)" = "$before" ] || fail "round $round: other processes run: $before; now $(who)"
done
# a node that is silent is lost after lease and margin
node=$(api GET '/jobs/one/processes?state=live' | jq -r '.processes[0].node')
agent=$(pgrep -f -- "edl-agent .*--node $node .*$work" | head -n 1)
after=$(api GET '/events?limit=1' | jq .newest)
kill -STOP "$agent"
lost() { [ "$(api GET "/nodes/$node" | jq -r .state)" = lost ]; }
await 120 'the silent node is lost' lost
silent_us=$(api GET "/events?limit=1000&after=$after" | jq --argjson node "$(api GET "/nodes/$node")" '
    [.events[] | select(.event == "node-lost" and .node == $node.name)][0].time_us - $node.last_report_us')
[ "$silent_us" -lt 30000000 ] || fail "it was lost $silent_us us after its last report"
kill -CONT "$agent"
cluster_stop
