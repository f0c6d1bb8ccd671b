#!/usr/bin/env bash
# A program of paddle.v2 runs with edl-trainer behind it: its event handler sees costs fall, the tar of each pass is what a
# saved pass holds, and a training goes on from it; a program that is stopped leaves no trainer behind.
# Takes 19 s: programs of Python train one after another, and its unit tests run
. "${EDL_SOURCE_DIR:?the checkout}/tests/lib/ports.sh"
. "${EDL_SOURCE_DIR:?the checkout}/tests/lib/python.sh"
(cd "$PYTHONPATH" && "$python" -W error -m unittest tests/test_paddle_v2.py tests/test_paddle_sets.py)
"$python" -c 'import numpy' 2>/dev/null || {
    echo "there is no numpy for $python (python3-numpy)"
    exit 77
}
cp "$EDL_SOURCE_DIR/tests/lib/train_local.py" "$work"
cd "$work"
# a text whose next word the four before it tell
awk 'BEGIN { for (i = 0; i < 900; i++) { for (k = 0; k < 12; k++) printf "w%d ", (i * 5 + k * (1 + i % 3)) % 30; print "" } }' | tr 0-9 a-j >text
export EDL_TEXT=$work/text
program() { RATE=0.1 "$python" -m edl.paddle train_local.py >said 2>&1 || fail "$(cat said)"; }
program
cat said
[ "$(grep -c '^Pass [01], Batch [0-9]*00, Cost [0-9.]*, {.classification_error_evaluator.: [0-9.]*}$' said)" -ge 4 ] || fail 'too few batches were told'
first=$(sed -n 's/^Pass 0, Batch 0, Cost \([^,]*\),.*/\1/p' said)
last=$(sed -n 's/^Pass 1, Testing cost \([^ ]*\) .*/\1/p' said)
awk -v first="$first" -v last="$last" 'BEGIN { exit !(first > 3 && last > 0 && last < 0.5 * first) }' || fail "cost $first at first, $last at last"
wrong=$(sed -n "s/^Pass 1, Testing cost .*evaluator': \([0-9.]*\)}/\1/p" said)
[ "$(sed -n 's/^Inferred [0-9]* words, \(.*\) are wrong/\1/p' said)" = "$wrong" ] || fail "infer and test do not agree: $wrong"
awk -F, 'NF != 32 { bad = 1 } END { exit bad || NR < 30 }' embedding_table || fail 'another table of words'
members=$(tar tf model_1.tar | grep -v protobuf | tr '\n' ' ')
[ "$members" = '_proj ___fc_layer_0__.w0 ___fc_layer_0__.wbias ___fc_layer_1__.w0 ___fc_layer_1__.wbias ' ] || fail "members: $members"
# each member is a file of a saved pass: edl-trainer reads them
mkdir pass && tar xf model_1.tar -C pass --exclude='*.protobuf' && touch pass/done
[ "$(edl-trainer model show pass --json | jq '(.parameters | length) == 5 and .problems == []')" = true ] || fail "$(edl-trainer model show pass)"
mv model_1.tar start.tar
program
again=$(sed -n 's/^From start.tar: cost //p' said)
[ "$again" = "$last" ] || fail "the parameters of the tar cost $again, $last when they were saved"
on=$(sed -n 's/^Pass 0, Batch 0, Cost \([^,]*\),.*/\1/p' said)
awk -v first="$first" -v on="$on" 'BEGIN { exit !(on > 0 && on < 0.7 * first) }' || fail "cost $on where the training goes on, $first at the start of the first one"

# a trainer that trains again goes on with its optimizer: two calls of one pass are one call of two
cat >twice.py <<'PY'
import io
import paddle.v2 as paddle
x, label = [paddle.layer.data(name=n, type=t) for n, t in
            (('x', paddle.data_type.dense_vector(3)), ('label', paddle.data_type.integer_value(2)))]
inner = paddle.layer.fc(input=x, size=5, layer_attr=paddle.attr.Extra(drop_rate=0.2))
cost = paddle.layer.classification_cost(input=paddle.layer.fc(input=inner, size=2, act=paddle.activation.Softmax()), label=label)
samples = [([i % 3, i % 5, i % 7], i % 2) for i in range(40)]


def trained(*passes):
    parameters = paddle.parameters.create(cost)
    adam = paddle.optimizer.Adam(learning_rate=0.1, learning_rate_schedule='discexp', learning_rate_decay_a=0.5, learning_rate_decay_b=50)
    trainer = paddle.trainer.SGD(cost, parameters, adam)
    for n in passes:
        trainer.train(paddle.batch(lambda: iter(samples), 8), num_passes=n)
    tar = io.BytesIO()
    parameters.to_tar(tar)
    return tar.getvalue()


assert trained(2) == trained(1, 1), 'two calls'
assert trained(2) != trained(1), 'no training'
PY
"$python" -m edl.paddle twice.py >said 2>&1 || fail "two calls: $(cat said)"

# every kind of layer
"$python" -m edl.paddle "$EDL_SOURCE_DIR/tests/lib/every_layer.py" >said 2>&1 || fail "every layer: $(cat said)"
cat said

# parameters on two servers that were started by hand
export HOME=$work/home XDG_CONFIG_HOME=
mkdir "$HOME"
edl-paddle pserver "--port=$port" --ports_num=2 --num_gradient_servers=1 >pserver.log 2>&1 &
servers=$!
trap 'kill $servers 2>/dev/null || true; wait $servers || true; rm -rf "$work"' EXIT
rm start.tar
PADDLE_INIT_PSERVERS=127.0.0.1 PADDLE_INIT_PORT=$port PADDLE_INIT_PORTS_NUM=2 program
[ "$(grep -c 'parameters* created' pserver.log)" = 2 ] || fail "not both servers have a shard: $(cat pserver.log)"
far=$(sed -n 's/^Pass 1, Testing cost \([^ ]*\) .*/\1/p' said)
awk -v first="$first" -v far="$far" 'BEGIN { exit !(far > 0 && far < 0.5 * first) }' || fail "cost $first at first, $far at last, with servers"
kill $servers
wait $servers || fail "the servers failed: $(cat pserver.log)"
trap 'rm -rf "$work"' EXIT

# an error tells file and line; nothing of a program that is interrupted stays
printf 'import paddle.v2 as paddle\npaddle.layer.recurrent_group()\n' >bad.py
if "$python" -m edl.paddle bad.py >said 2>&1; then fail 'recurrent_group was taken'; fi
grep -F 'bad.py:2: recurrent_group is not supported' said >/dev/null || fail "$(cat said)"
if "$python" -c 'import paddle' 2>/dev/null; then echo 'a PaddlePaddle is installed'; else
    if "$python" train_local.py >said 2>&1; then fail 'a program has the names although it was not asked for them'; fi
fi
sed 's/num_passes=2/num_passes=100000/; s/^    if isinstance(event, paddle.event.EndPass):/    if isinstance(event, paddle.event.EndPass): raise SystemExit(3)\n&/' train_local.py >endless.py
status=0
RATE=0.1 "$python" -m edl.paddle endless.py >said 2>&1 || status=$?
[ "$status" = 3 ] || fail "status $status: $(cat said)"
silent ls tmp || fail "left in TMPDIR: $(ls tmp)"
