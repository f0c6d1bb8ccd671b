#!/usr/bin/env bash
# Logs of a job that has ended, which nobody read while it ran: the outputs of its processes are merged in time, not one
# behind the other.
# Takes 13 s: waits for a heartbeat of a lease of 20 s
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
. "$EDL_SOURCE_DIR/tests/lib/state_sql.sh"
cluster_start --nodes 2 --cpu 1000m --lease 20s # ends are kept with a heartbeat, of a third of it
# two processes, one on each node: ten lines of 200 bytes a second
# shellcheck disable=SC2016
cat >"$work/job.json" <<JOB
{"metadata":{"name":"talk"},"spec":{"mode":"collective","trainer":{"min-instance":2,"max-instance":2,
 "resources":{"requests":{"cpu":"400m"}},
 "command":["bash","-c","n=0; while :; do printf 'line %d %0190d\\\\n' \$((n += 1)) 0; read -t 0.1 <> <(:); done"]}}}
JOB
edl submit "$work/job.json"
await 120 'both run' at_least talk trainer 2
both_kept() { # the scheduler has heard of both, unasked: some heartbeats have passed
    [ "$(state_sql 'SELECT count(*) FROM log_tail')" = 2 ]
}
await 120 'ends of both are kept' both_kept
edl kill talk >/dev/null
edl wait talk --timeout 120 || true
ended() { api GET '/jobs/talk/logs' | holds .end; }
await 120 'their ends are here' ended
api GET '/jobs/talk/logs' >"$work/logs"
holds '[.entries[].time_us] | . == sort and min > 0' <"$work/logs" || fail "times: $(jq -c '[.entries[].time_us]' "$work/logs")"
turns=$(jq '[.entries[].index] as $i | [range(1; $i | length) | select($i[.] != $i[. - 1])] | length' "$work/logs")
[ "$turns" -ge 4 ] || fail "the outputs stand one behind the other: $(jq -c '[.entries[] | [.index, .time_us]]' "$work/logs")"
for index in 0 1; do # each line once, in its order
    jq -r --argjson i "$index" '.entries[] | select(.index == $i) | .text' -j "$work/logs" | cut -d' ' -f2 >"$work/lines"
    seq "$(wc -l <"$work/lines")" | cmp - "$work/lines" || fail "trainer-$index: lines are missing or moved"
done
cluster_stop
