#!/usr/bin/env bash
# kill -9 of trainers while a job trains: they are replaced, survivors go on, every record is counted exactly once.
# Takes 15 s: a job trains five passes, while two of its trainers are killed
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
cluster_start --nodes 2
small_corpus
hold_at train 40000
training_job train 2 4 5 >"$work/job.yaml"
edl submit "$work/job.yaml"
await 120 'trainers run' at_least train trainer 2
await 120 'it trains' records_at_least train 1000
servers=$(pids train pserver | sort | tr '\n' ' ')
victim=$(pids train trainer | head -n 1)
kill -9 "$victim"
hold_at train 120000
await 120 'training went on' records_at_least train 60000
victim=$(pids train trainer | tail -n 1)
kill -9 "$victim"
[ "$servers" = "$(pids train pserver | sort | tr '\n' ' ')" ] || fail 'a parameter server was disturbed'
let_go train
edl wait train --timeout 900 || fail "train: $(job_field train .reason)"
exact_counts train
n=$(api GET '/jobs/train/processes?state=all' | jq '[.processes[] | select(.role == "trainer" and .exit_signal == 9)] | length')
[ "$n" = 2 ] || fail "$n trainers were seen killed"
cluster_stop
