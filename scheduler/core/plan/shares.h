/* SPDX-License-Identifier: Apache-2.0 */
/* shares.h - the bills of users, so that one user's thousands do not stand before all */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uthash.h>

#include "shared/account_name.h"

struct cluster;
struct instant;
struct job;
struct queue;
struct queue_class;

struct share_key {
    int32_t priority;
    uint32_t back; /* 1: all jobs that were started before and wait again; they go first */
    char user[ACCOUNT_NAME_MAX + 1]; /* "": those, or all jobs, where users are not told apart */
};

struct share_level_key {
    int32_t priority;
    uint32_t group;
};

/* Users are compared within it. */
struct share_level {
    struct share_level_key key;
    uint64_t now;    /* its clock: shares.c; 0: nobody has waited yet */
    uint64_t ended;  /* the largest bill at the end of a job */
    uint32_t n_jobs; /* in the queue, that were never started */
    UT_hash_handle hh;
};

/* The bill of a user at a priority. */
struct share {
    struct share_key key;
    struct share_level *level;   /* borrowed */
    uint64_t served;             /* in thousandths of a core-second */
    uint32_t n_jobs;             /* in the queue */
    struct queue_class *classes; /* list: of these jobs */
    UT_hash_handle hh;
};

/* share_find - of a job's user at its priority; new if there is none. O(1), O(users) if new */
struct share *share_find(struct queue *queue, const struct job *job);

/* share_enter, share_leave - a job in the queue; joins: it may be one that begins to wait. Its user
 * has a bill of at least the clock then. O(1), where nobody waited or his jobs move O(users and his
 * classes) */
void share_enter(struct cluster *cluster, struct share *share, struct job *job, bool joins);
void share_leave(struct share *share);

/* share_charge - a waiting job is being started: its user is charged its expected cost with its
 * minimum, at most that of ten minutes. O(users and his classes)
 * share_settle - it is over: he is charged the rest of its true cost */
void share_charge(struct cluster *cluster, struct job *job);
void share_settle(struct cluster *cluster, struct job *job, struct instant now);

/* shares_know - once after a restart: the bills by the records of jobs that were started. O(n) in
 * the jobs, then O(1) */
void shares_know(struct cluster *cluster);

/* shares_copy - of a cluster whose jobs the copy has in its queue, and not all that are over */
void shares_copy(struct queue *copy, const struct queue *queue);

/* shares_forget - while nobody waits: so that it is known afresh, for other groups */
void shares_forget(struct queue *queue);

/* share_others_before - how many jobs wait of other users who have had less. O(users) */
uint32_t share_others_before(const struct cluster *cluster, const struct job *job);
