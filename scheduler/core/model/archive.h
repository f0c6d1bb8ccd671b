/* SPDX-License-Identifier: Apache-2.0 */
/* archive.h - jobs that are over leave the core; the shell keeps the records and tells of them
 *
 * Used by: cluster_internal.h. Tests: tests/unit/test_archive.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/core/model/states.h"
#include "shared/clock.h"
#include "shared/job_spec.h"

struct cluster;
struct job;

/* How far cluster_archive_ended is with the list of those that are over: it takes several turns. */
struct archive_round {
    struct job *next; /* where it goes on; NULL: at the first */
    uint64_t ended;   /* jobs that were over when it looked last */
    uint64_t named;   /* passed in this round, as queued jobs were to run after them */
    bool due;
};

/* cluster_keep_ended - another bound of cluster_archive_ended; 0: none, as in cluster_config */
void cluster_keep_ended(struct cluster *cluster, uint64_t jobs, uint64_t us);

/* cluster_archive_ended - lets jobs go that ended, by the bounds of the configuration, so many a
 * turn that it takes milliseconds; how many. Pointers to them die with it. The keeper of the
 * records still has them, and tells of them (struct archived_jobs) where they matter. */
size_t cluster_archive_ended(struct cluster *cluster, struct instant now);

/* cluster_archive_leaving - of those that are beyond what is kept: so many as are about to leave.
 * A round leaves some on purpose: jobs that queued ones run after. */
uint64_t cluster_archive_leaving(const struct cluster *cluster);

/* cluster_archive_is_due - whether the next turn would let go of more: then there has to be one */
bool cluster_archive_is_due(const struct cluster *cluster);

/* cluster_ended_beyond - jobs that are over and should have left, by their number */
uint64_t cluster_ended_beyond(const struct cluster *cluster);

/* Jobs that are over and not in the core any more (cluster_archive_ended), as their keeper knows
 * them: the facts that an event has to be told of them. All borrowed during the call. */
struct archived_job {
    const char *named; /* as the event names it: a name, or an id in digits */
    uint64_t id;
    char name[JOB_NAME_MAX + 1];
    enum job_state state;
};

/* Where an array is, by one of its jobs: the others lie around it, by their indexes. */
struct array_place {
    uint64_t id;
    uint32_t index, n;
    bool own;                 /* it is of the user who was asked for */
    const char *user, *rival; /* whose it is in the core; another one who has one, when not own */
};
struct archived_array {
    const char *named;
    struct array_place place; /* of the newest array of that name, in the core or not */
    uint32_t n;               /* jobs of it that are not in the core, and the first of them */
    uint64_t first;
    struct archived_job failed; /* one that ended without success; id 0: none */
};
struct archived_jobs {
    const struct archived_job *jobs;
    size_t n;
    const struct archived_array *arrays;
    size_t n_arrays;
};

/* ended_add - the job is over; ended_restore, then ended_restored: many, in any order */
void ended_add(struct cluster *cluster, struct job *job);
void ended_restore(struct cluster *cluster, struct job *job);
void ended_restored(struct cluster *cluster);

/* job_close_queue - the job is over: of its tasks only what was counted stays */
void job_close_queue(struct cluster *cluster, struct job *job);

/* ended_is_ordered - for checks; linear */
bool ended_is_ordered(const struct cluster *cluster);
