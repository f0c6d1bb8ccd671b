#!/usr/bin/env bash
# What people type to look into a process: exec as a filter with the command's status, attach, cp, port-forward; and every way in
# which there is no session, or it breaks off: never status 0, always a sentence
# Takes 25 s: some ninety sessions, one after the other
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
# where somebody asks for it: a tar whose files change, an od that takes long; and a folder that CDPATH names
mkdir -p "$work/bin" "$work/elsewhere/d"
printf '#!/bin/sh\n/usr/bin/tar "$@" || exit\n[ "$1" != -cf ] || [ ! -e "%s/changes" ] || exit 1\n' "$work" >"$work/bin/tar"
printf '#!/bin/sh\n[ ! -e "%s/hold" ] || exec sleep 1815\nexec /usr/bin/od "$@"\n' "$work" >"$work/bin/od"
chmod +x "$work/bin/tar" "$work/bin/od"
# shellcheck disable=SC2031
PATH=$work/bin:$PATH
cluster_start --nodes 2
export HOME=$work
for name in j web; do
    memory=96Mi
    [ $name = j ] || memory=512Mi # eighty requests at once, each thrice
    jq -n --arg name $name --arg memory $memory --arg path "$PATH" --arg elsewhere "$work/elsewhere" '{name: $name, mode: "collective", roles: [{role: "box", min: 1, max: 1, cpu: "200m", memory: $memory,
        command: ["sh", "-c", "echo first; mkdir d; echo in >d/in; [ $EDL_JOB = j ] || exec python3 -u -c \"$SERVER\"; while read -r line; do echo \"read $line\"; [ \"$line\" != stop ] || exit 5; done"], stdin: true}],
        env: {p: "kept", CDPATH: $elsewhere, PATH: $path, SERVER: "import os, socketserver\nclass H(socketserver.StreamRequestHandler):\n  def handle(self):\n    data = self.rfile.read()\n    self.wfile.write(b\"%d \" % len(data) + data[::-1])\nsocketserver.ThreadingTCPServer.allow_reuse_address = True\nsocketserver.ThreadingTCPServer.request_queue_size = 100\nsocketserver.ThreadingTCPServer((\"127.0.0.1\", int(os.environ[\"EDL_PORTS\"])), H).serve_forever()"}}' |
        edl submit - >/dev/null
done
jq '.name = "two" | .roles[0] += {min: 2, max: 2, command: ["sleep", "1000"], role: "box"}' >"$work/two.json" <<'JOB'
{"mode": "collective", "roles": [{"cpu": "100m", "memory": "64Mi"}]}
JOB
edl submit "$work/two.json" >/dev/null
await 120 'the processes run' eval 'at_least j box 1 && at_least web box 1 && at_least two box 2'

status_of() { local status=0; timeout 300 "$@" >"$work/out" 2>"$work/err" || status=$?; echo $status; }
wants() { [ "$1" = "$2" ] || fail "$3: status $2, $1 was wanted: $(cat "$work/out" "$work/err")"; }
says() { grep -qe "$1" "$work/err" || fail "$2 is told with: $(cat "$work/err")"; }

# --- a filter ---
head -c 10000000 /dev/urandom >"$work/random"
wants 0 "$(status_of edl exec j -- cat <"$work/random")" cat
cmp "$work/random" "$work/out" || fail 'bytes were lost or changed'
wants 0 "$(cat "$work/random" | status_of edl exec j -- sh -c 'cat >&2')" 'to standard error'
cmp "$work/random" "$work/err" || fail 'bytes of standard error were lost or changed'
wants 7 "$(status_of edl exec j -- sh -c 'echo out; echo err >&2; exit 7')" 'its status'
[ "$(cat "$work/out") $(cat "$work/err")" = 'out err' ] || fail 'output and errors are not apart'
wants 0 "$(status_of edl exec two.box-1 -- printenv EDL_INDEX)" 'of another process'
[ "$(cat "$work/out")" = 1 ] || fail 'it was of another process'
wants 0 "$(status_of edl exec j echo a  b)" 'without --'
wants 127 "$(status_of edl exec j -- no-such-program)" 'a program that is not there'
says no-such-program 'a program that is not there'
wants 137 "$(status_of edl exec j -- sh -c 'kill -9 $$')" 'a signal'
wants 0 "$(status_of edl exec j -- cat <&-)" 'without standard input'
# one that reads too little, or writes for somebody who has left
wants 0 "$(status_of edl exec j -- true <"$work/random")" 'one that reads nothing'
{ timeout 300 edl exec j -- cat /dev/zero || echo $? >"$work/status"; } | head -c 10 | cmp - <(head -c 10 /dev/zero) || fail 'the beginning of what it writes'
[ "$(cat "$work/status")" = 141 ] || fail "a reader that has left ends it with $(cat "$work/status")"
# a loop that reads a file itself
printf '1\n2\n3\n' | while read -r n; do timeout 300 edl exec j -n -- echo "$n"; done >"$work/loop"
[ "$(wc -l <"$work/loop")" = 3 ] || fail "a loop with -n saw $(cat "$work/loop")"

