#!/usr/bin/env bash
# examples/torch_records.py alone and as a job: it learns, and goes on from its checkpoint.
# Takes 25 s: PyTorch begins five times
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
"${python:-false}" -c 'import torch' 2>/dev/null || {
    echo "there is no PyTorch for ${python:-python3} (python3-torch)"
    exit 77
}
export PYTHONPATH=$EDL_SOURCE_DIR/python PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1
mkdir "$work/data" "$work/alone"
for file in 0 1 2 3; do
    awk -v file="$file" 'BEGIN { for (i = 0; i < 64; i++) { x = (i * 4 + file) / 128 - 1; printf "%.3f %.3f\n", x, x * x } }' >"$work/data/train-$file"
done
cd "$work/alone"
"$python" "$EDL_SOURCE_DIR/examples/torch_records.py" "$work/data/train-*" >said
[ "$(grep -c '^epoch [0-4]: 256 records here' said)" = 5 ] || fail "$(cat said)"
sed 's/.*cost //' said | awk 'NR == 1 { first = $1 } END { exit !($1 < first) }' || fail "it has not learnt: $(cat said)"
# without its last checkpoint the last epoch comes again, with the same cost as before
rm -r checkpoint/ckpt-0000000005
"$python" "$EDL_SOURCE_DIR/examples/torch_records.py" "$work/data/train-*" >again
tail -n 1 said | cmp - again || fail "it does not go on from its checkpoint: $(cat said again)"
cd "$work"
cluster_start --nodes 2 --cpu 2000m
edl submit --name learns --min 2 --max 2 --cpu 500m --dataset "$work/data/train-*" --shuffle 7 --env PYTHONPATH="$PYTHONPATH" \
    --env PYTHONDONTWRITEBYTECODE=1 --env OMP_NUM_THREADS=1 -- "$python" "$EDL_SOURCE_DIR/examples/torch_records.py" >/dev/null
edl wait learns --timeout 120 || fail "it ends otherwise: $(edl show learns; edl logs learns)"
exact_counts learns
[ "$(job_field learns .passes)" = 5 ] || fail "the job makes other passes than its program: $(job_field learns .passes)"
edl show learns | grep -q '^order .* with seed 7' || fail "the order of its tasks is not told: $(edl show learns)"
cluster_stop
