#!/usr/bin/env bash
# PyTorch on three machines whose names nobody resolves, but as Debian has it, each its own as 127.0.1.1. edl.torch.Elastic loses rank 0,
# then a machine whose cable is out, and the others keep their processes. Then edl.torchrun loses the instance of rank 0. torchrun with
# its own rendezvous, c10d, runs as it is once the names are known.
# Runs at night, and for python/edl/torch/: PyTorch begins forty times on three machines
# Takes 200 s: PyTorch begins forty times on three machines
machine_has=python3-torch
. "$EDL_SOURCE_DIR/tests/lib/machines.sh"
. "$EDL_SOURCE_DIR/tests/lib/units.sh"
nodes='n1 n2 n3'
said=$machines/shared/said
# shellcheck disable=SC2086
units_cluster $nodes
mkdir -m 777 "$said"
cp -r "$EDL_SOURCE_DIR/python/edl" "$EDL_SOURCE_DIR/tests/lib/elastic_train.py" "$machines/shared"
cat >"$machines/shared/program.py" <<'END'
"""program.py FOLDER [LAST]: by env://, as for any torchrun. FOLDER/NODE-PID has a line for each step; FOLDER/enough ends it."""
import os, sys, time
import torch
import torch.distributed as dist
import edl
folder, last = sys.argv[1], int((sys.argv[2:] + ["0"])[0])
dist.init_process_group("gloo")
kept = edl.load_checkpoint(f"{folder}/checkpoint")
step = kept.tree["step"] if kept else 0
with open(f"{folder}/{os.environ['EDL_NODE']}-{os.getpid()}", "w", buffering=1) as steps:
    enough = torch.zeros(1)
    while not enough.item():
        ranks = torch.ones(1)
        dist.all_reduce(ranks)
        step += 1
        print(step, int(ranks.item()), dist.get_rank(), file=steps)
        if dist.get_rank() == 0 and step % 20 == 0:
            edl.save_checkpoint({"step": step}, edl.TrainStatus(step // 20), f"{folder}/checkpoint")
        enough[0] = float(dist.get_rank() == 0 and (step == last or os.path.exists(f"{folder}/enough")))
        dist.broadcast(enough, 0)
        time.sleep(0.05)
END
chmod -R a+rX "$machines/shared"
# submit NAME MIN COMMAND: one instance a machine
submit() {
    mkdir -m 777 "$said/$1"
    jq -n --arg name "$1" --argjson min "$2" --arg command "$3" '{name: $name, mode: "collective", fault_tolerant: ($min < 3), grace: "20s",
        restart: {max: 100, backoff: "100ms"}, env: {PYTHONPATH: "/shared", PYTHONDONTWRITEBYTECODE: "1", OMP_NUM_THREADS: "1"},
        roles: [{role: "trainer", entrypoint: $command, min: $min, max: 3, cpu: "1500m", memory: "1Gi", ports: 2}]}' >"$machines/shared/$1.json"
    edl submit "/shared/$1.json" >/dev/null || fail "$1 is not taken"
}
live() { api GET "/jobs/$1/processes?state=live" | jq -r '.processes[] | select(.state == "running") | "\(.index) \(.node) \(.pid)"'; }
end_all() { # processes and files of a job that is over
    edl kill "$1" >/dev/null
    await 300 "$1 is over" job_is "$1" killed
}

# ---- edl.torch.Elastic
# the last event of each process, of those in the newest generation
newest() { tail -qn 1 "$said"/elastic/*.log 2>/dev/null | jq -cs '(map(.generation // 0) | max) as $g | map(select(.event == "step" and .generation == $g))'; }
world() { # N GENERATION: all of a world of N step in it, behind that generation
    newest | holds --argjson n "$1" --argjson g "$2" 'length == $n and all(.[]; .size == $n and .generation > $g)'
}
generation() { newest | jq '.[0].generation'; }
logs() { grep -l "\"generation\": $1," "$said"/elastic/*.log | sort; } # of whom stepped in it
stay() { # BEFORE AFTER N: so many processes were in both generations
    [ "$(comm -12 <(logs "$1") <(logs "$2") | wc -l)" = "$3" ] || fail "not $3 processes stayed from generation $1 to $2: $(logs "$1") $(logs "$2")"
}
submit elastic 1 'exec python3 /shared/elastic_train.py /shared/said/elastic 1000000000 0.05'
await 300 'a world of three' while_job elastic world 3 0
first=$(generation)
index=$(grep -l "\"generation\": $first, \"rank\": 0," "$said"/elastic/*.log | sed 's|.*/\([0-9]*\)-.*|\1|')
read -r _ node pid <<<"$(live elastic | grep "^$index ")"
machine_in "$node" kill -9 "$pid"
await 300 'three again without rank 0' while_job elastic world 3 "$first"
second=$(generation)
stay "$first" "$second" 2
machine_link n3 down
await 300 'two go on without the machine whose cable is out' while_job elastic world 2 "$second"
third=$(generation)
stay "$second" "$third" 2
machine_link n3 up
await 300 'three again' while_job elastic world 3 "$third"
stay "$third" "$(generation)" 2
end_all elastic
cat "$said"/elastic/*.log | holds -s 'map(select(.event == "step")) | group_by([.step, .generation]) | all(.[]; (map(.sum) | unique | length) == 1)' ||
    fail 'the parameters of a step differ'
echo "elastic: $(cat "$said"/elastic/*.log | jq -s 'map(select(.event == "step").step) | max') steps, generations $first $second $third"

# ---- edl.torchrun
old=''
whole() { # three workers step in one world, and none of them did before $old
    local file n=0
    for file in "$said"/run/n*-*; do
        [[ $old == *"$file"* ]] || ! awk 'END { exit $2 != 3 }' "$file" || n=$((n + 1))
    done
    [ $n = 3 ]
}
submit run 1 'exec python3 -m edl.torchrun /shared/program.py /shared/said/run'
await 300 'three workers' while_job run whole
old=$(echo "$said"/run/n*-*)
node=$(grep -l ' 3 0$' "$said"/run/n*-* | sed 's|.*/\(n.\)-.*|\1|')
read -r _ _ pid <<<"$(live run | grep " $node ")"
machine_in "$node" kill -9 "$pid"
await 300 'three other workers behind the end of the instance of rank 0' while_job run whole
touch "$said/run/enough"
await 300 'it ends well' job_is run succeeded

# ---- torchrun's own rendezvous, as it is: machines know each other's names. PyTorch 1.13 reads its own defaults of --redirects and --tee as
# nothing with Python 3.11
for name in $nodes; do
    for other in $nodes; do
        [ $other = $name ] || echo "${machine_address[$other]} $other" >>"$machines/$name/root/etc/hosts"
    done
done
submit c10d 3 'exec torchrun --nnodes=3 --redirects=1 --tee=1 --rdzv_id=c10d --rdzv_backend=c10d --rdzv_endpoint=$MASTER_ADDR:$MASTER_PORT /shared/program.py /shared/said/c10d 10'
await 300 'c10d ends well' job_is c10d succeeded
[ "$(awk '$1 == 10 { print $2, $3 }' "$said"/c10d/n*-* | sort | tr '\n' ' ')" = '3 0 3 1 3 2 ' ] || fail "c10d: $(tail -n 2 "$said"/c10d/n*-*)"