# --- all processes ---
wants 3 "$(status_of edl exec two --all -- sh -c 'echo "I am $EDL_INDEX"; echo e >&2; exit $((EDL_INDEX * 3))')" 'the worst of all'
sort "$work/out" | cmp - <(printf '[box-0] I am 0\n[box-1] I am 1\n') || fail "all print $(cat "$work/out")"
[ "$(sort "$work/err")" = "$(printf '[box-0] e\n[box-1] e')" ] || fail "all print to standard error: $(cat "$work/err")"

# --- signals: the command's, and the third one lets go ---
interrupted() { # TIMES COMMAND: the status of an exec that gets so many SIGINT, one after each line of its output
    local status=0 line n=$1
    mkfifo "$work/lines"
    (trap - INT; exec timeout --foreground 300 env --default-signal=INT edl exec j -- sh -c "$2" </dev/null >"$work/lines" 2>"$work/err") &
    local pid=$! edl
    exec 8<"$work/lines"
    while [ "$n" -gt 0 ] && read -r -t 120 line <&8; do
        n=$((n - 1))
        edl=$(pgrep -P $pid -x edl)
        kill -INT "$edl"
    done
    cat <&8 >"$work/out"
    exec 8<&-
    wait $pid || status=$?
    rm "$work/lines"
    echo $status
}
[ "$(interrupted 1 'trap "echo got; exit 9" INT; echo up; while :; do sleep 0.1; done')" = 9 ] || fail "Ctrl-C: $(cat "$work/out" "$work/err")"
[ "$(cat "$work/out")" = got ] || fail "Ctrl-C was told as $(cat "$work/out")"
[ "$(interrupted 3 'trap "echo no" INT; echo up; while :; do sleep 0.1; done')" = 130 ] || fail "three Ctrl-C: $(cat "$work/out" "$work/err")"

# --- no session ---
wants 255 "$(status_of edl exec nobody -- true)" 'no job'
says 'no job' 'a job that is not there'
wants 255 "$(status_of edl exec two.box-7 -- true)" 'no process'
says 'box-0, box-1' 'a process that is not there'
wants 2 "$(status_of edl exec two:box-1 -- true)" 'another spelling'
says '^try: two.box-1$' 'another spelling'
jq '.roles[0].cpu = "1000000" | .name = "waits"' "$work/two.json" | edl submit - >/dev/null 2>&1
wants 255 "$(status_of edl exec waits -- true)" 'a job that waits'
says 'waits' 'a job that waits'
edl submit --name over --workspace private -- true >/dev/null 2>&1
await 120 'it is over' job_is over succeeded
wants 255 "$(status_of edl exec over -- true)" 'a job that is over'
says 'edl logs' 'a job that is over'
wants 255 "$(EDL_SERVER=http://127.0.0.1:1 status_of edl exec j -- true)" 'no scheduler'
# flags that would come to nothing
for flags in '--json j -- true' '-t j -- true' '--all -i two -- true' '-n -i j -- true' '--all two.box-1 -- true' j 'j x -- true'; do
    # shellcheck disable=SC2086
    wants 2 "$(status_of edl exec $flags </dev/null)" "edl exec $flags"
    says '^try: ' "edl exec $flags"
done

# --- a session that breaks off ---
begin() { # COMMAND: its session goes on, and its output has begun
    : >"$work/out"
    timeout 300 edl exec j -- sh -c "echo up; $1" </dev/null >"$work/out" 2>"$work/err" &
    began=$!
    await 120 'a command that goes on' grep -q up "$work/out"
}
ended() { # STATUS WHAT
    local status=0
    wait $began || status=$?
    wants "$1" $status "$2"
}
begin 'exec sleep 1813'
id=$(api GET /sessions | jq -rn 'input | .sessions[0].session')
api DELETE "/sessions/$id" >/dev/null
ended 255 'a session that somebody ended'
says 'edl: ' 'a session that somebody ended'
# its process is told of another one's end
wants 0 "$(status_of edl kill two)" 'edl kill'
await 120 'nothing of a command that was left is there' eval '! pgrep -f "^sleep 1813$" >/dev/null'

