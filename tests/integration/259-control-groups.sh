#!/usr/bin/env bash
# Without a service manager: each process in a control group that its supervisor makes, with the limits that its job asked for;
# nothing of it is left at its end, whatever it forks and whoever was killed. Where no group can be written, guards of the
# machine instead; and nobody is told of limits that are not there.
# Takes 8 s: jobs are started, killed and looked for in each kind of control group
set -eu
: "${EDL_BUILD_DIR:?the folder of the built programs}" "${EDL_SOURCE_DIR:?the checkout}"
if [ "$(id -u)" != 0 ]; then
    echo "only root can write the control groups here"
    exit 77
fi
if [ "$(stat -fc %T /sys/fs/cgroup/unified 2>/dev/null || stat -fc %T /sys/fs/cgroup)" != cgroup2fs ]; then
    echo "control groups of version 2 are not mounted"
    exit 77
fi
if [ -d /run/systemd/system ]; then
    echo "systemd runs this machine: its control groups are systemd's; see tests/cluster"
    exit 77
fi
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"
chmod 711 "$work"
unified=/sys/fs/cgroup
[ ! -e /sys/fs/cgroup/unified ] || unified=/sys/fs/cgroup/unified
# agents divide the group that they are in: here one of our own in each hierarchy, so that no other copy of this test shares it
own_groups=()
leave_own_groups() {
    local status=$? own
    set +e
    # shellcheck disable=SC2086
    kill $pids 2>/dev/null
    wait
    for own in "${own_groups[@]}"; do
        echo $$ >"${own%/*}/cgroup.procs"
        find "$own" -depth -type d -exec rmdir {} \; 2>/dev/null
    done
    (exit $status)
    on_exit
}
trap leave_own_groups EXIT
if [ -z "${EDL_AGENT_THROUGH:-}" ]; then
    for hierarchy in "$unified" /sys/fs/cgroup/{cpu,memory,pids}; do
        [ -e "$hierarchy/cgroup.procs" ] || continue
        if [ "$hierarchy" = "$unified" ]; then at=$(sed -n 's/^0:://p' /proc/self/cgroup); else at=$(sed -n "s/^[0-9]*:\\([a-z_]*,\\)*${hierarchy##*/}\\(,[a-z_]*\\)*://p" /proc/self/cgroup); fi
        own=$hierarchy${at%/}/edl-test-$$
        mkdir "$own" 2>/dev/null && echo $$ >"$own/cgroup.procs" && own_groups+=("$own")
    done
fi

begin scheduler "policy" edl-scheduler --state-dir "$work/scheduler" --listen 127.0.0.1:0 --lease 60s
EDL_SERVER=http://$(sed 's,^http://,,' "$work/scheduler/address")
EDL_TOKEN_FILE=$work/scheduler/admin-token
export EDL_SERVER EDL_TOKEN_FILE
agent_begin() { # NODE COMMAND...: with COMMAND in front
    local node=$1
    shift
    # shellcheck disable=SC2086
    begin "$node" "adopted" ${EDL_AGENT_THROUGH:-} "$@" edl-agent --node "$node" --scheduler "$EDL_SERVER" --join-token-file "$work/join-token" --state-dir "$work/$node.state" \
        --conf '' --runtime direct --no-foreign --heartbeat 300ms --tasks-max 64 --cpu 2 --cpu-quota $root
    agent=$pid
}
show() { edl show "$1" --json; }
pid_of() { show "$1" | jq '.processes[0].pid'; }
says() { show "$1" | jq -r .job.reason | grep -q "$2" || fail "$1: the reason is $(show "$1" | jq -r .job.reason)"; }
path_in() { # HIERARCHY PID: the folder of its group; of version 1 by the controller's name
    if [ "$1" = unified ]; then
        echo "$unified$(sed -n 's/^0:://p' "/proc/$2/cgroup")"
    else
        echo "/sys/fs/cgroup/$1$(sed -n "s/^[0-9]*:\\([a-z_]*,\\)*$1\\(,[a-z_]*\\)*://p" "/proc/$2/cgroup")"
    fi
}
value() { # CONTROLLER PID FILE-OF-VERSION-2 FILE-OF-VERSION-1
    cat "$(path_in unified "$2")/$3" 2>/dev/null || cat "$(path_in "$1" "$2")/$4"
}
# who else runs tests on this machine has groups and processes of the same names, but for the supervisor's number
no_group() { # GROUP; those of others come and go meanwhile, which find minds
    local groups
    groups=$(find /sys/fs/cgroup -type d -name "${1##*/}" 2>/dev/null || true)
    [ -z "$groups" ] || fail "groups are left of ${1##*/}: $groups"
}
left() { pgrep -a -f "^sleep $1\.$$\$" || true; }
is_there() { [ -n "$(left "$1")" ]; }
limited() { edl nodes "$1" --json | holds "(.node // .) | $2"; }

