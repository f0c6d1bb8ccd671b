#!/usr/bin/env bash
# Programs of Open MPI and MPICH as jobs in mode mpi, without sshd: one rank on each of three nodes, each with the environment of its
# node; hostfiles; -x words; exit codes; a kill of the job, of mpirun, of a rank, of a slot leaves nothing.
# Takes 39 s: ten jobs of mpirun begin one after another, and four of them are killed
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
command -v mpirun.openmpi >/dev/null && command -v mpicc.openmpi >/dev/null || {
    echo 'Open MPI is not here (openmpi-bin, libopenmpi-dev)'
    exit 77
}
cat >"$work/hello.c" <<'END'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *var(const char *name)
{
    const char *value = getenv(name);

    return value != NULL ? value : "-";
}

/* hello [CODE]: rank 1 ends with it; "hold": all stay until a signal */
int main(int argc, char **argv)
{
    int rank, size, one = 1, sum;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    printf("rank=%d size=%d sum=%d node=%s RANK=%s X=%s told=%s index=%s P=%s\n", rank, size, sum, var("EDL_NODE"), var("RANK"), var("X"),
           var("OMPI_COMM_WORLD_RANK"), var("EDL_INDEX"), var("PADDLE_INIT_TRAINER_ID"));
    fflush(stdout);
    while (argc > 1 && argv[1][0] == 'h')
        pause();
    if (argc > 1 && rank == 1)
        exit(atoi(argv[1]));
    MPI_Finalize();
    return 0;
}
END
mpicc.openmpi -o "$work/hello" "$work/hello.c"
cluster_start --nodes 3 --cpu 1200m

# submit NAME [edl submit options] -- COMMAND: three instances, one on each node
submit() {
    local name=$1
    shift
    edl submit --name "$name" --mode mpi --min 3 --cpu 300m --memory 64Mi --workspace "$work" "$@" 2>/dev/null >/dev/null
}
run() { # NAME ...: until its end; its log is $log
    submit "$@"
    edl wait "$1" --timeout 120 >/dev/null || { edl logs "$1"; fail "$1: $(job_field "$1" .reason)"; }
    log=$(edl logs "$1")
}
failed() { # NAME ...: until its end, which is no success; its reason is $reason
    submit "$@"
    ! edl wait "$1" --timeout 120 >/dev/null || { edl logs "$1"; fail "$1 succeeded"; }
    log=$(edl logs "$1") reason=$(job_field "$1" .reason)
}
# ranks N: so many, one after the other on the three nodes, and all of them in one sum
ranks() {
    local n
    for ((n = 0; n < $1; n++)); do
        [[ $log == *"rank=$n size=$1 sum=$1 "* ]] || fail "no rank $n of $1: $log"
    done
    [ "$(grep -c "node=node-" <<<"$log")" = "$1" ] && [ "$(grep -o 'node=node-[0-9]' <<<"$log" | sort -u | wc -l)" = 3 ] ||
        fail "not on three nodes: $log"
}

echo '== each rank has the environment of its own node, and what -x says'
run x -e X=job -- mpirun.openmpi -n 3 -x X=given ./hello
ranks 3
[ "$(grep -c 'RANK=- X=given ' <<<"$log")" = 3 ] || fail "-x is not given: $log"
for n in 0 1 2; do # the node of a rank is that of the instance by which it was started
    grep -q "rank=$n .* told=$n index=$n P=$n" <<<"$log" || fail "rank $n has another instance's environment: $log"
done

echo '== a command that is not mpirun is run by it, with the job s own variables'
run plain -e X=job -e SLURM_JOBID=7 -e SLURM_NODELIST=elsewhere -- ./hello # variables of Slurm disturb nobody
ranks 3
[ "$(grep -c 'X=job' <<<"$log")" = 3 ] || fail "the environment of the job is missing: $log"

echo '== a hostfile of node names, a script, twice as many ranks'
printf 'node-1\ntrainer-1\nnode-3\n' >"$work/machines" # a node, or an instance
printf '#!/bin/sh\nmkdir logs.$EDL_INDEX\nmpirun.openmpi -hostfile machines -n 6 ./hello\n' >"$work/start.sh"
chmod +x "$work/start.sh"
run machines -- ./start.sh
ranks 6
grep -q 'rank=4 .*index=1' <<<"$log" || fail "the ranks are not dealt out node by node: $log"

if /usr/bin/python3 -c 'import mpi4py' 2>/dev/null; then
    echo '== mpi4py'
    run mpi4py -- mpirun.openmpi -n 3 /usr/bin/python3 -c 'from mpi4py import MPI; print("sum %d" % MPI.COMM_WORLD.allreduce(1), flush=True)' # one write
    [ "$(grep -o 'sum 3' <<<"$log" | wc -l)" = 3 ] || fail "they do not meet: $log"
fi

echo '== a host that is none of the job s'
printf 'node-1\nn9\n' >"$work/wrong"
failed wrong -- mpirun.openmpi -hostfile wrong -n 2 ./hello
[[ $log == *'n9 is no host of this job: trainer-0, trainer-1, trainer-2, node-1, 127.0.0.1, node-2, node-3'* ]] || fail "not told: $log"

echo '== the exit code of a rank is that of the job'
failed code -- mpirun.openmpi ./hello 7
[[ $reason == *'trainer-0 failed'*'exit code 7'* ]] || fail "another reason: $reason"

echo '== a command that started nothing elsewhere is told of'
run alone -- /bin/sh -c ': mpirun; echo done'
[[ $log == *'had started nothing on 2 other instances'* ]] || fail "not told: $log"

echo '== what cannot be is refused with the reason'
# refused OPTIONS -- WORDS: the answer says them
refused() {
    local words=$1 answer
    shift
    ! answer=$(edl submit --mode mpi "$@" 2>&1) || fail "taken: $*"
    [[ $answer == *"$words"* ]] || fail "refused for another reason: $answer"
}
refused 'mode mpi cannot lose or gain processes' --min 1 --max 3 -- mpirun ./hello
jq -n '{name: "lossy", mode: "mpi", fault_tolerant: true, roles: [{role: "trainer", command: ["mpirun", "true"], min: 3, max: 3}]}' >"$work/lossy.json"
! answer=$(edl submit "$work/lossy.json" 2>&1) || fail 'fault_tolerant is taken'
[[ $answer == *'mode mpi cannot lose or gain processes'* ]] || fail "refused for another reason: $answer"

echo '== every end leaves nothing behind'
# held NAME: three ranks run
held() {
    submit "$1" -- mpirun.openmpi "$work/hello" hold
    ready() { [ "$(pgrep -cf "^$work/hello hold")" = 3 ]; }
    await 120 "three ranks of $1 run" while_job "$1" ready
}
# gone NAME STATE: at its end
gone() {
    ! edl wait "$1" --timeout 300 >/dev/null || fail "$1 succeeded"
    [ "$(job_state "$1")" = "$2" ] || fail "$1 is $(job_state "$1")"
    none() { ! pgrep -f "^$work/hello hold" >/dev/null && ! pgrep -f "edl-mpi.* $work/hello hold" >/dev/null; }
    await 120 "nothing is left of $1" none
}
held killed
edl kill killed >/dev/null
gone killed killed
held mpirun
kill -9 "$(pgrep -f "^mpirun.openmpi $work/hello hold")"
gone mpirun failed
held rank
kill -9 "$(pgrep -f "^$work/hello hold" | head -n 1)"
gone rank failed
held slot
kill -9 "$(pgrep -f "^edl-mpi mpirun.openmpi $work/hello hold" | tail -n 1)"
gone slot failed
cluster_stop
