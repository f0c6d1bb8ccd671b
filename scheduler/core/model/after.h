/* SPDX-License-Identifier: Apache-2.0 */
/* after.h - jobs that wait for others to succeed, or only to be over (`after`) */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uthash.h>

#include "shared/job_spec.h"

struct cluster;
struct instant;

/* What a resolved text of spec->after says: a job, or all jobs of an array. */
struct after_name {
    uint64_t first;
    uint32_t n; /* 0: the one job */
    bool any;   /* it is waited for until it is over, and need not succeed */
};
struct after_name after_read(const char *text);

/* One that waits for the success of another, or of all jobs of an array, or for their ends. */
struct dependency {
    struct job *waiter, *on; /* borrowed; on and array NULL: it waits no longer */
    struct awaited_array *array;
    bool any; /* their ends will do */
    struct dependency *prev, *next;
};

/* An array that queued jobs were to run after; those of its jobs that the core has point here. */
struct awaited_array {
    uint64_t first;           /* number of its first job */
    uint32_t n, n_jobs;       /* jobs; of them, that are in the core */
    uint32_t n_left;          /* of them, that are not over */
    uint32_t n_named;         /* queued jobs that name it */
    const struct job *failed; /* the first that ended without success; NULL: none */
    uint64_t ended_wall_us;   /* the last end */
    char name[JOB_NAME_MAX + 1];
    struct dependency *dependents; /* list: who waits for it */
    UT_hash_handle hh;             /* k: first */
};

/* after_link - a queued job, new or restored: it waits to be started, waits for others first, or
 * fails because one of them has. tell: it is told so. O(n) in those it names */
void after_link(struct cluster *cluster, struct job *job, bool tell, struct instant now);

/* after_name - it is queued (1), or no longer (-1): those that it was to run after stay meanwhile
 */
void after_name(struct cluster *cluster, struct job *job, int sign);

/* after_ended - the job is over: each job that waits for it enters the queue or fails. It waits
 * for nobody any more */
void after_ended(struct cluster *cluster, struct job *job, struct instant now);

/* after_ready_wall_us - since when it waits for nothing but room: its submission, or the end of the
 * last job that it names. O(n) in those */
uint64_t after_ready_wall_us(const struct cluster *cluster, const struct job *job);

/* after_first - the first that a job still waits for, of an array the first that is not over; NULL
 * none */
const struct job *after_first(const struct cluster *cluster, const struct job *job);

/* after_describe - for whom a job waits; "" nobody */
char *after_describe(const struct job *job, char *buffer, size_t size);

/* after_describe_success - what a job that waits (n_waits > 0) waits for */
void after_describe_success(const struct job *job, char *buffer, size_t size);

/* after_free - what is known of arrays, with the cluster */
void after_free(struct cluster *cluster);
