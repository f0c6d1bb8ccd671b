# shellcheck shell=bash
# cluster.sh - a test's own cluster: `edl dev` in a folder of its own, and waiting for events with a deadline
#
#   . "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
#   cluster_start [edl dev options]     programs from $EDL_BUILD_DIR; $work is the folder, removed at the end
#   await SECONDS WHAT COMMAND...       as in await.sh; looks again after every event of the cluster
# At exit the cluster is stopped, and the test fails if any process of it is left.
set -eu
: "${EDL_BUILD_DIR:?the folder of the built programs}" "${EDL_SOURCE_DIR:?the checkout}"
. "$EDL_SOURCE_DIR/tests/lib/await.sh"
PATH=$EDL_BUILD_DIR:$PATH
work=$(mktemp -d)
export XDG_RUNTIME_DIR=$work/runtime
mkdir -m 700 "$XDG_RUNTIME_DIR"
dev_pid=''

on_fail() {
    if [ -d "$work/state" ]; then
        edl ps --all || true
        tail -n 40 "$work"/state/*.log "$work/dev.log" || true
    fi
}

cluster_start() {
    mkfifo "$work/ready"
    EDL_DEV_TEST=$work edl dev --state-dir "$work/state" "$@" >"$work/ready" 2>"$work/dev.log" &
    dev_pid=$!
    # the first lines of edl dev end with one that says that it is ready
    exec 7<"$work/ready"
    local line
    while read -r -t 60 line <&7; do
        echo "$line"
        case $line in *"Ctrl-C stops"*) break ;; esac
    done
    case ${line:-} in *"Ctrl-C stops"*) ;; *) fail "edl dev did not get ready" ;; esac
    cat <&7 >/dev/null &
    cat_pid=$!
    EDL_SERVER=http://$(cat "$work/state/address" 2>/dev/null || cat "$work/state/scheduler/address")
    EDL_TOKEN_FILE=$(find "$work/state" -name admin-token)
    export EDL_SERVER EDL_TOKEN_FILE
}

# our processes: whatever has this test's folder in its environment (inherited by all that the cluster started)
cluster_processes() {
    local p
    for p in /proc/[0-9]*; do
        { tr '\0' '\n' <"$p/environ"; } 2>/dev/null | grep -q -e "^EDL_DEV_TEST=$work\$" -e "^EDL_OUTPUT_DIR=$work/" || continue
        # a zombie has ended; it only waits for its parent
        grep -q '^State:[[:space:]]*Z' "$p/status" 2>/dev/null || echo "${p#/proc/} $(tr '\0' ' ' <"$p/cmdline" 2>/dev/null)"
    done
}

cluster_stop() {
    [ -n "$dev_pid" ] || return 0
    kill -TERM "$dev_pid" 2>/dev/null || true
    wait "$dev_pid" || true
    dev_pid=''
    wait "$cat_pid" 2>/dev/null || true
    local left
    left=$(cluster_processes)
    [ -z "$left" ] || fail "processes were left behind: $left"
}

on_exit() {
    local status=$?
    trap - EXIT
    if [ -n "$dev_pid" ]; then
        kill -TERM "$dev_pid" 2>/dev/null || true
        wait "$dev_pid" 2>/dev/null || true
    fi
    rm -rf "$work"
    exit $status
}
trap on_exit EXIT
# a time limit ends the test with SIGTERM: what it was waiting in
trap 'echo "stopped in: $BASH_COMMAND"; exit 130' INT TERM

api() { # METHOD PATH [curl arguments]: the answer's body
    local method=$1 path=$2
    shift 2
    curl -sS --max-time 40 -X "$method" -H "Authorization: Bearer $(cat "$EDL_TOKEN_FILE")" "$@" "$EDL_SERVER$path"
}

# after every event of the cluster: a long poll, which returns at the next one; it is left after 0.3 s for what makes none (counts,
# logs), and for a scheduler that is not there
await_revision=0
await_pause() {
    local answer
    if answer=$(api GET "/events?after=$await_revision&wait=1" --max-time 0.3 2>/dev/null); then
        await_revision=$(jq -r '[.events[].revision] | max // 0' <<<"$answer" 2>/dev/null || echo 0)
    else
        read -r -t 0.05 <> <(:) || true
    fi
}

job_field() { # JOB JQ-EXPRESSION
    api GET "/jobs/$1" | jq -r "$2"
}

job_is() { # JOB STATE...
    local job=$1 state
    shift
    state=$(job_field "$job" .state)
    for s in "$@"; do [ "$state" = "$s" ] && return 0; done
    return 1
}

running() { # JOB ROLE: how many run
    job_field "$1" ".roles[] | select(.role == \"$2\") | .running"
}

at_least() { # JOB ROLE N
    [ "$(running "$1" "$2")" -ge "$3" ]
}

# records_at_least JOB N: counted by the task queue
records_at_least() {
    [ "$(job_field "$1" .records_total)" -ge "$2" ]
}

# pids JOB ROLE [INDEX]: of the running processes
pids() {
    api GET "/jobs/$1/processes?state=live" |
        jq -r ".processes[] | select(.role == \"$2\" and .state == \"running\" and (\"${3:-}\" == \"\" or (.index | tostring) == \"${3:-}\")) | .pid"
}

# exact_counts JOB: every record of every pass was counted once, none lost, none discarded
exact_counts() {
    local t
    t=$(api GET "/jobs/$1/tasks")
    echo "$1: $t"
    echo "$t" | holds '.records_total + 0 == .records_pass * .passes and .records_discarded == 0 and .todo == 0 and .leased == 0 and .model_saved' ||
        fail "the counts of $1 are not exact: $t"
}

# small_corpus: a generated one whose entropy is known, in $work/corpus
small_corpus() { # VOCABULARY SAMPLES
    edl corpus build --out "$work/corpus" --synthetic "${1:-60}" --samples "${2:-40000}" --chunk-records 250
}

# training_job NAME MIN MAX PASSES [TRAINER-FLAGS]: a job document on standard output
training_job() {
    cat <<JOB
apiVersion: paddlepaddle.org/v1
kind: TrainingJob
metadata:
  name: $1
spec:
  fault_tolerant: true
  passes: $4
  grace: 10s
  restart: {max: 10, backoff: 200ms}
  dataset: $work/corpus/train-*.recordio
  trainer:
    entrypoint: exec edl-trainer ${5:-}
    min-instance: $2
    max-instance: $3
    resources: {requests: {cpu: 100m, memory: 32Mi}}
  pserver:
    min-instance: 2
    max-instance: 2
    resources: {requests: {cpu: 100m, memory: 32Mi}}
JOB
}
