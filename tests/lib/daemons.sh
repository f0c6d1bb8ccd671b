# shellcheck shell=bash
# daemons.sh - a test's own daemons, one by one: each is begun, waited for until its log says so, and ended with the test
#
#   . "$EDL_SOURCE_DIR/tests/lib/daemons.sh"
#   begin NAME PATTERN COMMAND...       in the background, until its log ($work/NAME.log) says PATTERN; sets $pid
#   end PID                             of one that was begun
#   kill ...                            as always; one that was begun and ends without this or end fails each await from then on
#   await SECONDS WHAT COMMAND...       as in await.sh
# $work is a folder of the test's own, removed at the end; everything that was begun, or is in the background, is ended then.
set -eu
: "${EDL_BUILD_DIR:?the folder of the built programs}" "${EDL_SOURCE_DIR:?the checkout}"
. "$EDL_SOURCE_DIR/tests/lib/await.sh"
PATH=$EDL_BUILD_DIR:$PATH
work=$(mktemp -d)
pids=''
readers='' # of their logs
declare -A begun # PID -> NAME of those that nothing has told to end

on_fail() {
    tail -n 60 "$work"/*.log || true
}

# others - what the test has in the background besides, but not the readers of logs: a daemon ends in front of its reader
# shellcheck disable=SC2317
others() {
    jobs -p | grep -vxF -f <(printf '%s\n' 0 $readers) || true
}

# shellcheck disable=SC2317
on_exit() {
    local status=$?
    trap - EXIT
    exec 8>&- 2>/dev/null || true # what some tests keep open to something that reads until its end
    # shellcheck disable=SC2086
    kill $pids $(others) 2>/dev/null || true
    wait || true
    rm -rf "$work"
    exit $status
}
trap on_exit EXIT
# a time limit ends the test with SIGTERM: what it was waiting in
trap 'echo "stopped in: $BASH_COMMAND"; exit 130' INT TERM

# until_says NAME PATTERN: copies what comes out of $work/NAME.fifo to the log, and returns when it says PATTERN
until_says() {
    local line=''
    exec 7<"$work/$1.fifo"
    while read -r -t 120 line <&7; do
        echo "$line" >>"$work/$1.log"
        case $line in *"$2"*) break ;; esac
    done
    cat <&7 >>"$work/$1.log" &
    readers="$readers $!"
    exec 7<&-
    case $line in *"$2"*) ;; *) fail "$1 did not say: $2" ;; esac
}

begin() { # NAME PATTERN COMMAND...
    local name=$1 pattern=$2
    shift 2
    # what its processes left standing still at the end of the test would stand for a quarter of an hour
    case "$* " in
    *' --cut-off-kill '*) ;; # it is to stand for as long as that says
    *edl-agent\ *) set -- "$@" --cut-off-kill 1s ;;
    esac
    rm -f "$work/$name.fifo"
    mkfifo "$work/$name.fifo"
    "$@" 2>"$work/$name.fifo" &
    pid=$!
    pids="$pids $pid"
    begun[$pid]=$name
    until_says "$name" "$pattern"
}

kill() {
    local word
    case ${1:-} in
    -0 | -HUP | -STOP | -CONT | -USR[12]) ;;
    *) for word; do unset "begun[$word]"; done ;;
    esac
    builtin kill "$@"
}

await_lost() {
    local process
    for process in "${!begun[@]}"; do
        lives "$process" || echo "${begun[$process]} has ended, see $work/${begun[$process]}.log"
    done
}

end() { # PID
    kill "$1"
    wait "$1" || true
}
