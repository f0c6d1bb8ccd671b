#!/usr/bin/env bash
# The runtime over systemd on a real machine: a unit for each process, with the limits that its job asked for; the agent's end
# touches nothing; what a supervisor leaves behind is killed before its slot is given to another.
# Takes 119 s: machines boot, and 240 units come and go
. "$EDL_SOURCE_DIR/tests/lib/machines.sh"
on_fail() {
    machine_in n1 sh -c 'tail -n 30 /run/edl/*.log; systemctl list-units "edl*" --no-legend --no-pager; journalctl -u "edl-*" --no-pager -o cat | tail -n 20'
}
edl() { machine_in n1 env EDL_SERVER="http://$address" EDL_TOKEN_FILE=/run/edl/scheduler/admin-token edl "$@"; }
unit_of() { machine_in n1 systemctl list-units "edl-$1.*.service" --no-legend --plain | cut -d' ' -f1; }
property() { machine_in n1 systemctl show "$1" -p "$2" --value; }
state_of() { edl show "$1" --json | jq -r .job.state; }
none_left() { silent machine_in n1 sh -c 'find /sys/fs/cgroup/ -path "*/edl-'"$1"'.slice/*/cgroup.procs" -exec cat {} + 2>/dev/null; true'; }

machine_boot n1
machine_in n1 mkdir -p /run/edl
start_agent() { # ARGUMENT...
    # shellcheck disable=SC2016
    machine_in n1 sh -c 'edl-agent --node n1 --scheduler "http://$(cat /run/edl/scheduler/address)" --heartbeat 300ms \
        --join-token-file /run/edl/scheduler/join-token --state-dir /var/lib/edl/agent --allow-root --allow-user nobody --no-foreign "$@" \
        >>/run/edl/agent.log 2>&1 & echo $! >/run/edl/agent.pid' sh "$@"
}
machine_in n1 sh -c 'edl-scheduler --state-dir /run/edl/scheduler --listen 127.0.0.1:0 >/run/edl/scheduler.log 2>&1 &'
await 120 'the scheduler listens' machine_in n1 test -s /run/edl/scheduler/address
address=$(machine_in n1 cat /run/edl/scheduler/address)
start_agent

# what is said of such a machine
joined() { machine_in n1 test -s /var/lib/edl/agent/credential; }
await 120 'it has joined' joined
machine_in n1 edl doctor --scheduler "http://$address" >"$machines/doctor" || fail "edl doctor finds: $(grep ^problem "$machines/doctor")"
for line in 'systemd: [0-9].* runs this machine' 'system bus: is reached' 'limits: each process gets a unit' 'cgroup.kill' 'credential'; do
    grep -q "^ok  *$line" "$machines/doctor" || fail "edl doctor does not say $line: $(cat "$machines/doctor")"
done
rm -f "$machines/doctor"

# a unit with limits, in a slice of its job, without devices and with a /tmp of its own
machine_in n1 touch /tmp/of-the-machine
edl submit --name first --cpu 500m --memory 64Mi -- sh -c 'head -c 16M /dev/zero >/dev/shm/shared; ls /tmp; cat /proc/self/cgroup; exec sleep 1000'
await 120 'it runs' job_is first running
unit=$(unit_of 1)
[ "$unit" = edl-1.trainer.0.1.service ] || fail "the unit is called $unit"
while read -r name value; do
    [ "$(property "$unit" "$name")" = "$value" ] || fail "$name is $(property "$unit" "$name"), not $value"
done <<END
Slice edl-1.slice
MemoryMax 67108864
CPUWeight 50
TasksMax 4096
DevicePolicy closed
NoNewPrivileges yes
PrivateTmp yes
KillMode mixed
END
[ "$(property edl-1.slice CPUWeight)" = 50 ] || fail "its slice weighs $(property edl-1.slice CPUWeight)"
in_its_group() { edl logs first | grep -q "0::/edl.slice/edl-1.slice/$unit/program\$"; }
await 120 'it says that it is in its control group' in_its_group
edl logs first | lacks of-the-machine || fail "it sees the machine's /tmp"

