#!/usr/bin/env bash
# ModelAverage: a saved pass is the mean of the values behind each update, while the training goes on with the values themselves.
. "${EDL_SOURCE_DIR:?the checkout}/tests/lib/python.sh"
cd "$work"
cat >config.py <<'PY'
from paddle.trainer_config_helpers import *
average = get_config_arg('average', float, 0)
settings(batch_size=8, learning_rate=0.01, learning_method=AdamOptimizer(), model_average=ModelAverage(average) if average else None)
outputs(regression_cost(input=fc_layer(input=data_layer('x', 13), size=1, act=LinearActivation(), name='o'), label=data_layer('y', 1)))
PY
cat >config.json <<'JSON'
{"inputs": [{"name": "x", "type": "dense", "size": 13}, {"name": "y", "type": "dense", "size": 1}],
 "layers": [{"kind": "fc", "name": "o", "input": "x", "size": 1, "activation": "linear"}], "cost": {"kind": "square_error", "label": "y"},
 "training": {"method": "adam", "learning_rate": 0.01, "batch_size": 8, "average_window": 0.5}}
JSON
edl-trainer data housing --samples=80 --out data >/dev/null
train() { edl-trainer --local --data=data --num_passes=1 --shuffle=0 --log-period=0 "$@" >said 2>&1 || fail "$* $(cat said)"; }
train --config=config.py --saving_period_by_batches=1 --save_dir=each
train --config=config.py --config_args=average=0.5 --save_dir=mean
train --config=config.json --save_dir=of-json
train --config=config.py --config_args=average=0.5 --saving_period_by_batches=3 --test_period=2 --save_dir=between
cat >compare.py <<'PY'
import glob, struct
def values(folder):
    with open(folder + "/_o.w0", "rb") as file:
        data = file.read()[16:]
    return struct.unpack("<%df" % (len(data) // 4), data)
# the last update of the pass is the pass's own save
folders = sorted(glob.glob("each/pass-00000-*")) + ["each/pass-00000"]
each = [values(folder) for folder in folders]
mean = [sum(row) / len(row) for row in zip(*each)]
for folder in ("mean", "of-json", "between"):
    saved = values(folder + "/pass-00000")
    assert all(abs(a - b) < 1e-6 for a, b in zip(mean, saved)), (folder, mean, saved)
assert max(abs(a - b) for a, b in zip(mean, each[-1])) > 1e-4, "the mean is the last value"
half = [sum(row) / 3 for row in zip(*each[:3])]
assert all(abs(a - b) < 1e-6 for a, b in zip(half, values("between/pass-00000-001")))
PY
"$python" compare.py || fail "$(ls each between) $(cat said)"
if edl-trainer --config=config.json --data=data --servers=127.0.0.1:1 --servers-wait=1s >said 2>&1; then fail 'an average with servers is taken'; fi
grep -F 'average_window' said >/dev/null || fail "$(cat said)"
