/* SPDX-License-Identifier: Apache-2.0 */
/* queue.h - the order of the waiting jobs */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uthash.h>

#include "scheduler/core/base/resources.h"
#include "scheduler/core/base/tree.h"
#include "scheduler/core/learn/families.h"
#include "scheduler/core/plan/planned.h"
#include "scheduler/core/plan/shares.h"
#include "scheduler/core/policy/policy.h"

struct cluster;
struct planner;

/* Gangs that room is being made for at a time; the others get their turn when these started. */
#define PROMISES_MAX 16

/* Does a gang fit these nodes when they are empty? */
enum queue_fit {
    FIT_NEVER,   /* one instance, one role alone or the sum does not: that is certain */
    FIT_UNKNOWN, /* no order that is tried finds room, which proves nothing */
    FIT_EVER,
};

/* The least need of a gang: of one node (of each kind, by its largest instance), and in all. */
struct least {
    struct resources of_one, total;
};

/* A place among jobs of one priority. */
struct turn {
    uint64_t served;  /* the bill of its user: shares.c */
    uint64_t wall_us; /* 0 where the order is that of the submission */
    uint64_t id;
};

struct queue_class {
    struct tree_node tree; /* first; in queue->order while somebody is to be tried */
    struct least least;
    struct least least_below; /* of the subtree, of each kind */
    uint64_t digest;
    uint32_t group;
    int32_t priority;
    struct demand *demands;          /* gang_demands of each of its jobs; owned */
    const struct unfit_nodes *unfit; /* of its only job, then; NULL: none of its jobs has such */
    size_t n_demands;
    struct share *share; /* borrowed: of its user */
    struct job *jobs;    /* list: all of them, by turn */
    uint32_t n_jobs;
    uint32_t n_left;       /* of those before it, that left since the plan made it */
    struct job *next;      /* to be tried next; those before it are promised room; NULL: all are */
    struct turn next_turn; /* the key, with the priority */
    uint64_t fits_version; /* of the offers that fits_ever was found out with */
    enum queue_fit fits_ever;
    uint64_t failed_in; /* the last round in which it was tried in vain */
    bool never;         /* its jobs do not fit these nodes even when they are empty */
    bool told_never;    /* its jobs were told so: if it is not true any more they have to be told */
    enum queue_verdict limited; /* VERDICT_OWNER, VERDICT_ARRAY: its jobs were told so; likewise */
    /* of which job the family was asked for last, and the family itself: by its document, which
     * stays */
    uint64_t family_of;
    char family[JOB_FAMILY_SIZE];
    struct queue_class *share_next, *share_prev;
    UT_hash_handle hh; /* k: digest */
};

/* A place in the order of the classes. */
struct queue_key {
    uint32_t rank; /* 0: its group has less than is guaranteed to it, 1: it does not */
    int32_t priority;
    struct turn turn;
};

struct queue {
    struct queue_class *classes; /* uthash by digest; owned */
    uint32_t n_jobs;             /* in them */
    bool by_turn;
    bool fair;                            /* between users, who have their shares */
    bool has_owners;                      /* with limits: jobs of two users are never alike */
    bool knows_shares;                    /* of the jobs that were started before a restart */
    uint64_t groups_version;              /* of the groups that they are known for */
    struct share *shares;                 /* uthash by priority and user; owned */
    struct share_level *levels;           /* uthash by priority and group; owned */
    struct tree order[POLICY_GROUPS_MAX]; /* of each group, by priority, then by turn */
    uint32_t n_open;                      /* classes in them */
    uint64_t round;                       /* how often it was gone through */
    struct job *promised[PROMISES_MAX];   /* borrowed */
    size_t n_promised;
    /* the last class behind the depth that was tried, when not all were: the next time goes on
     * there; turn.id 0: from the depth on */
    struct queue_key deep;
    struct job *held; /* the first that waits for ends; its places are kept for it, once there are
                       * some; borrowed; NULL: none */
    struct placed *kept; /* owned: the takes of the index, until it has to hold other places */
    size_t n_kept;
    bool hold_check; /* something started since it was looked at whether these can work */
    bool hold_tried; /* places for it were looked for since the queue was last gone through */
};

/* queue_leave - the next job of its class is about to start */
void queue_leave(struct cluster *cluster, struct job *job);

/* something might fit that did not, or a promise cannot be kept: the next pass of the plan goes
 * through the queue from its start */
void queue_might_move(struct cluster *cluster);

/* the next job of its class is promised room */
void queue_promise(struct cluster *cluster, struct job *job);

/* all promises are off: everybody is to be tried again */
void queue_reset(struct cluster *cluster);

/* all its jobs are told that they never fit: they are not tried before nodes offer something else
 */
void queue_set_never(struct cluster *cluster, struct queue_class *class);

/* its jobs were told that they never fit, and that is over */
void queue_tell_hope(struct cluster *cluster, struct queue_class *class);

/* queue_follow_share - its user has had more; moves: so his classes stand behind others. O(n) in
 * his classes */
void queue_follow_share(struct queue *queue, struct share *share, bool moves);

/* queue_open - the class stands in the order by its next job, if there is one to be tried */
void queue_open(struct queue *queue, struct queue_class *class, struct job *next);

/* turn_compare - below 0: a comes before b. queue_turn - where a job is among those of its priority
 */
int turn_compare(const struct turn *a, const struct turn *b);
struct turn queue_turn(const struct queue *queue, const struct job *job);

/* queue_behind - where a job of the class stands that is not the next one to be tried */
enum queue_verdict queue_behind(const struct queue_class *class);

/* queue_before - how many of its class come before it */
uint32_t queue_before(const struct job *job);

/* queue_key - where a class is, as its group stands now */
struct queue_key queue_key(const struct planner *planner, const struct queue_class *class);
int queue_key_compare(const struct queue_key *a, const struct queue_key *b);

/* queue_after - the first class behind key, NULL: of all. NULL: there is none. O(groups + log n) */
struct queue_class *queue_after(const struct planner *planner, const struct queue_key *key);

/* queue_fitting_after - the first class behind key of which a gang may fit: most is the most that
 * is free on one node, all the sum. NULL: there is none. O(groups x log n) when one resource
 * decides */
struct queue_class *queue_fitting_after(const struct planner *planner, const struct queue_key *key,
                                        const struct resources *most, const struct resources *all);
void queue_init(struct queue *queue, bool by_turn, bool fair);

/* queue_forget - all classes */
void queue_forget(struct queue *queue);
void queue_done(struct queue *queue);
