#!/usr/bin/env bash
# Jobs in mode mpi where nodes and callers are not as they should be: a node without mpirun is passed over and named; callers that do
# not know the secret of the job run nothing; variables of Slurm beside mpirun. With MPICH, which sends no environment of node to node.
# Takes 8 s: compiles a program for MPI, and four jobs of mpirun run or fail one after another
. "$EDL_SOURCE_DIR/tests/lib/namespace.sh"
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"
command -v mpirun.mpich >/dev/null && command -v mpicc.mpich >/dev/null || {
    echo 'MPICH is not here (mpich, libmpich-dev)'
    exit 77
}
cat >"$work/hello.c" <<'END'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank, size, one = 1, sum;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    printf("rank=%d size=%d sum=%d node=%s X=%s\n", rank, size, sum, getenv("EDL_NODE"), getenv("X"));
    fflush(stdout);
    while (argc > 1)
        pause();
    MPI_Finalize();
    return 0;
}
END
mpicc.mpich -o "$work/hello" "$work/hello.c"
export EDL_SERVER=unix:$work/socket EDL_TOKEN_FILE=$work/state/admin-token
begin scheduler 'listening' edl-scheduler --state-dir "$work/state" --listen "$EDL_SERVER" --lease 60s
as_root=''
[ "$(id -u)" != 0 ] || as_root=--allow-root
agent() { # NAME PATH ADDRESS PORTS CPU
    begin "$1" "joined as $1" env PATH="$2" "$EDL_BUILD_DIR/edl-agent" --conf '' --node "$1" --scheduler "$EDL_SERVER" --join-token-file "$work/state/join-token" \
        --state-dir "$work/$1" --runtime direct --heartbeat 500ms --no-foreign --address "$3" --cpu "$5" --memory 2Gi --ports "$4" --overcommit \
        --stop-processes-on-exit $as_root
}
# a process fits the node without mpirun best
agent bare "$EDL_BUILD_DIR" 10.77.0.2 21000-21009 0.9
agent n1 "$PATH" 10.77.0.1 22000-22009 1
agent n2 "$PATH" 10.77.0.2 23000-23009 1
submit() { # NAME ...
    local name=$1
    shift
    edl submit --name "$name" --mode mpi --cpu 900m --memory 64Mi --workspace "$work" "$@" >/dev/null 2>&1
}
state() { edl show "$1" --json | jq -r .job.state; }

echo '== a node without mpirun is passed over and named'
submit passed --min 2 -e X=job -- mpirun.mpich ./hello
edl wait passed --timeout 120 >/dev/null || fail "passed: $(edl show passed)$(edl logs passed)"
log=$(edl logs passed)
events=$(edl events)
[[ $events == *'bare has no mpirun.mpich in PATH: install openmpi-bin or mpich there'* ]] || fail "the node is not named: $events"
[[ $log == *"rank=0 size=2 sum=2 node=n"*" X=job"* && $log == *"node=n1 "* && $log == *"node=n2 "* ]] || fail "not on n1 and n2: $log"
edl node cordon n1 >/dev/null
edl node cordon n2 >/dev/null
submit nowhere --min 1 -- mpirun.mpich ./hello
! edl wait nowhere --timeout 120 >/dev/null || fail 'it ran without mpirun'
reason=$(edl show nowhere --json | jq -r .job.reason)
echo "$reason"
[[ $reason == *'bare has no mpirun.mpich in PATH: install openmpi-bin or mpich there'* ]] || fail "not told: $reason"
edl node uncordon n1 >/dev/null
edl node uncordon n2 >/dev/null
edl node cordon bare >/dev/null

echo '== what -genv says; the variables of Slurm disturb nobody'
submit given --min 2 -e X=job -e SLURM_JOBID=7 -e SLURM_NODELIST=elsewhere -- mpirun.mpich -genv X given ./hello
edl wait given --timeout 120 >/dev/null || fail "given: $(edl logs given)"
[ "$(edl logs given | grep -c 'X=given')" = 2 ] || fail "-genv is not given: $(edl logs given)"

echo '== callers who do not know the secret run nothing, and keep nobody away'
submit held --min 2 -- mpirun.mpich "$work/hello" hold
ready() { [ "$(pgrep -cf "^$work/hello hold")" = 2 ]; }
await 120 'two ranks run' ready
python3 - <<PY
import socket, struct
ports = range(22000, 22010), range(23000, 23010)
def meet(port, address):
    s = socket.socket(); s.settimeout(10)
    try:
        s.connect((address, port))
    except OSError:
        return None
    nonce = s.recv(32, socket.MSG_WAITALL)
    if len(nonce) != 32:
        return None
    s.sendall(b"n" * 32)
    s.recv(32, socket.MSG_WAITALL)
    order = b'{"command":"touch $work/evil","env":{}}'
    s.sendall(struct.pack("<I", len(order)) + b"p" * 32 + order)
    return s.recv(1)
met = [meet(p, a) for a, r in zip(("10.77.0.1", "10.77.0.2"), ports) for p in r]
slots = [m for m in met if m is not None]
print(len(slots), "slots met")
assert len(slots) == 2 and all(m == b"" for m in slots), met
PY
[ ! -e "$work/evil" ] || fail 'a stranger ran a command'
edl logs held | grep -q 'refused a caller: a caller does not know the secret of the job' || fail "not told: $(edl logs held)"
[ "$(state held)" = running ] || fail 'a stranger ended the job'
edl kill held >/dev/null
! edl wait held --timeout 300 >/dev/null || fail 'it succeeded'
none() { ! pgrep -f "^$work/hello hold" >/dev/null; }
await 120 'nothing is left' none
