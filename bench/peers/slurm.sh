# shellcheck shell=bash
# slurm.sh - a private Slurm cluster of one machine, to measure beside: slurmctld, slurmd, munged in a folder of their own
#
#   . bench/peers/slurm.sh
#   slurm_start DIR NODES     1 when it is not installed (Debian: slurmctld slurmd slurm-client munge, libslurm-dev)
#   slurm_stop
# $slurm_extra: more lines of its configuration
# The configuration is the fastest of several that were tried: no accounting, no cgroups, no delay of the scheduler.
slurm_pids=''

slurm_missing() {
    local program
    for program in slurmctld slurmd sbatch munged; do
        command -v $program >/dev/null || PATH=$PATH:/usr/sbin command -v $program >/dev/null || { echo "$program"; return; }
    done
    [ "$(id -u)" = 0 ] || echo 'root'
}

free_port() { # one that nobody listens on now
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

slurm_start() { # DIR NODES
    local dir=$1 nodes=$2 host i
    [ -z "$(slurm_missing)" ] || return 1
    PATH=$PATH:/usr/sbin
    host=$(uname -n)
    mkdir -p "$dir/state" "$dir/spool" "$dir/munge"
    chmod 755 "$dir"
    head -c 128 /dev/urandom >"$dir/munge/key"
    chmod 700 "$dir/munge" && chmod 400 "$dir/munge/key"
    munged --force --foreground --socket="$dir/munge.socket" --key-file="$dir/munge/key" --pid-file="$dir/munge/pid" \
        --seed-file="$dir/munge/seed" --log-file="$dir/munge/log" >/dev/null 2>&1 &
    slurm_pids="$!"
    cat >"$dir/slurm.conf" <<CONF
ClusterName=bench
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$(free_port)
AuthType=auth/munge
AuthInfo=socket=$dir/munge.socket
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation=$dir/state
SlurmctldPidFile=$dir/slurmctld.pid
SlurmctldLogFile=$dir/slurmctld.log
SlurmdSpoolDir=$dir/spool/%n
SlurmdPidFile=$dir/slurmd-%n.pid
SlurmdLogFile=$dir/slurmd-%n.log
SlurmctldDebug=error
SlurmdDebug=error
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/filetxt
JobCompLoc=$dir/jobcomp.log
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/backfill
PriorityType=priority/basic
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,default_queue_depth=1000,bf_interval=1,bf_resolution=60
SlurmdParameters=config_overrides
KillWait=2
MinJobAge=10
MaxJobCount=200000
MaxArraySize=100001
ReturnToService=2
MpiDefault=none
${slurm_extra:-}
$(for i in $(seq "$nodes"); do echo "NodeName=n$i NodeHostname=$host NodeAddr=127.0.0.1 Port=$(free_port) CPUs=16 RealMemory=1024"; done)
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
CONF
    export SLURM_CONF=$dir/slurm.conf
    slurmctld -D -f "$SLURM_CONF" >"$dir/slurmctld.out" 2>&1 &
    slurm_pids="$slurm_pids $!"
    for i in $(seq "$nodes"); do
        slurmd -D -N "n$i" -f "$SLURM_CONF" >"$dir/slurmd-$i.out" 2>&1 &
        slurm_pids="$slurm_pids $!"
    done
    SECONDS=0
    until [ "$(sinfo -h -t idle -o %D 2>/dev/null)" = "$nodes" ]; do
        [ $SECONDS -lt 60 ] || { cat "$dir"/*.log "$dir"/*.out >&2; slurm_stop; return 1; }
        read -r -t 0.2 <> <(:) || true
    done
}

slurm_stop() {
    local pid
    for pid in $slurm_pids; do kill "$pid" 2>/dev/null || true; done
    for pid in $slurm_pids; do wait "$pid" 2>/dev/null || true; done
    slurm_pids=''
}