# --- attach ---
mkfifo "$work/typed"
: >"$work/out"
timeout 300 edl attach j <"$work/typed" >"$work/out" 2>"$work/err" &
began=$!
exec 8>"$work/typed"
await 120 'what it wrote before' grep -q '^first$' "$work/out"
echo hello >&8
await 120 'what was typed' grep -q '^read hello$' "$work/out"
exec 8>&-
edl logs j | grep -q 'read hello' || fail 'it did not read what was typed'
kill -INT $began
ended 130 'a person who leaves'
[ "$(job_state j)" = running ] || fail 'a person who left has ended the job'

# --- files and folders ---
cd "$work"
chmod 640 random
wants 2 "$(status_of edl cp random j:)" 'no path'
wants 0 "$(status_of edl cp random j:d)" 'a file into a folder'
wants 0 "$(status_of edl exec j -- sha256sum d/random)" sha256sum
[ "$(cut -d' ' -f1 out)" = "$(sha256sum random | cut -d' ' -f1)" ] || fail 'another file arrived'
wants 0 "$(status_of edl exec j -- stat -c %a d/random)" stat
[ "$(cat out)" = 640 ] || fail "it has the mode $(cat out)"
wants 0 "$(status_of edl cp j:d/random back)" 'a file to here'
cmp random back || fail 'another file came'
wants 0 "$(status_of edl cp j:d folder)" 'a folder to here'
cmp random folder/random && [ "$(cat folder/in)" = in ] || fail 'another folder came'
wants 0 "$(status_of edl cp folder j:e)" 'a folder to there'
wants 0 "$(status_of edl exec j -- cat e/in)" 'a folder to there'
wants 0 "$(status_of edl cp j:e folder)" 'a folder into a folder'
[ "$(cat folder/e/in)" = in ] || fail 'it is not in the folder'
wants 1 "$(status_of edl cp j:nothing x)" 'a file that is not there'
says nothing 'a file that is not there'
wants 1 "$(status_of edl cp random j:no/where)" 'a folder that is not there'
wants 2 "$(status_of edl cp random back)" 'both here'
# links lead to what is replaced; what is no regular file stays
ln -s back link && mkfifo pipe
wants 0 "$(status_of edl cp j:d/in link)" 'a link'
[ -L link ] && [ "$(cat back)" = in ] || fail 'the link was replaced'
ln -s nowhere lost
for target in pipe lost; do
    wants 1 "$(status_of edl cp j:d/in $target)" "onto $target"
    says '^try: ' "onto $target"
done
[ -p pipe ] && [ -L lost ] || fail 'a pipe or a link was replaced'
wants 0 "$(status_of edl exec j -- sh -c 'echo kept >kept; ln -s in d/link; ln -s no d/lost; mkfifo d/pipe; chmod 4755 d/random')" 'odd files there'
wants 0 "$(status_of edl cp back j:d/link)" 'a link there'
wants 0 "$(status_of edl exec j -- sh -c '[ -L d/link ] && [ -f d/in ]')" 'the link there'
for target in pipe lost; do
    wants 1 "$(status_of edl cp back j:d/$target)" "onto $target there"
done
wants 0 "$(status_of edl exec j -- sh -c '[ -p d/pipe ] && [ -L d/lost ] && rm d/pipe d/lost')" 'the pipe there'
# a folder that is there is left, and so is what a variable of the process names
wants 0 "$(status_of edl cp folder j:d)" 'a folder into a folder there'
wants 1 "$(status_of edl cp folder j:d)" 'a folder that is there'
says 'there already' 'a folder that is there'
wants 0 "$(status_of edl exec j -- cat kept)" 'a file that a variable names'
# files that change while they are copied, and modes
touch changes
wants 0 "$(status_of edl cp j:d changing)" 'files that change there'
says 'changed while' 'files that change there'
wants 0 "$(status_of edl cp folder j:changing)" 'files that change here'
says 'changed while' 'files that change here'
rm changes
[ "$(stat -c %a changing/random)" = 755 ] || fail "a copied program has the mode $(stat -c %a changing/random)"
silent find . -name '.edl-cp*' || fail 'a part was left here'
wants 0 "$(status_of edl exec j -- find . -name '.edl-cp*')" find
[ ! -s out ] || fail 'a part was left there'

