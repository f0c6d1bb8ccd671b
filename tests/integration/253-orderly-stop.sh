#!/usr/bin/env bash
# A scheduler that is stopped in order tells its nodes for how long they may go on alone: nothing ends although it is away for longer
# than a lease, and the next one goes on with the same processes. A scheduler that is told to say nothing does not.
# Takes 24 s: a scheduler is away for 13 s, longer than a lease of 8 s, and then until what runs stands still
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"
. "$EDL_SOURCE_DIR/tests/lib/state_sql.sh"
export EDL_SERVER=unix:$work/socket EDL_TOKEN_FILE=$work/state/admin-token
as_root=''
[ "$(id -u)" != 0 ] || as_root=--allow-root
scheduler() { # OPTION...
    begin scheduler 'listening' edl-scheduler --state-dir "$work/state" --listen "$EDL_SERVER" --lease 8s "$@"
    scheduler=$pid
}
scheduler --away 45s,60s
begin agent 'joined as n1' edl-agent --conf '' --node n1 --scheduler "$EDL_SERVER" --join-token-file "$work/state/join-token" --state-dir "$work/n1" --runtime direct \
    --heartbeat 200ms --no-foreign --stop-processes-on-exit $as_root
edl submit --name one --cpu 100m --memory 16Mi --workspace private -- sleep 600 >/dev/null
who() { edl show one --json | jq -c '[.processes[] | select(.state == "running") | [.index, .incarnation, .pid]]'; }
runs() { differs "$(who)" '[]'; }
await 120 'it runs' runs
before=$(who)
pid_of_one=$(jq -r '.[0][2]' <<<"$before")
away_us() { state_sql 'SELECT us FROM away'; }
[ "$(away_us)" = 0 ] || fail "before it leaves $(away_us) us are stored"
stop_scheduler() {
    kill "$scheduler"
    wait "$scheduler" || fail "it ended with status $?"
}
stop_scheduler
stopped_s=$(cut -d. -f1 /proc/uptime)
[ "$(away_us)" = 45000000 ] || fail "what it told is not stored: $(away_us) us"
await 120 'the agent was told' grep -q 'the scheduler leaves: processes here go on for 4[0-5] s' "$work/agent.log"
since() { [ $(($(cut -d. -f1 /proc/uptime) - stopped_s)) -ge "$1" ]; }
await 120 'a lease has passed' since 13
[ -d "/proc/$pid_of_one" ] || fail 'the process ended although the scheduler said that it may go on'
scheduler --away 0
await 120 'it runs still' runs
[ "$(who)" = "$before" ] || fail "other processes run: $before; now $(who)"
edl events --json >"$work/events"
lacks -E '"(process|node)-lost"' <"$work/events" || fail "something was called lost: $(grep -- -lost "$work/events")"
heard() { [ "$(away_us)" = 0 ]; }
await 120 'nobody is waited for any more' heard
# without a word it is a cut like any other
stop_scheduler
[ "$(away_us)" = 0 ] || fail "nothing was to be told, and $(away_us) us are stored"
group=$(sed -n 's/^0:://p' "/proc/$pid_of_one/cgroup")
gone() { [ ! -d "/proc/$pid_of_one" ] || grep -qsx 'frozen 1' /sys/fs/cgroup{,/unified}"$group/cgroup.events"; }
await 120 'its process does not act any more' gone
