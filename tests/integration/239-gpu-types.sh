#!/usr/bin/env bash
# Two types of GPU, and two programs, each of which is five times as fast on one of them: that is seen by their tasks, people are
# told, and the next jobs of each start where it is fast.
# Takes 26 s: two jobs, one after the other, do tasks of 0.2 s and 1 s until both types of GPU were compared twice
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"
[ -n "$python" ] || {
    echo 'there is no python3'
    exit 77
}
export EDL_SERVER=unix:$work/socket EDL_TOKEN_FILE=$work/state/admin-token
begin scheduler 'listening' edl-scheduler --state-dir "$work/state" --listen "$EDL_SERVER" --lease 60s
as_root=''
[ "$(id -u)" != 0 ] || as_root=--allow-root
for type in new old; do
    begin "$type" "joined as $type" edl-agent --conf '' --node $type --scheduler "$EDL_SERVER" --join-token-file "$work/state/join-token" --state-dir "$work/$type" \
        --runtime direct --heartbeat 500ms --no-foreign --gpus 2 --label "gpu-type=$type" --stop-processes-on-exit $as_root
done
on() { # JOB NODES...: of its running processes, in their order
    local job=$1
    shift
    [ "$(edl show "$job" --json | jq -r '[.processes[] | select(.state == "running") | .node] | sort | join(" ")')" = "$*" ]
}
told() { # JOB FILTER
    edl why "$1" --json | holds ".gpu_types | $2"
}
cat >"$work/program.py" <<'END_OF_PROGRAM'
import os, sys, time
import edl

edl.dataset_exists() or edl.put_dataset("one", [[edl.Chunk(f"part-{i}", records=10)] for i in range(4000)])
for task in edl.tasks():
    with task:
        time.sleep(0.2 if os.environ["EDL_NODE"] == sys.argv[1] else 1)
END_OF_PROGRAM
cat >"$work/train" <<END_OF_TRAIN
#!/bin/sh
export PYTHONPATH=$EDL_SOURCE_DIR/python PYTHONDONTWRITEBYTECODE=1
exec "$python" "$work/program.py" "\$@"
END_OF_TRAIN
chmod +x "$work/train"
submit() { # NAME MAX TYPE
    edl submit --name "$1" --min 1 --max "$2" --cpu 100m --memory 64Mi --gpus 1 --workspace private -- "$work/train" "$3" >/dev/null
}
# each of both alone on all GPUs, until how it compares them was seen twice: then it counts
for type in new old; do
    submit "likes-$type" 4 "$type"
    await 120 "likes-$type has all GPUs" while_job "likes-$type" on "likes-$type" new new old old
    await 300 "what likes-$type makes of them is seen" while_job "likes-$type" told "likes-$type" \
        "length == 2 and all(.[]; .rounds > 1 and .instances == 2) and any(.[]; .gpu_type == \"$type\" and .speed > 1.6) and any(.[]; .gpu_type != \"$type\" and .speed == 1)"
    edl why "likes-$type" >"$work/why"
    grep -q "^on GPUs of type $type: 2 instances, [1-9][.0-9]* times as fast as on the slowest\$" "$work/why" || fail "edl why says $(cat "$work/why")"
    edl kill "likes-$type" >/dev/null
    await 120 'it ends' job_is "likes-$type" killed
done
# in both orders: not what the faster machine is counts, but what is fast for it; they start there, and are not moved there
for order in 'new old' 'old new'; do
    for type in $order; do
        submit "next-$type" 2 "$type"
        await 120 "next-$type has both GPUs of its type" while_job "next-$type" on "next-$type" "$type" "$type"
        [ "$(edl why "next-$type" --json | jq -r .moved)" = '' ] || fail "next-$type was moved: $(edl why "next-$type" --json | jq -r .moved)"
    done
    for type in $order; do
        edl kill "next-$type" >/dev/null
        await 120 'that ends' job_is "next-$type" killed
    done
done
