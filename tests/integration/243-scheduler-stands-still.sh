#!/usr/bin/env bash
# A scheduler that is stopped for twice the lease costs nobody anything: no lease ends, no process does, and it says for how long.
# Takes 37 s: waits for two leases of 8 s, in two rounds
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
cluster_start --nodes 3 --lease 8s
figure() { api GET /metrics | sed -n "s/^$1 //p"; }
seconds_since() { [ $(($(cut -d. -f1 /proc/uptime) - $1)) -ge "$2" ]; }
ready() { [ "$(figure 'edl_nodes{state="ready"}')" = 3 ]; }
await 120 'all nodes report' ready
for job in one two three; do edl submit --name $job -- sleep 600 >/dev/null; done
all_run() { [ "$(figure 'edl_processes{state="running"}')" = 3 ]; }
await 120 'all run' all_run
who() { for job in one two three; do api GET "/jobs/$job/processes?state=all" | jq -c '.processes[] | [.job_id, .incarnation, .pid, .state]'; done | sort; }
before=$(who)
thawed() { [ "$(grep -c 'process-thawed' "$work/state/scheduler.log")" -ge "$1" ]; }
scheduler=$(pgrep -f -- "edl-scheduler .*$work" | head -n 1)
for round in 1 2; do
    kill -STOP "$scheduler"
    await 120 'twice the lease has passed' seconds_since "$(cut -d. -f1 /proc/uptime)" 17
    kill -CONT "$scheduler"
    await 120 'it answers' ready
    await 120 'all nodes have a lease again' thawed $((3 * round))
done
[ "$(figure edl_nodes_lost_total)" = 0 ] || fail "$(figure edl_nodes_lost_total) leases ended"
[ "$(who)" = "$before" ] || fail "other processes run: $before; now $(who)"
[ "$(figure edl_stalls_total)" -ge 2 ] || fail 'it does not say that it stood still'
figure edl_stalled_seconds_total | holds '. >= 32' || fail "it says that it stood still for $(figure edl_stalled_seconds_total) s"
cluster_stop
