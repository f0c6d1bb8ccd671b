#!/usr/bin/env bash
# A machine whose people have managers of their own (systemd --user): no job gets one to start something that outlives it, in units
# and without. And people without an account there: each has a number of his own and sees nobody else's processes.
# Takes 19 s: a machine boots, and three jobs run by each of two runtimes
machine_has=dbus-user-session,libpam-systemd
. "$EDL_SOURCE_DIR/tests/lib/machines.sh"
on_fail() {
    machine_in n1 sh -c 'tail -n 30 /run/edl/*.log; systemctl list-units "edl*" --no-legend --no-pager; journalctl -u "edl-*" --no-pager -o cat | tail -n 20'
}
edl() { machine_in n1 env EDL_SERVER="http://$address" EDL_TOKEN_FILE="/run/edl/${as:-scheduler/admin-token}" edl "$@"; }

machine_boot n1
machine_in n1 mkdir -p /run/edl
agent_begin() { # ARGUMENT...
    # shellcheck disable=SC2016
    machine_in n1 sh -c 'edl-agent --node n1 --scheduler "http://$(cat /run/edl/scheduler/address)" --heartbeat 300ms \
        --join-token-file /run/edl/scheduler/join-token --state-dir /var/lib/edl/agent --user-range 2010000000-2099999999 --no-foreign \
        "$@" >>/run/edl/agent.log 2>&1 & echo $! >/run/edl/agent.pid' sh "$@"
}
agent_gone() { machine_in n1 sh -c '! kill -0 $(cat /run/edl/agent.pid) 2>/dev/null'; }
machine_in n1 sh -c 'edl-scheduler --state-dir /run/edl/scheduler --listen 127.0.0.1:0 >/run/edl/scheduler.log 2>&1 &'
await 120 'the scheduler listens' machine_in n1 test -s /run/edl/scheduler/address
address=$(machine_in n1 cat /run/edl/scheduler/address)

# ann has an account and a manager that is there whether she is logged in or not; carol and dave have nothing here
machine_in n1 useradd -m ann
for name in ann carol dave; do
    edl user add $name >/dev/null
    edl token create --user $name 2>/dev/null | machine_in n1 sh -c "umask 077; cat >/run/edl/$name.token"
done
uid=$(machine_in n1 id -u ann)
machine_in n1 systemctl start "user@$uid.service"
await 120 'ann has a manager' machine_in n1 test -S "/run/user/$uid/bus"
# as she would from a login: so it can be done
machine_in n1 setpriv --reuid ann --regid ann --init-groups env XDG_RUNTIME_DIR="/run/user/$uid" systemd-run --user --quiet sleep 4240
hers_runs() { machine_in n1 pgrep -x -u ann sleep >/dev/null; }
await 120 'her manager starts things' hers_runs
machine_in n1 pkill -x -u ann sleep
none_of_anns() { machine_in n1 sh -c '! pgrep -x -u ann sleep'; }
await 120 'and it is gone' none_of_anns

machine_in n1 sh -c 'cat >/usr/local/bin/escape; chmod 755 /run/edl /usr/local/bin/escape' <<'END'
#!/bin/sh
exec 2>&1
export XDG_RUNTIME_DIR="/run/user/$(id -u)"
export DBUS_SESSION_BUS_ADDRESS="unix:path=$XDG_RUNTIME_DIR/bus"
systemd-run --user sleep 4241 && echo BAD: by the bus
DBUS_SESSION_BUS_ADDRESS= systemd-run --user sleep 4242 && echo BAD: by its socket
loginctl enable-linger && echo BAD: it lingers
ls "$XDG_RUNTIME_DIR" && echo BAD: its folder
setsid sleep 4243 &
[ ! -e /proc/1/status ] || echo BAD: it sees processes of others
echo tried
END
for runtime in systemd direct; do
    agent_begin --runtime $runtime
    as=ann.token edl submit --name "escape-$runtime" --workspace private -- /usr/local/bin/escape >/dev/null
    await 120 "the job ends ($runtime)" job_is "escape-$runtime" succeeded
    said=$(edl logs "escape-$runtime")
    case $said in *tried*) ;; *) fail "$runtime: it says $said" ;; esac
    lacks BAD <<<"$said" || fail "$runtime: $said"
    none_of_anns || fail "$runtime: left behind: $(machine_in n1 pgrep -a -u ann sleep)"

    # shellcheck disable=SC2016
    as=carol.token edl submit --name "carol-$runtime" --workspace private -- sh -c 'id -u; exec sleep 4244' >/dev/null
    await 120 "a job of carol's runs ($runtime)" job_is "carol-$runtime" running
    pid=$(edl show "carol-$runtime" --json | jq '.processes[0].pid')
    carol=$(machine_in n1 stat -c %u "/proc/$pid")
    [ "$carol" -ge 2010000000 ] || fail "$runtime: carol runs as $carol"
    # shellcheck disable=SC2016
    as=dave.token edl submit --name "dave-$runtime" --workspace private --env PID="$pid" -- sh -c 'id -u
        cat "/proc/$PID/environ" && echo BAD: environment; kill "$PID" && echo BAD: kill; [ ! -e "/proc/$PID" ] || echo BAD: seen; true' >/dev/null
    await 120 "a job of dave's ends ($runtime)" job_is "dave-$runtime" succeeded
    edl logs "dave-$runtime" | lacks -e BAD -e "$carol" || fail "$runtime: $(edl logs "dave-$runtime")"
    [ -z "${first:-}" ] || [ "$first" = "$carol" ] || fail "carol was $first and is $carol"
    first=$carol
    edl kill "carol-$runtime" >/dev/null
    await 120 "it is killed ($runtime)" job_is "carol-$runtime" killed
    machine_in n1 sh -c 'kill $(cat /run/edl/agent.pid)'
    await 120 'the agent is gone' agent_gone
done
echo "user managers: all good"
