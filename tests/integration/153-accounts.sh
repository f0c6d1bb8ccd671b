#!/usr/bin/env bash
# Processes of a root agent run as the account of who submitted them, with its rights only: what they can and cannot do, and
# whom the node's owner refuses. Accounts are those that every Debian has.
# Takes 7 s: jobs of a dozen accounts, one after another
set -eu
: "${EDL_BUILD_DIR:?the folder of the built programs}" "${EDL_SOURCE_DIR:?the checkout}"
if [ "$(id -u)" != 0 ]; then
    echo "only root can run processes as others"
    exit 77
fi
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"
chmod 711 "$work"

begin scheduler "policy" edl-scheduler --state-dir "$work/scheduler" --listen 127.0.0.1:0 --lease 60s
EDL_SERVER=http://$(sed 's,^http://,,' "$work/scheduler/address")
EDL_TOKEN_FILE=$work/scheduler/admin-token
export EDL_SERVER EDL_TOKEN_FILE
agent_begin() { # ARGUMENT...: an agent of root's, which is in a group that no process may keep
    begin n1 "adopted" setpriv --groups 0 edl-agent --node n1 --scheduler "$EDL_SERVER" --join-token-file "$work/scheduler/join-token" \
        --state-dir "$work/state" --runtime direct --no-foreign --heartbeat 300ms --stop-processes-on-exit "$@"
    agent=$pid
}
agent_end() {
    kill "$agent"
    wait "$agent" || true
}
for name in nobody daemon games stranger; do
    edl user add $name >/dev/null
    (umask 077 && edl token create --user $name >"$work/$name.token" 2>/dev/null)
done
submit() { # USER JOB ARGUMENT...: in a workspace of its own
    local user=$1 job=$2
    shift 2
    EDL_TOKEN_FILE=$work/$user.token edl submit --name "$job" --workspace "${workspace-private}" "$@" >/dev/null
}
fails_with() { # JOB WHAT: it came to nothing, and says why
    local reason
    if edl wait "$1" >/dev/null; then fail "$1 ran"; fi
    reason=$(edl show "$1" --json | jq -r .job.reason)
    case $reason in *"$2"*) ;; *) fail "$1: the reason is \"$reason\" instead of \"$2\"" ;; esac
}

agent_begin --allow-user nobody --allow-user daemon

# who it is, what is its own, and what is out of its reach
cat >"$work/inspect" <<'END'
set -u
echo begin
bad() { echo "BAD: $*"; }
[ "$(id -un)" = nobody ] && [ "$(id -gn)" = "$(id -gn nobody)" ] && [ "$(id -G)" = "$(id -G nobody)" ] || bad "it is $(id)"
[ "$USER" = nobody ] && [ "$LOGNAME" = nobody ] && [ "$HOME" = "$(getent passwd nobody | cut -d: -f6)" ] || bad "it is called $USER, $HOME"
[ "$(pwd)" = "$EDL_WORKSPACE" ] && [ "$(stat -c %U:%a .)" = nobody:700 ] || bad "its workspace is $(pwd)"
touch mine "$EDL_OUTPUT_DIR/mine" || bad "it cannot write to what is its own"
grep -qx 'NoNewPrivs:	1' /proc/self/status || bad "it may gain privileges"
[ "$(grep -cE '^Cap(Inh|Prm|Eff|Amb):	0+$' /proc/self/status)" = 4 ] || bad "it has capabilities: $(grep ^Cap /proc/self/status)"
setpriv --reuid 0 true 2>/dev/null && bad "it can be root again"
[ "$(ulimit -c)" = 0 ] || bad "it leaves cores"
for fd in /proc/self/fd/*; do case ${fd##*/} in 0 | 1 | 2 | 3 | 10 | 255) ;; *) bad "$fd is open: $(readlink "$fd")" ;; esac; done
kill -0 $PPID 2>/dev/null && bad "it can signal its supervisor"
kill -TERM $PPID 2>/dev/null && bad "it can end its supervisor"
cat /proc/$PPID/environ >/dev/null 2>&1 && bad "it can look into its supervisor"
for folder in /run/user /run/dbus; do
    [ ! -d $folder ] || ! ls $folder/ >/dev/null 2>&1 || bad "it finds managers in $folder"
