#!/usr/bin/env bash
# Whole paths as two people type them, over TLS, as accounts that are not root: one has a job on a node of root's, the other on a node
# whose agent is an ordinary account. Neither looks into the job of the other. A shell in a terminal meets a scheduler that is killed, and
# a client that is; so does a shell that is a job of its own. The jobs notice nothing.
# Takes 10 s: a person types
set -eu
: "${EDL_BUILD_DIR:?the folder of the built programs}" "${EDL_SOURCE_DIR:?the checkout}"
if [ "$(id -u)" != 0 ]; then
    echo "only root can run processes as others"
    exit 77
fi
command -v tmux >/dev/null || {
    echo 'no terminal to type in: tmux is missing'
    exit 77
}
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"
chmod 711 "$work"
export LC_ALL=C.UTF-8
screen() { tmux -S "$work/tmux" -f /dev/null "$@"; }
# shellcheck disable=SC2154
trap 'status=$?; set +e; screen kill-server 2>/dev/null; (exit $status); on_exit' EXIT
on_fail() {
    screen capture-pane -p
    tail -n 20 "$work"/*.log
}
account() { # ACCOUNT COMMAND...
    local account=$1
    shift
    setpriv --reuid "$account" --regid "$(id -g "$account")" --clear-groups env -u EDL_CA HOME="$work/$account" \
        XDG_CONFIG_HOME="$work/$account/config" XDG_RUNTIME_DIR="$work/$account" "$@"
}
scheduler_begin() { # ADDRESS
    begin scheduler "policy" edl-scheduler --state-dir "$work/scheduler" --listen "$1" --lease 60s
    scheduler=$pid
}
scheduler_begin https://127.0.0.1:0
server=$(cat "$work/scheduler/address")
export EDL_CA=$work/scheduler/ca.pem
admin() { edl "$@" --server "$server" --token-file "$work/scheduler/admin-token"; }
for name in nobody games daemon; do
    mkdir -m 700 "$work/$name"
    chown "$name" "$work/$name"
done
# n1 is of root's; n2 of an account that may become nobody else
install -o daemon -m 400 "$work/scheduler/join-token" "$work/daemon/join-token"
install -m 444 "$work/scheduler/ca.pem" "$work/ca.pem"
common=(--scheduler "$server" --ca "$work/ca.pem" --runtime direct --no-foreign --heartbeat 300ms --cpu 1 --stop-processes-on-exit)
begin n1 "joined" edl-agent --node n1 "${common[@]}" --join-token-file "$work/scheduler/join-token" --state-dir "$work/state" \
    --allow-user nobody --allow-user games --label kind=root
begin n2 "joined" setpriv --reuid daemon --regid "$(id -g daemon)" --clear-groups env HOME="$work/daemon" edl-agent --node n2 "${common[@]}" \
    --join-token-file "$work/daemon/join-token" --state-dir "$work/daemon/state" --label kind=ordinary
for name in nobody games; do
    line=$(admin user add $name 2>/dev/null | sed -n 2p)
    # shellcheck disable=SC2086 # the line is words, as somebody pastes it
    account $name $line >/dev/null
done
nobody() { account nobody edl "$@"; }
games() { account games edl "$@"; }
running() { # PERSON JOB
    [ "$("$1" show "$2" --json | jq -r .job.state)" = running ]
}
status_of() { local status=0; "$@" >"$work/out" 2>"$work/err" </dev/null || status=$?; echo $status; }

# --- two jobs, and what the two may ---
cat >"$work/count.py" <<'END'
import sys
print("reads", flush=True)
n = 0
for n, line in enumerate(sys.stdin, 1):
    print("line", n, flush=True)
print("lines:", n, flush=True)
END
submit() { # PERSON NAME KIND ARGUMENT...
    local person=$1 name=$2 kind=$3
    shift 3
    jq -n --arg name "$name" --arg kind "$kind" '{name: $name, mode: "collective", roles: [{role: "worker", min: 1, max: 1, cpu: "200m", memory: "128Mi",
        command: $ARGS.positional, stdin: true, "node-selector": {kind: $kind}}]}' --args "$@" >"$work/$name.json"
    chmod 644 "$work/$name.json"
    "$person" submit "$work/$name.json" >/dev/null
}
submit nobody hers root sleep 100000
submit games his ordinary sleep 100000
await 120 'hers runs' running nobody hers
await 120 'his runs' running games his
[ "$(nobody exec hers -- id -un)" = nobody ] || fail 'hers is not nobody'
[ "$(games exec his -- id -un)" = daemon ] || fail 'his node has another account'
[ "$(status_of games exec nobody/hers -- true)" = 255 ] || fail 'he looks into her job'
grep -q 'belongs to nobody' "$work/err" || fail "he is told: $(cat "$work/err")"
[ "$(status_of nobody exec games/his -- true)" = 255 ] || fail 'she looks into his job'
[ "$(status_of nobody attach games/his)" = 255 ] || fail 'she sees what his job writes'
program=$(nobody exec hers -- sh -c 'echo $EDL_PID')
[ "$(tr '\0' ' ' <"/proc/$program/cmdline")" = 'sleep 100000 ' ] || fail "EDL_PID is $program"

# --- a terminal of hers ---
cat >"$work/terminal" <<END
export HOME=$work/nobody XDG_CONFIG_HOME=$work/nobody/config XDG_RUNTIME_DIR=$work/nobody TERM=\$TERM PS1='here> '
unset EDL_CA
cd
exec setpriv --reuid nobody --regid $(id -g nobody) --clear-groups bash --norc --noprofile
END
screen -u new-session -d -x 120 -y 30 "bash $work/terminal"
keys() { screen send-keys "$@"; }
shows() { screen capture-pane -p | grep -qe "$1"; }
sees() { await 120 "the screen shows $1" shows "$1"; }
prompts() { screen capture-pane -p | grep -v '^$' | tail -n 1 | grep -qE "$1"; }
type_line() { # at a prompt
    await 120 "a prompt" prompts '[>$#] ?$'
    keys -l "$1"
    keys Enter
}
inside="PS1=inside\\> exec bash --norc --noprofile"
enter() { # COMMAND WHAT
    type_line "clear; stty -g >before; $1; echo status=\$?"
    type_line "$inside"
    sees '\(^\|[$#] \)inside>' # what was typed before the shell's own prompt is echoed before it
}
left() { # STATUS WHAT: her own shell is back, and the terminal as it was
    sees "^status=$1"
    type_line "clear; stty -g >after; echo written"
    sees '^written'
    cmp "$work/nobody/before" "$work/nobody/after" || fail "$2 leaves the terminal as $(cat "$work/nobody/after")"
}
gone() { ! pgrep -f "^sleep $1\$" >/dev/null; }

# the scheduler is killed in the middle of a shell, which has a program: the session is over, the job is not
enter 'edl shell hers'
type_line 'sleep 2811 & echo "as $(id -un), in $EDL_JOB"'
sees '^as nobody, in hers'
kill -9 "$scheduler"
wait "$scheduler" || true
scheduler_begin "$server"
sees 'the job goes on'
left 255 'a scheduler that was killed'
await 120 'nothing is left of the shell' gone 2811
await 120 'hers runs' running nobody hers
again() { [ "$(status_of nobody exec hers -- sh -c 'echo $EDL_PID')" = 0 ]; }
await 120 'it can be looked into again' again
[ "$(cat "$work/out")" = "$program" ] || fail 'it is another process'

# her client is killed: nothing of the shell is left, and nothing else is missing
enter 'edl shell hers'
type_line 'sleep 2812'
await 120 'it sleeps' pgrep -f '^sleep 2812$' >/dev/null
kill -9 "$(pgrep -u nobody -f '^edl shell hers$')"
sees 'Killed'
await 120 'nothing is left of the shell' gone 2812
[ "$(nobody exec hers -- sh -c 'echo $EDL_PID')" = "$program" ] || fail 'the job noticed'
keys -l 'reset; clear'
keys Enter
sees '^here>'

# a shell that is a job: the client is killed. The job ends, and gives its core back
enter 'edl shell --cpu 0.5 --memory 128Mi'
type_line 'sleep 2813'
await 120 'it sleeps' pgrep -f '^sleep 2813$' >/dev/null
own=$(nobody ps --json | jq -r '.jobs[] | select(.name | startswith("shell")) | .name')
kill -9 "$(pgrep -u nobody -f '^edl shell --cpu')"
await 120 'nothing is left of the shell' gone 2813
over() { nobody ps --json --all | holds --arg job "$own" 'any(.jobs[]; .name == $job and (.state | IN("killed", "succeeded", "failed")))'; }
await 120 'the job is over' over
keys -l 'reset; clear'
keys Enter
sees '^here>'

# --- she types into a program, and ends its input ---
submit nobody counts root python3 "$work/count.py"
chmod 644 "$work/count.py"
await 120 'it runs' running nobody counts
type_line 'clear; edl attach counts; echo status=$?'
sees '^reads'
keys -l 'one'
keys Enter
keys -l 'two'
keys Enter
sees '^line 2' # Ctrl-C takes what a terminal still has
keys C-c
sees 'the job goes on'
type_line 'clear; edl attach counts; echo status=$?'
sees '^reads'
keys -l 'three'
keys Enter
keys C-d
sees '^lines: 3'
sees '^status=0'

# --- and the jobs are as they were ---
running nobody hers || fail "hers: $(nobody show hers)"
running games his || fail "his: $(games show his)"
nobody kill hers >/dev/null
games kill his >/dev/null
admin audit --json | jq -r '[.user, .method, .target] | join(" ")' >"$work/audit"
grep -q '^nobody POST /sessions/[0-9a-f]* shell worker-0 of job 1 (hers) on n1$' "$work/audit" || fail "sessions are not on record: $(cat "$work/audit")"
