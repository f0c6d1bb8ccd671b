/* SPDX-License-Identifier: Apache-2.0 */
/* host_table.h - the names of hosts that mpirun may say, and the slot behind each; pure
 *
 * ROLE-INDEX of each instance, the names of its nodes and their addresses. Where several instances
 * run on a node, its name and address mean the first of them. edl-mpi writes the table into a file,
 * and edl-mpi-rsh reads it: "NAME ADDRESS PORT INDEX INCARNATION", a line each. Tests:
 * tests/unit/test_mpi_hosts.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct edl_error;
struct edl_peer;

#define MPI_HOSTS_MAX 1024 /* instances */
#define MPI_HOST_ROWS_MAX (3 * MPI_HOSTS_MAX)
#define MPI_HOST_NAME_MAX 255
#define MPI_HOST_FILE_MAX (1024u * 1024)

struct mpi_slot_place {
    char address[64];
    uint16_t port;
    uint64_t index, incarnation;
};

struct mpi_host {
    char *name; /* owned */
    struct mpi_slot_place place;
};

struct mpi_hosts {
    struct mpi_host *rows; /* owned; the first n_instances are ROLE-INDEX, by index */
    size_t n, n_instances;
};

/* mpi_hosts_make - of all instances of a role; -EINVAL: one has no port, or they are too many */
int mpi_hosts_make(const char *role, const struct edl_peer *peers, size_t n, struct mpi_hosts *ret,
                   struct edl_error *error);
void mpi_hosts_clear(struct mpi_hosts *hosts);

/* mpi_hosts_write - the text of the file; new */
char *mpi_hosts_write(const struct mpi_hosts *hosts);

/* mpi_hosts_list - a file of hosts for mpirun: "ROLE-INDEX slots=N" a line, or ROLE-INDEX:N; new
 * between: " slots=" or ":" */
char *mpi_hosts_list(const struct mpi_hosts *hosts, const char *between, uint64_t slots);

/* mpi_hosts_find - in the text of the file; host: as mpirun says it, with or without USER@
 * -ENOENT: it is no host of the job, and the error lists some that are; -EINVAL: the text is none
 */
int mpi_hosts_find(const char *text, const char *host, struct mpi_slot_place *ret,
                   struct edl_error *error);
