#!/usr/bin/env bash
# A session is in the control groups of its process, whichever version of them the machine has: it shares memory and tasks with it,
# and loses where both have none left; a freeze and the end of the process take it, and no group of it is left. Without a service
# manager; tests/cluster/037-sessions-version-2.sh runs it on version 2 alone.
# Takes 6 s: sessions beyond each limit
set -eu
: "${EDL_BUILD_DIR:?the folder of the built programs}" "${EDL_SOURCE_DIR:?the checkout}"
if [ "$(id -u)" != 0 ]; then
    echo "only root can write the control groups here"
    exit 77
fi
if [ -d /run/systemd/system ]; then
    echo "systemd runs this machine: its control groups are systemd's; see tests/cluster/036-sessions.sh"
    exit 77
fi
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"
chmod 711 "$work"
unified=/sys/fs/cgroup
[ ! -e /sys/fs/cgroup/unified ] || unified=/sys/fs/cgroup/unified
begin scheduler "policy" edl-scheduler --state-dir "$work/scheduler" --listen 127.0.0.1:0 --lease 60s
EDL_SERVER=http://$(sed 's,^http://,,' "$work/scheduler/address")
EDL_TOKEN_FILE=$work/scheduler/admin-token
export EDL_SERVER EDL_TOKEN_FILE
# shellcheck disable=SC2086
begin n1 "adopted" ${EDL_AGENT_THROUGH:-} edl-agent --node n1 --scheduler "$EDL_SERVER" --join-token-file "$work/scheduler/join-token" --state-dir "$work/state" \
    --conf '' --runtime direct --no-foreign --heartbeat 300ms --tasks-max 64 --cpu 2 --allow-root
edl submit --name j --cpu 100m --memory 64Mi -- sleep 100000 >/dev/null
await 120 'it runs' job_is j running
program=$(edl show j --json | jq '.processes[0].pid')
group=$(sed -n 's/^0:://p' "/proc/$program/cgroup")
if [ ! -e "$unified$group/cgroup.kill" ] || [ "$group" = "$(sed -n 's/^0:://p' /proc/self/cgroup)" ]; then
    echo "a process has no control group of its own here"
    exit 77
fi

edl exec j -- cat /proc/self/cgroup | sed 's,/session-[0-9a-f]*$,,' | cmp - "/proc/$program/cgroup" || fail 'a session is in other control groups'
status=0
edl exec j -- sh -c 'head -c 300M /dev/zero | tail -c 200M >/dev/null' >"$work/out" 2>&1 || status=$?
lives "$program" || fail 'a session took the memory of the process'
[ $status != 0 ] || fail 'a session has more memory than its process'
status=0
edl exec j -- bash -c 'for ((i = 0; i < 100; i++)); do sleep 1733 & done' >"$work/out" 2>&1 || status=$?
[ $status != 0 ] && grep -q 'Resource temporarily unavailable' "$work/out" || fail "a session has more tasks than its process: $status, $(cat "$work/out")"
left() { pgrep -f 'sleep 173[3]' || find "$unified$group" -mindepth 1 -type d 2>/dev/null; }
await 120 'nothing is left of them' silent eval 'left || true'

echo 1 >"$unified$group/cgroup.freeze"
edl exec j -- echo written >"$work/out" 2>"$work/err" &
exec_pid=$!
await 120 'a session is below the group' eval '[ -n "$(find "$unified$group" -mindepth 1 -name "session-*")" ]'
[ ! -s "$work/out" ] || fail 'a session writes while its process stands still'
echo 0 >"$unified$group/cgroup.freeze"
wait $exec_pid || fail "it does not go on: $(cat "$work/err")"
[ "$(cat "$work/out")" = written ] || fail "it wrote $(cat "$work/out")"

edl exec j -- sh -c 'setsid sleep 1733 & (setsid sleep 1733 &); exec sleep 1733' >"$work/out" 2>"$work/err" &
exec_pid=$!
await 120 'all of it is there' eval '[ "$(pgrep -fc "sleep 173[3]")" -ge 3 ]'
edl kill j >/dev/null
await 120 'it is over' job_is j killed
await 120 'nothing is left of it' silent eval 'left || true'
status=0
wait $exec_pid || status=$?
[ $status = 255 ] || fail "the person sees $status: $(cat "$work/err")"
await 120 'nor of its group' test ! -e "$unified$group"
