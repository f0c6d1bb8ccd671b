#!/usr/bin/env bash
# examples/torch_elastic.py alone: it learns, and goes on from its checkpoint. And a job: rank 0 is killed, one process is added and
# one taken away, the others stay as the same ones. Each step is done once, in one generation, with its records, and all have the
# same parameters behind it.
# Takes 20 s: PyTorch begins six times
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
. "$EDL_SOURCE_DIR/tests/lib/elastic.sh"
mkdir "$work/data" "$work/alone"
for file in 0 1 2 3; do
    awk -v file="$file" 'BEGIN { for (i = 0; i < 64; i++) { x = (i * 4 + file) / 128 - 1; printf "%.3f %.3f\n", x, x * x } }' >"$work/data/train-$file"
done
cd "$work/alone"
example() { "$python" "$EDL_SOURCE_DIR/examples/torch_elastic.py" "$work/data/train-*"; }
example >said
awk '!/^step 160, cost / || $4 > 0.03 { bad = 1 } END { exit NR != 1 || bad }' said || fail "it has not learnt: $(cat said)"
rm -r checkpoint/ckpt-0000000040
example >again
cmp said again || fail "it does not go on from its checkpoint: $(cat said again)"
cd "$work"
cluster_start --nodes 1 --cpu 8000m
elastic_job steps 2
storm world:2 kill:1 scale:3 scale:2 verify
cluster_stop
