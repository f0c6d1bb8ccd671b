#!/usr/bin/env bash
# A network that trainers train together without servers: one is killed, one freezes, the job is resized, and the model has the bits of one
# that a trainer made alone. In a job of two the one that is lost is waited for, so the training cannot be over meanwhile.
# Takes 12 s: the promise of a frozen trainer to be alive runs out, and two trainings
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
cluster_start --nodes 3
edl corpus build --out "$work/corpus" --synthetic 100 --samples 6000 --chunk-records 500 >/dev/null 2>&1
options='--collective --config=ngram_lm --config_args=rate=0.1,dropout=0.2 --batch=48 --micro-batches=4 --num_passes=8 --log-period=0'
cat >"$work/job.yaml" <<JOB
apiVersion: paddlepaddle.org/v1
kind: TrainingJob
metadata:
  name: words
spec:
  mode: collective
  fault_tolerant: true
  grace: 10s
  restart: {max: 20, backoff: 100ms}
  dataset: $work/corpus/train-*.recordio
  trainer:
    entrypoint: |
      [ "\$EDL_INDEX" = 0 ] || exec edl-trainer $options
      for signal in KILL STOP; do # the first one is killed where it says that two train, and the second stands still
          ! mkdir "$work/\$signal" 2>/dev/null || break
          signal=
      done
      [ -n "\$signal" ] || exec edl-trainer $options
      mkfifo "$work/\$signal/says"
      edl-trainer $options 2>"$work/\$signal/says" &
      while read -r line; do echo "\$line" >&2; case \$line in *' of 2, step '*) kill -\$signal \$! ;; esac; done <"$work/\$signal/says"
      exit 1
    min-instance: 2
    max-instance: 2
    resources: {requests: {cpu: 100m, memory: 32Mi}}
JOB
generations() { [ "$(edl events --json | grep -c generation-agreed)" -ge "$1" ]; }

# one that waits for another, which never comes, leaves when it is told to
sed "s/name: words/name: lonely/; /entrypoint:/,/exit 1/d; s/^  trainer:/&\n    entrypoint: test \"\$EDL_INDEX\" = 0 || exec tail -f \/dev\/null; exec edl-trainer $options/" "$work/job.yaml" >"$work/lonely.yaml"
edl submit "$work/lonely.yaml"
measured() { edl logs lonely 2>/dev/null | grep -q '^.*Test before training'; }
await 120 'it is about to wait' while_job lonely measured
lonely=$(pids lonely trainer 0)
kill -TERM "$lonely"
await 120 'it leaves' eval "! kill -0 $lonely 2>/dev/null"
edl kill lonely >/dev/null

edl submit "$work/job.yaml"
await 120 'a killed one is back' while_job words generations 2
await 120 'a frozen one is back' while_job words generations 3
edl events --json | grep -q stood-still || fail 'the frozen one did not stand still'
edl scale words 2:4 >/dev/null
edl wait words --timeout 300 || fail "words: $(job_field words .reason)"

# shellcheck disable=SC2086
timeout 300 edl-trainer $options --data="$work/corpus" --output-dir="$work/alone" >"$work/alone.out" 2>"$work/alone.err" || fail "alone: $(cat "$work/alone.err")"
model=$(find "$work/state/output" -path '*/model/done' -printf '%h\n')
for parameter in embedding hidden_weight hidden_bias output_weight output_bias; do
    cmp "$work/alone/model/$parameter" "$model/$parameter" || fail "$parameter: other bits"
done
for folder in "$work/alone" "$(dirname "$model")"; do
    [ -s "$folder/checkpoint/collective.ckpt" ] || fail "no checkpoint: $(ls "$folder/checkpoint")"
    [ "$(find "$folder/checkpoint" -name 'collective.ckpt.next*' | wc -l)" = 0 ] || fail "half a checkpoint is left in $folder"
done
grep -q '^Test after training, Cost [0-9.]*,' "$work/alone.out" || fail "alone: $(cat "$work/alone.out")"
cost=$(job_field words .metrics.cost_after)
awk -v cost="$cost" 'BEGIN { exit !(cost > 0 && cost < 4) }' || fail "the job tells the cost $cost"

# a training that goes on has the bits of one that never ended, and removes what a killed one had written in part
mkdir -p "$work/on/checkpoint"
touch "$work/on/checkpoint/collective.ckpt.next-0123456789abcdef" "$work/on/checkpoint/collective.ckpt.next.tmp-0123456789abcdef" \
    "$work/on/checkpoint/collective.ckpt.next-0123456789abcdef.tmp-0123456789abcdef" "$work/on/checkpoint/collective.ckpt.next"
for passes in 3 5; do timeout 300 edl-trainer --collective --data="$work/corpus" --num_passes=$passes --output-dir="$work/on" >/dev/null 2>&1; done
timeout 300 edl-trainer --collective --data="$work/corpus" --num_passes=5 --output-dir="$work/whole" >/dev/null 2>&1
[ "$(ls "$work/on/checkpoint")" = collective.ckpt ] || fail "beside the checkpoint: $(ls "$work/on/checkpoint")"
cmp "$work/on/model/output_weight" "$work/whole/model/output_weight" || fail 'going on from a checkpoint makes another model'
status=0
edl-trainer --collective --data="$work/corpus" --num_passes=6 --batch=48 --output-dir="$work/on" >/dev/null 2>"$work/refused" || status=$?
[ "$status" = 2 ] && grep -q 'collective.ckpt: it is of another batch than 48' "$work/refused" || fail "another batch: exit status $status: $(cat "$work/refused")"

# what belongs to other ways to train is refused
for other in --servers=x --save_dir=x --push-every=2 --sync --micro-batches=5 --micro-batches=129; do
    status=0
    edl-trainer --collective --data="$work/corpus" $other >/dev/null 2>"$work/refused" || status=$?
    [ "$status" = 2 ] || fail "$other: exit status $status: $(cat "$work/refused")"
    grep -q -e "${other%%=*}" "$work/refused" || fail "$other: $(cat "$work/refused")"
done
cluster_stop
