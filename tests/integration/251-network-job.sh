#!/usr/bin/env bash
# A job of a network that is a file: a trainer is killed and the job is resized while it trains; every record is counted exactly once,
# and the saved model costs far less than knowing the mean rating.
# Takes 10 s: a job trains five passes, over a kill of a trainer and a resize
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
cluster_start --nodes 2
edl-trainer data recommendation --out "$work/corpus" --samples 24000 --users 60 --movies 40 --noise 0.2 --chunk-records 250
hold_at rates 20000
training_job rates 2 3 5 '--config=recommendation --config_args=width=16 --batch=50' >"$work/job.yaml"
edl submit "$work/job.yaml"
await 120 'trainers run' at_least rates trainer 2
await 120 'it trains' records_at_least rates 1000
victim=$(pids rates trainer | head -n 1)
kill -9 "$victim"
hold_at rates 60000
await 120 'training went on' records_at_least rates 30000
edl scale rates 1:4 >/dev/null
let_go rates
edl wait rates --timeout 900 || fail "rates: $(job_field rates .reason)"
exact_counts rates
n=$(api GET '/jobs/rates/processes?state=all' | jq '[.processes[] | select(.role == "trainer" and .exit_signal == 9)] | length')
[ "$n" -ge 1 ] || fail 'no trainer was seen killed'
# costs are of ratings scaled to -5..5: before training about the mean square of them
before=$(job_field rates .metrics.cost_before)
after=$(job_field rates .metrics.cost_after)
awk -v before="$before" -v after="$after" 'BEGIN { exit !(before > 0 && after < 0.5 * before) }' || fail "cost $before before, $after after"
model=$(job_field rates .metrics.model)
[ "$(find "$model" -name '_*' | wc -l)" = 31 ] || fail "files: $(ls "$model")"
[ -e "$model/recommendation.json" ] || fail 'the network is not beside its parameters'
edl model show "$model" --json >"$work/model.json" || fail "edl model show: $(cat "$work/model.json")"
holds '(.parameters | length) == 31 and .values > 0 and .problems == [] and all(.parameters[]; .l2 != null)' <"$work/model.json" ||
    fail "edl model show: $(cat "$work/model.json")"
tested=$(edl-trainer test --config=recommendation --config_args=width=16 "--data=$work/corpus" "--init_model_path=$model" | sed -n 's/^Test samples=.* cost=\([^ ]*\).*/\1/p')
awk -v tested="$tested" -v after="$after" 'BEGIN { exit !(tested > 0.9 * after && tested < 1.1 * after) }' || fail "edl-trainer test says $tested, the job $after"
cluster_stop
