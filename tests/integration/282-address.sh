#!/usr/bin/env bash
# A node whose address changes (DHCP): its agent takes the address of each new connection, and the next start of a job is told it as
# MASTER_ADDR. One that its options name stays.
# Takes 9 s: a connection breaks off without a word, which is found out after a seventh of the lease
. "$EDL_SOURCE_DIR/tests/lib/namespace.sh"
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"
# as_address ADDRESS [OLD]: from now on this machine calls the scheduler from there; the old address is gone, and with it what used it
as_address() {
    ip addr add "$1/32" dev lo 2>/dev/null || true
    ip route replace local 10.77.0.1 dev lo scope host src "$1" table local
    [ -z "${2:-}" ] || ip addr del "$2/32" dev lo
}
is_at() { edl nodes n1 --json | holds ".state == \"ready\" and .address == \"$1\""; }
# shellcheck disable=SC2016
master() { # JOB: what its one process is told
    edl submit --name "$1" --mode collective --workspace private --memory 64Mi --min 1 --max 1 --follow -- sh -c 'echo "master $MASTER_ADDR"' 2>/dev/null |
        sed -n 's/.*master //p'
}
begin scheduler 'listening on https' edl-scheduler --conf '' --state-dir "$work/scheduler" --listen https://10.77.0.1:0 --lease 20s
export EDL_TOKEN_FILE=$work/scheduler/admin-token EDL_CA=$work/scheduler/ca.pem EDL_SERVER
EDL_SERVER=$(cat "$work/scheduler/address")
as_address 10.77.0.2
as_root=''
[ "$(id -u)" != 0 ] || as_root=--allow-root
line=$(edl node add --foreground n1 2>/dev/null)
options="--conf '' --state-dir $work/agent --runtime direct --no-foreign --heartbeat 200ms --stop-processes-on-exit $as_root"
# shellcheck disable=SC2086
begin agent 'joined as n1' sh -c "exec $line $options --cut-off-kill 1s"
await 120 'the node is ready' is_at 10.77.0.2
[ "$(master first)" = 10.77.0.2 ] || fail 'the first job is told another address'

as_address 10.77.0.3 10.77.0.2
await 120 'its new address is known' is_at 10.77.0.3
[ "$(master second)" = 10.77.0.3 ] || fail 'MASTER_ADDR is the old address'

# the next agent begins with it
end "$pid"
grep -q '"address": "10.77.0.3"' "$work/agent/member.json" || fail "it does not keep the address: $(cat "$work/agent/member.json")"
as_address 10.77.0.4 10.77.0.3
# shellcheck disable=SC2086
begin agent 'node n1' sh -c "exec edl-agent $options --address 10.77.0.9 --cut-off-kill 1s"
await 120 'the address of its options is known' is_at 10.77.0.9
[ "$(master third)" = 10.77.0.9 ] || fail 'the address of its options does not count'

# one that was given with the line is kept, though no interface has it
end "$pid"
edl node remove n1 >/dev/null
line=$(edl node add n1 2>/dev/null)
# shellcheck disable=SC2086
sh -c "timeout 300 ${line%% && *} $options --address node7.example" >"$work/typed" 2>&1 || fail "it does not join: $(cat "$work/typed")"
# shellcheck disable=SC2086
begin given 'node n1' sh -c "exec edl-agent $options --cut-off-kill 1s"
await 120 'the node is ready' is_at node7.example
[ "$(master fourth)" = node7.example ] && is_at node7.example || fail "the address of the line does not stay: $(edl nodes n1)"
