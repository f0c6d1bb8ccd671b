#!/usr/bin/env bash
# A job's secret: its own processes are told it and nobody else; who reaches a parameter server's port and knows the job's number, but
# not its secret, neither pushes nor pulls; a restart of the scheduler keeps it; the job trains to its end meanwhile.
# Takes 32 s: a job trains over a kill of the scheduler and one of a server, and Python begins a dozen times
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
. "$EDL_SOURCE_DIR/tests/lib/state_sql.sh"
cluster_start --nodes 2 --cpu 2000m
small_corpus 60 20000

# asks at each line of its gate, and writes down what it was told
cat >"$work/asks.py" <<'END_OF_PROGRAM'
import os
import sys
import edl

work = sys.argv[1]
other = sys.argv[2]
with open(f"{work}/gate-{edl.me().job}") as gate:
    for line in gate:
        told = edl.secret().hex()
        try: # by number, in place of "self"
            edl.client().caller.ask("GET", f"/jobs/{other}/secret")
            refused = "no"
        except edl.Refused as error:
            refused = error.status
        with open(f"{work}/told.new", "w") as out:
            print(told, refused, file=out)
        os.rename(f"{work}/told.new", f"{work}/told-{line.strip()}")
END_OF_PROGRAM

# says what a trainer says, by hand: PORT JOB-ID INCARNATION SECRET|none
cat >"$work/stranger.py" <<'END_OF_PROGRAM'
import hashlib
import hmac
import os
import socket
import struct
import sys

port, job, incarnation = (int(argument) for argument in sys.argv[1:4])
secret = bytes.fromhex(sys.argv[4])
HELLO, HELLO_OK, DECLARE, PUSH_PULL, REFUSED, CHALLENGE, PROOF = 1, 2, 3, 5, 7, 8, 9


class Link:
    def __init__(self):
        self.socket = socket.create_connection(("127.0.0.1", port), 20)
        self.stream = self.socket.makefile("rwb")

    def ask(self, kind, body):
        """type and body of the answer; 0 when the server hangs up"""
        self.stream.write(b"EDLP" + struct.pack("<IQQ", kind, 1, len(body)) + body)
        self.stream.flush()
        header = self.stream.read(24)
        if len(header) < 24:
            return 0, b""
        size = struct.unpack("<Q", header[16:])[0]
        return struct.unpack("<I", header[4:8])[0], self.stream.read(size)


def text(value):
    return struct.pack("<Q", len(value)) + value


def claim(role, index, life, nonce, peer_nonce):
    return (b"EDL proof of a job 1\0" + text(b"edl-pserver") + struct.pack("<Q", job) + text(role) +
            struct.pack("<QQ", index, life) + nonce + peer_nonce)


pull_all = struct.pack("<IIII", 2, 0, 0, 0)
push = struct.pack("<IIII", 4, 0, 0, 0)
for body in (pull_all, push):
    assert Link().ask(PUSH_PULL, body)[0] == REFUSED
# as a trainer of before, who knew no more than the job's number
kind, answer = Link().ask(HELLO, struct.pack("<QQIIII", job, 99, 7, 0, 2, 0))
assert kind == REFUSED and b"version 1 of the protocol" in answer, (kind, answer)
# as one of now: trainer 7, of which there is none
nonce = os.urandom(32)
link = Link()
kind, challenge = link.ask(HELLO, struct.pack("<IIIIQQIIIfI", 6, 7, 0, 2, job, 99, 2, 0, 0, 0, 0) + nonce)
assert kind == CHALLENGE, (kind, challenge)
shard, life = struct.unpack("<IQ", challenge[4:16])
server_nonce, server_proof = challenge[16:48], challenge[48:]
believed = hmac.compare_digest(server_proof, hmac.digest(secret, claim(b"pserver", 0, incarnation, nonce, server_nonce), "sha256"))
kind, answer = link.ask(PROOF, hmac.digest(secret, claim(b"trainer", 7, 99, server_nonce, nonce), hashlib.sha256))
if kind == REFUSED:
    assert b"does not prove" in answer and not believed, answer
    assert link.stream.read(1) == b""
    print("refused")
else:
    assert kind == HELLO_OK and believed and shard == 0 and life == incarnation, (kind, shard, life)
    print("let in")
END_OF_PROGRAM

asking_job() { # NAME OTHER
    mkfifo "$work/gate-$1"
    exec {gate}<>"$work/gate-$1"
    jq -n --arg name "$1" --arg python "$python" --arg file "$work/asks.py" --arg work "$work" --arg other "$2" --arg path "$EDL_SOURCE_DIR/python" \
        '{name: $name, mode: "collective", env: {PYTHONPATH: $path, PYTHONDONTWRITEBYTECODE: "1"},
          roles: [{role: "trainer", min: 1, max: 1, cpu: "100m", command: [$python, $file, $work, $other]}]}' | edl submit - >/dev/null
}
ask() { # JOB WHAT: into $told and $refused
    echo "$2" >"$work/gate-$1"
    await 120 "$1 is answered" while_job "$1" test -e "$work/told-$2"
    read -r told refused <"$work/told-$2"
}

training_job learns 2 2 1000000 >"$work/job.yaml"
edl submit "$work/job.yaml" >/dev/null
await 120 'it trains' records_at_least learns 20000
id=$(job_field learns .id)
asking_job asker "$id"
asking_job other "$id"
ask asker one
secret=$told
[[ $secret =~ ^[0-9a-f]{64}$ ]] || fail "no secret: $secret"
[ "$refused" = 403 ] || fail "a process of another job asked for that of job $id: $refused"
ask other two
others=$told
[ "$others" != "$secret" ] || fail 'two jobs have one secret'

