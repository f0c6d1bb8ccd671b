#!/usr/bin/env bash
# What a process of a root agent's job reaches on its machine: not the socket on which the scheduler takes its account's word, and
# of shared memory only its job's, which goes with the job.
set -eu
: "${EDL_BUILD_DIR:?the folder of the built programs}" "${EDL_SOURCE_DIR:?the checkout}"
if [ "$(id -u)" != 0 ]; then
    echo "only root can run processes as others"
    exit 77
fi
if ! unshare -m true 2>/dev/null; then
    echo "no mount namespaces here"
    exit 77
fi
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"
chmod 711 "$work"
mkdir -m 711 "$work/sockets"
umask 0

begin scheduler "policy" edl-scheduler --state-dir "$work/scheduler" --listen 127.0.0.1:0 --listen "unix:$work/sockets/scheduler,mode=0666" --lease 60s
EDL_SERVER=http://$(sed 's,^http://,,' "$work/scheduler/address")
EDL_TOKEN_FILE=$work/scheduler/admin-token
export EDL_SERVER EDL_TOKEN_FILE
begin n1 "adopted" edl-agent --node n1 --scheduler "unix:$work/sockets/scheduler" --join-token-file "$work/scheduler/join-token" \
    --state-dir "$work/state" --runtime direct --no-foreign --heartbeat 300ms --stop-processes-on-exit --allow-user nobody --allow-user daemon
for name in nobody daemon; do edl user add $name >/dev/null; done
as() { # USER COMMAND...
    local user=$1
    shift
    env -u EDL_TOKEN_FILE setpriv --reuid "$user" --regid "$(id -g "$user")" --clear-groups "$@"
}
submit() { # USER ARGUMENT...: as an account of this machine, without a token
    as "$1" env "EDL_SERVER=unix:$work/sockets/scheduler" HOME=/nonexistent "$EDL_BUILD_DIR/edl" submit --cpu 100m --memory 16Mi "${@:2}"
}
reports() { # JOB: what it wrote, with nothing BAD in it
    edl wait "$1" >/dev/null || fail "$1 failed: $(edl logs "$1")"
    edl logs "$1" >"$work/said"
    if grep BAD "$work/said"; then fail "$1: see above"; fi
}

# the scheduler takes this account's word, outside of a job; a process of a job does not get that far
as nobody curl -sS --fail --unix-socket "$work/sockets/scheduler" http://edl/jobs >/dev/null || fail 'nobody is not heard at all'
# shellcheck disable=SC2016
submit nobody --name caller --env "SOCKET=$work/sockets/scheduler" -- sh -c '
    curl -sS --unix-socket "$SOCKET" http://edl/jobs 2>&1 && echo BAD: the scheduler answers; [ ! -S "$SOCKET" ] || echo BAD: it is seen
    curl -sS --fail --unix-socket "$EDL_SOCKET" http://localhost/jobs/self/hosts >/dev/null || echo BAD: the agent does not answer'
reports caller

# nor by way of another process of its account, which sees the machine, nor by a socket that came back; a token is the owner's to give
setpriv --reuid nobody --regid "$(id -g nobody)" --clear-groups sleep 1000 &
outside=$!
pids="$pids $outside"
# shellcheck disable=SC2016
submit nobody --name detour --env "SOCKET=/proc/$outside/root$work/sockets/scheduler" -- sh -c '
    ask() { curl -sS -o /dev/null -w "%{http_code}\n" --unix-socket "$SOCKET" "$@" 2>&1; }
    [ -S "$SOCKET" ] || echo "the detour is closed"
    for i in 1 2; do ask http://edl/jobs; ask -X POST -d "{}" http://edl/tokens; done; (setsid sh -c "curl -sS -o /dev/null -w \"%{http_code}\n\" --unix-socket \"$SOCKET\" http://edl/jobs" &); read -r -t 2 x </dev/stdin || true'
