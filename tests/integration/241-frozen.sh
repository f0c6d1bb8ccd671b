#!/usr/bin/env bash
# A scheduler that stands still for longer than a lease ends nothing: what runs is frozen before the deadline,
# and the same process goes on when the scheduler does, also under an agent that was started meanwhile. What is cut off alone is
# frozen too, and killed as it stands once its work was started elsewhere.
# Takes 110 s: waits for leases of 12 s, one and then three of them, and for one that is cut off. A twelfth of a lease is the time in
# which a program has to be seen standing still; on a busy machine half a second is too little.
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
cluster_start --nodes 2 --lease 12s
# it appends a line with its incarnation and the time every 0.1 s, as long as it acts; a stop that it heard would be a line too
# shellcheck disable=SC2016
cat >"$work/beat.json" <<JOB
{"metadata":{"name":"beat"},"spec":{"fault_tolerant":true,"mode":"collective","trainer":{"min-instance":1,"max-instance":1,
 "command":["bash","-c","trap 'echo \"\$EDL_INCARNATION stopped\" >>$work/beats' TERM EXIT; while :; do echo \"\$EDL_INCARNATION \$(cut -d' ' -f1 /proc/uptime)\" >>$work/beats; read -t 0.1 <> <(:); done"]}}}
JOB
edl submit "$work/beat.json"
lines() { wc -l <"$work/beats" 2>/dev/null || echo 0; }
beats() { [ "$(lines)" -ge "$1" ]; }
await 120 'it beats' while_job beat beats 5
pid=$(pids beat trainer)
node=$(api GET '/jobs/beat/processes?state=live' | jq -r '.processes[0].node')
group=$(sed -n 's/^0:://p' "/proc/$pid/cgroup")
for root in /sys/fs/cgroup/unified /sys/fs/cgroup; do [ -e "$root$group/cgroup.freeze" ] && break; done
if [ ! -w "$root$group/cgroup.freeze" ]; then
    edl kill beat
    edl wait beat --timeout 120 || true
    cluster_stop
    echo "processes have no control group here that can be frozen: $group"
    exit 77
fi
frozen() { grep -q '^frozen 1$' "$root$group/cgroup.events"; }
uptime_s() { cut -d. -f1 /proc/uptime; }
seconds_since() { [ $(($(uptime_s) - $1)) -ge "$2" ]; }

# ---- the scheduler stands still
scheduler=$(pgrep -f -- "edl-scheduler .*$work" | head -n 1)
stopped_s=$(uptime_s)
kill -STOP "$scheduler"
await 120 'it is frozen' while_runs "$pid" frozen
await 120 'its lease is over' seconds_since "$stopped_s" 15
count=$(lines)
last_s=$(tail -n 1 "$work/beats" | cut -d' ' -f2 | cut -d. -f1)
[ "$last_s" -le $((stopped_s + 13)) ] || fail "it acted $((last_s - stopped_s)) s after the scheduler was heard last, its lease is 12 s"
agent=$(pgrep -f -- "edl-agent .*--node $node .*$work" | head -n 1)
kill -9 "$agent"
another() { local now; now=$(pgrep -f -- "edl-agent .*--node $node .*$work" | head -n 1) && [ -n "$now" ] && [ "$now" != "$agent" ]; }
await 120 'there is another agent' another
await 120 'three leases are over' seconds_since "$stopped_s" 40
[ "$(lines)" = "$count" ] || fail "it acted after its lease: $count lines, now $(lines)"
kill -CONT "$scheduler"
await 120 'it goes on' while_job beat beats $((count + 10))
[ "$(pids beat trainer)" = "$pid" ] || fail "another process runs: $pid was it, $(pids beat trainer) is it"
job_is beat running || fail "it is $(job_field beat .state)"
[ "$(cut -d' ' -f1 "$work/beats" | sort -u)" = 1 ] || fail 'another incarnation ran'
cat "$work"/state/*.log | grep -q 'stands still: the lease of this node ran out' || fail 'no agent says that it stood still'

# ---- its node alone is cut off: its work runs elsewhere, and it hears nothing of its end
agent=$(pgrep -f -- "edl-agent .*--node $node .*$work" | head -n 1)
kill -STOP "$agent"
await 120 'it is frozen' while_runs "$pid" frozen
second() { grep -q '^2 ' "$work/beats"; }
await 120 'another runs' while_job beat second
frozen || fail 'it is not frozen any more'
kill -CONT "$agent"
gone() { [ ! -e "/proc/$pid" ]; }
await 120 'it is gone' gone
grep -q '^1 stopped' "$work/beats" && fail 'it was thawed to be stopped'
awk '$1 == 2 { seen = 1 } $1 == 1 && seen { exit 1 }' "$work/beats" || fail 'two incarnations acted at once'
edl kill beat
edl wait beat --timeout 120 || true
cluster_stop
