# shellcheck shell=bash
# fail.sh - the end of a test that does not hold; await.sh has it, and with it all that begins something
#
#   fail WHY...     "FAIL: WHY" and what on_fail shows go to standard error; exit status 1
#   on_fail() {...} the test's own, or its library's: how things are
#   fail_in=TEXT    before each WHY: of which part it is
# What a test asks of what commands say is in conditions.sh, which this includes.
. "${EDL_SOURCE_DIR:?the checkout}/tests/lib/conditions.sh"
fail() {
    echo "FAIL: ${fail_in:-}$*" >&2
    if declare -F on_fail >/dev/null; then on_fail >&2 || true; fi
    exit 1
}
