#!/usr/bin/env bash
# Sessions on a node whose agent is not root: the program has account, environment and folder of the process, the person is told once
# what it lacks, and nothing of it is left when edl-session or the agent is killed, nor at the end of the process. There is
# input for a process that takes some, and several connections at once to one that listens, each to its end in both directions. The
# node's end goes over TLS.
# Takes 6 s: an agent, a dozen sessions
set -eu
: "${EDL_BUILD_DIR:?the folder of the built programs}" "${EDL_SOURCE_DIR:?the checkout}"
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"
chmod 711 "$work"
as=()
if [ "$(id -u)" = 0 ]; then
    as=(setpriv --reuid nobody --regid nogroup --clear-groups)
    "${as[@]}" test -x "$EDL_BUILD_DIR/edl-session" || { echo 'an ordinary account cannot reach the programs'; exit 77; }
fi
begin scheduler "policy" edl-scheduler --conf '' --state-dir "$work/scheduler" --listen 127.0.0.1:0 --listen https://127.0.0.1:0 --lease 60s
address() { sed -n "s,.*listening on \($1[^ ,]*\).*,\1,p" "$work/scheduler.log"; }
EDL_SERVER=$(address http://)
EDL_TOKEN_FILE=$work/scheduler/admin-token
export EDL_SERVER EDL_TOKEN_FILE
mkdir -m 777 "$work/own"
cp "$work/scheduler/join-token" "$work/scheduler/ca.pem" "$work/own"
chmod 644 "$work"/own/*
begin n1 "adopted" "${as[@]}" env "EDL_TEST_OF=$work" edl-agent --node n1 --scheduler "$(address https://)" --ca "$work/own/ca.pem" --join-token-file "$work/own/join-token" \
    --state-dir "$work/own/state" --runtime direct --no-foreign --heartbeat 300ms
agent=$pid
cat >"$work/own/serve" <<'END'
# says what it reads; listens, and sends back what it gets, turned around, when that has ended
import socket, sys, threading
listening = socket.create_server(("127.0.0.1", 0))
with open(sys.argv[1], "w") as file:
    print(listening.getsockname()[1], file=file)
def answer(one):
    data = b""
    while piece := one.recv(65536):
        data += piece
    one.sendall(data[::-1])
    one.close()
def accept():
    while True:
        threading.Thread(target=answer, args=(listening.accept()[0],), daemon=True).start()
threading.Thread(target=accept, daemon=True).start()
print("begun", flush=True)
for line in sys.stdin:
    print("read", line, end="", flush=True)
END
edl submit --name j --stdin -- "$python" "$work/own/serve" "$work/own/port" >/dev/null
await 120 'it listens' while_job j test -s "$work/own/port"
session() { timeout 300 "$python" "$EDL_SOURCE_DIR/tests/lib/session_driver.py" j "$@"; }
program=$(pgrep -f "^$python $work/own/serve")

session -- sh -c 'id -u; pwd; exit 3' >"$work/out" 2>"$work/err" && fail 'its status is lost'
[ "$(cat "$work/out")" = "$(stat -c %u "/proc/$program")
$(readlink "/proc/$program/cwd")" ] || fail "it is $(cat "$work/out" "$work/err")"
[ "$(grep -c 'the agent of this node is not root' "$work/err")" = 1 ] || fail "the person is told $(cat "$work/err")"

# input and output
printf 'one\ntwo\n' >"$work/typed"
: >"$work/out"
session --kind attach --hold --input "$work/typed" >"$work/out" 2>"$work/err" &
attached=$!
await 120 'it was read' grep -qx 'read two' "$work/out"
[ "$(cat "$work/out")" = 'begun
read one
read two' ] || fail "attach shows $(cat "$work/out")"

# several connections at once, each of 3 MB there and back
head -c 3000000 /dev/urandom >"$work/random"
"$python" -c 'import sys; sys.stdout.buffer.write(open(sys.argv[1], "rb").read()[::-1])' "$work/random" >"$work/turned"
forwards=()
for i in 1 2 3 4; do
    session --kind forward --port "$(cat "$work/own/port")" --input "$work/random" >"$work/back.$i" &
    forwards+=($!)
done
for i in 1 2 3 4; do
    wait "${forwards[i - 1]}" || fail "connection $i failed"
    cmp "$work/turned" "$work/back.$i" || fail "connection $i lost bytes"
done
printf x >"$work/typed"
session --kind forward --port "${EDL_SERVER##*:}" --input "$work/typed" >"$work/out2" 2>&1 && fail "a session leads to the scheduler's port"
grep -q 'nothing of process trainer-0' "$work/out2" || fail "it says $(cat "$work/out2")"

# nothing is left
mark=18$((RANDOM % 9000 + 1000))
# of this agent, not of another test's beside this one
own_sessions() {
    local p
    for p in $(pgrep -f "^$EDL_BUILD_DIR/edl-session$"); do
        ! grep -qsz "^EDL_TEST_OF=$work\$" "/proc/$p/environ" || echo "$p"
    done
}
# numbers of processes begin anew at some time, so the greatest is not always the newest
newest_session() {
    local list
    list=$(own_sessions | paste -sd ,)
    ps -o pid= --sort=-start_time -p "$list" | head -n 1 | tr -d ' '
}
left() { pgrep -f "sleep $mark" || true; }
hold() {
    : >"$work/err"
    session --hold --then ready -- sh -c "setsid sleep $mark & sleep $mark & exec sleep $mark" >"$work/out2" 2>"$work/err" &
    holder=$!
    await 120 'the session is there' grep -q ready "$work/err"
    await 120 'all of it' eval '[ "$(pgrep -fc "^sleep $mark")" = 3 ]'
}
hold
kill -9 "$(pgrep -P "$(pgrep -P $holder)")"
await 120 'nothing is left without the person' silent left
wait $holder || true
hold
kill -9 "$(newest_session)"
await 120 'nothing is left without edl-session' silent left
wait $holder || true
hold
kill "$program"
await 120 'nothing is left without the process' silent left
wait $holder || true
status=0
wait $attached || status=$?
[ $status = 143 ] || fail "attach ends with $status: $(cat "$work/err")"
kill "$agent"
