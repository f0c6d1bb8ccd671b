#!/usr/bin/env bash
# A trainer that comes when the others of its group have finished ends with them. It would begin the training again by itself, and the job
# would wait for that.
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
cluster_start --nodes 1
edl corpus build --out "$work/corpus" --synthetic 100 --samples 6000 --chunk-records 500 >/dev/null 2>&1
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
    entrypoint: |
      train='edl-trainer --collective --config=ngram_lm --batch=48 --micro-batches=2 --num_passes=2 --log-period=0'
      if [ "\$EDL_INDEX" = 1 ] && [ ! -e "$work/began" ]; then # killed where it says that two train: all of it takes half a second
          touch "$work/began"
          \$train 2>"$work/says" &
          while read -r line; do case \$line in *' of 2, step '*) kill -9 \$!; exit 1 ;; esac; done <"$work/says"
      elif [ "\$EDL_INDEX" = 1 ]; then
          cat "$work/go" >/dev/null
          unset EDL_OUTPUT_DIR # no checkpoint: it knows nothing of the end
      fi
      exec \$train
    min-instance: 1
    max-instance: 2
    resources: {requests: {cpu: 100m, memory: 32Mi}}
JOB
mkfifo "$work/go" "$work/says" && chmod 666 "$work/go" "$work/says"
edl submit "$work/job.yaml"
told() { edl logs words 2>/dev/null | grep -q -- "$1"; }
await 120 'two train' while_job words told 'rank [01] of 2, step'
await 120 'the other one trains on and saves' eval 'find "$work/state/output" -name done | grep -q .'
ended() { edl show words --json | holds '[.processes[] | select(.index == 0)] == []'; }
await 120 'the other one ends' while_job words ended
echo go >"$work/go"
edl wait words --timeout 300 || fail "words: $(job_field words .reason)"
told 'the others have finished the training' || fail "it trained again: $(edl logs words)"
edl events --json | grep -c generation-agreed >"$work/generations"
[ "$(cat "$work/generations")" = 2 ] || fail "generations: $(cat "$work/generations")"
cluster_stop
