#!/usr/bin/env bash
# Processes of edl.torch.Elastic are killed in turn, two of three at once, added and taken away, with sums of its own and with
# DistributedDataParallel. The others go on as the same processes, each step is done once, in one generation, with its records, and all have
# the same parameters behind it. And examples/torch_elastic.py as a job that loses a process ends with what it has alone.
# Runs at night: PyTorch begins a hundred times
# Takes 400 s: PyTorch begins a hundred times
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
. "$EDL_SOURCE_DIR/tests/lib/elastic.sh"
ended() {
    edl kill "$job" >/dev/null
    edl wait "$job" --timeout 120 || true
}
cluster_start --nodes 1 --cpu 8000m
elastic_job sums 3
storm world:3 kill:20 both:15 scale:2 scale:3 scale:2 scale:3 verify
ended
elastic_job wrapped 3 ddp
storm world:3 kill:6 both:4 scale:2 scale:3 verify
ended
elastic_job still 3 alive
storm world:3 stop:6 verify
ended

mkdir "$work/data"
awk 'BEGIN { for (i = 0; i < 256; i++) { x = i / 128 - 1; printf "%.3f %.3f\n", x, x * x } }' >"$work/data/train"
example=$EDL_SOURCE_DIR/examples/torch_elastic.py
(cd "$work/data" && "$python" "$example" "$work/data/train" >"$work/alone")
job=learns
edl submit --name learns --min 1 --max 3 --cpu 500m --env PYTHONPATH="$PYTHONPATH" --env PYTHONDONTWRITEBYTECODE=1 --env OMP_NUM_THREADS=1 \
    -- "$python" "$example" "$work/data/train" >/dev/null
saved() { [ -n "$(find "$work/state" -path '*/checkpoint/ckpt-0000000002')" ]; }
await 300 'it has saved' while_job learns saved
pid=$(pids learns trainer 0)
kill -9 "$pid" || true # it may have ended just now
edl wait learns --timeout 300 || fail "it ends otherwise: $(edl show learns; edl logs learns)"
edl logs learns | grep -o 'step 160, cost [0-9.]*' | sort -u | cmp - "$work/alone" || fail "$(cat "$work/alone"), and as a job: $(edl logs learns)"
cluster_stop
