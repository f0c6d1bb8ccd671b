#!/usr/bin/env bash
# edl-trainer --config=trainer_config.py: the recommendation of a configuration in Python has the files of the network that ships;
# an n-gram's learns; what a program of a user's own says when it fails is the error.
# Takes 18 s: computes: unit tests of Python, and trainings, two of them of 3.8 million values
. "${EDL_SOURCE_DIR:?the checkout}/tests/lib/python.sh"
(cd "$PYTHONPATH" && "$python" -W error -m unittest tests/test_trainer_config.py tests/test_paddle_arguments.py tests/test_paddle_words.py)

# ---- a tower for films, one for users, and their likeness; the data through a provider ----
cp "$EDL_SOURCE_DIR"/tests/lib/recommendation/*.py "$work"
cd "$work"
printf '%*s\n' $((3494 - $(stat -c %s trainer_config.py))) '' | tr ' ' '#' >>trainer_config.py
"$python" make_meta.py
train() { edl-trainer --local "--config=$1" --batch=100 --num_passes=1 --log-period=0 "${@:2}" >said 2>&1 || fail "$1: $(cat said)"; }
costs() { sed -n 's/^Test samples=.* cost=\([^ ]*\).*/\1/p' said; }
train trainer_config.py --save_dir=ours
cat said
before=$(costs | head -n 1) after=$(costs | tail -n 1)
awk -v before="$before" -v after="$after" 'BEGIN { exit !(after > 0 && after < 0.95 * before) }' || fail "cost $before before, $after after"
grep -Fx 'The input order is [movie_id, title, genres, user_id, gender, age, occupation, rating]' said >/dev/null || fail 'another order of inputs'
grep -F 'trainer_config.py: 31 parameters, 3777536 values; 900 samples to train, 100 to test' said >/dev/null || fail 'other parameters or samples'
"$python" -m edl.trainer_config trainer_config.py --out made >/dev/null
train recommendation --data=made/data --save_dir=shipped
files() { (cd "$1/pass-00000" && stat -c '%n %s' _*); }
diff <(files ours) <(files shipped) || fail 'the files are not those of the network that ships'
[ "$(find ours/pass-00000 -type f ! -name .optimizer | wc -l)" = 34 ] || fail "files: $(ls ours/pass-00000)"
# the sizes are those of PaddlePaddle's files for this network; the configuration has as many bytes as the one of its demo
cat >sizes <<'END'
___embedding_0__.w0 4046864
___embedding_1__.w0 100368
___embedding_2__.w0 6184976
___embedding_3__.w0 2064
___embedding_4__.w0 7184
___embedding_5__.w0 21520
___fc_layer_0__.w0 262160
___fc_layer_0__.wbias 1040
___fc_layer_1__.w0 18448
___fc_layer_1__.wbias 1040
___fc_layer_2__.w0 262160
___fc_layer_2__.wbias 1040
___fc_layer_3__.w0 262160
___fc_layer_3__.wbias 1040
___fc_layer_4__.w0 262160
___fc_layer_4__.wbias 1040
___fc_layer_5__.w0 262160
___fc_layer_5__.wbias 1040
___fc_layer_6__.w0 262160
___fc_layer_6__.wbias 1040
___sequence_conv_pooling_0___conv_fc.w0 1310736
___sequence_conv_pooling_0___conv_fc.wbias 1040
_movie_fusion.w0 262160
_movie_fusion.w1 262160
_movie_fusion.w2 262160
_movie_fusion.wbias 1040
_user_fusion.w0 262160
_user_fusion.w1 262160
_user_fusion.w2 262160
_user_fusion.w3 262160
_user_fusion.wbias 1040
done 169
path.txt 17
trainer_config.py 3495
END
diff sizes <(cd ours/pass-00000 && stat -c '%n %s' * | LC_ALL=C sort) || fail 'the sizes are not those of PaddlePaddle'
[ "$(awk '{ sum += $2 } END { print sum }' sizes)" = 15114321 ] || fail 'the list of sizes is another one'
grep -Eqx 'paddle version: EDL [0-9.]+ *' ours/pass-00000/done || fail "done is $(cat ours/pass-00000/done)"
[ "$(cat ours/pass-00000/path.txt)" = trainer_config.py ] || fail 'path.txt names another configuration'
cmp trainer_config.py ours/pass-00000/trainer_config.py || fail 'the configuration is not beside its parameters'
edl-trainer test --config=trainer_config.py --batch=100 --init_model_path=ours/pass-00000 >said
[ "$(costs)" = "$after" ] || fail "the saved pass costs $(costs), $after when it was saved"
edl-trainer checkgrad --config=trainer_config.py --config_args=width=4 >said || fail "$(tail -n 3 said)"
edl-paddle train --local=1 --config=trainer_config.py --config_args=width=4 --num_passes=1 --save_dir=words-of-paddle >said 2>&1 || fail "$(cat said)"
grep -F ' Pass=0 Batch=1 samples=900 AvgCost=' said >/dev/null || fail "edl-paddle: $(cat said)"
[ -e words-of-paddle/pass-00000/trainer_config.py ] || fail "edl-paddle saved $(ls words-of-paddle)"
# what lies in a model is shown, and never run
echo 'open("ran", "w")' >ours/pass-00000/trainer_config.py
edl-trainer model show ours/pass-00000 --json >model.json
[ ! -e ran ] || fail 'the program in a saved pass was run'
[ "$(jq '(.parameters | length) == 31 and .problems == []' model.json)" = true ] || fail "edl-trainer model show: $(cat model.json)"