reports detour
if grep -Eq '^(\[[^ ]*\] )?2[0-9][0-9]$' "$work/said"; then fail "the scheduler serves a process of a job: $(cat "$work/said")"; fi
grep -q '403' "$work/said" || fail "the detour was not tried: $(cat "$work/said")"
as nobody curl -sS --fail --unix-socket "$work/sockets/scheduler" http://edl/jobs >/dev/null || fail 'nobody is not heard any more'

# a program of a session is where its process is: the same holds for it, also when it has left its shell
submit nobody --name looked-into -- sleep 1000 >/dev/null
await 120 'it runs' job_is looked-into running
# shellcheck disable=SC2016
edl exec looked-into -- env "SOCKET=/proc/$outside/root$work/sockets/scheduler" bash -c '
    ask() { curl -sS -o /dev/null -w "%{http_code}\n" --unix-socket "$SOCKET" "$@" 2>&1; }
    [ "$(id -un)" = nobody ] && [ -S "$SOCKET" ] || echo "the detour is closed"
    ask http://edl/jobs; ask -X POST -d "{}" http://edl/tokens; (setsid sh -c "curl -sS -o /dev/null -w \"%{http_code}\n\" --unix-socket \"$SOCKET\" http://edl/jobs" &); read -r -t 2 <> <(:) || true' >"$work/said" || fail "no session: $(cat "$work/said")"
[ "$(sort -u "$work/said")" = 403 ] || fail "the scheduler serves a program of a session: $(cat "$work/said")"
edl kill looked-into >/dev/null
await 120 'it is over' job_is looked-into killed

# processes of a job share memory with each other, and with nobody else
echo machine >/dev/shm/edl-test-$$
trap 'status=$?; rm -f "/dev/shm/edl-test-$$"; (exit $status); on_exit' EXIT
# shellcheck disable=SC2016
submit daemon --name keeper -- sh -c 'echo secret >"/dev/shm/$0"; chmod 666 "/dev/shm/$0"; exec sleep 1000' keeper-$$
# shellcheck disable=SC2016
submit nobody --name pair --min 2 --max 2 -- bash -c '
    [ "$(stat -c %U:%a /dev/shm)" = nobody:700 ] || echo "BAD: it is $(stat -c %U:%a /dev/shm)"
    ls -A /dev/shm | grep -v "^pair" && echo BAD: it sees what others have
    echo here >/dev/shm/pair-$EDL_INDEX; other=$((1 - EDL_INDEX))
    until [ -s "/dev/shm/pair-$other" ] || [ $SECONDS -gt 100 ]; do read -r -t 0.05 <> <(:) || true; done
    [ -s "/dev/shm/pair-$other" ] && echo done || echo BAD: it does not see the other'
reports pair
[ "$(grep -c 'done$' "$work/said")" = 2 ] || fail "pair: $(cat "$work/said")"
keeps() {
    kept=$(find /dev/shm/edl -name keeper-$$ 2>/dev/null || true) # what other tests have there comes and goes meanwhile, which find minds
    [ -s "$kept" ]
}
await 120 "keeper has written" keeps
[ "$(cat "$kept")" = secret ] || fail "keeper's memory is not below /dev/shm/edl: $(find /dev/shm)"
as nobody ls /dev/shm/edl 2>/dev/null && fail 'others may list it'
as nobody cat "$kept" 2>/dev/null && fail 'others may read it'

# it goes with the job, however that ends, and leaves what others have there
kill -9 "$(edl show keeper --json | jq '.processes[0].pid')"
if edl wait keeper >/dev/null 2>&1; then fail 'keeper was to fail'; fi
own=$(basename "${kept%/*}") # JOB.AGENT
left() { find /dev/shm/edl -mindepth 1 -maxdepth 1 -name "*.${own#*.}" 2>/dev/null || true; } # those of other tests are others'
silent left || fail "shared memory is left: $(left)"
[ -s /dev/shm/edl-test-$$ ] || fail "the machine's own is gone"
