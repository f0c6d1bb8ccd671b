# shellcheck shell=bash
# cluster.sh - a test's own cluster: `edl dev` in a folder of its own, and waiting for events with a deadline
#
#   . "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
#   cluster_start [edl dev options]     programs from $EDL_BUILD_DIR; $work is the folder, removed at the end; the lease is so long
#                                       that no busy machine ends it, but for a test that gives another one (--lease 6s)
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
    case " $* " in *' --lease '*) ;; *) set -- --lease 60s "$@" ;; esac
    EDL_DEV_TEST=$work edl dev --state-dir "$work/state" --default-cpu 100m "$@" >"$work/ready" 2>"$work/dev.log" &
    dev_pid=$!
    # the first lines of edl dev end with one that says that it is ready
    exec 7<"$work/ready"
    local line
    while read -r -t 120 line <&7; do
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
    grep -lsz -e "^EDL_DEV_TEST=$work\$" -e "^EDL_OUTPUT_DIR=$work/" /proc/[0-9]*/environ | while read -r p; do
        p=${p%/environ}
        # a zombie has ended; it only waits for its parent
        grep -q '^State:[[:space:]]*Z' "$p/status" 2>/dev/null || echo "${p#/proc/} $(tr '\0' ' ' <"$p/cmdline" 2>/dev/null)"
    done
}

