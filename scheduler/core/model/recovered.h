/* SPDX-License-Identifier: Apache-2.0 */
/* recovered.h - a parameter server tells how it has come back, or a trainer that nobody has its
 * values any more */
#pragma once

#include <stdint.h>

struct cluster;
struct edl_error;
struct instant;
struct process;

enum recovered_source {
    RECOVERED_FROM_CHECKPOINT,
    RECOVERED_FROM_TRAINERS,
    RECOVERED_FROM_START,   /* what was trained before was little, and nobody had it */
    RECOVERED_FROM_NOTHING, /* the job cannot go on */
    RECOVERED_SOURCES
};

#define RECOVERED_MOST (UINT64_C(1) << 62) /* of each number */

/* What it says may grow: a trainer that comes later may have seen more updates. */
struct recovered {
    enum recovered_source source;
    uint64_t lost, of;           /* updates that are lost, of so many */
    uint64_t told, told_of;      /* the same, as this process told before and was answered */
    uint64_t rows_missing, rows; /* sparse rows that have start values again, of all */
};

/* recovered_source_of - of its word: checkpoint, trainers, start-values, nothing; -EINVAL */
int recovered_source_of(const char *word);

/* cluster_recovered - the job counts the updates, and an event tells of them; from nothing the job
 * ends with that reason. EDL_ESTALE: process is not the live incarnation */
int cluster_recovered(struct cluster *cluster, struct process *process,
                      const struct recovered *told, struct instant now, struct edl_error *error);
