# shellcheck shell=bash
# await.sh - waiting for what a test wants, with a deadline; the libraries that begin something include it
#
#   await SECONDS WHAT COMMAND...       until the command succeeds; else the test fails: not in time, WHAT
#   fail WHY                            as in fail.sh
#   await_pause                         between two looks; a library that is told of events waits for one instead
. "${EDL_SOURCE_DIR:?the checkout}/tests/lib/fail.sh"

await() {
    local deadline=$((SECONDS + $1)) what=$2
    shift 2
    until "$@"; do
        [ $SECONDS -lt $deadline ] || fail "not in time: $what"
        await_pause
    done
}

await_pause() { read -r -t 0.05 <> <(:) || true; }
