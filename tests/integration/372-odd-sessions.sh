#!/usr/bin/env bash
# What edl makes of a session in which scheduler or node say odd things: a status that is told is kept, and whatever else comes ends
# with 255 and a sentence, never with 0, and never hangs
. "$EDL_SOURCE_DIR/tests/lib/await.sh"
work=$(mktemp -d)
PATH=$EDL_BUILD_DIR:$PATH
export HOME=$work
"$python" "$EDL_SOURCE_DIR/tests/lib/odd_scheduler.py" >"$work/port" &
trap 'kill %1; rm -rf "$work"' EXIT
await 120 'the scheduler listens' test -s "$work/port"
export EDL_SERVER=http://127.0.0.1:$(<"$work/port")

while read -r job status output says; do
    was=0
    timeout 120 edl exec "$job" -- true </dev/null >"$work/out" 2>"$work/err" || was=$?
    [ $was = "$status" ] || fail "$job: status $was, and $status was wanted: $(cat "$work/err")"
    case $output in
    out) [ "$(cat "$work/out")" = out ] || fail "$job: it prints $(cat "$work/out")" ;;
    many) [ "$(stat -c %s "$work/out")" = 3276800 ] || fail "$job: it prints $(stat -c %s "$work/out") bytes" ;;
    esac
    ! grep -q 'asking again' "$work/err" || fail "$job: it asks twice: $(cat "$work/err")"
    [ -n "$says" ] || silent cat "$work/err" || fail "$job: it says $(cat "$work/err")"
    grep -qF "$says" "$work/err" || [ -z "$says" ] || fail "$job: it says $(cat "$work/err"), and not: $says"
done <<'END'
exit-0 0 out
exit-7 7 out
killed-9 137 out
pieces 3 out
unknown-frame 4 out
many-bytes 0 many
ended 255 out somebody ended it
forgotten 255 out the scheduler was restarted: the session is over; the job goes on
not-ready 255 out the scheduler cannot be reached: the session is over; the job goes on
hangs 255 out the scheduler cannot be reached: the session is over; the job goes on
cut 255 out the session broke off
cut-in-frame 255 out the session broke off
no-frames 255 - no frame of a session
zero-is-one 255 - no frame of a session
too-large 255 - no frame of a session
odd-exit 255 out in a way that is unknown here
odd-exit-2 255 out in a way that is unknown here
error-127 127 - no such program?[31m
error-0 255 - it says 0
error-300 255 - it says 300
error-no-json 255 - the node says no reason
odd-window 255 out window
short-window 255 out window
refused 255 - this is not yours
no-number 255 - names no session
nobody 255 - names no session
END
