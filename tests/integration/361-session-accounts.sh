#!/usr/bin/env bash
# Sessions inside processes of other accounts: as the account, with its rights only and no way back, with the mounts of the process; a
# terminal is its own; ssh is sshd as that account; nobody looks into the job of another, and the node's owner has the last word.
# Takes 12 s: three agents, and a dozen sessions
set -eu
: "${EDL_BUILD_DIR:?the folder of the built programs}" "${EDL_SOURCE_DIR:?the checkout}"
if [ "$(id -u)" != 0 ]; then
    echo "only root can run processes as others"
    exit 77
fi
# an account of a person that logs in, which no Debian has by itself: in a view of the accounts that is this test's own
if [ -z "${EDL_TEST_ACCOUNTS:-}" ]; then
    EDL_TEST_ACCOUNTS=$(mktemp -d)
    export EDL_TEST_ACCOUNTS
    mkdir "$EDL_TEST_ACCOUNTS/home"
    chown 20001:20001 "$EDL_TEST_ACCOUNTS/home"
    chmod 711 "$EDL_TEST_ACCOUNTS"
    { cat /etc/passwd && echo "ann:x:20001:20001::$EDL_TEST_ACCOUNTS/home:/bin/sh"; } >"$EDL_TEST_ACCOUNTS/passwd"
    { cat /etc/group && echo ann:x:20001:; } >"$EDL_TEST_ACCOUNTS/group"
    status=0
    unshare -m --propagation private "$BASH" "$0" "$@" || status=$?
    rm -rf "$EDL_TEST_ACCOUNTS"
    exit $status
fi
for file in passwd group; do
    mount --bind "$EDL_TEST_ACCOUNTS/$file" /etc/$file || { echo 'no view of the accounts of its own: mount is refused'; exit 77; }
done
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"
chmod 711 "$work"
begin scheduler "policy" edl-scheduler --state-dir "$work/scheduler" --listen 127.0.0.1:0 --lease 60s
EDL_SERVER=http://$(sed 's,^http://,,' "$work/scheduler/address")
EDL_TOKEN_FILE=$work/scheduler/admin-token
export EDL_SERVER EDL_TOKEN_FILE
agent_begin() { # ARGUMENT...: in a group that no program may keep
    begin n1 "adopted" setpriv --groups 0 edl-agent --node n1 --scheduler "$EDL_SERVER" --join-token-file "$work/scheduler/join-token" \
        --state-dir "$work/state" --runtime direct --no-foreign --heartbeat 300ms --tasks-max 64 "$@"
    agent=$pid
}
for name in ann daemon; do
    edl user add $name >/dev/null
    (umask 077 && edl token create --user $name >"$work/$name.token" 2>/dev/null)
done
agent_begin --allow-user ann --allow-user daemon
EDL_TOKEN_FILE=$work/ann.token edl submit --name first --env MARK=here -- sh -c 'cd "$TMPDIR"; exec sleep 100000' >/dev/null
await 120 'it runs' job_is first running
session_as() { # USER ARGUMENT...
    local user=$1
    shift
    EDL_TOKEN_FILE=$work/$user.token timeout 300 "$python" "$EDL_SOURCE_DIR/tests/lib/session_driver.py" first "$@"
}
program=$(pgrep -u ann -x sleep)

cat >"$work/inspect" <<'END'
bad() { echo "BAD: $*"; }
[ "$(id -un)" = ann ] && [ "$(id -G)" = "$(id -G ann)" ] || bad "it is $(id)"
[ "$MARK" = here ] && [ "$(pwd)" = "$TMPDIR" ] || bad "it is in $(pwd), with ${MARK:-no} mark"
grep -qx 'NoNewPrivs:	1' /proc/self/status || bad "it may gain privileges"
[ "$(grep -cE '^Cap(Inh|Prm|Eff|Amb):	0+$' /proc/self/status)" = 4 ] || bad "it has capabilities: $(grep ^Cap /proc/self/status)"
setpriv --reuid 0 true 2>/dev/null && bad "it can be root again"
[ "$(ulimit -c)" = 0 ] || bad "it leaves cores"
for fd in /proc/self/fd/*; do case ${fd##*/} in 0 | 1 | 2 | 3 | 10 | 255) ;; *) bad "$fd is open: $(readlink "$fd")" ;; esac; done
kill -0 $PPID 2>/dev/null && bad "it can signal edl-session"
cat /proc/$PPID/environ >/dev/null 2>&1 && bad "it can look into edl-session"
curl -sS --fail --unix-socket "$EDL_SOCKET" http://agent/jobs/self/hosts >/dev/null || bad "it cannot call the agent"
kill -0 "$1" || bad "it cannot signal the program of its process"
[ "$(readlink /proc/self/ns/mnt)" = "$(readlink "/proc/$1/ns/mnt")" ] || bad "it has other mounts"
[ ! -e /proc/1/comm ] || bad "it sees processes of others"
END
chmod 644 "$work/inspect"
session_as ann --input "$work/inspect" -- sh -s "$program" >"$work/out" 2>&1 || fail "it ends with $?: $(cat "$work/out")"
[ ! -s "$work/out" ] || fail "of a session: $(cat "$work/out")"
# its tasks are those of the process
if [ -n "$(sed -n 's/^[0-9]*:pids:.*edl-1/here/p' "/proc/$program/cgroup")" ]; then
    session_as ann -- bash -c 'for ((i = 0; i < 100; i++)); do sleep 1722 & done' >"$work/out" 2>&1 && fail 'it may have more tasks than its process'
    grep -q 'Resource temporarily unavailable' "$work/out" || fail "it has no tasks left, and says $(cat "$work/out")"
    lives "$program" || fail 'a session ended its process'
