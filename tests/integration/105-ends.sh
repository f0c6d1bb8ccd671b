#!/usr/bin/env bash
# A job's end is told as it was: of one that trained nothing, as failed; of one that left data out, how much; where the model is.
# Takes 5 s: three jobs of Python go over their data twice, and tasks that fail come again three times
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
cluster_start --nodes 2
cat >"$work/train.py" <<'END'
import os
import sys

import edl

bad = sys.argv[1]
if not edl.dataset_exists():
    edl.put_dataset("six", [[edl.Chunk(f"/data/{i}", 0, 10)] for i in range(6)])
for task in edl.tasks():
    if bad == "all" or (bad == "some" and task.id in (2, 4)):
        task.failed(f"cannot read {task.chunks[0].path}")
    else:
        task.done()
if edl.elected():
    edl.model_saved(os.path.join(edl.me().output_dir, "modèle"))
END
job() { # NAME BAD
    jq -n --arg name "$1" --arg python "$python" --arg bad "$2" --arg file "$work/train.py" --arg path "$EDL_SOURCE_DIR/python" \
        '{metadata: {name: $name}, spec: {fault_tolerant: true, mode: "collective", passes: 2, env: {PYTHONPATH: $path, PYTHONDONTWRITEBYTECODE: "1"},
          trainer: {"min-instance": 2, "max-instance": 2, resources: {requests: {cpu: "100m"}}, command: [$python, $file, $bad]}}}'
}
for bad in none some all; do
    job "$bad" "$bad" >"$work/$bad.json"
    edl submit "$work/$bad.json" >/dev/null
done

# nothing was trained: it failed, in the words of upstream's master, and the exit status says so
if edl wait --timeout 120 all >"$work/told"; then fail "a job that trained nothing succeeded: $(cat "$work/told")"; fi
grep -q ' failed: all task finished, but none was trained: 6 of 6 tasks of pass 1 failed 4 times each (60 records)' "$work/told" ||
    fail "edl wait: $(cat "$work/told")"
[ "$(job_field all '[.state, .reason_code, .records_total, .tasks_discarded, .records_discarded, .model_saved] | @csv')" = \
    '"failed","all-tasks-failed",0,6,60,false' ] || fail "$(job_field all .)"
edl events >"$work/events"
grep -q 'task-failed.*task [0-5] failed: cannot read /data/[0-5]' "$work/events" || fail "edl events: $(cat "$work/events")"

# two of six were skipped in each pass
edl wait --timeout 120 some >"$work/told" || fail "edl wait: $(cat "$work/told")"
model=$(job_field some .model_path)
case $model in /*/modèle) ;; *) fail "the model is at '$model'" ;; esac
for verb in 'wait' 'why'; do
    edl "$verb" some >"$work/told"
    grep -q '4 tasks with 40 of 120 records were skipped after 4 failures each' "$work/told" || fail "edl $verb: $(cat "$work/told")"
done
edl show some >"$work/told"
grep -q '^skipped    4 tasks with 40 records failed too often and were not trained$' "$work/told" || fail "edl show: $(cat "$work/told")"
grep -qxF "model      saved: $model" "$work/told" || fail "edl show: $(cat "$work/told")"
edl show --json some | holds --arg model "$model" \
    '.job.tasks_discarded == 4 and .job.records_discarded == 40 and .tasks.tasks_discarded == 4 and .tasks.model_path == $model' ||
    fail "$(edl show --json some)"
api GET /jobs/some/why | holds '.skipped == {tasks: 4, records: 40, chunks_lost: 0, records_lost: 0}' || fail "$(api GET /jobs/some/why)"
[ "$(job_field some '[.records_total, .tasks_discarded] | @csv')" = '80,4' ] || fail "$(job_field some .)"

# nothing was: nothing is said of it, and where the model is stands in the end
edl wait --timeout 120 none >"$work/told" || fail "edl wait: $(cat "$work/told")"
grep -q "succeeded: all passes over the data ended and the model is saved: $(job_field none .model_path)\$" "$work/told" ||
    fail "edl wait: $(cat "$work/told")"
edl show none | lacks '^skipped' || fail 'something was skipped of none'
# a program has a folder of its own for temporary files, which goes with it, whatever it did there and however it ended
edl submit --name temporary -- sh -c 'stat -c "%a %u" "$TMPDIR"; mkdir -p "$TMPDIR/a/b"; touch "$TMPDIR/a/b/c"; chmod 0 "$TMPDIR/a"; kill -9 $$' >/dev/null
edl wait --timeout 120 temporary >/dev/null || true
edl logs temporary | grep -q " 700 $(id -u)\$" || fail "TMPDIR is another one: $(edl logs temporary)"
temporary_left() { find "$work/state" -path "*/tmp/*.trainer.*" -prune; }
await 120 'its temporary files are gone' silent temporary_left
cluster_stop
