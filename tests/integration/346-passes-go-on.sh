#!/usr/bin/env bash
# Saved passes keep the optimizer: three passes and three more have the bits of six, whatever the method. What is missing, or of another
# training, is said. What is damaged, and a value that is no number, is refused, and the pass before stays.
# Takes 6 s: over twenty short trainings, one after another
. "${EDL_SOURCE_DIR:?the checkout}/tests/lib/await.sh"
set -eu
PATH=$EDL_BUILD_DIR:$PATH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
edl corpus build --synthetic 20 --samples 400 --out data >/dev/null
words=$(jq .vocabulary data/corpus.json)
# a table, dropout, averages of batches
network() { # KEYS of the table's parameter, KEYS of the training
    local inputs=''
    for name in a b c d next; do inputs+="${inputs:+, }{\"name\": \"$name\", \"type\": \"integer\", \"size\": $words}"; done
    cat <<JSON
{"inputs": [$inputs],
 "layers": [{"kind": "table", "name": "words", "inputs": ["a", "b", "c", "d"], "size": 4, "param": {"initial_std": 0.1$1}},
            {"kind": "fc", "size": 8, "activation": "linear", "bias": false}, {"kind": "batch_norm", "dropout": 0.2},
            {"kind": "fc", "size": $words, "activation": "softmax"}],
 "cost": {"kind": "cross_entropy", "label": "next"}, "training": {"batch_size": 20, $2}}
JSON
}
trains() { # OPTION...
    edl-trainer --local --config=./net.json --data=data --log-period=0 "$@" >log 2>&1
}
goes_on() { # OPTION...: three passes and three more are six
    rm -rf six parts
    trains --num_passes=6 --saving_period=6 --save_dir=six "$@" || fail "six passes: $(cat log)"
    trains --num_passes=3 --saving_period=3 --save_dir=parts "$@" || fail "three passes: $(cat log)"
    trains --start_pass=3 --num_passes=6 --saving_period=6 --save_dir=parts "$@" || fail "three more: $(cat log)"
    if grep -q warning log; then fail "it says: $(cat log)"; fi
    diff -r six/pass-00005 parts/pass-00005 || fail "three passes and three more are not six: $(cat net.json)"
}
falls='"schedule": "discexp", "schedule_a": 0.5, "schedule_b": 700'
while read -r table training; do
    network "${table#-}" "\"learning_rate\": 0.02, ${training/falls/$falls}" >net.json
    goes_on
done <<'METHODS'
,"momentum":false,"sparse":true "method": "momentum", "momentum": 0.9, "l2": 0.01, falls
,"learning_rate":2 "method": "momentum", "momentum": 0.9, "nesterov": 1, "schedule": "pass_manual", "schedule_args": "1:1,3:0.5,9:0.1"
,"sparse":true "method": "decayed_adagrad", "l1": 0.001, falls
,"sparse":true "method": "rmsprop", "l2": 0.01, falls
- "method": "adam", falls
METHODS
goes_on --push-every=3 --save_tar=1 --saving_period_by_batches=15
[ "$(cd six/pass-00005 && echo *)" = "___batch_norm_0__.w0 ___batch_norm_0__.w1 ___batch_norm_0__.w2 ___batch_norm_0__.wbias ___fc_layer_0__.w0 ___fc_layer_1__.w0 ___fc_layer_1__.wbias _words.w0 done net.json path.txt" ] || fail "files: $(ls six/pass-00005)"
edl model show six/pass-00005 >/dev/null || fail "model show: $(edl model show six/pass-00005)"
trains --init_model_path=parts/pass-00002 --init_optimizer=1 --num_passes=1 || fail "with the optimizer, without a number: $(cat log)"
if grep -q warning log; then fail "it says: $(cat log)"; fi

# said: there is no state, it is of another method, of other values, of other parameters
says() { # WORDS
    trains --start_pass=6 --num_passes=7 --save_dir=six || fail "it does not go on: $(cat log)"
    grep -qF -- "six/pass-00005/.optimizer $1: the optimizer begins anew" log || fail "not \"$1\": $(cat log)"
}
cp -r six/pass-00005 kept
back() { rm -rf six/pass-00005 && cp -r kept six/pass-00005; }
rm six/pass-00005/.optimizer
says 'is missing'
back
cp parts/pass-00002/.optimizer six/pass-00005
says 'is of other values than those beside it'
back
network '' '"method": "adamax"' >net.json
says 'is of adam, and this training has adamax'
network '' '"method": "adam"' >net.json

# refused: a file that is damaged, or a value that is no number; what was saved stays
refuses() { # WORDS
    if trains --start_pass=6 --num_passes=7 --save_dir=six; then fail 'it trains'; fi
    grep -qF -- "$1" log || fail "not \"$1\": $(cat log)"
    [ ! -e six/pass-00006 ] || fail 'a pass is saved'
}
rm -rf six/pass-00006
damage() { # FILE OFFSET BYTES
    printf "$3" | dd of="six/pass-00005/$1" bs=1 seek="$2" conv=notrunc 2>/dev/null
}
damage .optimizer 200 X
refuses 'six/pass-00005/.optimizer fails its checksum; take an earlier pass'
damage .optimizer 20 X
refuses 'six/pass-00005/.optimizer has a damaged header'
truncate -s 30 six/pass-00005/.optimizer
refuses 'six/pass-00005/.optimizer is cut off'
back
damage ___batch_norm_0__.w2 20 '\0\0\300\177'
refuses '___batch_norm_0__.w2: value 1 of the parameter is nan'
back
