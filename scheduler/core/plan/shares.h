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

/* share_key_of - of a job's user at its priority */
struct share_key share_key_of(const struct queue *queue, const struct job *job);

/* shares_begin - before all jobs that wait are filed: nobody does. The users of jobs that are over
 * since the last plan are charged the rest of the true costs. O(users and these jobs)
 * share_enter - the bill of a job that waits
 * share_join - behind all of these: a job that begins to wait. Its user has a bill of at least the
 * clock then. O(users)
 * shares_tidy - when all have joined: bills that say nothing are forgotten. O(users)
 * share_leave - of a job that does not wait any more. O(1) */
void shares_begin(struct cluster *cluster, struct instant now);
struct share *share_enter(struct queue *queue, const struct job *job);
void share_join(struct cluster *cluster, struct share *share, struct job *job, struct instant now);
void shares_tidy(struct queue *queue);
void share_leave(struct share *share);

/* share_charge - a waiting job is being started: its user is charged its expected cost with its
 * minimum, at most that of ten minutes. O(users and his classes) */
void share_charge(struct cluster *cluster, struct job *job, struct instant now);

/* shares_copy - of a cluster whose jobs the copy has in its queue, and not all that are over */
void shares_copy(struct queue *copy, const struct queue *queue);

/* shares_forget - while nobody waits */
void shares_forget(struct queue *queue);

/* share_others_before - how many jobs wait of other users who have had less. O(users) */
uint32_t share_others_before(const struct cluster *cluster, const struct job *job);
