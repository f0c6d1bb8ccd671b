#!/usr/bin/env bash
# Processes that die with a task: a record that kills whoever reads it costs the smallest task that was asked for, and a process that
# is killed again and again costs nothing.
# Takes 52 s: two trainers die five times each, and wait for 1, 2, 4, 8 and 16 s before they begin again
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
export PYTHONPATH=$EDL_SOURCE_DIR/python PYTHONDONTWRITEBYTECODE=1
cluster_start --nodes 1 --cpu 2000m
seq 1 30 >"$work/numbers"

cat >"$work/deadly.py" <<'END'
import os, signal, sys
import edl

for record in edl.cloud_reader():
    if record == b"13":
        os.kill(os.getpid(), signal.SIGKILL)
if edl.elected():
    edl.model_saved("/nowhere")
END
edl submit --name deadly --min 1 --max 2 --cpu 200m --dataset "$work/numbers" --task-records 4 --task-tries 3 --env PYTHONPATH="$PYTHONPATH" \
    --env PYTHONDONTWRITEBYTECODE=1 -- "$python" "$work/deadly.py" >/dev/null
[ "$(job_field deadly '[.spec.dataset.task_records, .spec.dataset.tries] | tojson')" = '[4,3]' ] ||
    fail "the document: $(job_field deadly .spec)"

# as if somebody killed it: six times while it has the only task, then no more
cat >"$work/killed.py" <<'END'
import os, signal, sys
import edl

n = 0
for record in edl.cloud_reader():
    n += 1
    with open(sys.argv[1], "ab") as file:
        if n == 20 and file.tell() < 6:
            file.write(b".")
            file.flush()
            os.kill(os.getpid(), signal.SIGKILL)
if edl.elected():
    edl.model_saved("/nowhere")
END
jq -n --arg python "$python" --arg file "$work/killed.py" --arg count "$work/deaths" --arg data "$work/numbers" --arg path "$PYTHONPATH" \
    '{name: "killed", mode: "collective", fault_tolerant: true, restart: {max: 20, backoff: "0s"}, dataset: $data,
    env: {PYTHONPATH: $path, PYTHONDONTWRITEBYTECODE: "1"},
    roles: [{role: "trainer", min: 1, max: 1, cpu: "200m", command: [$python, $file, $count]}]}' | edl submit - >/dev/null
edl wait deadly --timeout 180 || fail "a record that kills ends the job: $(edl show deadly; edl events)"
counts() { edl show "$1" --json | jq -c '[.tasks.records_total, .tasks.records_discarded, .tasks.tasks_discarded]'; }
[ "$(counts deadly)" = '[26,4,1]' ] || fail "of one deadly record: $(counts deadly)"
edl events | grep -q '1 task with 4 records is skipped in pass 1, because its processes died again and again' ||
    fail "the events: $(edl events)"
edl wait killed --timeout 180 || fail "kills end the job: $(edl show killed; edl events)"
[ "$(counts killed)" = '[30,0,0]' ] || fail "after kills: $(counts killed)"
[ "$(wc -c <"$work/deaths")" -eq 6 ] || fail "it died so often: $(wc -c <"$work/deaths")"
