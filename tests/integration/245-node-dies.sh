#!/usr/bin/env bash
# A machine dies while nobody reads its logs: the end of what its processes wrote is there, merged with that of the others,
# after the job and over a restart of the scheduler.
# Takes 28 s: waits for a lease of 10 s to end, and for a heartbeat of it
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
. "$EDL_SOURCE_DIR/tests/lib/state_sql.sh"
cluster_start --nodes 2 --cpu 1000m --lease 10s
# two processes, one on each node, that count
# shellcheck disable=SC2016
cat >"$work/job.json" <<JOB
{"metadata":{"name":"count"},"spec":{"fault_tolerant":true,"mode":"collective","trainer":{"min-instance":2,"max-instance":2,
 "resources":{"requests":{"cpu":"400m"}},
 "command":["bash","-c","n=0; while :; do echo \"line \$((n += 1)) of \$EDL_INCARNATION\"; read -t 0.1 <> <(:); done"]}}}
JOB
edl submit "$work/job.json"
await 120 'both run' at_least count trainer 2

kept() { # INCARNATION: lines of it that the scheduler holds, though nobody asked
    state_sql "SELECT text FROM log_tail WHERE incarnation = $1" | grep -q "line 3 of $1"
}

logged() { # INCARNATION: its lines in the merged output
    edl logs count | grep -c "line [0-9]* of $1\$"
}

process=$(api GET '/jobs/count/processes?state=live' | jq -c '.processes[0]')
node=$(jq -r .node <<<"$process") incarnation=$(jq -r .incarnation <<<"$process")
other=$(api GET '/jobs/count/processes?state=live' | jq -r '.processes[1].incarnation')
await 120 'its end is kept' kept "$incarnation"
# the machine dies: its agent first, which edl dev would replace, then what it ran
agent=$(pgrep -f -- "edl-agent .*--node $node .*$work" | head -n 1)
kill -STOP "$agent"
kill -9 "$(jq -r .pid <<<"$process")"
for pid in $(pgrep -f -- "edl-supervisor .*$work/state/nodes/$node/"); do kill -9 "$pid" || true; done
lost() {
    api GET '/jobs/count/processes?state=all' | holds --argjson i "$incarnation" '.processes[] | select(.incarnation == $i and .state == "lost")'
}
await 120 'it is lost' lost
[ "$(logged "$incarnation")" -ge 3 ] || fail "the output of the machine that died is gone: $(edl logs count | head)"
edl kill count >/dev/null
edl wait count --timeout 120 || true
scheduler=$(pgrep -f -- "edl-scheduler .*$work" | head -n 1)
kill -9 "$scheduler"
await 120 'a scheduler answers' scheduler_answers
[ "$(logged "$incarnation")" -ge 3 ] || fail "after the restart: $(edl logs count | head)"
[ "$(logged "$other")" -ge 3 ] || fail "of the machine that lives: $(edl logs count | head)"
kill -CONT "$agent"
cluster_stop
