#!/usr/bin/env bash
# examples/search: over the networks of edl-trainer the search finds that units have to square, with a quarter of the grid's trials; over
# those of PyTorch it finds that a line does not part two rings, and the best trials go on from their checkpoints.
# Runs at night: each of 48 trials is a training
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
examples=$EDL_SOURCE_DIR/examples/search
cluster_start --nodes 2 --cpu 2000m
cd "$work"
program() { # NAME SPACE [OPTION...] -- WORD...
    local name=$1 space=$2
    shift 2
    timeout 1200 edl search run "$examples/$space" --name "$name" --no-upload --cpu 500m --env PYTHONPATH="$EDL_SOURCE_DIR/python" \
        --env PYTHONDONTWRITEBYTECODE=1 --env OMP_NUM_THREADS=1 --env PATH="$PATH" "$@" >"run-$name" 2>&1 ||
        fail "the search $name failed: $(cat "run-$name"; edl search show "$name")"
    edl search show "$name" --json >"$name.json"
}
best_of() { jq ".best as \$best | .trials[] | select(.trial == \$best)" "$1.json"; }

edl-trainer data images --out images --samples 3000 --noise 0.5 >made
program gratings gratings.yaml --memory 512Mi -- "$python" "$examples/gratings.py" "$work/images"
[ "$(jq '.trials | length' gratings.json)" = 30 ] || fail "not all trials: $(cat gratings.json)"
best_of gratings | holds '.parameters.operator == "square" and .result < 0.2' || fail "the best one: $(best_of gratings)"

"$python" -c 'import torch' 2>/dev/null || {
    cluster_stop
    echo "there is no PyTorch for $python (python3-torch); the other half passed"
    exit 77
}
program rings torch_rings.yaml --memory 1Gi --checkpoint "$work/kept" -- "$python" "$examples/torch_rings.py"
best_of rings | holds '.parameters.unit != "Identity" and .result > 0.9 and .rung > 0' || fail "the best one: $(best_of rings)"
job=$(best_of rings | jq -r '"rings-\(.trial)-r\(.rung)"')
edl logs "$job" >log
grep -m 1 -o 'epoch [0-9]*' log | grep -qx 'epoch 4\|epoch 10' || fail "$job does not go on from its checkpoint: $(cat log)"
cluster_stop
