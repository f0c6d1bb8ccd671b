#!/usr/bin/env bash
# A program of a session inside a process, without a scheduler between: edl-session alone. It is as the process is (groups, folder,
# environment, limits), it moves every byte, its status is the command's; nothing of it is left, whoever of the two is killed; and
# it is no way to ports of the machine.
# Takes 8 s: thirty sessions, of which some are ended by force
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
cluster_start --nodes 1
jq -n '{name: "j", mode: "collective", env: {MARK: "a b=\"c\"\nd"},
    roles: [{role: "worker", command: ["sh", "-c", "echo first; while :; do sleep 1000; done"], min: 1, max: 1, cpu: "1500m", memory: "96Mi"}]}' >"$work/job.json"
edl submit "$work/job.json" >/dev/null
await 120 'it runs' at_least j worker 1
program=$(pids j worker)
folder=$(find "$work/state" -name supervisor.json -printf '%h\n')
driver=$EDL_SOURCE_DIR/tests/lib/session_driver.py
session() { timeout 300 "$python" "$driver" --folder "$folder" "$@"; }
status_of() { local status=0; "$@" >"$work/out" 2>"$work/err" || status=$?; echo $status; }
wants() { [ "$1" = "$2" ] || fail "$3: $2, $1 was wanted: $(cat "$work/out" "$work/err")"; }

wants 7 "$(status_of session -- sh -c 'echo out; echo err >&2; exit 7')" 'its status'
[ "$(cat "$work/out") $(cat "$work/err")" = 'out err' ] || fail 'output and errors are not apart'
wants 143 "$(status_of session --signal 15 -- sleep 1000)" 'a signal'
wants 127 "$(status_of session -- no-such-program)" 'a program that is not there'
holds '.text | startswith("cannot execute no-such-program")' <"$work/err" || fail "it says $(cat "$work/err")"
wants 126 "$(status_of session -- /etc/passwd)" 'a file that is no program'

# every byte, and the end of what is read
head -c 10000000 /dev/urandom >"$work/random"
wants 0 "$(status_of session --input "$work/random" -- cat)" 'cat'
cmp "$work/random" "$work/out" || fail 'bytes were lost'
# who reads nothing keeps nobody waiting
wants 0 "$(status_of session --input "$work/random" -- true)" 'one that reads nothing'
# what it leaves in the background holds its output, and is not waited for
begun=$SECONDS
wants 0 "$(status_of session -- sh -c 'sleep 1711 & echo hi')" 'with one in the background'
wants 4 "$(status_of session --pty 24x80 -- sh -c 'setsid sleep 1711 & echo hi; exit 4')" 'the same with a terminal'
[ $((SECONDS - begun)) -lt 600 ] || fail 'it waited for one in the background'

# the same as the process
session -- env -0 | sort -z >"$work/environment"
grep -zv '^EDL_PID=' "$work/environment" | cmp - <(sort -z "/proc/$program/environ") || fail 'it has another environment'
grep -zqx "EDL_PID=$program" "$work/environment" || fail 'it is not told the number of the program'
session -- sh -c 'pwd; umask; grep -E "^(CapBnd|NoNewPrivs|Cpus_allowed_list)" /proc/self/status; cat /proc/self/cgroup' >"$work/session"
{
    readlink "/proc/$program/cwd"
    (umask "$(sed -n 's/^Umask:\t//p' "/proc/$program/status")" && umask)

} >"$work/process"
head -n 2 "$work/session" | cmp - "$work/process" || fail "it is not as the process is: $(head -n 2 "$work/session" | diff - "$work/process")"
for key in CapBnd NoNewPrivs Cpus_allowed_list; do
    [ "$(grep "^$key" "$work/session")" = "$(grep "^$key" "/proc/$program/status")" ] || fail "$key is another one"
done
sed -n '/^[0-9]*:/p' "$work/session" | sed 's,/session-[0-9a-f]*$,,' | cmp - "/proc/$program/cgroup" || fail 'it is not in the control groups of the process'

# a terminal: its size, its kind, what is typed, and the login shell of the account
wants 0 "$(status_of session --kind shell --pty 31x99 --term xterm-256color -- sh -c 'stty size; echo $TERM; tty')" 'a terminal'
tr -d '\r' <"$work/out" | head -n 2 | cmp - <(printf '31 99\nxterm-256color\n') || fail "its terminal is $(cat "$work/out")"
wants 0 "$(status_of session --kind shell --pty 0x0 -- stty size)" 'a terminal of nothing'
[ "$(tr -d '\r' <"$work/out")" = '24 80' ] || fail "a terminal of nothing has $(cat "$work/out")"
printf 'echo "<$0>"\nexit 5\n' >"$work/typed"
wants 5 "$(status_of session --kind shell --pty 24x80 --input "$work/typed")" 'a login shell'
grep -q '<-' "$work/out" || fail 'it is no login shell'

