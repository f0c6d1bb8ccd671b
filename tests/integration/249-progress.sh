#!/usr/bin/env bash
# Processes tell how far they are: each its own, with the next report, in GET /jobs/{job}/processes and `edl show`; what is not in
# order is refused where it is said, and a process that is started again begins without.
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
await 120 'both are told of' steps_are '[100,200]'
edl show tells >"$work/shown"
grep -q '^  trainer-0  step 100, loss 0.25, phase "warm-up"$' "$work/shown" || fail "edl show: $(cat "$work/shown")"
answers() { [ "$(edl logs tells | grep -c '^\[trainer-[01]\] 204 400 400 400 413 told$')" = 2 ]; }
await 120 'each call has its answer' answers

# another incarnation: what the one before told is not its own
kill -9 "$(pids tells trainer 0)"
fresh() { steps_are '[null,200]' && job_is tells running && [ "$(running tells trainer)" = 2 ]; }
await 120 'it begins without' fresh

# who is not one of the node's processes is not heard
status=$(curl -sS -o "$work/answer" -w '%{http_code}' --data '{"step": 1}' --unix-socket "$(find "$work/state" -name socket)" http://agent/processes/self/progress)
[ "$status" = 403 ] || fail "a stranger: $status, $(cat "$work/answer")"
cluster_stop
