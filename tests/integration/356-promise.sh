#!/usr/bin/env bash
# A process that promised to be alive and is stopped is killed within its time, and started again; a long step of one that says so costs
# nothing, nor does an agent that is killed meanwhile.
# Takes 15 s: a promise of three seconds is waited for, and a step of nine
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
cluster_start --nodes 1 --cpu 2000m
cat >"$work/member" <<'END'
# says so from a thread of its own, while its step takes longer than it promised to be silent; then it stands still
import os, signal, sys, time
import edl
folder, me = sys.argv[1], edl.me()
while me.incarnation > 1:
    open(f"{folder}/runs.{me.incarnation}", "w").close()
    time.sleep(60)
try:
    edl.alive(0.5)
except edl.Refused as error:
    assert "within_s is 0.5" in str(error), error
with edl.keep_alive(8):
    open(f"{folder}/runs.{me.incarnation}", "w").close()
    time.sleep(9)
while True:
    try:
        edl.alive(3)
        break
    except edl.Unreachable:  # the next agent is not ready yet
        time.sleep(0.1)
open(f"{folder}/stepped.{me.incarnation}", "w").close()
os.kill(os.getpid(), signal.SIGSTOP)
END
jq -n --arg work "$work" --arg path "$EDL_SOURCE_DIR/python" '{name: "member", mode: "collective", fault_tolerant: true,
    restart: {max: 5, backoff: "100ms"}, env: {PYTHONPATH: $path, PYTHONDONTWRITEBYTECODE: "1"},
    roles: [{role: "worker", command: ["python3", $work + "/member", $work], min: 1, max: 1, cpu: "500m"}]}' >"$work/job.json"
edl submit "$work/job.json" >/dev/null
await 120 'it runs' while_job member test -e "$work/runs.1"

# who goes on is left alone, also while no agent is there
oldest() { pgrep -o -f -- "edl-agent .*--node .*$work"; } # not one that it starts just now
agent=$(oldest)
kill -9 "$agent"
back() { local now; now=$(oldest) && [ "$now" != "$agent" ]; }
await 120 'another agent runs' back
await 120 'a long step is over' while_job member test -e "$work/stepped.1"

begun=$(date +%s%N)
await 120 'it is killed and started again' while_job member test -e "$work/runs.2"
echo "after $((($(date +%s%N) - begun) / 1000000)) ms another one runs"
ended=$(api GET '/jobs/member/processes?state=all' | jq -c '.processes[] | select(.incarnation == 1) | [.state, .exit_signal, .cause, .reason]')
[[ $ended == *'"exited",9,"stood-still"'*'it said nothing for 3 s'* ]] || fail "it ended otherwise: $ended"
edl events | grep -q 'stood-still.*it had promised to say that it is alive' || fail "no event: $(edl events | tail)"
edl kill member >/dev/null
! edl wait member --timeout 300 >/dev/null || fail 'it succeeded'
cluster_stop