# what it uses is what its control group says: memory that no process maps, its supervisor as two of its tasks (one moves its output)
figures() {
    edl show first --json | holds '.processes[0] | .memory_used_bytes >= 16777216 and .memory_used_bytes <= .memory_peak_bytes and
        .memory_peak_bytes <= 67108864 and .tasks == 3 and .cpu_used_us > 0'
}
await 120 'its figures are those of its control group' figures

# the agent is killed: the process goes on, and the next agent knows it
before=$(property "$unit" MainPID)
machine_in n1 sh -c 'kill -9 $(cat /run/edl/agent.pid)'
agent_gone() { machine_in n1 sh -c '! kill -0 $(cat /run/edl/agent.pid) 2>/dev/null'; } # only then its lock is free
await 120 'the agent is dead' agent_gone
start_agent
await 120 'it is adopted' machine_in n1 grep -q '1.trainer.0.1 adopted' /run/edl/agent.log
[ "$(property "$unit" MainPID)" = "$before" ] || fail "it was started anew"

machine_in n1 cat /run/edl/agent.log | lacks 'systemd keeps .* of' || fail 'limits were read back as others'

# it ends with all that it started, whatever that is; the units and the slice are gone then
machine_in n1 sh -c 'cat >/run/edl/tree' <<'END'
{"metadata":{"name":"tree"},"spec":{"grace":"1s","trainer":{"min-instance":1,"max-instance":1,"command":["sh","-c",
"setsid sleep 1001 & (trap '' TERM; exec sleep 1002) & exec sleep 1003"]}}}
END
edl submit /run/edl/tree
await 120 'it runs' job_is tree running
edl kill first tree
await 120 'they are killed' job_is tree killed
await 120 'it is killed' job_is first killed
none_left 1 && none_left 2 || fail "processes are left"
no_units() { silent machine_in n1 systemctl list-units 'edl-*' --no-legend --plain; }
await 120 'units and slices are gone' no_units

# a supervisor that is killed: its unit takes the rest with it, and only then the end is told
edl submit --name orphans -- sh -c 'setsid sleep 1004 & trap "" TERM; sleep 1005'
await 120 'it runs' job_is orphans running
machine_in n1 systemctl kill -s KILL --kill-who=main "$(unit_of 3)"
await 120 'its end is told' job_is orphans failed
none_left 3 || fail "processes are left"

# beyond its memory: killed, and it is said why
edl submit --name hungry --memory 32Mi -- perl -e 'my $all = "x" x 200000000; sleep 1000'
await 120 'it is killed' job_is hungry failed
edl show hungry --json | jq -r .job.reason | grep -q 'out of memory' || fail "the reason is: $(edl show hungry --json | jq -r .job.reason)"

# a fork bomb stays in its unit, and ends when it is told to
edl submit --name bomb -- sh -c 'f() { f | f & f; }; f & exec sleep 1000'
await 120 'it runs' job_is bomb running
edl kill bomb
await 300 'it is killed' job_is bomb killed
none_left 5 || fail "processes are left"

# another account's: the unit keeps its supervisor root's, the process cannot reach that, and the machine's units even less
edl submit --name others --workspace private --user nobody -- sh -c 'id -un; kill $PPID || echo safe; systemctl stop edl.slice || echo safe
    grep NoNewPrivs /proc/self/status; echo named >/dev/stderr; echo named | tee /dev/stderr; touch mine && exec sleep 1000'
await 120 'it runs' job_is others running
unit=$(unit_of 6)
[ "$(machine_in n1 ps -o user= -p "$(property "$unit" MainPID)")" = root ] || fail "its supervisor is not root's"
[ "$(machine_in n1 stat -c %U /var/lib/edl/agent/work/6-trainer-0/mine)" = nobody ] || fail "it is somebody else's"
[ "$(edl logs others | grep -cE 'nobody|safe|NoNewPrivs:	1')" = 4 ] && [ "$(edl logs others | grep -c '\] named$')" = 3 ] || fail "it says $(edl logs others)"
edl kill others
await 120 'it is killed' job_is others killed
none_left 6 || fail "processes are left"

