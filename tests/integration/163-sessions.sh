#!/usr/bin/env bash
# Sessions in processes go through the scheduler: every byte, both ways, over TCP, TLS and the Unix socket; who may; how each ends
set -eu
: "${EDL_BUILD_DIR:?the folder of the built programs}" "${EDL_SOURCE_DIR:?the checkout}"
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"
begin scheduler "known nodes" edl-scheduler --conf '' --state-dir "$work/state" --lease 60s --listen 127.0.0.1:0 --listen https://127.0.0.1:0 \
    --listen "unix:$work/socket"
address() { sed -n "s,.*listening on \($1[^ ,]*\).*,\1,p" "$work/scheduler.log"; }
play() { # URL TEST...
    "$python" "$EDL_SOURCE_DIR/tests/lib/session_relay.py" "$work/state" "$@" || fail "see above"
}
play "$(address http://)"
play "$(address https://)" test_bytes_arrive_both_ways
play "unix:$work/socket" test_bytes_arrive_both_ways
