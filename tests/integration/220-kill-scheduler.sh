#!/usr/bin/env bash
# kill -9 of the scheduler, again and again, while a job trains: it continues where it was, nothing is lost or disturbed.
# Takes 38 s: a job trains eight passes, while its scheduler is killed and started again six times
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
cluster_start --nodes 2
small_corpus
hold_at train 30000
training_job train 2 4 8 >"$work/job.yaml"
edl submit "$work/job.yaml"
await 120 'it trains' records_at_least train 1000
submitted() { edl submit --name "$1" -- true 2>"$work/err"; }
for round in 1 2 3; do
    pid=$(pgrep -f -- "edl-scheduler .*$work" | head -n 1)
    [ -n "$pid" ] || fail 'scheduler not found'
    kill -9 "$pid"
    # a job acknowledged right before the next kill is there after it
    await 120 'a scheduler takes a job' submitted "after-$round"
    pid=$(pgrep -f -- "edl-scheduler .*$work" | head -n 1)
    kill -9 "$pid"
    await 120 'the acknowledged job is there' job_field "after-$round" .id
    hold_at train $((round * 60000 + 30000))
    await 120 'training went on' records_at_least train $((round * 60000))
done
let_go train
edl wait train --timeout 900 || fail "train: $(job_field train .reason)"
exact_counts train
for round in 1 2 3; do edl wait "after-$round" --timeout 120 || fail "after-$round"; done
disturbed=$(api GET '/jobs/train/processes?state=all' | jq '[.processes[] | select(.state == "lost" or .exit_signal > 0 or .exit_code > 0)] | length')
[ "$disturbed" = 0 ] || fail "$disturbed processes were disturbed"
cat "$work"/state/*.log | lacks 'error .*report once more' || fail 'agents complain of what every restart brings'
cluster_stop