# limits of the process hold, and the process does not pay for it
group=$(sed -n 's/^0:://p' "/proc/$program/cgroup")
unified=/sys/fs/cgroup
[ ! -e /sys/fs/cgroup/unified ] || unified=/sys/fs/cgroup/unified
if differs "$(cat "/proc/$program/cgroup")" "$(cat /proc/self/cgroup)" && [ -e "$unified$group/cgroup.procs" ]; then
    wants 137 "$(status_of session -- "$python" -c 'b = bytearray(300 << 20)')" 'more memory than the process has'
    lives "$program" || fail 'a session took the memory of the process'
    grep -q '^out of memory: ' "$work/err" || fail "nobody says why: $(cat "$work/err")"
    echo 1 >"$unified$group/cgroup.freeze"
    session --then ready -- sh -c 'echo written' >"$work/out" 2>"$work/err" &
    await 120 'the session is in the group' eval '[ -n "$(find "$unified$group" -name "session-*")" ]'
    [ ! -s "$work/out" ] || fail 'a session writes while its process stands still'
    echo 0 >"$unified$group/cgroup.freeze"
    wait $! || fail 'it does not go on'
    [ "$(cat "$work/out")" = written ] || fail "it wrote $(cat "$work/out")"
fi

# nothing is left
mine() { pgrep -f 'sleep 17[1]1' || find "$unified$group" -mindepth 1 -name 'session-*'; }
await 120 'nothing is left of those before' silent eval 'mine || true'
hold() {
    : >"$work/err"
    session --hold --then ready -- bash -c 'setsid sleep 1711 & sleep 1711 & (setsid sleep 1711 &); exec sleep 1711' >"$work/out" 2>"$work/err" &
    holder=$!
    await 120 'the session is there' grep -q ready "$work/err"
    await 120 'all of it' eval '[ "$(pgrep -fc "sleep 17[1]1")" -ge 4 ]'
}
driver_of() { pgrep -P "$(pgrep -P "$1")"; } # below timeout, below a shell
for who in keeper session driver; do
    hold
    case $who in
    keeper) kill -9 "$(cluster_sessions | head -n 1)" ;;
    session) kill -9 "$(cluster_sessions | tail -n 1)" ;;
    driver) kill -9 "$(driver_of $holder)" ;;
    esac
    await 120 "nothing is left when the $who was killed" silent eval 'mine || true'
    wait $holder || true
done

# whose port it is
cat >"$work/listen" <<'END'
import socket, sys
listening = socket.create_server((sys.argv[2], int(sys.argv[3])), reuse_port=True)
with open(sys.argv[1], "w") as file:
    print(listening.getsockname()[1], file=file, flush=True)
while True:
    one = listening.accept()[0]
    one.sendall(b"<" + one.recv(100) + b">")
    one.close()
END
"$python" "$work/listen" "$work/stranger" 127.0.0.1 0 &
stranger=$!
session --hold -- "$python" "$work/listen" "$work/port" 0.0.0.0 0 2>"$work/err" &
holder=$!
await 120 'both listen' test -s "$work/stranger" -a -s "$work/port"
printf hello >"$work/typed"
wants 0 "$(status_of session --kind forward --port "$(cat "$work/port")" --input "$work/typed")" 'a forward'
[ "$(cat "$work/out")" = '<hello>' ] || fail "a forward brings $(cat "$work/out")"
wants 1 "$(status_of session --kind forward --port "$(cat "$work/stranger")" --input "$work/typed")" "a forward to a stranger's port"
# edl-session may tell of the end of its link behind it
head -n 1 "$work/err" | holds '.text | startswith("nothing of process worker-0 of job j listens on port")' || fail "it says $(cat "$work/err")"
# a stranger at the exact address would answer before one of the process at all addresses
"$python" "$work/listen" "$work/beside" 127.0.0.1 "$(cat "$work/port")" &
beside=$!
await 120 'it listens beside' test -s "$work/beside"
wants 1 "$(status_of session --kind forward --port "$(cat "$work/port")" --input "$work/typed")" 'a port that a stranger has as well'
kill $beside
kill $stranger
kill "$(driver_of $holder)"
wait $holder || true

# attach: where the log was trimmed meanwhile, it says how much is missing
log=$(find "$work/state" -name 'worker-0*.log' | head -n 1)
mkfifo "$work/slow"
: >"$work/err"
session --kind attach --hold --slow "$work/slow" --then ready >"$work/out" 2>"$work/err" &
holder=$!
await 120 'it reads' grep -q ready "$work/err"
yes 1234567 | head -c 8000000 >>"$log"
fallocate -p -o 0 -l 5898240 "$log"
: >"$work/slow"
await 120 'it has read all' eval '[ "$(tail -c 8 "$work/out")" = 1234567 ]'
await 120 'it says how much is missing' grep -q '^[0-9]* bytes of the log are not there any more' "$work/err"
differs "$(tr -d '\0' <"$work/out" | wc -c)" "$(wc -c <"$work/out")" && fail 'it shows what is not there'
kill "$(driver_of $holder)"
wait $holder || true
echo first >>"$log"

# attach: what it wrote, and its end
: >"$work/out"
session --kind attach --hold --then ready >"$work/out" 2>"$work/err" &
holder=$!
await 120 'its output is there' grep -qx first "$work/out"
kill -TERM "$program"
status=0
wait $holder || status=$?
[ $status = 143 ] || fail "attach ends with $status: $(cat "$work/err")"
await 120 'the end is told' job_is j failed
edl ps --all | grep -q 'signal 15: SIGTERM$' || fail "its end is told as another one: $(edl ps --all)"
wants 255 "$(status_of session -- true)" 'a process that has ended'
head -n 1 "$work/err" | holds '.text | startswith("process worker-0 of job j does not run on node n1 any more")' || fail "it says $(cat "$work/err")"
await 120 'nothing is left' silent eval 'mine 2>/dev/null || true'
cluster_stop
