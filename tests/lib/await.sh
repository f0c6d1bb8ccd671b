# shellcheck shell=bash
# await.sh - waiting for what a test wants, with a deadline; the libraries that begin something include it
#
#   await SECONDS WHAT COMMAND...       until the command succeeds; else the test fails: not in time, WHAT
#   fail WHY                            as in fail.sh
#   await_pause [SECONDS]               between two looks; a library that is told of events ends it at the next one
#   await_over                          after the last look; such a library closes what it has opened
#   $python                             Python 3: that of the system if there is one, as it starts quicker than a shim
# The deadline is there to end what hangs. Give it so much time that a busy machine never reaches it.
. "${EDL_SOURCE_DIR:?the checkout}/tests/lib/fail.sh"
# shellcheck disable=SC2034
python=$(command -v /usr/bin/python3 || command -v python3 || true)

# The pauses grow by half each time, up to a second: what comes soon is seen soon, and what takes long costs little.
await() {
    local deadline=$((SECONDS + $1)) what=$2 pause_ms=50 pause
    shift 2
    until "$@"; do
        [ $SECONDS -lt $deadline ] || fail "not in time: $what"
        printf -v pause '%d.%03d' $((pause_ms / 1000)) $((pause_ms % 1000))
        await_pause "$pause"
        pause_ms=$((pause_ms * 3 / 2 < 1000 ? pause_ms * 3 / 2 : 1000))
    done
    await_over
}

await_pause() { read -r -t "${1:-0.05}" <> <(:) || true; }
await_over() { :; }