fi
session_as ann --kind shell --pty 24x80 -- sh -c '[ -O "$(tty)" ] && [ -w "$(tty)" ] && stat -c %a "$(tty)"' >"$work/out" || fail "its terminal is not its own: $(cat "$work/out")"
[ "$(tr -d '\r' <"$work/out")" = 620 ] || fail "its terminal has the mode $(cat "$work/out")"
printf 'echo "<$0>"; exit 6\n' >"$work/typed"
status=0
session_as ann --kind shell --input "$work/typed" >"$work/out" 2>&1 || status=$?
[ $status = 6 ] && grep -qx '<-sh>' "$work/out" || fail "its shell ends with $status: $(cat "$work/out")"

# another user, and an administrator
session_as daemon -- id >"$work/out" 2>&1 && fail "another user looks into it: $(cat "$work/out")"
grep -q '^40[34]: ' "$work/out" || fail "another user is told $(cat "$work/out")"
cp "$EDL_TOKEN_FILE" "$work/admin.token"
[ "$(session_as admin -- id -un)" = ann ] || fail 'an administrator is not the account of the process'

# ssh: commands, their status, files, as the account and in the environment of the process
if command -v sshd ssh sftp >/dev/null; then
    ssh-keygen -q -t ed25519 -N '' -f "$work/key" -C test
    cat >"$work/ssh" <<END
Host *
ProxyCommand env EDL_TOKEN_FILE=$work/ann.token $python $EDL_SOURCE_DIR/tests/lib/session_driver.py first --kind ssh --key '$(cat "$work/key.pub")' --input -
User ann
IdentityFile $work/key
IdentitiesOnly yes
StrictHostKeyChecking no
UserKnownHostsFile /dev/null
LogLevel ERROR
BatchMode yes
END
    status=0
    timeout 300 ssh -F "$work/ssh" first.edl 'id -un; echo $MARK; cat /proc/self/cgroup; exit 5' >"$work/out" 2>"$work/err" || status=$?
    [ $status = 5 ] && [ "$(head -n 2 "$work/out")" = "ann
here" ] || fail "ssh ends with $status: $(cat "$work/out" "$work/err")"
    sed -n '/^[0-9]*:/p' "$work/out" | sed 's,/session-[0-9a-f]*$,,' | cmp - "/proc/$program/cgroup" || fail 'ssh leads out of the control groups of the process'
    head -c 3000000 /dev/urandom >"$work/file"
    chmod 644 "$work/file"
    tmp=$(tr '\0' '\n' <"/proc/$program/environ" | sed -n 's/^TMPDIR=//p')
    timeout 300 scp -q -F "$work/ssh" "$work/file" "first.edl:$tmp/there" && cmp "$work/file" "$tmp/there" || fail 'scp loses bytes'
    ssh-keygen -q -t ed25519 -N '' -f "$work/other" -C other
    sed "s,^IdentityFile .*,IdentityFile $work/other," "$work/ssh" >"$work/ssh-other"
    timeout 300 ssh -F "$work/ssh-other" first.edl true 2>"$work/err" && fail 'another key may enter'
    grep -q 'Permission denied' "$work/err" || fail "another key is told $(cat "$work/err")"
    await 120 'the keys of ssh are gone' silent eval 'find "$tmp" -name "edl-ssh-*"'
else
    echo 'ssh is not tried: openssh-server or openssh-client is missing'
fi

# the node's owner has the last word, also of a process that goes on
node_ready() { edl nodes --json | holds '.nodes[0].state == "ready" and .nodes[0].connected != false'; }
refused_with() { # WHAT OPTION...: of an agent with these options
    local status=0 what=$1
    shift
    kill "$agent"
    wait "$agent" || true
    agent_begin "$@"
    await 120 'the node is back' node_ready
    session_as ann -- id >"$work/out" 2>&1 || status=$?
    [ $status = 255 ] && grep -q "$what" "$work/out" || fail "with $*: $status, $(cat "$work/out")"
    lives "$program" || fail 'the process ended with its agent'
}
refused_with 'this node runs no process as ann' --allow-user daemon
refused_with 'the process runs as account number 20001, and this node would run it as daemon now' --allow-user daemon --map-user ann=daemon
edl kill first >/dev/null
await 120 'it is over' job_is first killed
