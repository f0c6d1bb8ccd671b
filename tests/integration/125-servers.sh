#!/usr/bin/env bash
# The number of parameter servers stays what a job began with, in edl scale and edl plan alike. One that an earlier scheduler has
# given another number, which its trainers fail with for ever, goes on when it is scaled back.
# Takes 10 s: a job trains over a kill of its scheduler, and over two changes of its servers
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
cluster_start --nodes 2 --cpu 4000m
small_corpus
training_job one 1 2 1000000 >"$work/job.yaml"
edl submit "$work/job.yaml" >/dev/null
await 120 'it trains' records_at_least one 2000

refused() { # REMEDY COMMAND...: with a remedy, and nothing has changed
    local remedy=$1
    shift
    if "$@" >"$work/told" 2>&1; then fail "$* was done: $(cat "$work/told")"; fi
    grep -q 'the parameters of job one lie on 2 parameter servers' "$work/told" || fail "$*: $(cat "$work/told")"
    grep -q -- "$remedy" "$work/told" || fail "$*: $(cat "$work/told")"
}
servers() { job_field one '.roles[] | select(.role == "pserver") | [.min, .max, .target] | @csv'; }
for n in 1 3; do
    refused "for $n servers\? kill it and submit it anew" edl scale one "$n" --role pserver
    refused "for $n servers\? kill it and submit it anew" edl plan --scale one "$n" --role pserver
done
[ "$(api PATCH /jobs/one -o /dev/null -w '%{http_code}' -H 'Content-Type: application/json' -d '{"role": "pserver", "min": 3, "max": 3}')" = 409 ] ||
    fail 'PATCH has another status'
[ "$(servers)" = 2,2,2 ] || fail "it has $(servers)"
edl scale one 2 --role pserver >/dev/null || fail 'the number that it has was refused'

# as an earlier scheduler's database has it
pid=$(pgrep -f -- "edl-scheduler .*$work" | head -n 1)
[ -n "$pid" ] || fail 'scheduler not found'
kill -STOP "$dev_pid" # which would start it again
kill -9 "$pid"
database=$(find "$work/state" -name '*.db' | head -n 1)
sqlite3 "$database" "PRAGMA busy_timeout = 5000; UPDATE job SET spec = json_replace(spec, '\$.roles[0].min', 3, '\$.roles[0].max', 3) WHERE name = 'one'" >/dev/null
[ "$(sqlite3 "$database" "SELECT json_extract(spec, '\$.roles[0].role', '\$.roles[0].max') FROM job")" = '["pserver",3]' ] || fail 'no such row'
kill -CONT "$dev_pid"
three() { [ "$(running one pserver)" = 3 ]; }
await 120 'it has three servers' while_job one three
kill -9 $(pids one trainer)
wrong() { edl logs one | grep -q 'the parameters lie on 2 servers, not 3'; }
await 120 'its trainers are refused' while_job one wrong
refused 'edl scale one 2 --role pserver makes it whole again' edl scale one 4 --role pserver
edl scale one 2 --role pserver >/dev/null
two() { [ "$(running one pserver)" = 2 ]; }
await 120 'it has two servers' while_job one two
await 120 'it goes on' records_at_least one $(($(job_field one .records_total) + 2000))
edl kill one >/dev/null
cluster_stop
