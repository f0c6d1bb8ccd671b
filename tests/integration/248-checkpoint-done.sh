#!/usr/bin/env bash
# A process that is being stopped says that it has saved: it is not waited for until its grace is over, and has time to end by
# itself. What it says while it is not being stopped ends nothing.
# Takes 6 s: a process has a second to end by itself, once it has said that it has saved
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
cluster_start --nodes 1

# it says so once while it runs, and again when it is told to end; then it ends by itself after $END, or never
cat >"$work/saves.py" <<'PY'
import http.client, json, os, signal, socket, sys

class Agent(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(os.environ["EDL_SOCKET"])

def call(path, body=None):
    agent = Agent("agent")
    agent.request("POST", path, body)
    answer = agent.getresponse()
    return answer.status, json.loads(answer.read() or b"null")

ends = len(sys.argv) > 1 and sys.argv[1] == "ends"
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
print("running", *call("/processes/self/checkpoint-done"), flush=True)
signal.sigwait([signal.SIGTERM])
print("told", *call("/processes/self/checkpoint-done"), flush=True)
if ends:
    signal.sigtimedwait([signal.SIGUSR1], 0.02)
    print("over", flush=True)
    os._exit(0)  # it has a second
while True:
    signal.pause()
PY
for kind in ends stays silent; do
    jq -n --arg name "$kind" --arg python "$python" --arg file "$work/saves.py" '{metadata: {name: $name}, spec: {grace: "40s",
        trainer: {"min-instance": 1, "max-instance": 1, resources: {requests: {cpu: "100m"}},
        command: (if $name == "silent" then ["sh", "-c", "trap \"\" TERM; echo running; while :; do sleep 1; done"] else [$python, $file, $name] end)}}}' >"$work/$kind.json"
    edl submit "$work/$kind.json" >/dev/null
done
said() { edl logs "$1" | grep -q "$2"; }
for kind in ends stays silent; do await 120 "$kind runs" said $kind running; done
said ends "running 200 {'stopping': False}" || fail "while it runs it is told: $(edl logs ends)"
job_is stays running || fail 'it was stopped by what it said'

started=$(date +%s%N)
for kind in silent ends stays; do edl kill $kind >/dev/null; done
for kind in ends stays; do edl wait $kind --timeout 120 >/dev/null || true; done
took_ms=$((($(date +%s%N) - started) / 1000000))
echo "both are over after $took_ms ms of a grace of 40 s"
end_of() { api GET "/jobs/$1/processes?state=all" | jq -r '.processes[0] | "\(.state) \(.exit_code) \(.exit_signal)"'; }
job_is silent stopping || fail "they took their grace, or one that said nothing has lost its own"
[ $took_ms -ge 1000 ] || fail "they took $took_ms ms"
for _ in 1 2 3 4; do # a busy machine may leave it less than its second: then it is stopped again
    differs "$(end_of ends)" 'exited 0 0' || break
    edl submit "$work/ends.json" >/dev/null
    await 120 'ends runs again' said ends running
    edl kill ends >/dev/null
    edl wait ends --timeout 120 >/dev/null || true
done
said ends "told 200 {'stopping': True}" || fail "when it is told to end: $(edl logs ends)"
said ends over || fail "it had no time to end by itself: $(edl logs ends)"
[ "$(end_of ends)" = 'exited 0 0' ] || fail "the one that ends by itself: $(end_of ends)"
[ "$(end_of stays)" = 'exited 137 9' ] || fail "the one that does not: $(end_of stays)"

# who is not one of the node's processes is not heard
status=$(curl -sS -o "$work/answer" -w '%{http_code}' -X POST --unix-socket "$(find "$work/state" -name socket)" http://agent/processes/self/checkpoint-done)
[ "$status" = 403 ] || fail "a stranger: $status, $(cat "$work/answer")"
kill -9 "$(api GET '/jobs/silent/processes?state=live' | jq '.processes[0].pid')" # its grace is nothing to wait for
cluster_stop
