#!/usr/bin/env bash
# A program that fails wherever it is started, within seconds, is started three times and not eleven; the job's end has its last
# words. Data that is on no node ends its job once each was tried, and is named. A document that says how often gets that.
# Takes 13 s: waits for the pauses between starts that fail
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
cluster_start --nodes 2
echo 'import no_such_module_of_ours' >"$work/train.py"
job() { # NAME RESTART COMMAND...
    local name=$1 restart=$2
    shift 2
    jq -n --arg name "$name" --argjson restart "$restart" \
        '{metadata: {name: $name}, spec: ({fault_tolerant: true, mode: "collective", restart: $restart,
          trainer: {"min-instance": 2, "max-instance": 2, resources: {requests: {cpu: "100m"}}, command: $ARGS.positional}})}' \
        --args -- "$@" >"$work/$name.json"
    edl submit "$work/$name.json" >/dev/null
}
starts() { api GET "/jobs/$1/processes?state=all" | jq '.processes | length'; }
fails() { # JOB WORDS
    if edl wait --timeout 120 "$1" >"$work/told"; then fail "$1 succeeded"; fi
    job_is "$1" failed || fail "$1 goes on: $(cat "$work/told")"
    grep -qF "$2" "$work/told" || fail "$1: $(cat "$work/told")"
}

job import '{"backoff": "200ms"}' "$python" "$work/train.py"
fails import 'failed within seconds, up to 3 times each, and nothing was ever done; last trainer-'
grep -qF "its last words: ModuleNotFoundError: No module named 'no_such_module_of_ours'" "$work/told" || fail "$(cat "$work/told")"
[ "$(job_field import .reason_code)" = failed-at-once ] || fail "$(job_field import .reason_code)"
[ "$(starts import)" -le 6 ] || fail "it was started $(starts import) times"

training_job data 2 2 1 | sed "s|$work/corpus/|$work/nothing-here/|; /restart:/d" >"$work/data.yaml"
edl submit "$work/data.yaml" >/dev/null
fails data "no valid dataset specified: cannot read $work/nothing-here/corpus.json"
grep -qE 'up to [12] times? each' "$work/told" || fail "data: $(cat "$work/told")"
mkdir "$work/nothing-here"
echo '{"ngram": 5, "vocabulary": 60}' >"$work/nothing-here/corpus.json"
edl submit "$work/data.yaml" >/dev/null
fails data "no valid dataset specified: no training data matches $work/nothing-here/train-*.recordio"

job asked '{"max": 5, "backoff": "0s"}' sh -c 'exit 1'
fails asked 'Failed trainer count beyond the threshold: 5 (trainer-'
[ "$(job_field asked .reason_code)" = process-failed ] || fail "$(job_field asked .)"
[ "$(job_field asked '.spec.restart | [.max, .tries_at_once] | @csv')" = 5,0 ] || fail "$(job_field asked .spec.restart)"
job once '{"tries_at_once": 1, "backoff": "5s"}' sh -c 'exit 1'
fails once 'failed within seconds, up to ' # once or twice: on each of the nodes that fit
[ "$(starts once)" -le 4 ] || fail "it was started $(starts once) times"
cluster_stop