# the edl-session of this test, and none of one that runs beside it
cluster_sessions() {
    local p
    for p in $(pgrep -f "^$EDL_BUILD_DIR/edl-session\$" | sort -n); do
        ! grep -qsz "^XDG_RUNTIME_DIR=$XDG_RUNTIME_DIR\$" "/proc/$p/environ" || echo "$p"
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
    if [ "$method" = GET ] && [ $# = 0 ]; then
        (look "$path")
    else
        curl -sS --max-time 40 -X "$method" -H "Authorization: Bearer $(<"$EDL_TOKEN_FILE")" "$@" "$EDL_SERVER$path"
    fi
}

# What tests ask again and again is asked without a process for it: curl takes as long to start as the scheduler for ten answers.
# (bash reads a socket byte by byte; of a long answer cat is quicker.) In a subshell, which is what a signal ends if the scheduler
# dies meanwhile.
look() { # PATH
    local link line='' begun='' length=4000 answer=''
    connected link || return 1
    request "$link" "$1"
    while read -r -t 40 line <&"$link" && line=${line%$'\r'} && [ -n "$line" ]; do
        begun=yes
        case $line in Content-Length:*) length=${line#*: } ;; esac
    done
    [ -n "$begun" ] || return 1
    if [ "$length" -ge 4000 ]; then
        timeout 300 cat <&"$link"
    else
        read -r -N "$length" -t 40 answer <&"$link" || [ -n "$answer" ] || return 1 # bytes that are fewer characters end with the link
        printf '%s' "$answer"
    fi
}
connected() { # NAME: a variable for the descriptor
    local address=${EDL_SERVER#http://}
    { exec {link_}<>"/dev/tcp/${address%:*}/${address##*:}"; } 2>/dev/null || return 1
    printf -v "$1" '%s' "$link_"
}
request() { # DESCRIPTOR PATH [HEADER]
    printf 'GET %s HTTP/1.0\r\nHost: edl\r\nAuthorization: Bearer %s\r\n%s\r\n' "$2" "$(<"$EDL_TOKEN_FILE")" "${3:+$3$'\r\n'}" >&"$1"
}

# Between two looks the stream of events is listened to, from the first pause of an await to its end. What happens together is one
# reason to look. Nothing is heard of what makes no event (counts, logs), nor of a scheduler that is not there: then time passes.
await_link='' await_revision=''
await_pause() { # SECONDS
    local line='' lines=0 pause=${1:-0.3} ended=0
    if [ -z "$await_link" ] && [ -n "${EDL_SERVER:-}" ] && connected await_link; then
        (request "$await_link" /events "Accept: text/event-stream${await_revision:+$'\r\n'Last-Event-ID: $await_revision}") 2>/dev/null || await_over
    fi
    while [ -n "$await_link" ] && [ $((lines += 1)) -lt 300 ]; do
        ended=0
        read -r -t "$pause" line <&"$await_link" || ended=$?
        [ $ended = 0 ] || break
        case $line in
        'id: '*) await_revision=${line#id: } pause=0.05 ;;
        'HTTP/1.1 4'*) await_revision='' ;; # that revision is not there any more
        esac
    done
    if [ -z "$await_link" ] || { [ $ended -gt 0 ] && [ $ended -le 128 ]; }; then # there is no stream, or it has ended
        await_over
        read -r -t "$pause" <> <(:) || true
    fi
}
await_over() {
    [ -z "$await_link" ] || exec {await_link}>&-
    await_link=''
}
await_lost() { [ -z "$dev_pid" ] || lives "$dev_pid" || echo 'edl dev has ended'; }

job_field() { # JOB JQ-EXPRESSION
    api GET "/jobs/$1" | jq -r "$2"
}

# first_of PATTERN JSON: what the group of the pattern is where it matches first. Of a job its own state comes before all else.
first_of() {
    [[ $2 =~ $1 ]] && echo "${BASH_REMATCH[1]}"
}

state_in() { first_of '"state":"([a-z]*)"' "$1"; } # JSON
job_state() { state_in "$(api GET "/jobs/$1")"; }
running_in() { first_of "\"role\":\"$1\"[^}]*\"running\":([0-9]+)" "$2"; } # ROLE JSON
running() { running_in "$2" "$(api GET "/jobs/$1")"; }                       # JOB ROLE: how many run

# of one answer, so that a job that is over has no later count
at_least() { # JOB ROLE N
    local job n
    job=$(api GET "/jobs/$1")
    n=$(running_in "$2" "$job") && [ "$n" -ge "$3" ] && return 0
    is_over "$(state_in "$job")" || return 1
    never "job $1 is over, with ${n:-none} of role $2"
}

# records_at_least JOB N: counted by the task queue
records_at_least() {
    local job n
    job=$(api GET "/jobs/$1")
    n=$(first_of '"records_total":([0-9]+)' "$job") && [ "$n" -ge "$2" ] && return 0
    is_over "$(state_in "$job")" || return 1
    never "job $1 is over, with ${n:-no} records"
}

# a scheduler answers: after one was killed
scheduler_answers() { edl ps >/dev/null 2>&1; }

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

# hold_at JOB RECORDS [CHUNK]: what a test does to a job while it trains has to be done before the job is over, on a machine of any
# speed. So its trainers read so many records (of chunks of 250, as in small_corpus) and wait, until the test moves the mark or lets go.
# It lies there when the job's document is made. What a job is to do before the mark leaves room for the tasks that trainers have in hand.
hold_at() {
    echo $(($2 / ${3:-250})) >"$work/hold-$1.new"
    mv "$work/hold-$1.new" "$work/hold-$1"
}
let_go() { # JOB...
    rm "${@/#/$work/hold-}"
}

# small_corpus: a generated one whose entropy is known, in $work/corpus
small_corpus() { # VOCABULARY SAMPLES
    edl corpus build --out "$work/corpus" --synthetic "${1:-60}" --samples "${2:-40000}" --chunk-records 250
}

# training_job NAME MIN MAX PASSES [TRAINER-FLAGS]: a job document on standard output; held where hold_at said so
training_job() {
    local held=''
    [ ! -e "$work/hold-$1" ] || held="env LD_PRELOAD=$EDL_BUILD_DIR/tests/lib/held_files.so EDL_TEST_HOLD=$work/hold-$1 "
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
    entrypoint: exec ${held}edl-trainer ${5:-}
    min-instance: $2
    max-instance: $3
    resources: {requests: {cpu: 100m, memory: 32Mi}}
  pserver:
    min-instance: 2
    max-instance: 2
    resources: {requests: {cpu: 100m, memory: 32Mi}}
JOB
}
