/* SPDX-License-Identifier: Apache-2.0 */
/* index.h - the jobs of a policy, kept in order between its decisions
 *
 * Jobs by their request (a shape), in the order of the scores that the policy gives them; and the
 * shapes in the order of their first job, for each group of users by itself, each subtree with the
 * least or the most that anybody in it requests. A search by an amount passes over a subtree of
 * shapes at a time. Every change is O(log n). */
#pragma once

#include <uthash.h>

#include "scheduler/core/policy/policy.h"
#include "scheduler/core/base/tree.h"

/* Jobs that could grow; jobs that could shrink; those that could as well, but were moved a moment
 * ago: only where a limit is passed, or for a gang; those that are not stable: only for a gang. */
enum { UP, DOWN, DOWN_RESTING, DOWN_UNSTABLE, LISTS };

#define SCORE_NEVER UINT32_MAX
/* before one instance less: it is better off without, even if no other wants it */
#define SCORE_HARMFUL (UINT32_MAX - 1)
/* behind every job that trains */
#define SCORE_LAST (UINT32_MAX - 2)

/* How well a job is served: the lowest is next to grow, the highest next to give. */
struct policy_scores {
    uint32_t up;   /* before one instance more; SCORE_NEVER: it is to have none */
    uint32_t down; /* before one instance less */
    /* The score by which a taker and a giver are compared: one with more gives to one with less. A
     * taker of SCORE_NEVER takes what is free, but nobody gives anything up for it. */
    uint32_t taker, giver;
};

struct entry;

/* The functions that make a policy of the index and the engine (policy/engine.h). */
struct policy_scoring {
    size_t entry_size; /* of an object that begins with a struct entry */
    /* of its plan; up must not fall as the plan grows, nor down rise as it falls */
    void (*score)(const struct entry *entry, struct policy_scores *ret);
    /* The rest may be NULL. Whether what was learned of it is other than it was: asked when all
     * else is as it was put before. */
    bool (*is_news)(const struct entry *entry, const struct policy_job *job);
    /* it was put, and is in no list yet; job: as it was put, with its beliefs */
    void (*told)(struct policy_state *state, struct entry *entry, const struct policy_job *job);
    void (*forget)(struct policy_state *state, struct entry *entry);
    /* before each decision */
    void (*prepare)(struct policy_state *state, const struct policy_totals *totals);
};

struct entry {
    struct tree_node place[2]; /* UP and DOWN; the latter in the list that it belongs to */
    struct policy_job job;     /* as it was put */
    struct policy_job plan;    /* the same with planned moves, during a decision */
    struct shape *shape;
    uint32_t score[2];   /* of the plan, while it is in a list: UP and DOWN */
    uint32_t against[2]; /* taker and giver of it */
    bool stuck;          /* nobody of it can be stopped, in this decision */
    bool moved;          /* in state->moved */
    struct entry *moved_next;
    UT_hash_handle hh; /* k: job.id */
};

struct request {
    uint64_t cpu_millicores, memory_bytes, gpus, where;
    uint64_t group; /* jobs of two groups are never of one shape */
};

struct extent {
    struct request request;
    uint32_t score;     /* taker or giver of the first of them */
    bool free_of_score; /* asked for by another group */
};

/* A shape's place among the shapes that have somebody in a list. */
struct rank {
    struct tree_node tree; /* first */
    struct entry *head;    /* the first of its jobs in this list: the key */
    struct extent own;
    struct extent all; /* of the subtree: the least of each (UP), the most of each (DOWN) */
};

struct shape {
    struct request request;
    struct tree jobs[LISTS];
    struct rank ranks[LISTS];
    uint32_t n;        /* entries that refer to it */
    UT_hash_handle hh; /* k: request */
};

struct policy_state {
    const struct policy_scoring *scoring; /* borrowed */
    void *own;                            /* the policy's */
    struct entry *entries;
    struct shape *shapes;
    struct tree ranks[POLICY_GROUPS_MAX][LISTS];
    uint32_t n_pending;
    struct entry *moved;                 /* during a decision */
    const struct policy_totals *planned; /* borrowed; during a decision: with planned moves */
    const char *gives_to; /* borrowed; the group that an instance is taken away for; NULL: none */
};

static inline struct rank *rank_at(const struct tree_node *node)
{
    return (struct rank *)node;
}
struct request request_of_job(const struct policy_job *job);
/* request_amount - in millicores, bytes, devices */
uint64_t request_amount(const struct request *request, enum policy_resource resource);
/* index_cheapest - of those who could give something of a resource, stable or not, in any group,
 * the first in the order of DOWN, if is_of says so of its shape. NULL: there is none among the
 * 256 shapes that come first in each list */
const struct entry *index_cheapest(const struct policy_state *state, enum policy_resource resource,
                                   bool (*is_of)(const struct entry *entry,
                                                 enum policy_resource resource));
/* by their scores in a direction (UP or DOWN); then the smaller request of GPU, CPU, memory; then
 * the id */
int index_compare(const struct entry *a, const struct entry *b, int direction);
int policy_compare_requests(const struct policy_job *a, const struct policy_job *b);
/* out of its lists before its plan or its scores change, and into them afterwards */
void index_take_out(struct policy_state *state, struct entry *entry);
void index_file_in(struct policy_state *state, struct entry *entry);
/* NULL: it was not put */
struct entry *index_find(const struct policy_state *state, uint64_t id);

struct policy_state *index_new(const struct policy_scoring *scoring);
/* as struct policy has them */
struct policy_state *index_free(struct policy_state *state);
void index_put(struct policy_state *state, const struct policy_job *job);
void index_drop(struct policy_state *state, uint64_t id);
