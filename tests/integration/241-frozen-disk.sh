#!/usr/bin/env bash
# The disk hangs on which a supervisor says that its program goes on: a pipe that nobody reads stands in for it. Until the disk
# answers the program stands still, and when the lease is over by then, it stands still longer.
# Takes 48 s: a lease of 12 s ends, and then two of them while a disk hangs
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
cluster_start --nodes 1 --lease 12s
# shellcheck disable=SC2016
cat >"$work/beat.json" <<JOB
{"metadata":{"name":"beat"},"spec":{"fault_tolerant":true,"mode":"collective","trainer":{"min-instance":1,"max-instance":1,
 "command":["bash","-c","while :; do echo beat >>$work/beats; read -t 0.1 <> <(:); done"]}}}
JOB
edl submit "$work/beat.json"
lines() { wc -l <"$work/beats" 2>/dev/null || echo 0; }
beats() { [ "$(lines)" -ge "$1" ]; }
await 120 'it beats' while_job beat beats 5
pid=$(pids beat trainer)
group=$(sed -n 's/^0:://p' "/proc/$pid/cgroup")
for root in /sys/fs/cgroup/unified /sys/fs/cgroup; do [ -e "$root$group/cgroup.freeze" ] && break; done
supervisor=$(ps -o ppid= -p "$pid" | tr -d ' ')
if [ ! -w "$root$group/cgroup.freeze" ] || ! grep -q . "/proc/$supervisor/wchan"; then
    edl kill beat
    edl wait beat --timeout 120 || true
    cluster_stop
    echo "processes have no control group here that can be frozen, or nobody sees where they wait: $group"
    exit 77
fi
frozen() { grep -q '^frozen 1$' "$root$group/cgroup.events"; }
uptime_s() { cut -d. -f1 /proc/uptime; }
seconds_since() { [ $(($(uptime_s) - $1)) -ge "$2" ]; }
scheduler=$(pgrep -f -- "edl-scheduler .*$work" | head -n 1)
told() { grep -q '"frozen_since_us": [1-9]' "$folder/supervisor.json"; }
waits_for_disk() { grep -q partner "/proc/$supervisor/wchan"; }

kill -STOP "$scheduler"
await 120 'it is frozen' while_runs "$pid" frozen
folder=$(dirname "$(find "$work" -name .supervisor.json.tmp | head -n 1)")
await 120 'its agent is told' told
mkfifo "$work/disk"
mv -f "$work/disk" "$folder/.supervisor.json.tmp"
count=$(lines)
kill -CONT "$scheduler"
await 120 'its supervisor waits for the disk' waits_for_disk
[ "$(lines)" = "$count" ] || fail "it went on before that was written: $count lines, now $(lines)"
kill -STOP "$scheduler"
stopped_s=$(uptime_s)
await 120 'two leases are over' seconds_since "$stopped_s" 24
exec 9<>"$folder/.supervisor.json.tmp" # the disk answers, with an error
answered() { ! waits_for_disk; }
await 120 'its supervisor goes on' answered
looked_s=$(uptime_s)
await 120 'it was looked at often' seconds_since "$looked_s" 2
now=$(lines)
[ "$now" = "$count" ] || fail "it acted after its lease: $count lines, now $now"
frozen || fail 'it does not stand still any more'
exec 9>&-
kill -CONT "$scheduler"
await 120 'it goes on' while_job beat beats $((count + 10))
[ "$(pids beat trainer)" = "$pid" ] || fail "another process runs: $pid was it, $(pids beat trainer) is it"
edl kill beat
edl wait beat --timeout 120 || true
cluster_stop
