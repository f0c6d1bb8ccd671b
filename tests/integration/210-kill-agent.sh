#!/usr/bin/env bash
# kill -9 of an agent while a job trains: its processes go on, the new agent adopts them, nothing is lost.
# Takes 9 s: a job trains six passes, while both of its agents are killed
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
cluster_start --nodes 2
small_corpus
hold_at train 60000
training_job train 2 4 6 >"$work/job.yaml"
edl submit "$work/job.yaml"
await 120 'it trains' records_at_least train 1000
tells() { # how far one is, and each has begun
    api GET '/jobs/train/processes?state=live' | holds '(.processes | all(.pid > 0)) and ([.processes[] | select(.progress.samples > 0)] | length > 0)'
}
await 120 'its trainers tell how far they are' while_job train tells
before=$(api GET '/jobs/train/processes?state=live' | jq -c '[.processes[] | [.role, .index, .incarnation, .pid]] | sort')
for name in node-1 node-2; do
    pid=$(pgrep -f -- "edl-agent .*--node $name .*$work" | head -n 1)
    [ -n "$pid" ] || fail "agent of $name not found"
    kill -9 "$pid"
done
# their connections end with them: it is told long before their leases end
noticed() { [ "$(api GET '/events?after=0&limit=1000' | jq '[.events[] | select(.event == "node-disconnected").node] | unique | length')" = 2 ]; }
await 120 'that they have gone is told' noticed
hold_at train 180000
await 120 'training went on' records_at_least train 120000
after=$(api GET '/jobs/train/processes?state=all' | jq -c '[.processes[] | [.role, .index, .incarnation, .pid]] | sort')
for p in $(echo "$before" | jq -c '.[]'); do
    echo "$after" | holds --argjson p "$p" 'index([$p])' || fail "process $p is not known any more: $after"
done
lost=$(api GET '/jobs/train/processes?state=all' | jq '[.processes[] | select(.state == "lost" or .exit_signal > 0)] | length')
[ "$lost" = 0 ] || fail "$lost processes were disturbed"
let_go train
edl wait train --timeout 900 || fail "train: $(job_field train .reason)"
exact_counts train
cluster_stop