root=--allow-root
(umask 022 && cp "$work/scheduler/join-token" "$work/join-token")
agent_begin here
await 120 'its limits are told' limited here '.machine.limits != null'
held() { limited here ".machine.limits | index(\"$1\") != null"; }
for limit in memory tasks cpu; do held $limit || { echo "the $limit controller is not to be had here: $(tail -n 3 "$work/here.log")" && exit 77; }; done

# a group of its own, with the figures of the order, and the process in it but not its supervisor
edl submit --name first --cpu 500m --memory 64Mi -- sh -c "setsid sleep 1001.$$ & exec sleep 1000.$$" >/dev/null
await 120 'it runs' job_is first running
await 120 'its child runs' is_there 1001
first=$(pid_of first)
group=$(path_in unified "$first")
case $group in */edl-1.trainer.0.1-*) ;; *) fail "its group is $group" ;; esac
[ "$(value memory "$first" memory.max memory.limit_in_bytes)" = 67108864 ] || fail "memory is not limited"
[ "$(value pids "$first" pids.max pids.max)" = 64 ] || fail "tasks are not limited"
case $(value cpu "$first" cpu.weight cpu.shares),$(value cpu "$first" cpu.max cpu.cfs_quota_us) in '50,50000 100000' | 512,50000) ;; *) fail "cores are not limited" ;; esac
supervisor=$(ps -o ppid= -p "$first" | tr -d ' ')
grep -q "edl-1.trainer" "/proc/$supervisor/cgroup" && fail "its supervisor is in its group"
figures() { show first | holds '.processes[0] | .tasks == 2 and .memory_used_bytes > 0 and .memory_peak_bytes <= 67108864'; }
await 120 'its figures are those of its group' figures
grep -q 'cannot set\|the kernel keeps' "$work/here.log" && fail "limits were not taken"

# the supervisor is killed: what it leaves behind, in a session of its own, dies all the same before the end is told
kill -9 "$supervisor"
await 120 'its end is told' job_is first failed
says first 'its supervisor vanished'
silent left 1000 && silent left 1001 || fail "left: $(left 1000) $(left 1001)"
no_group "$group"

# the same while no agent runs: the next one finds it
edl submit --name second -- sh -c "setsid sleep 1002.$$ & exec sleep 1000" >/dev/null
await 120 'it runs' job_is second running
await 120 'its child runs' is_there 1002
second=$(pid_of second)
group=$(path_in unified "$second")
kill -9 "$agent"
wait "$agent" 2>/dev/null || true
kill -9 "$(ps -o ppid= -p "$second" | tr -d ' ')"
is_there 1002 || fail "what it left is gone already: nothing is shown"
agent_begin here
await 120 'its end is told' job_is second failed
silent left 1002 || fail "left: $(left 1002)"
no_group "$group"

# beyond its memory: killed, its supervisor lives to say why
edl submit --name hungry --memory 32Mi -- perl -e 'my $all = "x" x 200000000; sleep 1000' >/dev/null
await 120 'it is killed' job_is hungry failed
says hungry 'out of memory: beyond the 32 MiB'

