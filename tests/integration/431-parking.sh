#!/usr/bin/env bash
# Under crowding a job that goes on from its checkpoint goes back to the queue for a short gang, and goes on when that is over, from
# where it was. So does one whose document says that its tasks are all of its state: each is counted once. One that says
# `parking: never` stays, and so does one of which nobody says that its memory may go.
# Takes 12 s: two jobs run for ten times what they may lose
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
cluster_start --nodes 1 --cpu 4000m --max-load 1.0 --parking 6s

# what the programs wait for is a pipe: whoever reads it waits until something is written
mkfifo "$work/lasts" "$work/go"
cat >"$work/steps.sh" <<'END2'
n=$(cat "$EDL_CHECKPOINT_DIR/n" 2>/dev/null || echo 0)
mkdir -p "$EDL_CHECKPOINT_DIR"
echo $((n + 1)) >"$EDL_CHECKPOINT_DIR/n"
echo "goes on from $n"
read -r line <>"$1"
END2
cat >"$work/tasks.py" <<'END2'
import os
import sys
import edl

work = sys.argv[1]
client = edl.client()
client.put_dataset("d", [[edl.Chunk(f"/data/{i}", 0, 10)] for i in range(12)])
run = len([name for name in os.listdir(work) if name.startswith("run-")])
open(f"{work}/run-{run}", "w").close()
for n, task in enumerate(client.tasks()):
    with open(f"{work}/did", "a") as file:
        file.write(f"{task.id}\n")
    task.done()
    if n == 4 and run == 0:
        open(f"{work}/lasts").read()  # it is stopped here
if client.elected:
    client.model_saved("/nowhere")
END2
submit() { # NAME DOCUMENT: one role, of half of the cores
    jq -n --arg name "$1" --argjson more "$2" '{name: $name, grace: "100ms", restart: {max: 3}} + $more
        | .roles = [{role: "worker", min: 1, max: 1, cpu: "2"} + .roles[0]]' | edl submit - >/dev/null
}
steps() { # NAME PERIOD PARKING
    submit "$1" "$(jq -n --arg work "$work" --arg period "$2" --arg parking "$3" '{checkpoint: {path: $work, period: $period}, parking: $parking,
        roles: [{command: ["/bin/bash", ($work + "/steps.sh"), ($work + "/lasts")]}]}')"
}
gang() { # NAME
    submit "$1" "$(jq -n --arg work "$work" '{expected: "1s", checkpoint: {path: $work, period: "100ms"}, parking: "allowed", roles: [{min: 2, max: 2, cpu: "1",
        command: ["/bin/sh", "-c", ("exec cat " + $work + "/go")]}]}')"
}
parked_for() { # JOB NUMBER: and told so
    await 120 "$1 waits" while_job "$1" job_is "$1" queued
    edl why "$1" | grep -q "it was parked for job $2 and goes on from where it was" || fail "why: $(edl why "$1")"
}

steps never 1ms never # it would lose less
steps long 100ms allowed
await 120 'both run' while_job never at_least never worker 1
await 120 'both run' while_job long at_least long worker 1
gang short
await 120 'the gang runs' while_job long at_least short worker 2
parked_for long 3
edl kill short >/dev/null
await 120 'it goes on' while_job long at_least long worker 1
goes_on() { edl logs long | grep -q 'goes on from 1$'; }
await 120 'it goes on from where it was' goes_on
edl kill long >/dev/null

submit tasks "$(jq -n --arg python "$python" --arg work "$work" --arg path "$EDL_SOURCE_DIR/python" '{mode: "collective", fault_tolerant: true, parking: "allowed",
    dataset: "/d/*", env: {PYTHONPATH: $path, PYTHONDONTWRITEBYTECODE: "1"}, roles: [{command: [$python, ($work + "/tasks.py"), $work]}]}')"
five() { [ "$(wc -l <"$work/did" 2>/dev/null || echo 0)" -ge 5 ]; }
await 120 'five tasks are done' while_job tasks five
gang second
await 120 'the gang runs' at_least second worker 2
parked_for tasks 5
api GET '/events?after=0&limit=1000' | holds '[.events[] | select(.event == "job-parked") | .job] | length == 2' || fail 'events'
api GET /metrics | grep -qx 'edl_jobs_parked_total 2' || fail "metrics: $(api GET /metrics | grep parked)"
[ "$(job_state never)" = running ] || fail "it was parked: $(edl why never)"
edl kill second never >/dev/null
edl wait tasks --timeout 120 || fail "tasks: $(job_field tasks .reason)"
[ "$(sort -n "$work/did" | tr '\n' ' ')" = '0 1 2 3 4 5 6 7 8 9 10 11 ' ] || fail "tasks: $(sort -n "$work/did" | tr '\n' ' ')"
[ "$(job_field tasks .records_total)" = 120 ] || fail "records: $(job_field tasks .records_total)"
cluster_stop
