#!/usr/bin/env bash
# `edl node cordon|uncordon|drain|remove`: what each does to its nodes, and what is told when it cannot be done.
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
cluster_start --nodes 3

state_of() { api GET "/nodes/$1" | jq -r .state; }
node_is() { [ "$(state_of "$1")" = "$2" ]; }
refused() { # STATUS WHAT ARGUMENT...
    local wanted=$1 what=$2 status=0
    shift 2
    edl node "$@" >"$work/out" 2>"$work/err" || status=$?
    [ $status = "$wanted" ] || fail "edl node $*: exit status $status, not $wanted"
    grep -q -e "$what" "$work/err" || fail "edl node $*: says $(cat "$work/err"), not $what"
}

# several at once; nothing new starts there
[ "$(edl node cordon node-1 node-2 | paste -sd' ')" = 'node-1: cordoned node-2: cordoned' ] || fail 'cordon tells something else'
edl submit --name first --min 3 --max 3 --cpu 10m -- sleep 1000
await 120 'it runs' job_is first running
[ "$(api GET /jobs/first/processes | jq -r '[.processes[].node] | unique | join(" ")')" = node-3 ] || fail 'a cordoned node was used'
[ "$(edl node uncordon node-1 --json | jq -r '.name + " " + .state')" = 'node-1 ready' ] || fail 'uncordon --json tells something else'

agent() { # SIGNAL NODE: one that runs joins again as soon as its node is removed
    pkill "-$1" -f "^[^ ]*edl-agent .*--node $2 .*$work" || fail "there is no agent of $2"
}

# a drain moves nothing that cannot move, and says so; one that is refused keeps no other from being asked
edl node drain node-3 | grep -q '^node-3: draining' || fail 'drain tells something else'
refused 1 'edl nodes' remove nobody
agent STOP node-2
refused 1 'still has processes' remove node-3 node-2
[ "$(cat "$work/out")" = 'node-2: removed' ] || fail "node-2 was not asked for: $(cat "$work/out")"
node_is node-3 draining || fail 'it does not drain any more'
edl kill first
await 120 'it is killed' job_is first killed
agent STOP node-3
edl node remove node-3 --json | holds '.state == "removed"' || fail 'an empty node stays'
[ "$(api GET /nodes | jq -r '[.nodes[].name] | join(" ")')" = node-1 ] || fail "the nodes are $(edl nodes)"
agent CONT node-2
agent CONT node-3

# said wrongly: nothing is asked
refused 2 'edl node add' cordon
refused 2 'edl node add' empty node-1
node_is node-1 ready || fail 'a node was changed'

# who only submits may not
edl user add ann
umask 077
edl token create --user ann >"$work/ann" 2>/dev/null
EDL_TOKEN_FILE=$work/ann refused 1 'needs the role operator' drain node-1
node_is node-1 ready || fail 'a node was changed by a user'
cluster_stop
