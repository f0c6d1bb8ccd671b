#!/usr/bin/env bash
# examples/records.py alone, and as a job on two nodes one of whose trainers is killed in the middle of a task: each record is consumed
# once in each epoch, but for those that the killed one had under way; the queue's counts are exact, and the checkpoint is of the last epoch.
# Takes 8 s: a program of Python trains five epochs alone, and again as a job one of whose trainers is killed
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
[ -n "$python" ] || {
    echo 'there is no python3'
    exit 77
}
program=$EDL_SOURCE_DIR/examples/records.py
note=$EDL_SOURCE_DIR/tests/lib/note_records.py
export PYTHONPATH=$EDL_SOURCE_DIR/python PYTHONDONTWRITEBYTECODE=1
mkdir "$work/data" "$work/alone" "$work/job" "$work/checkpoints"
for file in 0 1 2 3 4 5 6 7; do
    awk -v file="$file" 'BEGIN { for (i = 0; i < 25; i++) { x = (file * 25 + i) / 100 - 1; printf "%.2f %.2f\n", x, 3 * x - 1 } }' >"$work/data/train-$file"
done
for epoch in 0 1 2 3 4; do sed "s/^/$epoch /" "$work"/data/train-*; done | sort >"$work/want"

# alone: the same program, and a second run has nothing to do
cd "$work/alone"
"$python" "$note" "$work/alone" "$program" "$work/data/train-*" >said
[ "$(grep -c ': 200 records here' said)" = 5 ] || fail "$(cat said)"
sort seen-alone.0 | cmp - "$work/want" || fail 'alone: not each record once in each epoch'
tail -n 1 said | grep -Eq 'y = (2.[5-9]|3.0).* x \+ -(0.9|1.0)' || fail "it has not learnt: $(tail -n 1 said)"
"$python" "$program" "$work/data/train-*" >again
[ ! -s again ] || fail "it goes on behind its end: $(cat again)"

# as a job: trainer 1 stands still in the middle of its first task and is killed there
cd "$work"
mkfifo "$work/job/go" "$work/job/never"
cluster_start --nodes 2 --cpu 2000m
jq -n --arg python "$python" --arg note "$note" --arg folder "$work/job" --arg program "$program" --arg path "$PYTHONPATH" --arg data "$work/data/train-*" \
    --arg checkpoints "$work/checkpoints" '{name: "records", mode: "collective", fault_tolerant: true, dataset: $data,
    env: {PYTHONPATH: $path, PYTHONDONTWRITEBYTECODE: "1"}, checkpoint: {path: $checkpoints}, restart: {max: 10, backoff: "200ms"},
    roles: [{role: "trainer", min: 2, max: 2, cpu: "200m", command: [$python, $note, $folder, $program]}]}' | edl submit - >/dev/null
await 120 'trainer 1 stands still' while_job records test -e "$work/job/held"
killed=$(echo "$work"/job/seen-1.*)
echo >"$work/job/go"
# it holds a task, and the one that it has fetched meanwhile; trainer 0 does the others
await 120 'trainer 0 has done the others' records_at_least records 150
[ "$(wc -l <"$killed")" = 10 ] || fail "it was to stand still at its 11th record: $(wc -l <"$killed")"
[ "$(job_field records .records_total)" = 150 ] || fail "records that nobody has done are counted: $(job_field records .records_total)"
kill -9 "$(pids records trainer 1)"
edl wait records --timeout 120 || fail "it ends otherwise: $(edl show records; edl logs records)"
exact_counts records
[ "$(job_field records .passes)" = 5 ] || fail "the job makes other passes than its program: $(job_field records .passes)"
mv "$killed" "$work/of-the-killed"
cat "$work"/job/seen-* | sort | cmp - "$work/want" || fail 'not each record once in each epoch'
[ "$(cut -d ' ' -f 1 "$work/of-the-killed" | sort -u)" = 0 ] || fail 'the killed one has done others than those of the first epoch'

# one of them has saved each epoch
"$python" - "$work"/checkpoints/records-* <<'END'
import sys
import edl
found = edl.load_checkpoint(sys.argv[1])
assert found is not None and found.version == "ckpt-0000000005" and found.status.epoch == 4, found
assert set(found.tree) == {"a", "b"}, found
END
cluster_stop
