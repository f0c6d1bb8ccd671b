#!/usr/bin/env bash
# Job documents with bad input: an error that names the key and the remedy, exit status 2, nothing stored.
# Takes 8 s: over twenty documents are refused, a program each, and five jobs run
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
cluster_start --nodes 1

refused() { # NAME FILE WORD...: exit status 2 and each word in the message
    local name=$1 file=$2 status=0
    shift 2
    edl submit "$file" >"$work/out" 2>&1 || status=$?
    [ $status = 2 ] || fail "$name: exit status $status instead of 2: $(cat "$work/out")"
    head -n 1 "$work/out" | grep -qF "$file" || fail "$name: the message does not name the file: $(cat "$work/out")"
    local word
    for word in "$@"; do
        grep -qi -- "$word" "$work/out" || fail "$name: the message does not say '$word': $(cat "$work/out")"
    done
    echo "ok $name: $(head -n 1 "$work/out")"
}

valid='{"metadata":{"name":"bad"},"spec":{"trainer":{"entrypoint":"true","min-instance":1,"max-instance":1}}}'
put() { jq -c "$1" <<<"$valid" >"$work/job.json"; }

put 'del(.metadata.name)'; refused 'missing name' "$work/job.json" metadata name
put '.metadata.name = "a_b"'; refused 'name with _' "$work/job.json" metadata/name a_b
put '.spec.fault_tolerant = true | .spec.trainer["min-instance"] = 5 | .spec.trainer["max-instance"] = 2'
refused 'min > max' "$work/job.json" min-instance 5 2
put '.spec.trainer["max-instance"] = 4'; refused 'elastic but not fault tolerant' "$work/job.json" fault_tolerant
put '.spec.trainer["min-instances"] = 2'; refused 'unknown key' "$work/job.json" spec/trainer/min-instances min-instance
put '.spec.passes = "many"'; refused 'wrong type' "$work/job.json" spec/passes
put '.spec.trainer["min-instance"] = -1'; refused 'negative' "$work/job.json" min-instance
put '.spec.trainer.resources = {"requests":{"cpu":"lots"}}'; refused 'bad quantity' "$work/job.json" cpu lots
put 'del(.spec.trainer.entrypoint)'; refused 'no entrypoint' "$work/job.json" entrypoint
# shellcheck disable=SC2088,SC2016
for workspace in train_dir ./ '~/train_dir' '$HOME/train_dir' private; do
    put ".spec.trainer.workspace = \"$workspace\""; refused "workspace $workspace" "$work/job.json" spec/trainer/workspace "$workspace" absolute 'try: '
done
put '.spec.trainer.workspace = "train_dir"'
[ "$(api POST /jobs -o "$work/answer" -w '%{http_code}' --data-binary "@$work/job.json")" = 422 ] || fail "a relative workspace: $(cat "$work/answer")"
printf 'metadata:\n  name: bad\n spec: [\n' >"$work/job.yaml"; refused 'broken YAML' "$work/job.yaml" line
printf '{"metadata": {"name": ' >"$work/job.json"; refused 'broken JSON' "$work/job.json" line
: >"$work/job.json"; refused 'empty document' "$work/job.json" empty
head -c 10000000 /dev/zero | tr '\0' 'x' | sed 's/^/{"metadata":{"name":"/' >"$work/job.json"; refused '10 MB document' "$work/job.json" 'bytes\|MiB\|large'
refused 'no such file' "$work/none.json" none.json

mkdir "$work/text"
printf '1234 5678 !!! ...\n' >"$work/text/numbers.txt"
status=0
edl corpus build --out "$work/empty" "$work/text" >"$work/out" 2>&1 || status=$?
[ $status = 2 ] || fail "text without words: exit status $status: $(cat "$work/out")"
grep -q word "$work/out" || fail "text without words: $(cat "$work/out")"
[ ! -e "$work/empty" ] || fail 'a failed corpus build left a folder'

# a folder on a command line is taken from where it was typed, and has to be there
status=0
(cd "$work" && edl submit --workspace no_such_dir -- true) >"$work/out" 2>&1 || status=$?
[ $status = 2 ] || fail "a folder that is not there: exit status $status: $(cat "$work/out")"
grep -q "$work/no_such_dir is no folder of this machine" "$work/out" && grep -q 'try: ' "$work/out" || fail "a folder that is not there: $(cat "$work/out")"

[ "$(api GET '/jobs?state=all' | jq '.jobs | length')" = 0 ] || fail 'something was stored'

mkdir -p "$work/train_dir/deep"
runs_in() { # FOLDER ARGUMENT...: a job that is submitted with these says that it runs there
    local folder=$1
    shift
    (cd "$work/train_dir" && HOME=$work edl submit "$@" --follow -- pwd) >"$work/out" 2>"$work/err" || fail "$*: $(cat "$work/out" "$work/err")"
    grep -q " $folder\$" "$work/out" || fail "$* runs elsewhere: $(cat "$work/out")"
}
runs_in "$work/train_dir/deep" --workspace deep
runs_in "$work/train_dir" --workspace ./
runs_in "$work/train_dir/deep" --workspace=./deep
# shellcheck disable=SC2088
runs_in "$work/train_dir/deep" --workspace '~/train_dir/deep'
runs_in "$work/train_dir" --workspace "$work/train_dir"
cluster_stop
