#!/usr/bin/env bash
# The logs of our own trainers and parameter servers under the names that PaddlePaddle's have, of the newest incarnation; those of
# other programs have none.
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
cluster_start --nodes 1
cat >"$work/job.yaml" <<'END'
metadata: {name: pair}
spec:
  fault_tolerant: true
  restart: {max: 3, backoff: 100ms}
  trainer: {entrypoint: "edl-trainer --version; exec sleep 1000", min-instance: 1, max-instance: 1, resources: {requests: {cpu: 100m}}}
  pserver: {entrypoint: "edl-pserver --version; exec sleep 1000", min-instance: 1, max-instance: 1, resources: {requests: {cpu: 100m}}}
END
edl submit "$work/job.yaml" >/dev/null
edl submit --name other --cpu 100m -- sh -c 'echo "$EDL_LOG_DIR"; exec sleep 1000' >/dev/null
await 120 'they run' job_is pair running
await 120 'the other one too' job_is other running
logs=$(dirname "$(find "$work/state" -name 'pserver-0.*.log')")
told() { grep -q "^$2 " "$logs/$1"; } # NAME PROGRAM
for name in train.log paddle_trainer.INFO; do await 120 "$name" while_job pair told "$name" edl-trainer; done
for name in server.log paddle_pserver2.INFO; do await 120 "$name" while_job pair told "$name" edl-pserver; done
first=$(readlink "$logs/train.log")
kill -9 "$(pids pair trainer 0)"
newer() { differs "$(readlink "$logs/train.log")" "$first" && told train.log edl-trainer; }
await 120 'the newest one is linked' while_job pair newer
[ "$(readlink "$logs/train.log")" = "$(readlink "$logs/paddle_trainer.INFO")" ] || fail 'the two names differ'
said() { edl logs other | grep -q /logs/; }
await 120 'the other one says where its log is' while_job other said
[ "$(find "$(edl logs other | sed 's/^[^/]*//')" -type l ! -name "*.began" | wc -l)" = 0 ] || fail 'a program that is not ours has such names'
cluster_stop
