#!/usr/bin/env bash
# Records of libedl: examples/records.c alone; a program on two nodes one of whose trainers is killed in the middle of a task. Each record
# is consumed once in each pass, but for those that the killed one had under way, and the counts are exact. A file that becomes a folder, or
# another file. What damaged chunks lose, and a record that ends its program, in C and in Python.
# Takes 52 s: seven jobs read records one after another, and those whose processes fail begin again and again
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"

ln -s "$EDL_BUILD_DIR/libedl.so.0.0.0" "$work/libedl.so.0"
build() { # SOURCE PROGRAM
    ${CC:-cc} -Wall -Wextra -Werror -I"$EDL_SOURCE_DIR/libedl" "$1" "$work/libedl.so.0" -o "$2"
}
build "$EDL_SOURCE_DIR/examples/records.c" "$work/records"
build "$EDL_SOURCE_DIR/tests/lib/print_records.c" "$work/print"
export LD_LIBRARY_PATH=$work

# alone: it learns, of RecordIO files and of a text
mkdir "$work/points"
cd "$work/points"
awk 'BEGIN { for (i = 0; i < 200; i++) { x = i / 100 - 1; printf "%.2f %.2f\n", x, 3 * x - 1 } }' >all
edl recordio convert all --lines --out train --records 60 --chunk 200 >told
"$work/records" 'train-*' >said
[ "$(grep -c ': 200 records here' said)" = 5 ] || fail "$(cat said)"
"$work/records" all | cmp - said || fail 'a text gives other records than its RecordIO files'
grep -Eq '^(2.[5-9]|3.0)[0-9]* -(0.9|1.0)' line || fail "it has not learnt: $(cat line)"

# as a job: trainer 1 stands still behind half of its first task, as a pipe holds 80 such records, and is killed there
mkdir "$work/data" "$work/seen"
for file in 0 1 2 3 4 5 6 7; do
    awk -v file="$file" 'BEGIN { for (i = 0; i < 100; i++) printf "%d-%02d-%0*d\n", file, i, 695, 0 }' >"$work/data/train-$file"
done
for pass in 0 1; do sed "s/^/$pass /" "$work"/data/train-*; done | LC_ALL=C sort >"$work/want"
mkfifo "$work/pipe" "$work/go"
exec 5<>"$work/pipe"
cat >"$work/trainer" <<END
#!/bin/sh
export LD_LIBRARY_PATH=$LD_LIBRARY_PATH
[ \$EDL_INDEX = 1 ] && mkdir "$work/first" 2>/dev/null && exec "$work/print" >"$work/pipe"
[ \$EDL_INDEX = 1 ] || [ -e "$work/first-done" ] || read -r _ <"$work/go"
exec "$work/print" >"$work/seen/\$EDL_INDEX.\$EDL_INCARNATION"
END
chmod +x "$work/trainer"
cd "$work"
cluster_start --nodes 2 --cpu 2000m
jq -n --arg program "$work/trainer" --arg data "$work/data/train-*" '{name: "records", mode: "collective", fault_tolerant: true, dataset: $data,
    restart: {max: 10, backoff: "200ms"}, roles: [{role: "trainer", min: 2, max: 2, cpu: "200m", command: [$program]}]}' | edl submit - >/dev/null
