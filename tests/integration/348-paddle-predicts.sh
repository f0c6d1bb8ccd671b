#!/usr/bin/env bash
# edl-paddle train --job=test --predict_output_dir: a configuration without a cost tells what its layers give, one with a cost does beside it;
# what cannot be trained says so. --job=time tells how long a batch takes.
. "${EDL_SOURCE_DIR:?the checkout}/tests/lib/python.sh"
cd "$work"
cat >reads.py <<'PY'
from paddle.trainer.PyDataProvider2 import *
def hook(settings, is_predict, **more):
    settings.is_predict = is_predict
    settings.input_types = [dense_vector(2)] if is_predict else [dense_vector(2), integer_value(2)]
@provider(init_hook=hook)
def process(settings, name):
    for n in range(40):
        x = [n % 2, 1 - n % 2]
        yield x if settings.is_predict else [x, n % 2]
PY
cat >config.py <<'PY'
from paddle.trainer_config_helpers import *
is_predict = get_config_arg('is_predict', bool, False)
define_py_data_sources2(None if is_predict else 'list', 'list', module='reads', obj='process', args={'is_predict': is_predict})
settings(batch_size=8, learning_rate=0.1)
y = fc_layer(input=data_layer('x', 2), size=2, act=SoftmaxActivation(), name='y')
if is_predict:
    outputs(maxid_layer(y), y)
else:
    outputs(classification_cost(input=y, label=data_layer('label', 1)))
PY
echo any >list
edl-paddle train --config=config.py --num_passes=8 --save_dir=out >said 2>&1 || fail "$(cat said)"
predict() { edl-paddle train --job=test --config=config.py --init_model_path=out/pass-00007 "$@" >said 2>&1; }
predict --config_args=is_predict=1 --predict_output_dir=predicted || fail "$(cat said)"
[ "$(wc -l <predicted/rank-00000)" = 40 ] || fail "predicted: $(cat predicted/rank-00000)"
[ "$(cut -d ';' -f 1 predicted/rank-00000 | head -n 4 | tr '\n' ' ')" = '0 1 0 1 ' ] || fail "$(head -n 4 predicted/rank-00000)"
awk -F '[; ]' '{ exit !(NF == 3 && $2 + $3 > 0.999 && $2 + $3 < 1.001) }' predicted/rank-00000 || fail "$(head -n 1 predicted/rank-00000)"
edl-trainer infer --config=config.py --config_args=is_predict=1 --init_model_path=out/pass-00007 >said
diff <(grep '^[01];' said) <(tr ' ' ',' <predicted/rank-00000) || fail 'infer prints others'
# one with a cost predicts what the cost takes, and tests as well
predict --predict_output_dir=beside || fail "$(cat said)"
grep -F ' Test samples=40 cost=' said >/dev/null || fail "no test: $(cat said)"
[ "$(head -n 1 beside/rank-00000)" = "$(head -n 1 predicted/rank-00000 | cut -d ';' -f 2)" ] || fail "$(head -n 1 beside/rank-00000)"

refused() { # WORDS COMMAND...
    if "${@:2}" >said 2>&1; then fail "${*:2} was taken"; fi
    grep -F -- "$1" said >/dev/null || fail "not \"$1\": $(cat said)"
}
refused 'there is nothing to train' edl-paddle train --config=config.py --config_args=is_predict=1
refused 'there is nothing to train' predict --config_args=is_predict=1
refused '--predict_output_dir is for --job=test' edl-paddle train --config=config.py --predict_output_dir=x
refused 'cannot make --predict_output_dir none/x' predict --predict_output_dir=none/x
edl-paddle train --config=config.py --job=time --test_period=20 >said 2>&1 || fail "$(cat said)"
grep -E '^20 batches of 8: [0-9.]+ ms a batch, [0-9]+ samples/s$' said >/dev/null || fail "--job=time: $(cat said)"
# a pass of 40 samples is a batch of 32 and one of 8
sed 's/batch_size=8/batch_size=32/' config.py >wide.py
edl-paddle train --config=wide.py --job=time --test_period=20 >said 2>&1 || fail "$(cat said)"
awk '/^20 batches of 32/ { each = $5 * $9 / 1000; found = each > 15 && each < 26 } END { exit !found }' said ||
    fail "a batch has 20 samples on average, not 32: $(cat said)"

# a softmax that a cost takes, and another layer as well: gradients are right, and both tell the same
cat >beside.py <<'PY'
from paddle.trainer_config_helpers import *
define_py_data_sources2('list', 'list', module='reads', obj='process', args={'is_predict': False})
settings(batch_size=8, learning_rate=0.1)
y = fc_layer(input=data_layer('x', 2), size=2, act=SoftmaxActivation(), name='y')
label = data_layer('label', 2)
h = fc_layer(input=y, size=2)
outputs(classification_cost(input=y, label=label), 0.5 * cross_entropy(input=fc_layer(input=y, size=2, act=SoftmaxActivation()), label=label),
        maxid_layer(y), y, h)
PY
edl-trainer checkgrad --config=beside.py >said 2>&1 || fail "gradients: $(cat said)"
edl-paddle train --config=beside.py --num_passes=8 --save_dir=beside-out >said 2>&1 || fail "$(cat said)"
edl-paddle train --job=test --config=beside.py --init_model_path=beside-out/pass-00007 --predict_output_dir=told >said 2>&1 || fail "$(cat said)"
awk -F '[; ]' '{ right += $1 == (NR + 1) % 2; sum = $2 + $3 } sum < 0.999 || sum > 1.001 { exit 1 } END { exit right != 40 }' told/rank-00000 ||
    fail "$(head -n 4 told/rank-00000)"

# sequences of values go through a recurrent layer: which of two ends is larger is learnt
cat >frames.py <<'PY'
from paddle.trainer.PyDataProvider2 import *
@provider(input_types=[dense_vector_sequence(2), integer_value(2)])
def process(settings, name):
    for n in range(64):
        ends = [[n % 5 / 5.0, 1.0], [n % 7 / 7.0, 0.0]]
        yield [ends[:1] + [[0.5, 0.5]] * (n % 3) + ends[1:], int(ends[1][0] > ends[0][0])]
PY
cat >frames_config.py <<'PY'
from paddle.trainer_config_helpers import *
define_py_data_sources2('list', 'list', module='frames', obj='process')
settings(batch_size=16, learning_rate=0.02, learning_method=AdamOptimizer())
y = last_seq(simple_lstm(data_layer('frames', 2), size=8))
outputs(classification_cost(input=fc_layer(input=y, size=2, act=SoftmaxActivation()), label=data_layer('label', 2)))
PY
edl-trainer --local --config=frames_config.py --num_passes=60 --log-period=0 >said 2>&1 || fail "$(cat said)"
awk -F 'evaluator=' '/^Test/ { error = $2 } END { exit !(error != "" && error < 0.1) }' said || fail "it is not learnt: $(grep '^Test' said | tail -n 1)"
