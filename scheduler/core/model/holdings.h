/* SPDX-License-Identifier: Apache-2.0 */
/* holdings.h - what the jobs that are not over take of the scheduler itself, by user and in all
 *
 * A job that waits costs memory, rows and time of every plan, granted or not; so do the tasks of
 * its data. Counted where a job comes, grows, gets its data and ends; bounded where somebody asks
 * for more, and nowhere else: a restored or forecast job is taken as it is. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uthash.h>

#include "shared/account_name.h"

struct cluster;
struct edl_error;
struct job;
struct job_spec;

enum holding_amount {
    HOLDING_JOBS,
    HOLDING_INSTANCES,  /* of all roles, each at its largest so far */
    HOLDING_BYTES,      /* of documents: job_spec_bytes */
    HOLDING_TASKS,      /* of datasets */
    HOLDING_TASK_BYTES, /* the same in memory: task_queue_bytes */
    HOLDING_AMOUNTS
};

const char *holding_amount_to_string(unsigned amount);

struct holding {
    char user[ACCOUNT_NAME_MAX + 1]; /* k */
    uint64_t amounts[HOLDING_AMOUNTS];
    uint64_t ended; /* jobs that are over and have not left the core */
    UT_hash_handle hh;
};

struct holdings {
    struct holding *users; /* uthash, those with jobs in the core; owned */
    uint64_t all[HOLDING_AMOUNTS];
};

/* 0: no limit. Of the limit of all a user takes no more than it leaves free; see check_share */
struct holding_limits {
    uint64_t user[HOLDING_AMOUNTS], all[HOLDING_AMOUNTS];
};

/* cluster_check_submit - whether there is room for all jobs of the document
 * Jobs that ended and should have left the core (cluster_ended_beyond) count as if they had not:
 * a user who submits and kills faster than they leave is refused, and memory is bounded. user:
 * whose limits count; NULL: those for all jobs only. -EDQUOT with remedy; EDL_EBADSPEC for a
 * document that always asks for too much. O(1) in jobs */
int cluster_check_submit(const struct cluster *cluster, const struct job_spec *spec,
                         const char *user, const struct holding_limits *limits,
                         struct edl_error *error);

/* cluster_check_scale - the same for a role of a job that may have up to max instances */
int cluster_check_scale(const struct cluster *cluster, const struct job *job, uint32_t role,
                        uint32_t max, bool user_counts, const struct holding_limits *limits,
                        struct edl_error *error);

/* cluster_check_dataset - whether there is room for so much more data of jobs of user; -EDQUOT */
int cluster_check_dataset(const struct cluster *cluster, const char *user, uint64_t tasks,
                          uint64_t bytes, const struct holding_limits *limits,
                          struct edl_error *error);

/* holdings_jobs - the jobs of a user that are not over */
uint64_t holdings_jobs(const struct holdings *holdings, const char *user);

/* --- the core's own */
/* holdings_enter, holdings_leave - a job that is not over; its end */
void holdings_enter(struct holdings *holdings, struct job *job);
void holdings_leave(struct holdings *holdings, struct job *job);
/* holdings_ended - a job of user that is over came to the core (1) or left it (-1) */
void holdings_ended(struct holdings *holdings, const char *user, int sign);
/* holdings_grow - it keeps account of so many more instances */
void holdings_grow(struct holdings *holdings, struct job *job, uint32_t instances);
/* holdings_data - it has its task queue now; once, and not of a job that is over */
void holdings_data(struct holdings *holdings, struct job *job);
void holdings_done(struct holdings *holdings);