# ---- words ----
edl corpus build --synthetic 40 --samples 4000 --out corpus >/dev/null 2>&1
cat >ngram.py <<'PY'
from paddle.trainer_config_helpers import *
size = get_config_arg('dict_size', int)
settings(batch_size=32, learning_rate=0.1, learning_method=AdaGradOptimizer(), regularization=L2Regularization(1e-4))
words = [data_layer('word%d' % i, size) for i in range(4)]
proj = ParamAttr(name='_proj', initial_std=0.001, learning_rate=1, l2_rate=0)
context = concat_layer([embedding_layer(word, size=16, param_attr=proj) for word in words])
hidden = fc_layer(context, size=32, act=SigmoidActivation(), layer_attr=ExtraAttr(drop_rate=0.1), bias_attr=ParamAttr(learning_rate=2))
guess = fc_layer(hidden, size=size, act=SoftmaxActivation(), bias_attr=ParamAttr(learning_rate=2))
outputs(classification_cost(input=guess, label=data_layer('next', size)))
PY
train ngram.py --data=corpus "--config_args=dict_size=$(jq .vocabulary corpus/corpus.json)" --save_dir=words
cat said
[ "$(cd words/pass-00000 && printf '%s ' _*)" = '___fc_layer_0__.w0 ___fc_layer_0__.wbias ___fc_layer_1__.w0 ___fc_layer_1__.wbias _proj ' ] || fail "files: $(ls words/pass-00000)"
before=$(costs | head -n 1) after=$(costs | tail -n 1)
awk -v before="$before" -v after="$after" 'BEGIN { exit !(after > 0 && after < 0.8 * before) }' || fail "cost $before before, $after after"

# ---- errors ----
refused() { # WORDS OPTION...
    if edl-trainer --local "${@:2}" >said 2>&1; then fail "${*:2} was taken"; fi
    grep -F -- "$1" said >/dev/null || fail "not \"$1\": $(cat said)"
}
printf 'from paddle.trainer_config_helpers import *\nimport sys\nprint("on the way", file=sys.stderr)\nfc_layr()\n' >bad.py
refused 'bad.py:4: there is no name fc_layr; did you mean fc_layer?' --config=bad.py
grep -Fx 'on the way' said >/dev/null || fail 'what the program says is not passed on'
refused "is_predict is 'maybe'" --config=trainer_config.py --config_args=is_predict=maybe
refused 'cannot read none.py' --config=none.py
refused '--data is missing' --config=ngram.py --config_args=dict_size=9
PYTHONPATH='' refused 'apt-get install python3-edl' --config=bad.py
EDL_PYTHON=/nowhere/python refused 'cannot start /nowhere/python' --config=bad.py
silent ls tmp || fail "left in TMPDIR: $(ls tmp)"