# --- ports: several at once, each direction ended apart, and only the process's own ---
port=$(api GET /jobs/web/processes | jq -rn 'input | .processes[0].ports[0]')
timeout 300 edl port-forward web ":$port" :22 >"$work/ports" 2>"$work/err" &
began=$!
await 120 'it listens' eval '[ "$(wc -l <"$work/ports")" = 2 ]'
local_port=$(sed -n 's/^127.0.0.1:\([0-9]*\) .*/\1/p' "$work/ports" | head -n 1)
other_port=$(sed -n 's/^127.0.0.1:\([0-9]*\) .*/\1/p' "$work/ports" | tail -n 1)
"$python" - "$local_port" "$other_port" <<'PYTHON' || fail "the forwarded port: $(cat "$work/err")"
import os, socket, sys, threading
def ask(size):
    data = os.urandom(size)
    with socket.create_connection(("127.0.0.1", int(sys.argv[1])), 60) as s:
        s.sendall(data)
        s.shutdown(socket.SHUT_WR)          # and the answer still comes
        got = b""
        while piece := s.recv(65536):
            got += piece
    assert got == b"%d " % size + data[::-1], (size, len(got))
ask(0); ask(3000000)
threads = [threading.Thread(target=ask, args=(20000 * n,)) for n in range(80)]   # more than go on at once
failed = []
threading.excepthook = lambda args: failed.append(args.exc_value)
[t.start() for t in threads]; [t.join() for t in threads]
assert not failed, failed
with socket.create_connection(("127.0.0.1", int(sys.argv[2])), 60) as s:
    assert s.recv(1) == b"", "the machine's own port 22 answers"
PYTHON
cp "$work/err" "$work/told"
grep -q 'port 22' "$work/told" || fail "a port that is none of the process's is told with: $(cat "$work/told")"
wants 1 "$(status_of edl port-forward web "$local_port:$port")" 'a port that is taken'
says "port $local_port" 'a port that is taken'
# --- a notebook: nothing is submitted for a port that is taken, and whoever is left without it knows the job that goes on ---
wants 1 "$(status_of edl notebook --cpu 0.1 --memory 64Mi --port "$local_port" -- sleep 1816)" 'a port that is taken'
says "port $local_port" 'a port that is taken'
edl ps --json | lacks notebook || fail 'a job was submitted for a port that is taken'
kill -INT $began
ended 130 'Ctrl-C'
note() { # a notebook in the background
    (trap - INT; exec timeout --foreground 300 env --default-signal=INT edl notebook --cpu 0.1 --memory 64Mi -w private -- sleep 1816 </dev/null >"$work/out" 2>"$work/err") &
    began=$!
    await 120 'a job of a notebook' eval 'notebook=$(edl ps --json | jq -ern "input | [.jobs[] | select(.state == \"running\") | .name | select(startswith(\"notebook\"))][0]")'
}
goes_on() { # WHAT
    says "job $notebook goes on; edl kill $notebook ends it" "$1"
    [ "$(job_state "$notebook")" = running ] || fail "$1: the job does not go on"
    edl kill "$notebook" >/dev/null
    await 120 'it ends' job_is "$notebook" killed
}
n_sessions() { api GET /metrics | awk '/^edl_sessions_total/ { n += $2 } END { print n + 0 }'; }
touch "$work/hold"
before=$(n_sessions)
note
await 120 'its token is asked for' eval '[ "$(n_sessions)" -gt "$before" ]'
kill -INT "$(pgrep -P $began -x edl)"
ended 130 'Ctrl-C before it has a token'
[ ! -s "$work/out" ] || fail "it has a token already: $(cat "$work/out")"
goes_on 'Ctrl-C before it has a token'
rm "$work/hold"
note
await 120 'its URL' grep -q token= "$work/out"
kill -INT "$(pgrep -P $began -x edl)"
ended 130 'Ctrl-C of a notebook'
goes_on 'Ctrl-C of a notebook'
note
await 120 'its URL' grep -q token= "$work/out"
api DELETE "/sessions/$(api GET /sessions | jq -rn 'input | .sessions[0].session')" >/dev/null
ended 1 'a session of a notebook that somebody ended'
goes_on 'a session of a notebook that somebody ended'

# --- the scheduler ends: so does the session, and not the job ---
begin 'exec sleep 1814'
kill -KILL "$(pgrep -f "edl-scheduler.*$work/state/scheduler")"
ended 255 'a scheduler that ended'
says 'the session is over; the job goes on' 'a scheduler that ended'
await 120 'it is back, and so is the node' eval 'edl exec j -- true 2>"$work/err"'

# --- the process ends: so do its sessions, with its reason ---
begin 'exec sleep 1813'
echo stop | timeout 300 edl attach j >/dev/null 2>&1 || true
ended 255 'a process that ended'
says 'has ended' 'a process that ended'
cluster_stop
