#!/usr/bin/env bash
# python3 -m edl.torchrun in an elastic job: workers and whole instances are killed, rank 0 among them, one is taken away and one
# added. All workers begin again as one world, from a checkpoint, and agents that were left stay. It ends well and leaves nothing.
# Runs at night: PyTorch begins sixty times
# Takes 200 s: PyTorch begins sixty times
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
. "$EDL_SOURCE_DIR/tests/lib/elastic.sh"
job=run said=$work/said
mkdir "$said"
cluster_start --nodes 1 --cpu 8000m
jq -n --arg command "exec $python -m edl.torchrun $EDL_SOURCE_DIR/tests/lib/torchrun_train.py $said 0.02" --arg python "$PYTHONPATH" \
    '{name: "run", mode: "collective", fault_tolerant: true, grace: "20s", restart: {max: 1000, backoff: "100ms"},
    env: {PYTHONPATH: $python, PYTHONDONTWRITEBYTECODE: "1", OMP_NUM_THREADS: "1"},
    roles: [{role: "trainer", entrypoint: $command, min: 1, max: 3, cpu: "500m", ports: 2}]}' >"$work/run.json"
edl submit "$work/run.json" >/dev/null

workers() { # those that live: PID RANK SIZE STEP
    local file
    for file in "$said"/[0-9]*; do
        ! lives "${file##*/}" || awk -v pid="${file##*/}" 'END { if (NF == 3) print pid, $3, $2, $1 }' "$file"
    done
}
whole() { # N: so many workers step in one world, and none of them did before $old
    workers | awk -v n="$1" -v old=" ${old:-} " '$3 != n || index(old, " " $1 " ") { bad = 1 } END { exit bad || NR != n }'
}
victim() { workers | awk -v rank="$1" '$2 == rank { print $1 }'; } # RANK
now() { date +%s%N; }
agents() { pids run trainer | sort | tr '\n' ' '; }
next_world() { # N WHAT COMMAND...: all workers are other ones behind it
    local n=$1 what=$2 since
    shift 2
    old=$(workers | awk '{ print $1 }' | tr '\n' ' ')
    since=$(now)
    "$@"
    await 300 "a world of $n after $what" while_job run whole "$n"
    echo "$what: a world of $n after $((($(now) - since) / 1000000)) ms"
}
old=''
await 300 'a world of three' while_job run whole 3
before=$(agents)
for rank in 0 1 2 0 1; do next_world 3 "worker $rank was killed" kill -9 "$(victim $rank)"; done
[ "$(agents)" = "$before" ] || fail "an agent was started again: $before, now $(agents)"
for rank in 0 1 2; do next_world 3 "instance of rank $rank was killed" kill -9 "$(ps -o ppid= "$(victim $rank)" | tr -d ' ')"; done
next_world 2 'a scale to 2' edl scale run 1:2
next_world 3 'a scale to 3' edl scale run 1:3
touch "$said/enough"
edl wait run --timeout 300 || fail "it ends otherwise: $(edl show run)"
awk 'FNR == 1 && $1 > 1 { later++ } END { exit !later }' "$said"/[0-9]* || fail 'nobody went on from a checkpoint'
cluster_stop
