#!/usr/bin/env bash
# A node that was removed comes back with one line typed there, while its agent still runs as the service does, and also when it has
# ended. A line of another cluster, and one that is used up, say so and leave the agent as it is.
# Takes 16 s: an agent that is refused asks again after up to 2 s
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"
scheduler_begin() { # NAME: sets $server
    begin "$1" 'listening on https' edl-scheduler --conf '' --state-dir "$work/$1" --listen https://127.0.0.1:0 --lease 60s
    server=$(cat "$work/$1/address")
}
use() { export EDL_SERVER=$server EDL_TOKEN_FILE=$work/$1/admin-token EDL_CA=$work/$1/ca.pem; }
as_root=''
[ "$(id -u)" != 0 ] || as_root=--allow-root
options="--conf '' --state-dir $work/agent --runtime direct --no-foreign --heartbeat 200ms $as_root"
# type_line LINE: as a person does, but for the service that is enabled behind it, and with the options that /etc has for that one
type_line() {
    [ "${1%% && systemctl enable --now edl-agent}" != "$1" ] || fail "the line does not begin the service: $1"
    sh -c "timeout 300 ${1%% && *} $options" >"$work/typed" 2>&1
}
is_ready() { edl nodes n1 --json 2>/dev/null | holds '.state == "ready"'; }
is_gone() { [ "$(edl nodes --json | jq '.nodes | length')" = 0 ]; }
refuses() { grep -q "not the credential of node n1" "$work/agent.log"; }

scheduler_begin other
use other
foreign=$(edl node add n1 2>/dev/null)
scheduler_begin scheduler
use scheduler
type_line "$(edl node add n1 2>/dev/null)" || fail "it does not join: $(cat "$work/typed")"
# shellcheck disable=SC2086
begin agent 'node n1' sh -c "exec edl-agent $options --stop-processes-on-exit --cut-off-kill 1s"
agent=$pid
await 120 'the node is ready' is_ready

# removed, its agent asks in vain, and says what to do
edl node remove n1 >/dev/null
await 120 'the agent is refused' refuses
# shellcheck disable=SC2016
grep -q 'run there what `edl node add n1` prints' "$work/agent.log" || fail 'the agent does not say what to do'
line=$(edl node add n1 2>/dev/null)
if type_line "$foreign"; then fail 'a line of another cluster was taken'; fi
grep -q "the state folder belongs to node n1 of $server" "$work/typed" || fail "another cluster: $(cat "$work/typed")"
type_line "$line" || fail "it does not join again: $(cat "$work/typed")"
grep -q 'the agent that runs here goes on as node n1' "$work/typed" || fail "it says: $(cat "$work/typed")"
await 120 'the node is back' is_ready
[ "$(edl submit --name a --memory 64Mi --follow -- echo it runs 2>/dev/null | grep -c 'it runs')" = 1 ] || fail 'no job runs on it'

# the same line once more: a healthy node goes on
if type_line "$line"; then fail 'a line was good twice'; fi
grep -q 'the cluster does not take this node' "$work/typed" || fail "a used line: $(cat "$work/typed")"
is_ready || fail 'the node has gone'

# without a name in the line, and without an agent
edl node remove n1 >/dev/null
await 120 'it is gone' is_gone
end "$agent"
type_line "$(edl node add 2>/dev/null)" || fail "it does not join again: $(cat "$work/typed")"
is_ready || fail 'the node is not back'

# its agent also finds the new credential where its service names a file, of which the token is spent
echo spent >"$work/spent"
# shellcheck disable=SC2086
begin spent 'node n1' sh -c "exec edl-agent $options --join-token-file $work/spent --stop-processes-on-exit --cut-off-kill 1s"
await 120 'it runs on' is_ready
edl node remove n1 >/dev/null
await 120 'it is gone' is_gone
is_refused() { grep -q 'there is no such join token' "$work/scheduler.log"; }
await 120 'its token is refused' is_refused
type_line "$(edl node add n1 2>/dev/null)" || fail "it does not join beside it: $(cat "$work/typed")"
timeout 300 edl submit --name b --memory 64Mi --follow -- echo it runs >"$work/said" 2>&1 && grep -q 'it runs$' "$work/said" || fail "no job runs on it: $(cat "$work/said")"
