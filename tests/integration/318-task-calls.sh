#!/usr/bin/env bash
# Tasks of real processes: several in one call, in an order that follows from a seed and that a scheduler which is killed keeps; what is
# said of passes; and a process that hangs loses its task in a time that fits the tasks, not after 20 minutes.
# Takes 24 s: waits until a task of a process that hangs is given to another
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
cluster_start --nodes 1 --cpu 2000m

# what the program waits for is a pipe: whoever reads it waits until something is written
mkfifo "$work/killed" "$work/late"
cat >"$work/passes.py" <<'END'
import sys
import edl

work = sys.argv[1]
sys.stdout = open(f"{work}/said", "w")  # what a scheduler that is killed had of its output is gone
client = edl.client()


def said_of(pass_number):
    try:
        return [task.id for task in client.next_tasks(1, 0, pass_number=pass_number)]
    except edl.PassError as error:
        return f"{type(error).__name__}: {error}"


client.put_dataset("d", [[edl.Chunk(f"/data/{i}", 0, 10)] for i in range(20)])
some = client.next_tasks(6, pass_number=0)
print("first half", said_of(1), client.finish(some[:3]), flush=True)
open(f"{work}/killed").read()
print("again", client.finish(some), flush=True)  # three of them for the second time
rest = client.next_tasks(256, pass_number=0)
print("pass 0", *[task.id for task in some + rest], flush=True)
print("held", said_of(0), flush=True)
client.finish(rest)
print("over", said_of(0), flush=True)
others = client.next_tasks(256, pass_number=1)
print("pass 1", *[task.id for task in others], flush=True)
client.finish(others)
assert client.next_tasks(1) == [] and client.elected
client.model_saved("/nowhere")
END
job() { # NAME PROGRAM PASSES PROCESSES DATASET
    jq -n --arg name "$1" --arg python "$python" --arg file "$work/$2" --arg work "$work" --arg path "$EDL_SOURCE_DIR/python" --argjson passes "$3" \
        --argjson n "$4" --argjson dataset "$5" '{name: $name, mode: "collective", fault_tolerant: true, passes: $passes, dataset: $dataset,
        env: {PYTHONPATH: $path, PYTHONDONTWRITEBYTECODE: "1"}, roles: [{role: "trainer", min: $n, max: $n, cpu: "200m",
        command: [$python, $file, $work]}]}' | edl submit - >/dev/null
}
says() { edl logs "$1" | grep -qF -e "$2"; } # JOB TEXT
job passes passes.py 2 1 '{"shuffle": 7}'
await 120 'it has taken some' while_job passes grep -qs 'first half' "$work/said"
shown() { edl show passes | sed -n 's/^order *//p'; }
before=$(shown)
[ "$before" = 'shuffled anew in each pass, with seed 7; next: 14, 19, 17, 13, 3, 10, 0, 9' ] || fail "it shows: $before"
[ "$(edl show passes --json | jq -c '[.tasks.shuffle, .tasks.next[0]]')" = '[7,14]' ] || fail "as JSON: $(edl show passes --json | jq -c .tasks)"
kill -9 "$(pgrep -f -- "edl-scheduler .*$work" | head -n 1)"
await 120 'a scheduler answers' scheduler_answers
[ "$(shown)" = "$before" ] || fail "after the restart: $(shown)"
[ "$(job_field passes .spec.dataset.shuffle)" = 7 ] || fail "the document: $(job_field passes .spec)"
echo >"$work/killed"
edl wait passes --timeout 120 || fail "it ends otherwise: $(edl show passes; edl logs passes)"
while read -r line; do
    grep -qxF -e "$line" "$work/said" || fail "it does not say '$line': $(cat "$work/said")"
done <<'END'
first half PassAfter: pass number larger than master [True, True, True]
again [True, True, True, True, True, True]
pass 0 2 12 16 18 1 11 14 19 17 13 3 10 0 9 6 8 5 7 15 4
held NoMoreTasks: no more available task
over PassBefore: pass number smaller than master
pass 1 18 15 13 11 3 19 5 9 16 0 17 2 6 1 4 7 10 8 14 12
END
[ "$(job_field passes .records_total)" = 400 ] || fail "records: $(job_field passes .records_total)"

# the first of two takes a task and hangs; the other does the rest, and then that one
cat >"$work/hangs.py" <<'END'
import sys
import edl

client = edl.client()
client.put_dataset("d", [[edl.Chunk(f"/data/{i}", 0, 10)] for i in range(21)])
if edl.me().index == 1:
    task = client.next_task()
    print("hangs with", task.id, flush=True)
    open(f"{sys.argv[1]}/late").read()
    print("late", task.done(), flush=True)
else:
    open(f"{sys.argv[1]}/killed").read()
    for task in client.tasks():
        print("did", task.id, task.lease, flush=True)
        task.done()
    if client.elected:
        client.model_saved("/nowhere")
END
job hangs hangs.py 1 2 'null'
await 120 'one hangs' while_job hangs says hangs 'hangs with 0'
echo >"$work/killed"
await 120 'its task was done by the other' while_job hangs says hangs 'did 0 2'
echo >"$work/late"
await 120 'it is told so' while_job hangs says hangs 'late False'
edl wait hangs --timeout 120 || fail "it ends otherwise: $(edl show hangs; edl logs hangs)"
[ "$(job_field hangs .records_total)" = 210 ] || fail "records: $(job_field hangs .records_total)"
api GET '/jobs/hangs/events' | jq -en 'input | [.events[] | select(.event == "tasks-expired")] | length == 1' >/dev/null || fail "events: $(api GET /jobs/hangs/events)"
cluster_stop
