#!/usr/bin/env bash
# Mode mpi on three machines whose names nobody resolves and that have no sshd: Open MPI as it is, with a hostfile of addresses, with the names
# of the nodes, and with none. A killed job, a killed rank and a machine that is switched off leave no rank anywhere.
# Runs at night, and for mpi/: three machines with Open MPI
# Takes 60 s: three machines boot, and a lost one is given up
machine_has=openmpi-bin
. "$EDL_SOURCE_DIR/tests/lib/machines.sh"
. "$EDL_SOURCE_DIR/tests/lib/units.sh"
command -v mpicc.openmpi >/dev/null || machines_skip 'mpicc.openmpi is missing (libopenmpi-dev)'
nodes='n1 n2 n3'
# shellcheck disable=SC2086
units_cluster $nodes

cat >"$machines/shared/hello.c" <<'END_OF_C'
/* hello [FOLDER]: tells whom it sees; with a folder it puts a file there and stays */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank, one = 1, sum;
    char path[256];

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    printf("rank=%d sum=%d node=%s given=%s\n", rank, sum, getenv("EDL_NODE"), getenv("GIVEN"));
    fflush(stdout);
    if (argc > 1) {
        snprintf(path, sizeof path, "%s/%s-%d", argv[1], getenv("EDL_NODE"), (int)getpid());
        fclose(fopen(path, "w"));
        pause();
    }
    MPI_Finalize();
    return 0;
}
END_OF_C
mpicc.openmpi -o "$machines/shared/hello" "$machines/shared/hello.c" || fail 'hello cannot be built'
for name in $nodes; do echo "${machine_address[$name]}"; done >"$machines/shared/addresses"
printf '%s\n' $nodes >"$machines/shared/names"
chmod -R a+rX "$machines/shared"
submit() { # NAME COMMAND...: one instance a machine, as each fills its own
    edl submit --name "$1" --mode mpi --min 3 --max 3 --cpu 2 --memory 256Mi --env GIVEN=job "${@:3}" -- sh -c "$2" >/dev/null || fail "$1 is not taken"
}
on_each() { # NAME GIVEN: a rank on each machine, and all in one world
    local name
    await 300 "$1 ends well" while_job "$1" job_is "$1" succeeded
    for name in $nodes; do
        edl logs "$1" | grep -q "rank=[0-2] sum=3 node=$name given=$2" || fail "$1: no rank on $name: $(edl logs "$1")"
    done
}

# ---- the three ways to say where; what the job has in its environment, and what -x gives
submit addresses 'exec mpirun -hostfile /shared/addresses -n 3 /shared/hello'
submit names 'exec mpirun -hostfile /shared/names -n 3 -x GIVEN=word /shared/hello'
submit none 'exec mpirun -n 3 /shared/hello'
on_each addresses job
on_each names word
on_each none job
for name in $nodes; do ! machine_in "$name" pgrep -x sshd >/dev/null || fail "$name has an sshd"; done

# ---- a host of somebody else's
submit foreign 'exec mpirun -host n9 -n 1 /shared/hello'
await 300 'a foreign host ends it' job_is foreign failed
edl logs foreign | grep -q 'n9 is no host of this job: .*n1, 10.77.0.11, n2' || fail "foreign: $(edl logs foreign)"

# ---- no rank is left
held() { # NAME: three ranks of it stay
    mkdir -m 777 "$machines/shared/$1"
    submit "$1" "exec mpirun -n 3 /shared/hello /shared/$1"
    await 300 "three ranks of $1 stay" while_job "$1" ranks "$1" 3
}
ranks() { [ "$(find "$machines/shared/$1" -type f | wc -l)" = "$2" ]; } # NAME N
live() { machine_in "$1" pgrep -c -f "^/shared/hello /shared/$2\$" || true; } # MACHINE NAME
none_left() { # NAME MACHINE...
    local name
    for name in "${@:2}"; do [ "$(live "$name" "$1")" = 0 ] || return 1; done
}
held killed
edl kill killed >/dev/null
await 300 'it is killed' job_is killed killed
none_left killed $nodes || fail 'a killed job left a rank'

held rank
machine_in n3 pkill -9 -f '^/shared/hello /shared/rank$'
await 300 'a killed rank ends all' job_is rank failed
await 300 'no other rank is left' none_left rank $nodes

held machine
machine_cut n3
await 300 'a machine that is off ends all' job_is machine failed queued
await 300 'no rank is left on the others' none_left machine n1 n2