stored() { # JOB: its secret in the database
    state_sql "SELECT secret FROM job WHERE name = '$1'"
}
[ "$(stored asker)" = "$secret" ] || fail 'it was told another one than its own'
training=$(stored learns)

# strangers: with no secret, and with that of their own job; and one who has it
read -r port incarnation < <(api GET '/jobs/learns/processes?state=live' | jq -r '.processes[] | select(.role == "pserver" and .index == 0) | "\(.ports[0]) \(.incarnation)"')
stranger() { "$python" "$work/stranger.py" "$port" "$id" "$incarnation" "$1" || fail "a stranger: $?"; }
[ "$(stranger "$(printf '%064d' 0)")" = refused ] || fail 'a stranger without a secret was let in'
[ "$(stranger "$secret")" = refused ] || fail "a stranger with another job's secret was let in"
[ "$(stranger "$training")" = 'let in' ] || fail 'who has the secret was not let in'
tells_strangers() { edl logs learns --role pserver | grep -q 'refused a peer that says it is trainer-7'; }
await 120 'the server tells of strangers' while_job learns tells_strangers

# a server that is started by hand: with a secret of a file, or not at all
if edl-pserver --listen 127.0.0.1:0 2>"$work/err"; then fail 'a server without a secret serves'; fi
grep -q 'EDL_SOCKET is not set' "$work/err" || fail "without a secret: $(cat "$work/err")"
printf '%064d\n' 7 >"$work/by-hand"
if edl-pserver --listen 127.0.0.1:0 --secret-file "$work/by-hand" 2>"$work/err"; then fail 'a secret that others can read is taken'; fi
chmod 600 "$work/by-hand"
edl-pserver --listen 127.0.0.1:0 --secret-file "$work/by-hand" --job-id "$id" --incarnation "$incarnation" 2>"$work/by-hand.log" &
server_pid=$!
await 120 'it listens' while_runs "$server_pid" grep -q 'listens on' "$work/by-hand.log"
port=$(sed -n 's/.* port //p' "$work/by-hand.log")
[ "$(stranger "$(printf '%064d' 7)")" = 'let in' ] || fail 'the secret of the file is not the one that counts'
[ "$(stranger "$training")" = refused ] || fail "the job's secret counts beside that of the file"
kill "$server_pid"
wait "$server_pid" || fail "the server by hand ended with $?"

# nobody else is told: no person, whatever he may do, and nothing that is shown or left lying about
[ "$(api GET /jobs/learns/secret -o /dev/null -w '%{http_code}')" = 403 ] || fail 'an admin was told'
key=$id.trainer.0.$(api GET '/jobs/learns/processes?state=live' | jq '[.processes[] | select(.role == "trainer" and .index == 0)][0].incarnation')
[ "$(api GET /jobs/learns/secret -H "X-EDL-Process: $key" -o /dev/null -w '%{http_code}')" = 403 ] || fail "an admin was told, as $key"
{
    edl show learns --json
    edl show asker --json
    edl why learns
    edl events
    edl logs learns
    api GET "/jobs/$id/events"
    api GET /events
    api GET /jobs
    api GET "/jobs/$id"
    api GET /audit
    for pid in $(pids learns trainer) $(pids learns pserver) $(pids asker trainer); do
        tr '\0' '\n' <"/proc/$pid/environ"
        tr '\0' '\n' <"/proc/$pid/cmdline"
    done
} >"$work/shown"
[ "$(wc -c <"$work/shown")" -gt 10000 ] || fail 'nothing was shown'
for one in "$secret" "$training"; do
    ! grep -q "$one" "$work/shown" || fail "a secret is shown: $(grep -o ".\{80\}$one" "$work/shown")"
    left=$(grep -rls "$one" "$work/state" "$work/runtime" "$work/dev.log" | grep -v '/edl\.db' || true)
    [ -z "$left" ] || fail "a secret lies in $left"
done

# the scheduler dies: the same for who asks again, and nobody who trains notices
before=$(pids learns trainer | sort)
kill -9 "$(pgrep -f -- "edl-scheduler .*$work" | head -n 1)"
ask asker three
[ "$told" = "$secret" ] || fail 'another secret after a restart'
await 120 'a scheduler answers' scheduler_answers
[ "$(stored learns)" = "$training" ] || fail 'another secret in the database'
[ "$(pids learns trainer | sort)" = "$before" ] || fail 'trainers were disturbed'

# a server of another life, on another port, believes the same trainers
kill -9 "$(pids learns pserver 0)"
replaced() {
    [ "$(api GET '/jobs/learns/processes?state=live' | jq --argjson old "$incarnation" \
        '[.processes[] | select(.role == "pserver" and .index == 0 and .state == "running" and .incarnation > $old)] | length')" = 1 ]
}
await 120 'the server is replaced' while_job learns replaced
records=$(job_field learns .records_total)
await 120 'training goes on' records_at_least learns $((records + 10000))

# over: nothing is kept of it
edl kill learns asker other >/dev/null
for job in learns asker other; do edl wait "$job" --timeout 120 >/dev/null || true; done
for job in learns asker other; do silent stored "$job" || fail "$job is over and its secret is kept"; done
cluster_stop
