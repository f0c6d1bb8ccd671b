# shellcheck shell=bash
# await.sh - waiting for what a test wants, with a deadline; the libraries that begin something include it
#
#   await SECONDS WHAT COMMAND...       until the command succeeds; else the test fails: not in time, WHAT. It fails at once where
#                                       the command says that this cannot come any more, or where what the test stands on has ended
#   never WHY                           ends a condition that cannot come any more, by a status of its own: `! condition` and
#                                       `condition || other` mean what they say
#   while_runs PID COMMAND...           a condition: the command; never, where that process has ended without it
#   while_job JOB COMMAND...            the same of a job: never, where it is over without it
#   job_is JOB STATE...                 a condition: its state is one of these; never, where the job is over in another one
#   job_state JOB                       as `edl show` tells it; a library that knows a quicker way has its own
#   fail WHY                            as in fail.sh
#   await_pause [SECONDS]               between two looks; a library that is told of events ends it at the next one
#   await_over                          after the last look; such a library closes what it has opened
#   await_lost                          a library's own: prints what the test stands on and has ended without being told to
#   $python                             Python 3: that of the system if there is one, as it starts quicker than a shim
# The deadline is there to end what hangs. Give it so much time that a busy machine never reaches it.
. "${EDL_SOURCE_DIR:?the checkout}/tests/lib/fail.sh"
# shellcheck disable=SC2034
python=$(command -v /usr/bin/python3 || command -v python3 || true)
never_status=113 # no program that tests start ends with it

# The pauses grow by half each time, up to a second: what comes soon is seen soon, and what takes long costs little.
await() {
    local deadline=$((SECONDS + $1)) what=$2 pause_ms=50 pause status=0 await_why='' lost=''
    shift 2
    until "$@"; do
        status=$?
        # what had come before its end is seen at the look after it
        [ -z "$lost" ] || fail "cannot come any more: $what: $lost"
        [ $status != $never_status ] || fail "cannot come any more: $what${await_why:+: $await_why}"
        [ $SECONDS -lt $deadline ] || fail "not in time: $what"
        lost=$(await_lost)
        [ -z "$lost" ] || continue
        printf -v pause '%d.%03d' $((pause_ms / 1000)) $((pause_ms % 1000))
        await_pause "$pause"
        pause_ms=$((pause_ms * 3 / 2 < 1000 ? pause_ms * 3 / 2 : 1000))
    done
    await_over
}

await_pause() { read -r -t "${1:-0.05}" <> <(:) || true; }
await_over() { :; }
await_lost() { :; }

# shellcheck disable=SC2034
never() { # WHY
    await_why=$*
    return $never_status
}

# One that has ended and is not waited for yet does not live.
lives() { # PID
    local stat
    { read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 1
    stat=${stat##*) }
    [ "${stat%% *}" != Z ]
}

# What had come before the end is seen at the second look.
while_runs() { # PID COMMAND...
    local pid=$1 status=0
    shift
    "$@" || status=$?
    [ $status != 0 ] && ! lives "$pid" || return $status
    "$@" || never "process $pid has ended"
}

job_state() { edl show "$1" --json 2>/dev/null | jq -r .job.state; }
is_over() { case $1 in succeeded | failed | killed) ;; *) return 1 ;; esac; } # STATE

job_is() { # JOB STATE...
    local job=$1 state wanted
    state=$(job_state "$job") || return 1
    shift
    for wanted in "$@"; do [ "$state" != "$wanted" ] || return 0; done
    is_over "$state" || return 1
    never "job $job is over: $state"
}

while_job() { # JOB COMMAND...
    local job=$1 state status=0
    shift
    "$@" || status=$?
    [ $status != 0 ] && state=$(job_state "$job") && is_over "$state" || return $status
    "$@" || never "job $job is over: $state"
}