done
for path in "$STATE" "$STATE/processes" "$STATE/logs" "$STATE/credential" "$STATE/lease" "$EDL_LOG_DIR" "$STATE/work" "$STATE/work/1-trainer-0"; do
    ls "$path" >/dev/null 2>&1 && cat "$path"/* "$path" >/dev/null 2>&1 && bad "it can read $path"
    [ -w "$path" ] && bad "it can write to $path"
done
ls "$STATE/work/1-trainer-0" "$STATE/output/first-1" 2>/dev/null && bad "it can look into another job"
echo 'by name' >/dev/stderr && echo more | tee /dev/stdout >/dev/null || bad "it cannot open its standard error"
curl -sS --fail --unix-socket "$EDL_SOCKET" http://localhost/jobs/self/hosts || bad "it cannot call the agent"
echo done
END
submit daemon first -- sleep 1000
submit nobody inspect --env STATE="$work/state" -- sh -c "$(cat "$work/inspect")"
edl wait inspect >/dev/null || fail "inspect failed: $(edl logs inspect)"
edl logs inspect >"$work/inspect.out"
grep -q 'done$' "$work/inspect.out" && grep -q 'by name' "$work/inspect.out" && head -n 1 "$work/inspect.out" | grep -q begin || fail "inspect says: $(cat "$work/inspect.out")"
if grep BAD "$work/inspect.out"; then fail "see above"; fi
[ "$(stat -c %U "$work/state/output/inspect-2/mine" "$work/state/work/1-trainer-0" "$work/state/logs/2" | paste -sd' ')" = 'nobody daemon root' ] ||
    fail "folders are somebody else's: $(ls -ld "$work"/state/*/*)"

