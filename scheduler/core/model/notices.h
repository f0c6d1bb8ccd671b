/* SPDX-License-Identifier: Apache-2.0 */
/* notices.h - whether a move of a job is to be told to its owner: a notice is due
 *
 * An effect says so (EFFECT_NOTICE), and nothing here knows how it is sent. Of an array one notice
 * is due of its first begin, one of its first failure and one when all of its jobs are over, unless
 * it says `each`. What it has told and how its jobs ended is stored, as ended jobs leave the core.
 *
 * Used by: job_sm.c. Tests: tests/unit/test_notices.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uthash.h>

struct cluster;
struct instant;
struct job;
struct job_spec;

/* An array of which something is told, while one of its jobs is not over. */
struct array_notice {
    uint64_t first_id; /* key: the number of its first job; the others follow it */
    uint32_t n_jobs;   /* that it was made with */
    uint32_t n_succeeded, n_failed, n_killed; /* so far */
    uint32_t told;                            /* a set of enum notify_event */
    uint64_t first_failed;                    /* number of a job; 0: none has */
    bool pending;                             /* its effect is listed in this turn */
    UT_hash_handle hh;
};

/* array_notice_is_over - all of its jobs are */
bool array_notice_is_over(const struct array_notice *array);

/* job_fell_short - it is over and has failed, or was killed by nobody: its time was up */
bool job_fell_short(const struct job *job);

/* notices_of_array - its jobs are made next: where one notice tells of all of them, they are
 * counted from now on */
void notices_of_array(struct cluster *cluster, const struct job_spec *spec);

/* notices_of_move - the job has just come into its state. begins: it runs for the first time.
 * returns: it went back to the queue */
void notices_of_move(struct cluster *cluster, struct job *job, bool begins, bool returns);

/* array_notice_find - NULL: it tells of nothing as a whole, or is over */
struct array_notice *array_notice_find(const struct cluster *cluster, uint64_t first_id);

/* array_notice_add - one of which nothing is told yet */
struct array_notice *array_notice_add(struct cluster *cluster, uint64_t first_id, uint32_t n_jobs);

/* array_notice_stored - the effects of a turn are carried out: one that is over goes */
void array_notice_stored(struct cluster *cluster, struct array_notice *array);

/* array_notices_free - with the cluster */
void array_notices_free(struct cluster *cluster);
