#!/usr/bin/env bash
# A node of two schedulers on one PostgreSQL: its join line has both, and its processes go on when the one that leads is killed, and
# when it is stopped and goes on behind the other one.
# Takes 14 s: what was stopped has to be missed
set -eu
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"
. "$EDL_SOURCE_DIR/tests/lib/postgresql.sh"
postgresql_start p
postgresql_database p edl
url=postgresql://postgres@/edl?host=$postgresql_dir/p

scheduler() { # NAME PATTERN
    begin "$1" "$2" edl-scheduler --conf '' --state-dir "$work/state-$1" --listen "https://127.0.0.1:${port[$1]:-0}" --store "$url" --scheduler-name "$1" --lease 5s
    of[$1]=$pid port[$1]=$(sed 's/.*://' "$work/state-$1/address")
}
declare -A of port
edl_at() { # NAME WORD...
    EDL_SERVER=https://127.0.0.1:${port[$1]} EDL_CA=$work/state-a/ca.pem EDL_TOKEN_FILE=$work/state-a/admin-token edl "${@:2}"
}
scheduler a 'leads (term 1)'
line=$(edl_at a admin standby add b 2>/dev/null)
# shellcheck disable=SC2086
$line --conf '' --state-dir "$work/state-b" >/dev/null || fail "the line: $line"
scheduler b 'standby of a (term 1)'
knows_b() { edl_at a nodes | grep -q 'b standby'; }
await 120 "a knows of b" knows_b
both() { [[ $(edl_at a node add --foreground 2>/dev/null) == edl-agent\ --join\ https://*:${port[a]},https://*:${port[b]}\ * ]]; }
await 120 "both in the line" both

line=$(edl_at a node add n1 --foreground 2>/dev/null)
# shellcheck disable=SC2046,SC2086
begin agent "joined as n1" $line --state-dir "$work/node" --conf '' --client-conf '' --runtime direct --no-foreign --heartbeat 500ms --address 127.0.0.1 \
    --cpu 2 --memory 1Gi --cut-off-kill 5m --stop-processes-on-exit $([ "$(id -u)" != 0 ] || echo --allow-root)
edl_at a submit --name one -- sh -c 'echo started; exec sleep 1000' >/dev/null
runs_at() { [ "$(edl_at "$1" show one --json 2>/dev/null | jq -r .job.state)" = running ]; }
await 120 "the job" runs_at a
knows_term() { holds --argjson term "$1" '.term >= $term' <"$work/node/schedulers.json"; }
never_stood() {
    [ "$(edl_at "$1" logs one)" = '[trainer-0] started' ] || fail "it was started again: $(edl_at "$1" logs one)"
    holds '(.frozen_us // 0) == 0 and (.frozen_since_us // 0) == 0' <"$(echo "$work"/node/processes/*/supervisor.json)" || fail "it stood still"
}

kill -9 "${of[a]}"
await 120 "the node at b" knows_term 2
await 120 "the job at b" runs_at b
never_stood b

scheduler a 'standby of b (term 2)'
kill -STOP "${of[b]}"
await 120 "the node at a" knows_term 3
kill -CONT "${of[b]}"
await 120 "the job at a" runs_at a
never_stood a
edl_at a kill one >/dev/null
over_at() { [ "$(edl_at "$1" show one --json | jq -r .job.state)" = killed ]; }
await 120 "its end" over_at a
