# shellcheck shell=bash
# conditions.sh - what a test asks of what a command says; nothing holds of a command that fails or says nothing
#
#   COMMAND | holds [JQ-OPTION...] FILTER      the filter is true of the JSON (jq 1.6 -e succeeds on nothing)
#   COMMAND | lacks [GREP-OPTION...] PATTERN   it says something, and no line of it matches
#   silent COMMAND...                          it succeeds and says nothing
#   differs ONE OTHER                          both are there, and they are not the same
# fail.sh has them, and with it all that begins something; tests/lint/conditions refuses what they stand for.

holds() {
    local json
    json=$(cat)
    [ -n "$json" ] && jq -e "$@" <<<"$json" >/dev/null
}

lacks() {
    local text
    text=$(cat && echo end) # so that empty lines are something
    [ "$text" != end ] || return 1
    ! grep -q "$@" <<<"${text%end}"
}

silent() {
    local said
    said=$("$@") && [ -z "$said" ]
}

differs() {
    [ -n "$1" ] && [ -n "$2" ] && [ "$1" != "$2" ]
}
