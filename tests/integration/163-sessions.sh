#!/usr/bin/env bash
# Sessions in processes go through the scheduler: every byte, both ways, over TCP, TLS and the Unix socket; who may; how each ends
# Takes 45 s: waits for sides that never come, for a node that says nothing of a process that ended, and for a lease of 6 s
set -eu
: "${EDL_BUILD_DIR:?the folder of the built programs}" "${EDL_SOURCE_DIR:?the checkout}"
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"
chmod 711 "$work"
begin scheduler "known nodes" edl-scheduler --conf '' --state-dir "$work/state" --lease 60s --listen 127.0.0.1:0 --listen https://127.0.0.1:0 \
    --listen "unix:$work/socket,mode=0666"
scheduler=$pid
begin brief "known nodes" edl-scheduler --conf '' --state-dir "$work/brief" --lease 6s --session-idle 10s --sessions-user 3 --sessions-max 8 \
    --listen 127.0.0.1:0
begin alone "known nodes" edl-scheduler --conf '' --state-dir "$work/alone" --lease 60s --listen 127.0.0.1:0 # others count connections
address() { sed -n "s,.*listening on \($1[^ ,]*\).*,\1,p" "$work/$2.log"; }
play() { # STATE-DIR URL TEST...
    "$python" "$EDL_SOURCE_DIR/tests/lib/session_relay.py" "$work/$1" "${@:2}" || fail "see above"
}
play brief "$(address http:// brief)" 'brief_*' test_nobody_comes >"$work/brief.out" 2>&1 &
beside=$!
play alone "$(address http:// alone)" 'test_farewell_*' >"$work/farewell.out" 2>&1 &
farewell=$!
for name in bytes orders a_slow who rights a_process a_session jobs sides; do play state "$(address http:// scheduler)" "test_${name}_*"; done
play state "$(address https:// scheduler)" test_bytes_arrive_both_ways test_sides_die_at_each_point
play state "unix:$work/socket" test_bytes_arrive_both_ways
if [ "$(id -u)" = 0 ]; then
    EDL_SESSION_UID=$(id -u nobody) play state "unix:$work/socket" account_of_this_machine
fi
wait $beside || { cat "$work/brief.out"; fail "beside"; }
cat "$work/brief.out"
wait $farewell || { cat "$work/farewell.out"; fail "the farewell"; }

# a scheduler that stops says so, and one that is killed does not keep the other side waiting
play state "$(address http:// scheduler)" last_stop >"$work/stop.out" 2>&1 &
beside=$!
asked() { grep -qx 'stop it' "$work/stop.out"; }
await 120 "the session is open" asked
kill -TERM "$scheduler"
wait $beside || { cat "$work/stop.out"; fail "while it stops"; }
