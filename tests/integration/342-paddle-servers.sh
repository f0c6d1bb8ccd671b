#!/usr/bin/env bash
# edl-paddle pserver: what ends its servers, and with which status; which programs need the secret of the account; which flags are said to have no effect.
# Servers and trainers are stand-ins beside a copy of the program, so the test decides when they have a handler for signals.
. "${EDL_SOURCE_DIR:?the checkout}/tests/lib/await.sh"
set -eu
work=$(mktemp -d)
servers=''
# shellcheck disable=SC2329
clean_up() {
    [ -z "$servers" ] || kill -KILL "$servers" 2>/dev/null || true
    rm -rf "$work"
}
trap clean_up EXIT
export HOME=$work/home XDG_CONFIG_HOME=
mkdir -p "$HOME" "$work/beside"
cp "$EDL_BUILD_DIR/edl-paddle" "$work/beside"
cd "$work"

# ends_with STATUS WHAT: the servers in the background
ends_with() {
    local status=0
    wait "$servers" || status=$?
    servers=''
    [ $status = "$1" ] || fail "$2: status $status, not $1: $(cat log)"
}
state_is() { grep -q "^State:.$1" "/proc/$servers/status"; }
settled() { [ ! -e "/proc/$servers" ] || state_is '[SZ]'; }
server() { printf '#!/bin/sh\n%s\n' "$1" >beside/edl-pserver && chmod +x beside/edl-pserver; }
all_run() { [ "$(wc -l <started)" = 2 ]; }
start() {
    : >started
    beside/edl-paddle pserver --ports_num=2 >log 2>&1 &
    servers=$!
    await 120 'two servers run' while_runs "$servers" all_run
}

# servers without a handler yet, as in their first milliseconds
server 'echo $$ >>started; exec tail -f /dev/null'
for signal in TERM INT; do
    start
    kill -$signal "$servers"
    ends_with 0 "SIG$signal"
done

# a stop that goes on is no signal to end; the server that fails first gives the status
start
kill -STOP "$servers"
await 120 'it is stopped' state_is T
kill -CONT "$servers"
await 120 'it waits again' settled
kill -HUP "$(head -n 1 started)" || true
ends_with 129 'a server that died of SIGHUP'

# one that is killed by somebody else has failed
start
kill -TERM "$(head -n 1 started)"
ends_with 143 'a server that somebody else ended'

# typed flags that have no effect are named once, and what a server of a job is told reaches it
printf '#!/bin/sh\necho "$@"\n' | tee beside/edl-trainer >beside/edl-pserver
chmod +x beside/edl-trainer
idle() { # NAMES WORDS...
    local names=$1
    shift
    beside/edl-paddle "$@" >log 2>&1 || fail "$*: $(cat log)"
    [ "$(sed -n 's/^edl-paddle: without effect here: //p' log)" = "$names" ] || fail "$*: $(cat log)"
}
idle --config pserver --config=x
idle --num_passes pserver --num_passes=3
idle '' pserver --num_gradient_servers=2
idle --nics train --config=x --nics=eth0
idle '--port --trainer_count' train --config=x --port=7164 --trainer_count=1
PADDLE_INIT_PORT=7164 PADDLE_INIT_NICS=lo idle '' train --config=x
EDL_SOCKET=$work/agent EDL_DATASET=d idle '--num_passes --save_dir --start_pass --use_gpu' \
    train --config=x --num_passes=3 --save_dir=o --use_gpu=1 --start_pass=2
EDL_SOCKET=$work/agent EDL_PORTS=7164 idle --ports_num pserver --num_gradient_servers=2 --ports_num=2
grep -qx -- '--trainers=2 --lag-ratio=1.5' log || fail "a server of a job: $(cat log)"

# training alone, tests and help need no secret; others name the flag that tells of one
export HOME=/proc/no-home
beside/edl-paddle train --config=x >log 2>&1 || fail "training alone: $(cat log)"
beside/edl-paddle train --config=x --job=test --pservers=127.0.0.1 >log 2>&1 || fail "a test: $(cat log)"
for words in pserver 'train --config=x --local=0'; do
    # shellcheck disable=SC2086
    if beside/edl-paddle $words >log 2>&1; then fail "$words: it goes on without a secret: $(cat log)"; fi
    grep -q 'secret /proc/no-home/.*: --secret_file=FILE' log || fail "$words: no remedy: $(cat log)"
done
