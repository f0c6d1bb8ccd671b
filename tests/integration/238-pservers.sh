#!/usr/bin/env bash
# What jobs of a program have shown decides how many parameter servers the next one is started with. The trainers of this one wait
# for each other at its servers, which are busy with one at a time: more servers help, and the scheduler is not told so.
# Takes 40 s: two jobs do 160 tasks of 0.2 s at servers that take one at a time, before a third one begins
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
[ -n "$python" ] || {
    echo 'there is no python3'
    exit 77
}
cluster_start --nodes 2 --cpu 4000m

cat >"$work/program.py" <<'END'
import fcntl, os, sys, time
import edl

servers = int(os.environ["PSERVERS"])
edl.dataset_exists() or edl.put_dataset("one", [[edl.Chunk(f"part-{i}", records=10)] for i in range(20000)])
for n, task in enumerate(edl.tasks()):
    with task:
        time.sleep(0.02)
        # of this job alone: what another one does at its servers is no matter of ours
        with open(f"{sys.argv[1]}/busy-{os.environ['EDL_JOB']}-{(n + int(os.environ['EDL_INDEX'])) % servers}", "w") as server:
            fcntl.flock(server, fcntl.LOCK_EX)
            time.sleep(0.2)
END
cat >"$work/train" <<END
#!/bin/sh
export PYTHONPATH=$EDL_SOURCE_DIR/python PYTHONDONTWRITEBYTECODE=1
exec "$python" "$work/program.py" "$work"
END
chmod +x "$work/train"
submit() { # NAME
    cat >"$work/$1.json" <<JOB
{"name":"$1","mode":"pserver","fault_tolerant":true,"grace":"1s",
 "roles":[{"role":"pserver","command":["sleep","infinity"],"min":1,"max":4,"cpu":"500m","ports":0},
          {"role":"trainer","command":["$work/train"],"min":1,"max":2,"cpu":"500m"}]}
JOB
    edl submit "$work/$1.json" >/dev/null
}
trainers() { [ "$(job_field "$1" '.roles[] | select(.role == "trainer") | .running')" = "$2" ]; }
servers() { job_field "$1" '.roles[] | select(.role == "pserver") | .running'; }
chosen() { api GET '/events?after=0&limit=1000' | jq -r --argjson id "$(job_field "$1" .id)" '.events[] | select(.event == "pservers-chosen" and .job_id == $id) | .text'; }
more_records() { # JOB N
    local before
    before=$(job_field "$1" .records_total)
    await 300 "$1 does $2 records more" records_at_least "$1" $((before + $2))
}

# the first one has the fewest, and is measured
submit first
await 120 'it has two trainers' while_job first trainers first 2
[ "$(servers first)" = 1 ] || fail "the first one has $(servers first) servers"
chosen first | grep -q '^1 parameter server of 1 to 4: nothing was measured of jobs like it$' || fail "it was told: $(chosen first)"
more_records first 600

# the second one has twice as many, and says so
submit second
await 120 'it has two trainers' while_job second trainers second 2
[ "$(servers second)" = 2 ] || fail "the second one has $(servers second) servers: $(chosen second)"
chosen second | grep -q 'no job of its program was measured with 2 yet$' || fail "it was told: $(chosen second)"
edl why second | grep -q '^2 parameter servers of 1 to 4, chosen when it was started' || fail "edl why says $(edl why second)"
job_field second '.roles[] | select(.role == "pserver") | [.min, .max, .target]' | holds -s 'flatten == [2, 2, 2]' ||
    fail "it shows $(job_field second .roles)"
edl kill first >/dev/null
await 120 'it ends' job_is first killed
more_records second 900

# what was seen is there after a restart, and the number is kept; the third one goes on from there
pid=$(pgrep -f -- "edl-scheduler .*$work" | head -n 1)
[ -n "$pid" ] || fail 'scheduler not found'
kill -9 "$pid"
await 120 'it goes on' while_job second trainers second 2
more_records second 100
[ "$(servers second)" = 2 ] || fail "after a restart the second one has $(servers second) servers"
edl kill second >/dev/null
await 120 'it ends' job_is second killed
submit third
await 120 'it has two trainers' while_job third trainers third 2
[ "$(servers third)" = 4 ] || fail "the third one has $(servers third) servers: $(chosen third)"
edl kill third >/dev/null
await 120 'it ends' job_is third killed
cluster_stop
