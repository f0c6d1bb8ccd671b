#!/usr/bin/env bash
# With --batch-rule=linear a step has as many batches as there are trainers, with goodput the batch that teaches most a second. It changes as
# they come and go, each record is trained once in a pass all the same, and one trainer that takes the same batches makes the same bits.
# Rules that there are not are refused.
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
# told JOB WORDS: a trainer of the job says them
told() { edl logs "$1" 2>/dev/null | grep -q -- "$2"; }
output_of() { dirname "$(find "$work/state/output" -path "*/$1-[0-9]*/batches")"; } # JOB
# again JOB RULE PASSES: one trainer alone takes the batches of the job, and makes its bits
again() {
    local of
    of=$(output_of "$1")
    # shellcheck disable=SC2086
    timeout 300 edl-trainer ${options/linear/$2} --num_passes="$3" --data="$work/corpus" --batches="$of/batches" --output-dir="$work/again-$1" >/dev/null 2>&1
    cmp "$work/again-$1/batches" "$of/batches" || fail "$1: other batches"
    cmp "$work/again-$1/model/output_weight" "$of/model/output_weight" || fail "$1: one rank with the same batches makes other bits"
}
edl submit "$work/job.yaml"
await 120 'two batches in a step' while_job words told words 'rank [01] of 2, step [0-9]*, micro-batches 4$'
edl scale words 3 >/dev/null
await 120 'three batches in a step' while_job words told words 'of 3, step [0-9]*, micro-batches 6$'
edl wait words --timeout 300 || fail "words: $(job_field words .reason)"
cost=$(job_field words .metrics.cost_after)
awk -v cost="$cost" 'BEGIN { exit !(cost > 0 && cost < 4) }' || fail "the job tells the cost $cost"
again words linear 4

# goodput measures, and four ranks never share two micro-batches: a choice of all that goes through kills, and is known to who comes
sed 's/name: words/name: useful/; s/linear/goodput/' "$work/job.yaml" >"$work/useful.yaml"
edl submit "$work/useful.yaml"
await 120 'it measures' while_job useful told useful 'rank [01] of 2, step'
edl scale useful 4:4 >/dev/null
await 120 'a larger batch' while_job useful told useful 'of 4, step [0-9]*, micro-batches [46]$'
kill -9 "$(pids useful trainer | head -n 1)"
edl wait useful --timeout 300 || fail "useful: $(job_field useful .reason)"
edl logs useful 2>/dev/null | grep -q 'noise scale [0-9]' || fail "useful: $(edl logs useful)"
again useful goodput 4

# one trainer alone has one batch: constant
# shellcheck disable=SC2086
timeout 300 edl-trainer $options --num_passes=1 --data="$work/corpus" --output-dir="$work/linear" >/dev/null 2>&1
timeout 300 edl-trainer --collective --config=ngram_lm --config_args=rate=0.05 --batch=48 --micro-batches=2 --num_passes=1 --data="$work/corpus" --output-dir="$work/constant" >/dev/null 2>&1
cmp "$work/linear/model/output_weight" "$work/constant/model/output_weight" || fail 'one rank: other bits than constant'

printf '1 2\n9 7\n' >"$work/batches"
for other in '--batch-rule=goodput --micro-batches=1' --batch-rule=square --batch-most=47 --batch-most=100000 "--batches=$work/batches" \
    "--batches=$work/batches --batch-rule=constant"; do
    status=0
    # shellcheck disable=SC2086
    edl-trainer $options --data="$work/corpus" $other >/dev/null 2>"$work/refused" || status=$?
    [ "$status" = 2 ] || fail "$other: exit status $status: $(cat "$work/refused")"
    grep -q -e 'constant, linear or goodput' -e 'largest batch is 47' -e '--batch-most' -e 'line 2 is no change' -e '--batches' -e '--micro-batches to 2' "$work/refused" || fail "$other: $(cat "$work/refused")"
done
cluster_stop