tasks_are() { [ "$(api GET /jobs/records/tasks | jq -r ".$1")" = "$2" ]; }
await 120 'trainer 1 holds a task, and the one that it has asked for meanwhile' while_job records tasks_are leased 2
touch "$work/first-done"
echo >"$work/go"
await 120 'trainer 0 has done the others' records_at_least records 600
[ "$(job_field records .records_total)" = 600 ] || fail "records that nobody has done are counted: $(job_field records .records_total)"
kill -9 "$(pids records trainer 1)"
edl wait records --timeout 120 || fail "it ends otherwise: $(edl show records; edl logs records)"
exact_counts records
[ "$(job_field records .passes)" = 2 ] || fail "the job makes other passes than its program: $(job_field records .passes)"
LC_ALL=C sort "$work"/seen/* | cmp - "$work/want" || fail 'not each record once in each pass'

# a trainer in Python gives the data set while one in C has it: both name it alike, so the job takes either
mkfifo "$work/pipe3" "$work/go3"
exec 7<>"$work/pipe3" 8<>"$work/go3"
cat >"$work/put.py" <<'END'
import edl
from edl import _files
found = _files.index("DATA")
print(edl.put_dataset(found.digest, found.tasks))
END
sed -i "s|DATA|$work/data/train-*|" "$work/put.py"
cat >"$work/both" <<END
#!/bin/sh
export LD_LIBRARY_PATH=$LD_LIBRARY_PATH
[ \$EDL_INDEX = 0 ] && exec "$work/print" >"$work/pipe3"
read -r _ <"$work/go3"
PYTHONPATH=$EDL_SOURCE_DIR/python /usr/bin/python3 "$work/put.py" >"$work/put-said" 2>&1
exec "$work/print" >"$work/seen3"
END
chmod +x "$work/both"
jq -n --arg program "$work/both" --arg data "$work/data/train-*" '{name: "both", mode: "collective", fault_tolerant: true, passes: 1, dataset: $data,
    restart: {max: 10, backoff: "200ms"}, roles: [{role: "trainer", min: 2, max: 2, cpu: "200m", command: [$program]}]}' | edl submit - >/dev/null
tasks_of_both() { [ "$(api GET /jobs/both/tasks | jq -r .leased)" = 2 ]; }
await 120 'the trainer in C stands still in its first task' while_job both tasks_of_both
echo >"$work/go3"
has_been_put() { [ -s "$work/put-said" ]; }
await 120 'the trainer in Python gives the data set' while_job both has_been_put
cat "$work/pipe3" >/dev/null 7>&- 8>&- &
reader=$!
edl wait both --timeout 120 || fail "it ends otherwise: $(edl show both; edl logs both)"
exec 7>&- 8>&-
wait "$reader"
[ "$(cat "$work/put-said")" = True ] || fail "the data set of Python is another one: $(cat "$work/put-said")"
exact_counts both

# a folder comes in place of a file while a job has it in its list: told by name, its records are left out, the others counted once
cat >"$work/alone" <<END
#!/bin/sh
export LD_LIBRARY_PATH=$LD_LIBRARY_PATH
exec "$work/print" >"$work/pipe2"
END
chmod +x "$work/alone"
mkfifo "$work/pipe2"
exec 6<>"$work/pipe2"
jq -n --arg program "$work/alone" --arg data "$work/data/train-*" '{name: "gone", mode: "collective", fault_tolerant: true, dataset: $data,
    passes: 1, restart: {max: 10, backoff: "200ms"}, roles: [{role: "trainer", min: 1, max: 1, cpu: "200m", command: [$program]}]}' | edl submit - >/dev/null
tasks_of_gone() { [ "$(api GET /jobs/gone/tasks | jq -r .leased)" = 2 ]; }
await 120 'it stands still in its first task' while_job gone tasks_of_gone
rm "$work/data/train-7"
mkdir "$work/data/train-7"
cat "$work/pipe2" >"$work/gone" 6>&- &
reader=$!
edl wait gone --timeout 120 || fail "it ends otherwise: $(edl show gone; edl logs gone)"
exec 6>&- 5>&-
wait "$reader"
api GET /jobs/gone/tasks | holds '.records_total == 700 and .records_discarded == 100' || fail "counts: $(api GET /jobs/gone/tasks)"
edl logs gone >"$work/logs"
grep -q 'the job makes 1 pass over its data, and this program asks for 2: submit with --passes 2' "$work/logs" || fail "passes: $(cat "$work/logs")"
grep -q "$work/data/train-7 has changed: it is a folder now" "$work/logs" || fail "not told: $(cat "$work/logs")"
grep '^0' "$work/want" | grep -v '^0 7-' | cmp - <(LC_ALL=C sort "$work/gone") || fail 'not each record of the other files once'

# damaged chunks: their records are lost and not done, whichever language reads them; a second reader of a process is refused, whichever language
seq 1 120 >numbers
edl recordio convert numbers --lines --out "$work/lost" --records 40 --chunk 20 >told
damage() { printf 'X' | dd of="$work/lost-00001" bs=1 seek="$(($(edl recordio index "$work/lost-00001" --json | jq ".files[0].chunks[$1].offset") + 30))" conv=notrunc status=none; }
damage 1
damage 3
seq 1 120 | grep -vxE '5[1-9]|60|7[1-9]|80' >left
cat >"$work/reads-c" <<END
#!/bin/sh
export LD_LIBRARY_PATH=$LD_LIBRARY_PATH
exec "$work/print" >"$work/seen-c"
END
cat >"$work/reads.py" <<END
import os, subprocess, edl
for n, record in enumerate(edl.records()):
    if n == 0:  # in C, as a child of this process
        other = subprocess.run(["$work/print"], stderr=subprocess.PIPE, text=True, env={**os.environ, "LD_LIBRARY_PATH": "$LD_LIBRARY_PATH"})
        print(other.returncode, other.stderr, file=open("$work/refused", "w"))
    print(record.decode(), file=open("$work/seen-py", "a"))
edl.model_saved("nothing")
END
cat >"$work/reads-py" <<END
#!/bin/sh
PYTHONPATH=$EDL_SOURCE_DIR/python exec /usr/bin/python3 "$work/reads.py"
END
chmod +x "$work/reads-c" "$work/reads-py"
for language in c py; do
    jq -n --arg name "lost-$language" --arg program "$work/reads-$language" --arg data "$work/lost-*" '{name: $name, mode: "collective", fault_tolerant: true, passes: 2,
        dataset: $data, roles: [{role: "trainer", min: 1, max: 1, cpu: "200m", command: [$program]}]}' | edl submit - >/dev/null
    edl wait "lost-$language" --timeout 120 || fail "it ends otherwise: $(edl show "lost-$language"; edl logs "lost-$language")"
    api GET "/jobs/lost-$language/tasks" | holds '.records_pass == 120 and .records_total == 200 and .records_lost == 40 and .chunks_lost == 4 and
        .records_done == 100 and .records_lost_pass == 20 and .records_discarded == 0' || fail "counts of $language: $(api GET "/jobs/lost-$language/tasks")"
    edl show "lost-$language" | grep -qx 'skipped    40 records in 4 damaged chunks were not trained' || fail "not shown: $(edl show "lost-$language")"
    edl why "lost-$language" | grep -q '40 records in 4 damaged chunks were' || fail "not said why: $(edl why "lost-$language")"
    edl events | grep -q 'records-lost.*in pass 2' || fail "no event: $(edl events | tail)"
done
[ "$(sed 's/^[01] //' seen-c | sort -n | uniq -c | awk '{ print $1, $2 }')" = "$(sed 's/^/2 /' left)" ] || fail "in C: $(cat seen-c)"
[ "$(sort -n seen-py | uniq -c | awk '{ print $1, $2 }')" = "$(sed 's/^/2 /' left)" ] || fail "in Python: $(cat seen-py)"
grep -q '^1 another process, or another client' refused || fail "a second reader is not refused: $(cat refused)"
api GET /metrics | grep -qx 'edl_task_records_lost_total 80' || fail "metrics: $(api GET /metrics | grep lost)"
kill -9 "$(pgrep -f -- "edl-scheduler .*$work" | head -n 1)"
await 120 'a scheduler answers' scheduler_answers
[ "$(job_field lost-c '[.records_total, .records_lost, .chunks_lost] | @csv')" = 200,40,4 ] || fail "after a restart: $(job_field lost-c .)"

# a file that is replaced while a job has it in its list and nobody has opened it: told as what it was and is, and not taken for damaged
edl recordio convert numbers --lines --out "$work/other" --records 40 --chunk 20 >told
cat >"$work/replaced.py" <<END
import edl
for n, record in enumerate(edl.records(decode=bytes.decode)):
    if n == 0:
        import shutil
        shutil.copyfile("$work/numbers", "$work/other-00002")
    print(record, file=open("$work/seen-other", "a"))
edl.model_saved("nothing")
END
sed -i "s|reads.py|\${1:-reads.py}|" "$work/reads-py"
jq -n --arg program "$work/reads-py" --arg data "$work/other-*" '{name: "other", mode: "collective", fault_tolerant: true, passes: 1, dataset: $data,
    roles: [{role: "trainer", min: 1, max: 1, cpu: "200m", command: [$program, "replaced.py"]}]}' | edl submit - >/dev/null
edl wait other --timeout 120 || fail "it ends otherwise: $(edl show other; edl logs other)"
edl logs other | grep -q "other-00002 has changed: it had [0-9]* bytes, of .*, and has [0-9]*, of .*end the job and submit it again" || fail "not told: $(edl logs other)"
seq 1 80 | cmp - seen-other || fail "it has read others: $(cat seen-other)"
api GET /jobs/other/tasks | holds '.records_total == 80 and .records_lost == 0 and .records_discarded == 40' || fail "counts: $(api GET /jobs/other/tasks)"

# in the body of a loop: the record that ends its program each time is left out in the end, with its words; all others are counted
cat >"$work/body.py" <<END
import edl
for record in edl.records("$work/numbers-*"):
    int(record, 2) if record == b"7" else None
edl.model_saved("nothing")
END
split -n l/3 -d numbers numbers-
jq -n --arg program "$work/reads-py" '{name: "body", mode: "collective", fault_tolerant: true, passes: 1, restart: {max: 10, backoff: "100ms"},
    roles: [{role: "trainer", min: 1, max: 1, cpu: "200m", command: [$program, "body.py"]}]}' | edl submit - >/dev/null
edl wait body --timeout 120 || fail "it ends otherwise: $(edl show body; edl logs body)"
edl events | grep 'task-failed' >events
[ "$(grep -c 'ValueError: invalid literal.*body.py:3 in the body of the loop' events)" = 4 ] || fail "events: $(cat events)"
api GET /jobs/body/tasks | holds '.tasks_discarded == 1 and .records_total + .records_discarded == 120' || fail "counts: $(api GET /jobs/body/tasks)"
cluster_stop
