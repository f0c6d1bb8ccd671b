#!/usr/bin/env bash
# What an agent cannot follow in its files it says, with exit status 2, for which no service manager starts it again; and what it
# says that helps does help: a token without a cluster to join, and a cluster that has moved to another address.
# Takes 27 s: waits three times until a node is lost, after a lease of 2 s
set -eu
: "${EDL_BUILD_DIR:?the folder of the built programs}" "${EDL_SOURCE_DIR:?the checkout}"
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"
scheduler_begin() { # sets $server and $scheduler
    begin scheduler "policy" edl-scheduler --conf '' --state-dir "$work/scheduler" --listen https://127.0.0.1:0 --lease 2s
    scheduler=$pid
    server=$(cat "$work/scheduler/address")
    case $server in https:*) ;; *) server=https://$server ;; esac
    export EDL_SERVER=$server EDL_TOKEN_FILE=$work/scheduler/admin-token EDL_CA=$work/scheduler/ca.pem
}
conf=$work/agent.conf
refused() { # WHAT REMEDY ARGUMENT...: as in the service
    local what=$1 remedy=$2 status=0
    shift 2
    CREDENTIALS_DIRECTORY=$work/credentials timeout 120 edl-agent --conf "$conf" "$@" 2>"$work/refused.log" || status=$?
    [ $status = 2 ] || fail "exit status $status instead of 2"
    grep -qF -- "$what" "$work/refused.log" || fail "it does not say: $what"
    grep -qF -- "$remedy" "$work/refused.log" || fail "it does not say what to do: $remedy"
}
agent_is_taken() { # ARGUMENT...: with these files, until it has told the scheduler about itself
    CREDENTIALS_DIRECTORY=$work/credentials begin agent "node n1, 0 processes adopted" edl-agent --conf "$conf" "$@"
    await 120 'the node is ready' is_ready
    end "$pid"
    await 120 'the node is lost' is_lost
}
is_ready() { edl nodes n1 --json | holds '.state == "ready"'; }
is_lost() { edl nodes n1 --json | holds '.state != "ready"'; }
own="state-dir: $work/agent\nnode: n1\nruntime: direct\nno-foreign: true\nheartbeat: 200ms\n$([ "$(id -u)" = 0 ] && echo 'allow-root: true')\n"
files() { # SETTING...: agent.conf is those and our own
    # shellcheck disable=SC2059
    printf "$own" >"$conf"
    printf '%s\n' "$@" >>"$conf"
}

scheduler_begin
line=$(edl node add --foreground n1 2>/dev/null)
word_after() { echo "$line" | sed "s/.*$1 \([^ ]*\).*/\1/"; }
pin=$(word_after --ca-pin)

# neither token nor cluster
files
refused 'has not joined a cluster yet' 'edl node add'
mkdir -m 700 "$work/credentials"
word_after --token >"$work/credentials/edl.join-token"

# a token and no cluster, and then without what tells it for the true one: as told, one after the other
files
refused 'the credential edl.join-token to join with, but nothing says which cluster' 'write join: and ca-pin:'
files "join: $server"
refused 'nothing says which server is the true one' '--ca-pin'
files "join: $server" "ca-pin: $pin" 'reserve-memory: 900Ti'
refused '--reserve-memory keeps' ''
files "join: $server" "ca-pin: $pin"
agent_is_taken

# the cluster moves: its scheduler listens elsewhere, as the one that it was
old=$server
end "$scheduler"
scheduler_begin
[ "$old" != "$server" ] || fail 'it has not moved'

# whoever corrects join in the file is taken: the pin says that it is the same cluster
files "join: $server" "ca-pin: $pin"
agent_is_taken
files "join: $old" "scheduler: $server" "ca-pin: $pin"
refused '--join and --scheduler both say where it is' 'leave join out'
files "scheduler: $server" "ca-pin: $pin"
agent_is_taken

# and by the option, while join stands in the file
files "join: $old" "ca-pin: $pin"
agent_is_taken --scheduler "$server"
refused 'belongs to node n1' 'leave --node out' --node n2 --scheduler "$server"
