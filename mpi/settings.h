/* SPDX-License-Identifier: Apache-2.0 */
/* settings.h - the environment by which Open MPI and MPICH reach the slots of a job; pure
 *
 * docs/man/edl-mpi.1 lists them; mpi/README.md says why each is there. Tests:
 * tests/unit/test_mpi_settings.c. */
#pragma once

#include <stdbool.h>

/* What the values are made of. Pointers are borrowed. */
struct mpi_place {
    const char *rsh;       /* the program edl-mpi-rsh */
    const char *hosts;     /* table of hosts for edl-mpi-rsh */
    const char *open_mpi;  /* file of hosts */
    const char *mpich;     /* file of hosts */
    const char *interface; /* by which all nodes are reached; NULL: there is no such name */
    bool root;             /* Open MPI refuses to run as root unless it is told to */
};

/* mpi_settings_command - in front of mpirun: the environment of this process is changed */
void mpi_settings_command(const struct mpi_place *place);

/* mpi_settings_forget - a world that is none of mpirun's: its ranks get the right one. The
 * environment of this process is changed */
void mpi_settings_forget(void);
