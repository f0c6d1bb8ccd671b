#!/usr/bin/env bash
# Programs that know nothing of edl find what torchrun and Open MPI tell: a stock env:// script of torch.distributed sums over
# three processes on two nodes, and processes with GPUs of their own call them 0. In a network namespace, so that the ports of the
# nodes are nobody else's.
# Takes 22 s: PyTorch begins four times
. "$EDL_SOURCE_DIR/tests/lib/namespace.sh"
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"
export EDL_SERVER=unix:$work/socket EDL_TOKEN_FILE=$work/state/admin-token
begin scheduler 'listening' edl-scheduler --state-dir "$work/state" --listen "$EDL_SERVER" --lease 60s
as_root=''
[ "$(id -u)" != 0 ] || as_root=--allow-root
for n in 1 2; do
    begin "n$n" "joined as n$n" edl-agent --conf '' --node "n$n" --scheduler "$EDL_SERVER" --join-token-file "$work/state/join-token" --state-dir "$work/n$n" \
        --runtime direct --heartbeat 500ms --no-foreign --address 127.0.0.1 --cpu 2 --memory 2Gi --gpus 2 --ports "2${n}000-2${n}099" --stop-processes-on-exit $as_root
done

# as_told JOB: a line for each process, by rank
as_told() { sort "$work/$1".[0-9]; }
# job NAME COMMAND [ROLE-KEYS]: three processes, which do not fit on one node; it ends by itself
job() {
    jq -n --arg name "$1" --arg command "$2" '{name: $name, mode: "collective", roles: [{role: "worker",
        entrypoint: $command, min: 3, max: 3, cpu: "900m"} + $more]}' --argjson more "${3:-null}" >"$work/$1.json"
    edl submit "$work/$1.json" >/dev/null
    edl wait "$1" --timeout 120 >/dev/null || fail "$1: $(edl logs "$1")"
}

# shellcheck disable=SC2016
told='echo "$RANK $WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $NODE_RANK $MASTER_ADDR:$MASTER_PORT $EDL_PORTS $EDL_NODE [$CUDA_VISIBLE_DEVICES] '
# shellcheck disable=SC2016
told+='$OMPI_COMM_WORLD_RANK $OMPI_COMM_WORLD_SIZE $OMPI_COMM_WORLD_LOCAL_RANK/$OMPI_COMM_WORLD_LOCAL_SIZE $GLOO_SOCKET_IFNAME$NCCL_SOCKET_IFNAME"'
job cores "$told >$work/cores.\$RANK"
as_told cores
as_told cores | awk '
    { split($3, at, "/"); ranks = ranks $1 " "; nodes[$7]++; group[$7 " " $4] = 1; here[$4]++; size[$4] = at[2]; place[$4 " " at[1]]++ }
    NR == 1 { master = $5; port = $6 }
    $2 != 3 || $5 != master || $9 " " $10 " " $11 " " $12 != $1 " " $2 " " $3 " lo=lo" { bad = bad "\n" $0 }
    END {
        if (ranks != "0 1 2 " || length(nodes) != 2 || length(group) != 2 || master != "127.0.0.1:" port) bad = bad "\nas a whole"
        for (g in here) if (here[g] != size[g]) bad = bad "\ngroup " g
        for (p in place) if (place[p] != 1 || p !~ /^[01] [01]$/) bad = bad "\nplace " p
        print bad; exit bad != ""
    }' || fail 'they were told otherwise'

job devices "$told >$work/devices.\$RANK" '{"gpus": 1}'
as_told devices
as_told devices | awk '
    $1 != NR - 1 || $2 != 3 || $3 != "0/1" || $4 != $1 || $8 !~ /^\[[^],]+\]$/ || $11 != "0/1" { bad = 1 }
    END { exit bad || NR != 3 }' || fail 'a process with one GPU has a local rank that is no device of it'

python=$(command -v /usr/bin/python3) && "$python" -c 'import torch.distributed' 2>/dev/null || {
    echo "there is no torch for $python (python3-torch)"
    exit 77
}
# as it stands in torch's own documents
cat >"$work/train.py" <<'PY'
import torch
import torch.distributed as dist

dist.init_process_group("gloo", init_method="env://")
t = torch.tensor([float(dist.get_rank() + 1)])
dist.all_reduce(t)
print(f"rank {dist.get_rank()} of {dist.get_world_size()}: {t.item():g}")
dist.destroy_process_group()
PY
job sum "exec $python $work/train.py"
edl logs sum >"$work/sum"
cat "$work/sum"
[ "$(grep -o 'rank [0-9] of 3: 6$' "$work/sum" | sort | tr '\n' ,)" = 'rank 0 of 3: 6,rank 1 of 3: 6,rank 2 of 3: 6,' ] || fail 'no sum over all three'
