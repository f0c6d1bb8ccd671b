#!/usr/bin/env bash
# A job that says stdin: true reads what is typed into its FIFO, by whoever and however often: over an end of the agent, after another
# start of it and of its scheduler. One that does not say so reads nothing. Of a root agent only its account can type.
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"
chmod 711 "$work"
scheduler_begin() {
    begin scheduler "policy" edl-scheduler --state-dir "$work/scheduler" --listen "${1:-127.0.0.1:0}" --lease 60s
    scheduler=$pid
}
scheduler_begin
address=$(sed 's,^http://,,' "$work/scheduler/address")
export EDL_SERVER=http://$address EDL_TOKEN_FILE=$work/scheduler/admin-token
agent_begin() { # PATTERN
    begin n1 "$1" edl-agent --node n1 --scheduler "$EDL_SERVER" --join-token-file "$work/scheduler/join-token" --state-dir "$work/state" \
        --runtime direct --no-foreign --heartbeat 300ms --allow-user nobody
    agent=$pid
}
as() { # ACCOUNT COMMAND...: where we are root; else as ourselves
    local account=$1
    shift
    if [ "$(id -u)" = 0 ]; then setpriv --reuid "$account" --regid "$(id -g "$account")" --clear-groups "$@"; else "$@"; fi
}
agent_begin "adopted"
user=''
if [ "$(id -u)" = 0 ]; then
    edl user add nobody >/dev/null
    (umask 077 && edl token create --user nobody >"$work/token" 2>/dev/null)
    user="--user nobody"
fi
cat >"$work/reader.py" <<'END'
import os, sys
print("begins", os.getpid(), flush=True)
for line in sys.stdin:
    print("got", line.strip(), flush=True)
    if line == "end\n":
        sys.exit(0)
    if line == "die\n":
        os.kill(os.getpid(), 9)
sys.exit(3)
END
chmod 644 "$work/reader.py"
submit() { # ARGUMENT...
    # shellcheck disable=SC2086
    edl submit --cpu 100m --workspace private $user "$@" -- python3 "$work/reader.py" >/dev/null
}
says() { edl logs reader | grep -q "$1\$"; }
reader() { edl logs reader | sed -n 's/.*begins //p' | tail -n 1; }
type_line() { as nobody sh -c "echo $1 >/proc/$reads/fd/0"; }
type_and_see() {
    type_line "$1"
    await 120 "it reads \"$1\"" says "got $1"
}

submit --name reader --stdin
[ "$(edl show reader --json | jq '.job.spec.roles[0].stdin')" = true ] || fail "its document says: $(edl show reader --json)"
await 120 "it runs" says 'begins .*'
reads=$(reader)
type_and_see one
type_and_see two
fifo=$(readlink "/proc/$reads/fd/0")
[ "$(stat -c '%F %a' "$fifo")" = 'fifo 600' ] || fail "its input is $(ls -l "$fifo")"
if [ "$(id -u)" = 0 ]; then
    [ "$(stat -c %U "$fifo")" = nobody ] || fail "it belongs to $(stat -c %U "$fifo")"
    ! as games sh -c "echo three >/proc/$reads/fd/0" 2>/dev/null || fail "another account could type"
    ! as games sh -c "echo three >$fifo" 2>/dev/null || fail "another account could type into the FIFO"
fi

# the agent and the scheduler know nothing of it: they may go
kill -9 "$agent"
wait "$agent" || true
type_line three
kill -9 "$scheduler"
wait "$scheduler" || true
scheduler_begin "$address"
agent_begin "adopted"
await 120 'it has read "three"' says 'got three'
type_and_see four
[ "$(reader)" = "$reads" ] || fail "it is another process"
type_and_see end
edl wait reader >/dev/null || fail "it failed: $(edl logs reader)"
gone() { [ ! -e "$fifo" ]; }
await 120 "its FIFO goes with its folder" gone

# the next incarnation has an input of its own; its job was read back from the store before that
jq -n --arg file "$work/reader.py" --arg user "${user#--user }" '{name: "again", mode: "collective", fault_tolerant: true, restart: {max: 1, backoff: "100ms"},
    roles: [{role: "worker", command: ["python3", $file], min: 1, max: 1, cpu: "100m", stdin: true}]} + if $user == "" then {} else {user: $user} end' \
    >"$work/job.json"
edl submit "$work/job.json" >/dev/null
says() { edl logs again | grep -q "$1\$"; }
reader() { edl logs again | sed -n 's/.*begins //p' | tail -n 1; }
await 120 "it runs" says 'begins .*'
reads=$(reader)
kill "$scheduler"
wait "$scheduler" || true
scheduler_begin "$address"
type_line die
another() { differs "$reads" "$(reader)"; }
await 120 "it is started again" another
reads=$(reader)
type_and_see end
edl wait again >/dev/null || fail "it failed: $(edl logs again)"

# without the word it is at its end at once
submit --name none
! edl wait none >/dev/null || fail "it had input: $(edl logs none)"
edl logs none | lacks ' got' || fail "it read: $(edl logs none)"
edl show none --json | holds '.job.reason | test("exit(ed)? .*3|status 3|code 3")' || fail "it ended otherwise: $(edl show none --json | jq -c .job.reason)"
