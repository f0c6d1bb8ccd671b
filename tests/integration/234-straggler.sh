#!/usr/bin/env bash
# One of the machines is four times as slow as the others: it is seen, the instance on it moves to a faster one, once, and people
# are told.
# Takes 25 s: a job does tasks of 0.2 s, on one node of 0.8 s, until it is moved, and then 150 more
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
[ -n "$python" ] || {
    echo 'there is no python3'
    exit 77
}
cluster_start --nodes 4 --cpu 4000m

# what a task takes is how long the machine's device is busy with it
cat >"$work/program.py" <<'END'
import os, sys, time
import edl

edl.dataset_exists() or edl.put_dataset("one", [[edl.Chunk(f"part-{i}", records=10)] for i in range(4000)])
for task in edl.tasks():
    with open(sys.argv[1]) as slow:
        is_slow = slow.read().strip() == os.environ["EDL_NODE"]
    with task:
        time.sleep(0.8 if is_slow else 0.2)
END
: >"$work/slow"
cat >"$work/train" <<END
#!/bin/sh
export PYTHONPATH=$EDL_SOURCE_DIR/python PYTHONDONTWRITEBYTECODE=1
exec "$python" "$work/program.py" "$work/slow"
END
chmod +x "$work/train"
edl submit --name job --min 1 --max 3 --cpu 1000m -- "$work/train" >/dev/null
await 120 'it has its maximum' at_least job trainer 3

processes() { api GET '/jobs/job/processes?state=live' | jq -r "[.processes[] | select(.state == \"running\") | .node] | sort | join(\" \")"; }
slow=$(processes | cut -d' ' -f1)
echo "$slow" >"$work/slow"
moved() { api GET '/events?after=0&limit=1000' | jq -r '[.events[] | select(.event == "process-moved")] | '"$1"; }
has_moved() { [ "$(moved length)" -ge 1 ]; }
await 300 'the slow one is moved' while_job job has_moved
moved '.[0] | .node + " " + .text' | grep -q "^$slow trainer-[0-2]: moved from $slow: 0\.[1-4][0-9]* times as fast as its others\$" ||
    fail "it was moved so: $(moved .)"
elsewhere() { [ "$(processes | wc -w)" = 3 ] && processes | lacks "$slow"; }
await 120 'it runs elsewhere' while_job job elsewhere

# people are told
edl why job | grep -q "^trainer-[0-2] was moved from $slow: 0\.[1-4]" || fail "edl why says $(edl why job)"
api GET "/nodes/$slow" | holds '.speed < 0.7 and .gpu_speed == null' || fail "its speed is $(api GET "/nodes/$slow" | jq .speed)"
edl nodes "$slow" | grep -q '^speed  *jobs without GPUs run 0\.[0-9]* times as fast' || fail "edl nodes says $(edl nodes "$slow")"
edl nodes --json | holds --arg slow "$slow" 'all(.nodes[]; .name == $slow or .speed == null or .speed > 0.7)' || fail "the others: $(edl nodes --json)"
edl events | grep -q 'moved: trainer-[0-2] is slow on ' || fail "the resize tells $(edl events | grep resized)"

# it stays where it is, and nobody else goes
done_=$(job_field job .records_total)
await 300 'much more is done' records_at_least job $((done_ + 1500))
[ "$(moved length)" = 1 ] || fail "it was moved again: $(moved .)"
elsewhere || fail "it came back: $(processes)"
edl kill job >/dev/null
await 120 'it ends' job_is job killed
cluster_stop
