#!/usr/bin/env bash
# Runs at night, and for agent/ units/: its machine is an emulated one
# What a machine does besides jobs goes before them: edl.slice as the package has it, under systemd with control groups of version 2
# and all their controllers, in a virtual machine. Beside the machine's own load jobs have next to nothing, among themselves what
# they asked for; a drop-in makes them equals.
. "${EDL_SOURCE_DIR:?the checkout}/tests/lib/virtual.sh"
set -eu
virtual_libraries await fail conditions
mkdir -p "$own/etc/systemd/system" "$own/usr/lib/systemd/system"
cp "$EDL_SOURCE_DIR/units/edl.slice" "$own/usr/lib/systemd/system"
ln -s /lib/systemd/systemd "$own/init"
echo 0123456789abcdef0123456789abcdef >"$own/etc/machine-id"
cat >"$own/etc/systemd/system/check.service" <<'END'
[Unit]
Requires=dbus.service
After=dbus.service
[Service]
Environment=EDL_SOURCE_DIR=/src PATH=/opt/edl/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root EDL_SERVER=unix:/run/edl.sock EDL_TOKEN_FILE=/run/edl/admin-token
ExecStart=/bin/bash /check
ExecStopPost=/bin/sh -c 'echo o >/proc/sysrq-trigger'
StandardOutput=file:/dev/console
StandardError=inherit
END
cat >"$own/check" <<'END'
. /src/tests/lib/await.sh
end() { # STATUS
    echo "the test ended with $1"
    echo o >/proc/sysrq-trigger
    read -r
}
fail() {
    echo "FAIL: $1"
    edl ps --all
    tail -n 20 /run/*.log
    systemd-cgls --no-pager /edl.slice | head -n 40
    end 1
}
groups=/sys/fs/cgroup
slice=$groups/edl.slice
edl-scheduler --state-dir /run/edl --listen unix:/run/edl.sock 2>/run/scheduler.log &
await 400 'the scheduler listens' test -S /run/edl.sock
agent_begin() {
    edl-agent --conf '' --node n1 --scheduler unix:/run/edl.sock --join-token-file /run/edl/join-token --state-dir /var/lib/edl --allow-root --no-foreign \
        --heartbeat 500ms --cpu 2 --reserve-cpu 0 2>>/run/agent.log &
    agent=$!
}
agent_begin
used_us() { sed -n 's/^usage_usec //p' "$1/cpu.stat"; }
running() { edl show "$1" --json | holds ".job.state == \"running\" and ([.processes[] | select(.state == \"running\")] | length) == $2"; }
weighs() { [ "$(cat "$slice/$1/cpu.weight")" = "$2" ]; } # SLICE WEIGHT

# a job's slice weighs what its processes weigh together, whichever come and go, and whoever was their agent
edl submit --name light --cpu 100m -- sleep 1000 >/dev/null
cat >/run/heavy <<'JOB'
{"metadata":{"name":"heavy"},"spec":{"fault_tolerant":true,"grace":"1s","trainer":{"min-instance":3,"max-instance":3,"command":["sleep","1000"],
"resources":{"requests":{"cpu":"500m","memory":"16Mi"}}}}}
JOB
edl submit /run/heavy >/dev/null
await 400 'light runs' running light 1
await 400 'heavy runs' running heavy 3
await 400 'light weighs 10' weighs edl-1.slice 10
await 400 'heavy weighs 150' weighs edl-2.slice 150
kill -9 $agent
wait $agent
agent_begin
edl scale heavy 1 >/dev/null || fail 'it cannot be scaled'
await 400 'heavy shrinks' running heavy 1
await 400 'heavy weighs 50' weighs edl-2.slice 50
edl kill light heavy >/dev/null
gone() { [ ! -e $slice/edl-1.slice ] && [ ! -e $slice/edl-2.slice ]; }
await 400 'they are gone' gone
left=$(find /run/systemd/system.control -name '*edl*' 2>/dev/null || true) # where nothing was ever told, there is no such folder
[ -z "$left" ] || fail "systemd remembers the slices: $left"

# two jobs that want all there is have it by what they asked for, without a quota
for job in 500m 1500m; do edl submit --name "j$job" --cpu $job --memory 64Mi -- perl -e 'fork; 1 while 1' >/dev/null; done
for job in j500m j1500m; do await 400 "$job runs" running $job 1; done
[ "$(cat $slice/cpu.idle)" = 1 ] || fail "cpu.idle of edl.slice is $(cat $slice/cpu.idle)"
[ "$(cat $slice/edl-3.slice/cpu.idle)$(cat $slice/edl-4.slice/cpu.idle)" = 00 ] || fail 'slices of jobs are idle among themselves'
used() { [ $(($(used_us "$1") - $2)) -ge "$3" ]; } # GROUP BEFORE US
light=$(used_us $slice/edl-3.slice) heavy=$(used_us $slice/edl-4.slice)
await 400 'they have used eight seconds' used $slice "$(used_us $slice)" 8000000
light=$(($(used_us $slice/edl-3.slice) - light)) heavy=$(($(used_us $slice/edl-4.slice) - heavy))
echo "500m used $light us, 1500m $heavy us"
[ $((heavy * 10)) -ge $((light * 16)) ] && [ $((heavy * 10)) -le $((light * 45)) ] || fail 'they do not share by what they asked for'

# who has to stop them in time does not wait for what is left over
n=0
while read -r pid; do
    n=$((n + 1))
    [ "$(cut -d' ' -f41 "/proc/$pid/stat")" = 2 ] || fail "a supervisor is scheduled as $(chrt -p "$pid")"
    pgrep -P "$pid" >/run/programs || fail 'a supervisor has no program'
    [ "$(cut -d' ' -f41 "/proc/$(cat /run/programs)/stat")" = 0 ] || fail "its program is scheduled as $(chrt -p "$(cat /run/programs)")"
done < <(pgrep -x edl-supervisor)
[ $n = 2 ] || fail "there are $n supervisors"

# the machine's own: two that want all there is as well. What the jobs have of ten seconds, of a hundred parts
beside() {
    local jobs own part
    systemd-run -q --unit own perl -e 'fork; 1 while 1'
    own=$(used_us $groups/system.slice) jobs=$(used_us $slice)
    await 400 'the machine has used eight seconds' used $groups/system.slice "$own" 8000000
    own=$(($(used_us $groups/system.slice) - own)) jobs=$(($(used_us $slice) - jobs))
    systemctl stop own
    part=$((jobs * 100 / (jobs + own)))
    echo "beside jobs: the machine used $own us, jobs $jobs us, $part %"
    [ $part -ge "$1" ] && [ $part -le "$2" ] || fail "jobs have $part % beside the machine's own load, $1 to $2 are right"
}
beside 0 8
mkdir -p /etc/systemd/system/edl.slice.d
printf '[Slice]\nCPUWeight=100\n' >/etc/systemd/system/edl.slice.d/override.conf
systemctl daemon-reload
[ "$(cat $slice/cpu.idle),$(cat $slice/cpu.weight)" = 0,100 ] || fail "the drop-in is not taken: $(cat $slice/cpu.idle), $(cat $slice/cpu.weight)"
beside 35 65
end 0
END
virtual_run systemd.unit=check.service systemd.firstboot=no
grep -a 'used .* us' "$machines/console"