# many at once
for i in 1 2 3 4 5 6 7 8; do edl submit --name "many-$i" --cpu 10m -- true >/dev/null; done
for i in 1 2 3 4 5 6 7 8; do edl wait "many-$i" --timeout 120 >/dev/null || fail "many-$i does not succeed"; done
await 120 'units and slices are gone' no_units

# limits that the node asks for: CPUs of its own for a whole core, no more CPU than was granted, fewer tasks
stop_agent() {
    machine_in n1 sh -c 'kill $(cat /run/edl/agent.pid)'
    await 120 'the agent is gone' agent_gone
}
stop_agent
start_agent --pin-cores --cpu-quota --tasks-max 300
edl submit --name strict --cpu 1 -- sh -c 'exec sleep 1000'
await 120 'it runs' job_is strict running
strict=$(edl show strict --json | jq -r .job.id)
unit=$(unit_of "$strict")
cpu=$(machine_in n1 sh -c 'sed -n "s/^Cpus_allowed_list:[[:space:]]*//p" /proc/$(systemctl show '"$unit"' -p MainPID --value)/status')
case $cpu in '' | *[!0-9]*) fail "one core is on CPUs '$cpu'" ;; esac
while read -r name value; do
    [ "$(property "$unit" "$name")" = "$value" ] || fail "$name is $(property "$unit" "$name"), not $value"
done <<END
AllowedCPUs $cpu
CPUQuotaPerSecUSec 1s
TasksMax 300
END
group=/sys/fs/cgroup/edl.slice/edl-$strict.slice/$unit
if machine_in n1 test -e "$group/cpuset.cpus"; then
    [ "$(machine_in n1 cat "$group/cpuset.cpus.effective")" = "$cpu" ] || fail 'its control group has other CPUs'
else
    echo 'AllowedCPUs is kept by its supervisor alone: no cpuset controller in the unified hierarchy of this machine'
fi
machine_in n1 cat /run/edl/agent.log | lacks 'systemd keeps .* of' || fail 'limits were read back as others'

# what the node's owner says in a drop-in wins, and is told
machine_in n1 sh -c 'mkdir -p /etc/systemd/system/edl-.service.d && printf "[Service]\nTasksMax=111\n" >/etc/systemd/system/edl-.service.d/own.conf && systemctl daemon-reload'
edl submit --name owned --cpu 100m -- sleep 1000
await 120 'it runs' job_is owned running
unit=$(unit_of "$(edl show owned --json | jq -r .job.id)")
if [ "$(property "$unit" TasksMax)" = 111 ]; then
    told() { machine_in n1 grep -q "systemd keeps .*TasksMax of $unit at 111, 300 was asked for" /run/edl/agent.log; }
    await 120 'the other limit is told' told
else
    echo "this systemd does not apply a drop-in to a transient unit: TasksMax is $(property "$unit" TasksMax)"
fi
edl kill strict owned >/dev/null
await 120 'they are killed' job_is owned killed
await 120 'units and slices are gone' no_units

# more at once than the bus lets one connection wait for (128 answers); the night has more of them
wave=${EDL_WAVE:-160}
edl submit --name wave --array "0-$((wave - 1))" --cpu 5m --memory 16Mi -- true >/dev/null
edl wait wave --timeout 240 >"$machines/wave" || { # which of them did not succeed, and what was said of it
    cat "$machines/wave"
    edl ps --all --json | jq -r '.jobs[] | select(.name | startswith("wave")) | select(.state == "failed") | .reason' | sort | uniq -c | head -n 3
    left=$(edl ps --all --json | jq -r '[.jobs[] | select(.name | startswith("wave")) | select(.state != "succeeded")] | sort_by(.state == "failed")[0].id')
    edl show "$left" --json
    machine_in n1 sh -c "grep -h '[^0-9]$left\\.trainer\\|($left)' /run/edl/scheduler.log /run/edl/agent.log; journalctl -o short-precise --no-pager | grep 'edl-$left\\.' | tail -n 20; grep -v ' info \\|TasksMax' /run/edl/agent.log | tail -n 20"
    fail 'not all of the wave succeeded in time'
}
rm -f "$machines/wave"
