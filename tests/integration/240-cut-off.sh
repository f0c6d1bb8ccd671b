#!/usr/bin/env bash
# A node that is cut off stops by itself before its work is granted elsewhere, even when its agent is dead for good.
# Takes 13 s: waits until a node is lost, after a lease of 6 s
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
cluster_start --nodes 2 --lease 6s
# one process that appends a line with its incarnation every 0.1 s, as long as it acts
# shellcheck disable=SC2016
cat >"$work/job.json" <<JOB
{"metadata":{"name":"beat"},"spec":{"fault_tolerant":true,"mode":"collective","trainer":{"min-instance":1,"max-instance":1,
 "command":["bash","-c","while :; do echo \"\$EDL_INCARNATION \$(cut -d' ' -f1 /proc/uptime)\" >>$work/beats; read -t 0.1 <> <(:); done"]}}}
JOB
edl submit "$work/job.json"
beats() { [ -s "$work/beats" ] && [ "$(cut -d' ' -f1 "$work/beats" | sort -un | wc -l)" -ge "$1" ]; }
await 120 'it beats' while_job beat beats 1
node=$(api GET '/jobs/beat/processes?state=live' | jq -r '.processes[0].node')
agent=$(pgrep -f -- "edl-agent .*--node $node .*$work" | head -n 1)
kill -STOP "$agent" # alive but dumb: edl dev does not restart it, its lease runs out
await 120 'another incarnation beats' while_job beat beats 2
kill -CONT "$agent"
# the last beat of the first comes before the first beat of the second
awk '{ if (!($1 in first)) { first[$1] = $2; order[++n] = $1 } last[$1] = $2 }
     END { for (i = 1; i < n; i++) if (last[order[i]] >= first[order[i + 1]]) { print "incarnations " order[i] " and " order[i + 1] " acted at once"; exit 1 } }' \
    "$work/beats" || fail 'two incarnations acted at once'
edl kill beat
edl wait beat --timeout 120 || true
cluster_stop
