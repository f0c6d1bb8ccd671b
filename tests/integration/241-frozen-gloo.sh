#!/usr/bin/env bash
# A scheduler that stands still for longer than a lease disturbs no training of torch.distributed: its ranks on
# two nodes are frozen, and go on as the same processes with the right sums. gloo has its own time-out, as it is by default.
# In a network namespace, so that the ports of the nodes are nobody else's.
# Takes 45 s: a scheduler stands still for 30 s, longer than two leases of 12 s: a program has a twelfth of a lease to stand still
. "$EDL_SOURCE_DIR/tests/lib/namespace.sh"
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"
python=$(command -v /usr/bin/python3) && "$python" -c 'import torch.distributed' 2>/dev/null || {
    echo "there is no torch for ${python:-python3} (python3-torch)"
    exit 77
}
export EDL_SERVER=unix:$work/socket EDL_TOKEN_FILE=$work/state/admin-token
begin scheduler 'listening' edl-scheduler --state-dir "$work/state" --listen "$EDL_SERVER" --lease 12s
scheduler=$pid
as_root=''
[ "$(id -u)" != 0 ] || as_root=--allow-root
for n in 1 2; do
    begin "n$n" "joined as n$n" edl-agent --conf '' --node "n$n" --scheduler "$EDL_SERVER" --join-token-file "$work/state/join-token" --state-dir "$work/n$n" \
        --runtime direct --heartbeat 500ms --no-foreign --address 127.0.0.1 --cpu 2 --memory 2Gi --ports "2${n}000-2${n}099" --stop-processes-on-exit --cut-off-kill 300s $as_root
done
# each round sums over all ranks, and says what came out; a file ends it in a round that all of them agree on
cat >"$work/train.py" <<'PY'
import os, sys
import torch
import torch.distributed as dist

work = sys.argv[1]
dist.init_process_group("gloo", init_method="env://")
rank, n = dist.get_rank(), 0
with open(f"{work}/sums.{rank}", "a", buffering=1) as to:
    while True:
        n += 1
        t = torch.tensor([float(n * (rank + 1)), float(rank == 0 and os.path.exists(f"{work}/enough"))])
        dist.all_reduce(t)
        print(os.getpid(), n, f"{t[0].item():g}", file=to)
        if t[1] > 0:
            break
dist.destroy_process_group()
PY
jq -n --arg command "exec $python $work/train.py $work" '{name: "sums", mode: "collective", roles: [{role: "worker",
    entrypoint: $command, min: 3, max: 3, cpu: "900m"}]}' >"$work/sums.json"
edl submit "$work/sums.json" >/dev/null
lines() { cat "$work"/sums.[0-9] 2>/dev/null | wc -l; }
sums() { [ "$(lines)" -ge "$1" ]; }
on_fail() { kill -CONT "$scheduler"; edl logs sums; tail -n 20 "$work"/*.log; }
await 120 'it sums' while_job sums sums 300
pids() { edl show sums --json | jq -r '.processes[] | select(.state == "running") | "\(.index) \(.pid)"' | sort; }
before=$(pids)
group_of() { # PID: the folder of its control group
    local group root
    group=$(sed -n 's/^0:://p' "/proc/$1/cgroup")
    for root in /sys/fs/cgroup/unified /sys/fs/cgroup; do [ ! -w "$root$group/cgroup.freeze" ] || { echo "$root$group" && return; }; done
}
groups=$(while read -r _ pid; do group_of "$pid"; done <<<"$before")
[ "$(wc -l <<<"$groups")" = 3 ] || {
    edl kill sums >/dev/null
    edl wait sums --timeout 120 || true
    echo 'processes have no control group here that can be frozen'
    exit 77
}
frozen() { [ "$(for group in $groups; do cat "$group/cgroup.events"; done | grep -c '^frozen 1$')" = 3 ]; }
seconds_since() { [ $(($(cut -d. -f1 /proc/uptime) - $1)) -ge "$2" ]; }
stopped_s=$(cut -d. -f1 /proc/uptime)
kill -STOP "$scheduler"
await 120 'all ranks are frozen' frozen
count=$(lines)
await 120 'two leases are over' seconds_since "$stopped_s" 30
[ "$(lines)" = "$count" ] || fail "ranks acted after their lease: $count sums, now $(lines)"
kill -CONT "$scheduler"
await 120 'it sums on' while_job sums sums $((count + 300))
[ "$(pids)" = "$before" ] || fail "other processes run: $(diff <(echo "$before") <(pids))"
touch "$work/enough"
edl wait sums --timeout 120 >/dev/null || fail 'it does not end well'
awk '{ if ($2 != FNR || $3 != 6 * $2 || (FNR > 1 && $1 != pid)) { print FILENAME ": " $0; exit 1 } pid = $1 }' "$work"/sums.[0-9] || fail 'a sum is wrong'
echo "$(wc -l <"$work/sums.0") sums of three ranks, $((count / 3)) of them before it stood still"