# the socket is for processes of jobs, and for each as its own account
call() { curl -sS -o /dev/null -w '%{http_code}' --unix-socket "$work/state/socket" http://localhost/jobs/self/hosts; }
[ "$(call)" = 403 ] || fail "root may call"
[ "$(setpriv --reuid nobody --clear-groups curl -sS -o /dev/null -w '%{http_code}' --unix-socket "$work/state/socket" http://localhost/jobs/self/hosts)" = 403 ] ||
    fail "who has no job may call"
# shellcheck disable=SC2016
first=$(edl show first --json | jq '.processes[0].pid')
[ "$(ps -o user= -p "$first")" = daemon ] || fail "first runs as $(ps -o user= -p "$first")"
edl kill first >/dev/null
edl wait first >/dev/null 2>&1 || true
kill -0 "$first" 2>/dev/null && fail "it was not killed"

# whom the owner refuses: nothing runs, and it is told
submit games system -- touch "$work/ran"
fails_with system 'no process as games: it is an account of the system; its owner may allow it with allow-user'
submit stranger stranger -- true
fails_with stranger 'there is no account stranger on this node; give the job a user'
edl logs system | grep -q 'an account of the system' || fail "the log does not say why: $(edl logs system)"
# nor does a process that was refused hand out files: not of a folder of root's that its job names
mkdir -m 700 "$work/treasure"
echo secret >"$work/treasure/file"
workspace=$work/treasure submit stranger thief -- true
fails_with thief 'there is no account stranger on this node'
workspace=$work/treasure submit games robber -- true
fails_with robber 'an account of the system'
for job in stranger/thief games/robber; do
    for what in file?path=file files?pattern=file; do
        code=$(curl -sS -o "$work/body" -w '%{http_code}' -H "Authorization: Bearer $(cat "$work/${job%/*}.token")" "$EDL_SERVER/jobs/${job#*/}/processes/trainer/0/$what")
        [ "$code" = 404 ] && ! grep -q secret "$work/body" || fail "$job, $what: $code $(cat "$work/body")"
    done
done
edl-workspace send-file 0:0 "$work/treasure" file 0 9 | lacks secret || fail 'a reader is root'
# however many fail so: the node is not to blame
for i in 1 2 3 4 5; do submit games "again-$i" -- true; done
for i in 1 2 3 4 5; do fails_with "again-$i" 'an account of the system'; done
[ "$(edl nodes --json | jq -r '.nodes[0].state')" = ready ] || fail "the node is $(edl nodes)"

# the job names an account: its submitter's own, or an administrator's choice; the owner has the last word
if submit nobody other --user daemon -- true 2>"$work/err"; then fail "nobody submitted as daemon"; fi
grep -q "a job of nobody's cannot run as daemon" "$work/err" && grep -q /spec/user "$work/err" || fail "no word of why: $(cat "$work/err")"
submit nobody own --user nobody -- sh -c '[ "$(id -un)" = nobody ]'
cp "$work/scheduler/admin-token" "$work/admin.token"
submit admin chosen --user daemon -- sh -c '[ "$(id -un) $(id -g)" = "daemon $(id -g daemon)" ]'
for job in own chosen; do edl wait $job >/dev/null || fail "$job: $(edl logs $job)"; done
submit admin roots --user root -- touch "$work/ran"
fails_with roots 'no process as root: it is root'
submit admin admins -- true
fails_with admins 'there is no account admin on this node'

# a workspace that was sent is unpacked by the account, which owns it, and nobody else looks in
mkdir "$work/code"
echo text >"$work/code/file"
chmod 600 "$work/code/file"
EDL_TOKEN_FILE=$work/nobody.token edl submit --name sent --upload "$work/code" -- sh -c '
    stat -c %U:%G:%a . file; cat file && echo mine >file && ls .. 2>&1; echo x 2>/dev/null >>../*.archive || echo kept' >/dev/null
edl wait sent >/dev/null || fail "sent: $(edl logs sent)"
edl logs sent | grep -q "nobody:$(id -gn nobody):700" || fail "its workspace is somebody else's: $(edl logs sent)"
edl logs sent | grep -q "nobody:$(id -gn nobody):600" || fail "its file is somebody else's: $(edl logs sent)"
edl logs sent | grep -q "kept" && edl logs sent | grep -q "ls: .*Permission denied" || fail "it looks around: $(edl logs sent)"

# people without an account there, and everybody in a group
agent_end
cat >"$work/agent.conf" <<'END'
default-user: nobody
allow-group: [daemon]
reserve-cpu: 100m
END
offered() { edl nodes --json | jq '.nodes[0].cpu_millicores'; }
before=$(offered)
agent_begin --conf "$work/agent.conf"
# shellcheck disable=SC2016
submit stranger fallback -- sh -c '[ "$(id -un)" = nobody ]'
edl wait fallback >/dev/null || fail "fallback: $(edl logs fallback)"
[ "$(offered)" = $((before - 100)) ] || fail "it offers $(offered) beside a reserve of 100m, $before before"
submit daemon system-in-group -- true
fails_with system-in-group 'an account of the system'

# without default-user, with a range: each has a number of its own, the same in all jobs, and none sees another's processes.
# The processes of jobs before, of which some had the account that is the range's first, are gone.
agent_end
lowest=$((2000000000 + $$ % 4194304 * 2)) # another copy of this test has other numbers
cat >"$work/agent.conf" <<END
user-range: $lowest-$((lowest + 1))
END
agent_begin --conf "$work/agent.conf"
# shellcheck disable=SC2016
submit stranger mine --env SECRET=of-stranger -- sh -c 'id -u >"$EDL_OUTPUT_DIR/id"; echo "$USER $HOME $(id -g) $(id -G)"; exec sleep 1001'
submit_as_admin() { EDL_TOKEN_FILE=$work/scheduler/admin-token edl submit --workspace private "$@" >/dev/null; }
up() { edl show "$1" --json | holds '.job.state == "running" and (.processes[0].pid > 0)'; }
await 120 'a job of a number runs' while_job mine up mine
pid_of_mine=$(edl show mine --json | jq '.processes[0].pid')
has_a_number() { # the process is there before it gives up being root
    number=$(ps -o uid= -p "$pid_of_mine" | tr -d ' ')
    [ "$number" = $lowest ] || [ "$number" = $((lowest + 1)) ]
}
await 120 'it runs with a number of the range' has_a_number
said_so() { edl logs mine | grep -q "stranger /nonexistent $number $number"; }
await 120 'it says who it is' said_so
# shellcheck disable=SC2016
submit_as_admin --name spy --env PID="$pid_of_mine" -- sh -c 'id -u
    cat "/proc/$PID/environ" && echo BAD: environment; kill "$PID" && echo BAD: kill; [ ! -e "/proc/$PID" ] || echo BAD: seen
    [ ! -e /proc/1 ] || echo BAD: the machine is seen; cat '"$work/state/output/mine-*/id"' && echo BAD: output; true'
edl wait spy >/dev/null || fail "spy: $(edl logs spy)"
edl logs spy | lacks BAD || fail "$(edl logs spy)"
edl logs spy | grep -q "$((lowest + lowest + 1 - number))\$" || fail "an administrator's job runs as $(edl logs spy)"
agent_end
agent_begin --conf "$work/agent.conf"
submit stranger again -- id -u
edl wait again >/dev/null || fail "again: $(edl logs again)"
edl logs again | grep -q "$number\$" || fail "its number was $number and is $(edl logs again)"
edl user add third >/dev/null
(umask 077 && edl token create --user third >"$work/third.token" 2>/dev/null)
submit third crowded -- true
fails_with crowded "no number of $lowest-$((lowest + 1)) is left for third; the node"
agent_end
cat >"$work/agent.conf" <<'END'
default-user: nobody
END
agent_begin --conf "$work/agent.conf"
grep -q 'everybody without an account here runs as nobody' "$work/n1.log" || fail "no word that they share an account"

# a workspace that was given is entered with its own rights
mkdir -m 700 "$work/roots"
workspace=$work/roots submit stranger elsewhere -- true
fails_with elsewhere "cannot enter the workspace $work/roots as nobody: Permission denied"
[ ! -e "$work/ran" ] || fail "a refused process ran"

# one folder for the workspace of a job is made with its account's rights, where it has any
mkdir "$work/packed"
echo 'id -un >who; stat -c %U:%a .' >"$work/packed/run.sh"
archive=$(EDL_TOKEN_FILE=$work/nobody.token edl workspace add "$work/packed")
mkdir -m 755 "$work/open" "$work/closed"
chown nobody "$work/open"
share() { # JOB FOLDER
    jq -n --arg name "$1" --arg folder "$2" --arg archive "$archive" '{name: $name, "workspace-folder": $folder,
        roles: [{role: "trainer", command: ["sh", "run.sh"], workspace: $archive}]}' >"$work/share.json"
    EDL_TOKEN_FILE=$work/nobody.token edl submit "$work/share.json" >/dev/null
}
share shares "$work/open/JOB1"
edl wait shares >/dev/null || fail "shares: $(edl logs shares)"
edl logs shares | grep -q 'nobody:750$' || fail "the folder is $(edl logs shares)"
[ "$(cat "$work/open/JOB1/who")" = nobody ] || fail 'what it wrote is gone'
share closed "$work/closed/JOB1"
fails_with closed "$work/closed, where it belongs, is closed to this account"
silent find "$work/closed" -mindepth 1 || fail "something is in it"
agent_end
echo "accounts: all good"
