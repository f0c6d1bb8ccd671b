#!/usr/bin/env bash
# What the daemons say to a service manager: ready, alive (from their event loops), stopping; and the sockets that it keeps for
# the scheduler: who connects while there is no scheduler is answered by the next one.
# Takes 6 s: daemons begin six times, one after another, two of which have to say twice that they are alive
set -eu
: "${EDL_BUILD_DIR:?the folder of the built programs}" "${EDL_SOURCE_DIR:?the checkout}"
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"

manage() { # NAME ARGUMENT...: its notifications can be read from descriptor 5, its orders go to 6
    local name=$1
    shift
    rm -f "$work/says" "$work/orders"
    mkfifo "$work/says" "$work/orders"
    "$python" "$EDL_SOURCE_DIR/tests/lib/service_manager.py" "$@" <"$work/orders" >"$work/says" 2>"$work/$name.log" &
    pid=$!
    pids="$pids $pid"
    exec 6>"$work/orders" 5<"$work/says"
}
says() { # PATTERN: the next such line
    local line
    while read -r -t 120 line <&5; do
        # shellcheck disable=SC2254
        case $line in $1) echo "$line" && return 0 ;; esac
    done
    fail "it does not say: $1"
}
leave() {
    exec 6>&-
    says 'ended 0' >/dev/null
    wait "$pid"
}

# the scheduler behind two sockets that are not its own
manage scheduler --listen 127.0.0.1:0 --listen "unix:$work/api.sock" --watchdog-ms 500 -- \
    edl-scheduler --state-dir "$work/scheduler" --listen 127.0.0.1:PORT --listen "unix:$work/api.sock"
port=$(says 'port *')
port=${port#port }
says 'READY=1*' >/dev/null
says 'WATCHDOG=1' >/dev/null
says 'WATCHDOG=1' >/dev/null # again: not only at the start
ok() { curl -sS --max-time 60 "$@" | grep -q version || fail "no answer by $*"; }
ok "http://127.0.0.1:$port/version"
ok --unix-socket "$work/api.sock" http://local/version

echo 'kill SIGHUP' >&6
says 'RELOADING=1*' >/dev/null
says 'READY=1*' >/dev/null

# nobody is turned away while it restarts: neither by its end nor by a kill
for signal in SIGTERM SIGKILL; do
    echo "kill $signal" >&6
    says 'ended *' >/dev/null
    curl -sS --max-time 60 "http://127.0.0.1:$port/version" >"$work/tcp" &
    tcp=$!
    curl -sS --max-time 60 --unix-socket "$work/api.sock" http://local/version >"$work/unix" &
    unix=$!
    echo start >&6
    says 'READY=1*' >/dev/null
    wait $tcp && wait $unix || fail "a connection was lost over $signal"
    grep -q version "$work/tcp" && grep -q version "$work/unix" || fail "no answer after $signal"
done
leave
[ -S "$work/api.sock" ] || fail "the socket that is not its own was removed"
rm "$work/api.sock"

# a socket on which nobody would answer is told
manage astray --listen "unix:$work/api.sock" -- edl-scheduler --state-dir "$work/astray" --listen 127.0.0.1:0
says 'ended 1' >/dev/null
exec 6>&-
wait "$pid"
grep -qF "listens on unix:$work/api.sock, and no listen names it; add it to listen" "$work/astray.log" || fail "it takes a socket that no --listen names"

# an agent
begin plain "policy" edl-scheduler --state-dir "$work/plain" --listen 127.0.0.1:0
manage agent --watchdog-ms 500 -- edl-agent --conf '' --node n1 --scheduler "http://$(cat "$work/plain/address")" \
    --join-token-file "$work/plain/join-token" --state-dir "$work/agent" --no-foreign
says 'READY=1*' >/dev/null
says 'WATCHDOG=1' >/dev/null
says 'WATCHDOG=1' >/dev/null
leave
end "$(echo "$pids" | awk '{print $(NF - 1)}')"
