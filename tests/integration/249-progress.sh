#!/usr/bin/env bash
# Processes tell how far they are: each its own, with the next report, in GET /jobs/{job}/processes and `edl show`; what is not in
# order is refused where it is said, and a process that is started again begins without.
# Takes 18 s: six processes tell their agent what they do, by a program for each of some forty calls
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
cluster_start --nodes 1
cat >"$work/tell.sh" <<'END'
tell() { curl -sS -o /dev/null -w '%{http_code} ' --unix-socket "$EDL_SOCKET" --data-binary "$@" http://agent/processes/self/progress; }
[ "$EDL_INCARNATION" -gt 2 ] || tell "{\"step\": $((EDL_INDEX + 1))00, \"loss\": 0.25, \"phase\": \"warm-up\"}"
tell '{"phase": "two\nlines"}'
tell '[1]'
tell '{'
head -c 5000 /dev/zero | tr '\0' ' ' | tell @-
echo told
exec sleep 1000
END
jq -n --arg file "$work/tell.sh" '{metadata: {name: "tells"}, spec: {fault_tolerant: true, mode: "collective", restart: {max: 3, backoff: "100ms"},
    trainer: {"min-instance": 2, "max-instance": 2, resources: {requests: {cpu: "100m"}}, command: ["bash", $file]}}}' >"$work/job.json"
edl submit "$work/job.json" >/dev/null
steps() { api GET '/jobs/tells/processes?state=live' | jq -c "[.processes | sort_by(.index)[] | .progress.step]"; }
steps_are() { [ "$(steps)" = "$1" ]; }
await 120 'both are told of' while_job tells steps_are '[100,200]'
edl show tells >"$work/shown"
grep -q '^  trainer-0  step 100, loss 0.25, phase "warm-up"$' "$work/shown" || fail "edl show: $(cat "$work/shown")"
answers() { [ "$(edl logs tells | grep -c '^\[trainer-[01]\] 204 400 400 400 413 told$')" = 2 ]; }
await 120 'each call has its answer' while_job tells answers

# another incarnation: what the one before told is not its own
kill -9 "$(pids tells trainer 0)"
fresh() { steps_are '[null,200]' && job_is tells running && [ "$(running tells trainer)" = 2 ]; }
await 120 'it begins without' while_job tells fresh

# who is not one of the node's processes is not heard
status=$(curl -sS -o "$work/answer" -w '%{http_code}' --data '{"step": 1}' --unix-socket "$(find "$work/state" -name socket)" http://agent/processes/self/progress)
[ "$status" = 403 ] || fail "a stranger: $status, $(cat "$work/answer")"

# rows of pushes, as many as a process can gather, of four processes: the node is heard as before, what has no room is left out, and
# its agent says so; a call without rows takes none away
edl kill tells >/dev/null
cat >"$work/rows.sh" <<'END'
tell() { curl -sS -o /dev/null -w '%{http_code} ' --unix-socket "$EDL_SOCKET" --data-binary "$@" http://agent/processes/self/progress; }
for shard in 0 1 2 3 4 5; do jq -cn "{pushes: [range(85) | [$shard, ., 5, 1]]}" | tell @-; done
tell '{"step": 7}'
echo told
exec sleep 1000
END
jq --arg file "$work/rows.sh" '.metadata.name = "rows" | .spec.trainer += {"min-instance": 4, "max-instance": 4, command: ["bash", $file]}' "$work/job.json" >"$work/rows.json"
edl submit "$work/rows.json" >/dev/null
rows_answer() { [ "$(edl logs rows | grep -c '^\[trainer-[0-3]\] 204 204 204 204 204 204 204 told$')" = 4 ]; }
await 120 'all rows are taken' while_job rows rows_answer
rows_are_told() { api GET '/jobs/rows/processes?state=live' |
    holds '[.processes[].progress | select(.step == 7) | .pushes | length | select(. > 100 and . < 510)] | length == 4'; }
await 120 'the node is heard, with as many rows as a report has room for' while_job rows rows_are_told
rows_are_said() { grep -rq 'of pushes, and all that 0 processes told' "$work"; }
await 120 'the agent says what it leaves out' rows_are_said
cluster_stop
