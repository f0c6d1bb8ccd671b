#!/usr/bin/env bash
# A second cluster on the same machine does not disturb the first.
# Takes 22 s: a job trains nine passes, while a second cluster begins and ends
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
cluster_start --nodes 2
small_corpus 60 30000
hold_at train 100000
training_job train 2 3 9 >"$work/job.yaml"
edl submit "$work/job.yaml"
await 120 'it trains' records_at_least train 1000
mkfifo "$work/second"
edl dev --nodes 2 --lease 60s --state-dir "$work/state2" >"$work/second" 2>"$work/dev2.log" &
second=$!
exec 8<"$work/second"
while read -r -t 120 line <&8; do case $line in *"Ctrl-C stops"*) break ;; esac; done
cat <&8 >/dev/null &
address=$(find "$work/state2" -name address -exec cat {} \;)
token=$(find "$work/state2" -name admin-token)
edl submit --server "http://$address" --token-file "$token" --name train --follow -- echo second | grep -q second || fail 'the second cluster does not work'
kill -TERM $second
wait $second || true
job_is train running resizing || fail "train: $(job_field train .reason)"
let_go train
edl wait train --timeout 900 || fail "train: $(job_field train .reason)"
exact_counts train
hurt=$(api GET '/jobs/train/processes?state=all' | jq '[.processes[] | select(.exit_signal > 0 or .exit_code > 0 or .state == "lost")] | length')
[ "$hurt" = 0 ] || fail "$hurt processes were disturbed"
cluster_stop
