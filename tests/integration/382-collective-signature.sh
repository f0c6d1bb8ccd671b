#!/usr/bin/env bash
# Trainers of a group that compute otherwise refuse each other: the job fails with the reason, and does not start them for ever. Trainers with
# other options do so too. Where sums need not be exact, machines may differ.
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
cluster_start --nodes 1
edl corpus build --out "$work/corpus" --synthetic 50 --samples 600 --chunk-records 500 >/dev/null 2>&1
# submit NAME PREFIX OPTIONS: PREFIX is of the second trainer
submit() {
    cat >"$work/$1.yaml" <<JOB
apiVersion: paddlepaddle.org/v1
kind: TrainingJob
metadata:
  name: $1
spec:
  mode: collective
  fault_tolerant: true
  dataset: $work/corpus/train-*.recordio
  trainer:
    entrypoint: |
      export OPENBLAS_CORETYPE=Nehalem
      [ "\$EDL_INDEX" != 1 ] || $2
      exec edl-trainer --collective --config=ngram_lm --batch=48 --num_passes=1 --log-period=0 --seed=\${SEED:-1} $3
    min-instance: 2
    max-instance: 2
    resources: {requests: {cpu: 100m, memory: 32Mi}}
JOB
    edl submit "$work/$1.yaml"
}
# refused NAME WORDS: the job fails, and a log tells the words
refused() {
    status=0
    timeout 300 edl wait "$1" --timeout 200 || status=$?
    [ "$(job_field "$1" .state)" = failed ] || fail "$1 is $(job_field "$1" .state)"
    edl logs "$1" >"$work/$1.log" 2>&1 || true
    grep -q -- "$2" "$work/$1.log" || fail "$1: $(cat "$work/$1.log")"
    edl why "$1" >"$work/$1.why"
    grep -q -- "exit code 78: .*$2" "$work/$1.why" || fail "$1: $(cat "$work/$1.why")"
    grep -q -e 'up to 1 time each' -e 'another try is of no use' "$work/$1.why" || fail "$1 was started again: $(cat "$work/$1.why")"
}
submit cores 'export OPENBLAS_CORETYPE=Prescott' ''
refused cores 'BLAS OpenBLAS .* Nehalem, threads 1'
submit seeds 'export SEED=2' '--exact=0'
refused seeds 'with "seed 2"'
submit floats 'export OPENBLAS_CORETYPE=Prescott' --exact=0
timeout 300 edl wait floats --timeout 200 || fail "floats: $(job_field floats .reason)"

# a group of none is none
sed 's/min-instance: 2/min-instance: 0/' "$work/floats.yaml" >"$work/none.yaml"
status=0
edl submit "$work/none.yaml" >"$work/none" 2>&1 || status=$?
[ "$status" = 2 ] || fail "a group of none: exit status $status: $(cat "$work/none")"
grep -q 'min-instance: a whole number from 1' "$work/none" || fail "a group of none: $(cat "$work/none")"
cluster_stop
