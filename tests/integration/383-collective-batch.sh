#!/usr/bin/env bash
# With --batch-rule=linear a step has as many batches as there are trainers. It changes as they come and go, and each record is trained once in
# a pass all the same. Rules that there are not are refused.
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
cluster_start --nodes 1
edl corpus build --out "$work/corpus" --synthetic 100 --samples 6000 --chunk-records 500 >/dev/null 2>&1
options='--collective --config=ngram_lm --config_args=rate=0.05 --batch=48 --micro-batches=2 --batch-rule=linear --batch-most=144 --batch-warm-up=20 --num_passes=4 --log-period=0'
cat >"$work/job.yaml" <<JOB
apiVersion: paddlepaddle.org/v1
kind: TrainingJob
metadata:
  name: words
spec:
  mode: collective
  fault_tolerant: true
  restart: {max: 20, backoff: 100ms}
  dataset: $work/corpus/train-*.recordio
  trainer:
    entrypoint: exec edl-trainer $options
    min-instance: 2
    max-instance: 2
    resources: {requests: {cpu: 100m, memory: 32Mi}}
JOB
# told WORDS: a trainer of the job says them
told() { edl logs words 2>/dev/null | grep -q -- "$1"; }
edl submit "$work/job.yaml"
await 120 'two batches in a step' while_job words told 'rank [01] of 2, step [0-9]*, micro-batches 4$'
edl scale words 3 >/dev/null
await 120 'three batches in a step' while_job words told 'of 3, step [0-9]*, micro-batches 6$'
edl wait words --timeout 300 || fail "words: $(job_field words .reason)"
cost=$(job_field words .metrics.cost_after)
awk -v cost="$cost" 'BEGIN { exit !(cost > 0 && cost < 4) }' || fail "the job tells the cost $cost"

# one trainer alone has one batch: constant
# shellcheck disable=SC2086
timeout 300 edl-trainer $options --num_passes=1 --data="$work/corpus" --output-dir="$work/linear" >/dev/null 2>&1
timeout 300 edl-trainer --collective --config=ngram_lm --config_args=rate=0.05 --batch=48 --micro-batches=2 --num_passes=1 --data="$work/corpus" --output-dir="$work/constant" >/dev/null 2>&1
cmp "$work/linear/model/output_weight" "$work/constant/model/output_weight" || fail 'one rank: other bits than constant'

for other in --batch-rule=goodput --batch-rule=square --batch-most=47 --batch-most=100000; do
    status=0
    # shellcheck disable=SC2086
    edl-trainer $options --data="$work/corpus" $other >/dev/null 2>"$work/refused" || status=$?
    [ "$status" = 2 ] || fail "$other: exit status $status: $(cat "$work/refused")"
    grep -q -e 'constant or linear' -e 'largest batch is 47' -e '--batch-most' "$work/refused" || fail "$other: $(cat "$work/refused")"
done
cluster_stop