# a fork bomb is held, and ends with all that it forked
edl submit --name bomb -- perl -e 'for (;;) { defined fork or select undef, undef, undef, 0.05 }' >/dev/null
await 120 'it runs' job_is bomb running
bomb=$(path_in unified "$(pid_of bomb)")
full() { [ "$(wc -l <"$bomb/cgroup.procs")" = 64 ]; }
await 120 'it has forked what it may' full
full || fail "the bomb has $(wc -l <"$bomb/cgroup.procs") processes"
edl kill bomb >/dev/null
await 120 'it is killed' job_is bomb killed
no_group "$bomb"

# one whose processes are to have what is left over: together, and each with its weight among the others
edl node cordon here
root='--allow-root --cpu-idle'
agent_begin idle
await 120 'its limits are told' limited idle '.machine.limits != null'
edl submit --name left-over --cpu 500m -- sleep 1006.$$ >/dev/null
await 120 'it runs' job_is left-over running
await 120 'its program runs' is_there 1006 # its number is told before it is in its groups
left_over=$(pid_of left-over)
controller=cpu
[ -e "$(path_in cpu "$left_over")/cpu.shares" ] || controller=unified
group=$(path_in $controller "$left_over")
case $group in */edl-jobs/edl-*.trainer.0.1-*) ;; *) fail "its group is $group" ;; esac
[ "$(cat "${group%/*}/cpu.idle"),$(cat "$group/cpu.idle")" = 1,0 ] || fail "cpu.idle is $(cat "${group%/*}/cpu.idle"), and $(cat "$group/cpu.idle") of the process"
[ "$(cat "$(path_in $controller "$agent")/cpu.idle" 2>/dev/null || echo 0)" = 0 ] || fail 'the agent itself has what is left over'
case $(value cpu "$left_over" cpu.weight cpu.shares) in 50 | 512) ;; *) fail 'it has another weight' ;; esac
echo 0 >"${group%/*}/cpu.idle" # the owner's word
kill "$agent"
wait "$agent" 2>/dev/null || true
agent_begin idle
await 120 'its limits are told again' limited idle '.machine.limits != null'
[ "$(cat "${group%/*}/cpu.idle")" = 0 ] || fail "what its owner said is forgotten"
edl kill left-over >/dev/null
await 120 'it is killed' job_is left-over killed
rmdir "${group%/*}"
edl node cordon idle
root=--allow-root

# an agent that may write none: it says so, and guards the machine
root=''
mkdir "$work/there.state"
chown daemon:daemon "$work/there.state" "$work/join-token"
agent_begin there setpriv --reuid daemon --regid daemon --clear-groups
await 120 'its limits are told' limited there '.machine.limits == []'
grep -q 'limits of processes are not held: the control group .* cannot be written' "$work/there.log" || fail 'it does not say that nothing holds limits'
edl nodes there | grep -q '^limits     none are held$' || fail "edl nodes says: $(edl nodes there)"
edl submit --name free -- sleep 1004.$$ >/dev/null
await 120 'it runs' job_is free running
await 120 'its program runs' is_there 1004
free=$(pid_of free)
[ "$(cat "/proc/$free/oom_score_adj")" = 500 ] || fail "it is not the first to go when memory runs out"
most=$(awk '{ n = $1 < n || !n ? $1 : n } END { print int(n / 2) }' /proc/sys/kernel/pid_max /proc/sys/kernel/threads-max)
[ "$(awk '/^Max processes/ { print $4 }' "/proc/$free/limits")" -le "$most" ] || fail 'an account may take all numbers of processes'
[ "$(awk '/^Max core file size/ { print $6 }' "/proc/$free/limits")" = 0 ] || fail 'it leaves cores'
edl kill free >/dev/null
await 120 'it is killed' job_is free killed

# one that is told to make none: the same, of its own will
edl node cordon there
root='--allow-root --no-control-groups'
agent_begin plain
await 120 'its limits are told' limited plain '.machine.limits == []'
grep -q 'limits of processes are not held: --no-control-groups' "$work/plain.log" || fail 'it does not say why nothing holds limits'
edl submit --name plain -- sleep 1005 >/dev/null
await 120 'it runs' job_is plain running
case $(path_in unified "$(pid_of plain)") in *edl-*.trainer.0*) fail 'it has a group' ;; esac
edl kill plain >/dev/null
await 120 'it is killed' job_is plain killed
