# shellcheck shell=bash
# cluster.sh - our own side of a comparison: edl-scheduler and agents on this machine, in a folder of their own
#
#   . bench/peers/cluster.sh              needs $build
#   cluster_start DIR NODES [SCHEDULER OPTIONS]    $address, $token; agents nI, pids in $agent_pid
#   cluster_agent DIR I [OPTIONS]         one agent; $agent_runtime is direct unless set, and makes no control groups but with
#                                         agent_groups=yes
#   cluster_stop
# Each node offers the whole machine, and foreign load is not looked at. Folders of processes are on a tmpfs, as they are
# below /run.
cluster_pids=''
cluster_runtime=''
agent_runtime=direct
agent_options=
agent_groups=no
declare -A agent_pid

cluster_await() { # COMMAND...: for 60 s
    local deadline=$((SECONDS + 60))
    until "$@"; do
        [ $SECONDS -lt $deadline ] || { echo "bench: not in time: $*" >&2; cat "$dir"/*.log >&2; exit 1; }
        read -r -t 0.02 <> <(:) || true
    done
}

api() { curl -sS --max-time 40 -H "Authorization: Bearer $(cat "$token")" "http://$address$1"; }
nodes_are() { [ "$(api /nodes | jq '[.nodes[] | select(.state == "ready" and .last_report_us > 0)] | length')" = "$1" ]; }

cluster_agent() { # DIR I [OPTIONS]
    local dir=$1 i=$2 limits=''
    shift 2
    [ "$agent_runtime$agent_groups" != directno ] || limits=--no-control-groups # Slurm makes none here either
    # shellcheck disable=SC2086
    "$build/edl-agent" --conf '' --node "n$i" --scheduler "http://$address" --join-token-file "$dir/scheduler/join-token" --state-dir "$dir/n$i" \
        --runtime-dir "$cluster_runtime/n$i" --runtime "$agent_runtime" $limits $agent_options --no-foreign --allow-root "$@" 2>>"$dir/n$i.log" &
    agent_pid[n$i]=$!
    cluster_pids="$cluster_pids $!"
}

cluster_start() { # DIR NODES [SCHEDULER OPTIONS]
    local dir=$1 nodes=$2 i
    shift 2
    mkdir -m 700 -p "$dir"
    cluster_runtime=$(mktemp -d -p "$([ -w /dev/shm ] && echo /dev/shm || echo "$dir")")
    "$build/edl-scheduler" --state-dir "$dir/scheduler" --listen 127.0.0.1:0 "$@" 2>"$dir/scheduler.log" &
    cluster_pids=$!
    token=$dir/scheduler/admin-token
    cluster_await test -s "$dir/scheduler/address"
    address=$(cat "$dir/scheduler/address")
    # shellcheck disable=SC2034
    for i in $(seq "$nodes"); do cluster_agent "$dir" "$i"; done
    cluster_await nodes_are "$nodes"
}

cluster_stop() {
    local pid
    for pid in $cluster_pids; do kill -CONT "$pid" 2>/dev/null && kill "$pid" 2>/dev/null || true; done
    for pid in $cluster_pids; do wait "$pid" 2>/dev/null || true; done
    cluster_pids=''
    rm -rf "$cluster_runtime"
}

# job FILE COUNT COMMAND [GRACE]: a document of so many processes, each an eighth of the machine
job() {
    printf '{"metadata":{"name":"bench-%%d"},"spec":{"grace":"%s","trainer":{"command":["%s"],"min-instance":%d,"max-instance":%d,"resources":{"requests":{"cpu":"%dm","memory":"64Mi"}}}}}' \
        "${4:-30s}" "${3// /\",\"}" "$2" "$2" $(($(nproc) * 125)) >"$1"
}
