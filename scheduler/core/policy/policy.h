/* SPDX-License-Identifier: Apache-2.0 */
/* policy.h - an allocation policy: which job gets one instance more, which gives one up, and why
 *
 * Pure: its decisions depend on the facts that it was told, not on their order. It keeps an index
 * of the jobs, so that an event costs what it changes: the core tells it of each job that changed,
 * and asks it after every turn. It speaks of totals; where an instance goes, and which one goes, is
 * the core's affair.
 *
 * A policy is one struct policy in a file of its own (and its own state), and one line in policy.c:
 * adding one touches nothing else. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct goodput_known;
struct goodput_learned;

#define POLICY_GROUPS_MAX 65

struct policy_job {
    uint64_t id; /* ties are broken by it, lower first */
    int32_t priority;
    uint32_t min, max; /* of the elastic role; min <= parallelism <= max */
    /* instances granted now (assigned, preparing or running; not stopping, nor to be given) */
    uint32_t parallelism;
    bool stable;  /* all of them run, and nothing is being stopped */
    bool rests;   /* moved a moment ago: it gives nothing for a growth, and takes nothing */
    bool pending; /* room is being made for its gang; that is in the requested totals already */
    uint64_t cpu_millicores, memory_bytes; /* request of one instance */
    uint32_t gpus;                         /* limit of one instance */
    uint64_t where;  /* digest of the other facts that decide which nodes it fits, 0: none */
    uint32_t group;  /* in policy_totals.groups; 0 when there are none */
    uint32_t wanted; /* so many have work, as it tells of its queue: it takes what is free, and is
                        the first to give. 0: it tells of none */
    uint32_t busy;   /* so many use the GPUs that they have; 0: all do, as far as is known */
    /* only for policies that learn (struct policy.learns): */
    const struct goodput_learned *learned; /* borrowed for the call; NULL: nothing is known */
    double units_done, units_left;         /* of its work; left below 0: nobody knows */
    double learned_at_s, due_s;            /* when that was so; when it has to be over, 0: never */
    double elapsed_s;                      /* since it could have begun, when that was so */
    uint32_t crowd; /* jobs that there were then, itself included; 0: nobody knows */
    const struct goodput_known *known; /* borrowed for the call; instead of the beliefs */
};

/* A group of users and the sums that its jobs hold, lack and are promised. Between groups the order
 * is that of policy_group_level, under every policy: the lowest grows first, the highest gives
 * first. Within one the policy decides. */
struct policy_group {
    const char *name; /* borrowed; "": those who are in none */
    uint32_t guaranteed_permille;
    uint32_t weight;
    int64_t cpu_millicores, gpus;
};

/* requested: granted + foreign load + what started jobs lack + the gangs that room is made for */
struct policy_totals {
    int64_t cpu_total_millicores, cpu_requested_millicores;
    int64_t memory_total_bytes, memory_requested_bytes;
    int64_t gpu_total, gpu_requested;
    /* held by instances that are being stopped or given: free soon, and not in requested any
     * more */
    int64_t cpu_stopping_millicores, memory_stopping_bytes, gpu_stopping;
    uint32_t max_load_permille; /* 970: grow while requested <= 97 % of the total; cores only */
    const struct policy_group *groups; /* borrowed; NULL when there are none */
    uint32_t n_groups;                 /* at most POLICY_GROUPS_MAX */
};

struct policy_ops {
    /* places one more; false: no node has room for it (nor, then, for another that asks for as much
     * or more: the policy need not ask for that) */
    bool (*grow)(void *userdata, uint64_t job);
    /* one less, never below its minimum; false: there is none to take */
    bool (*shrink)(void *userdata, uint64_t job);
    /* the same, when one of its instances is done with its present task: nothing waits for the room
     * but growth. NULL: shrink is called instead */
    bool (*give)(void *userdata, uint64_t job);
    /* takes back what it was to give and has not given yet; false: there is nothing. NULL: never */
    bool (*keep)(void *userdata, uint64_t job);
};

enum policy_resource { POLICY_CPU, POLICY_MEMORY, POLICY_GPU, POLICY_RESOURCES };

/* The worth of the cheapest instance that could be given away, by the core, the GiB or the GPU, of
 * those for which that is the scarcest thing that they ask for; 0 while so much of it is free. In
 * seconds by which all jobs together are over sooner, for each second that it is held; a second of
 * a job of higher priority counts for more. */
struct policy_price {
    bool none;     /* the cluster has none of it */
    bool for_sale; /* false: it is all held by minima, and by the needs of deadlines */
    double worth;
};

/* policy_resource_to_string - "cpu", "memory", "gpu"; policy_resource_unit - "core", "GiB", "GPU"
 */
const char *policy_resource_to_string(enum policy_resource resource);
const char *policy_resource_unit(enum policy_resource resource);

struct policy_state;

struct policy {
    const char *name;
    const char *summary;
    bool learns;  /* it is told how fast jobs were at which size */
    bool by_turn; /* waiting jobs start in the order of job_turn.c, not of the submission */
    struct policy_state *(*new)(void);
    struct policy_state *(*free)(struct policy_state *state); /* accepts NULL; returns NULL */
    /* a job that is new or changed; O(log n) */
    void (*put)(struct policy_state *state, const struct policy_job *job);
    /* a job that it has nothing to do with any more; unknown ids are ignored; O(log n) */
    void (*drop)(struct policy_state *state, uint64_t id);
    /* all that changed was put: later calls may ask for its order. May be NULL. O(log n) */
    void (*prepare)(struct policy_state *state, const struct policy_totals *totals);
    /* decides by calling ops; the core calls put for the jobs it moved afterwards, not during it.
     * O((1 + moves) x log n), never a look at every job nor at every different request */
    void (*decide)(struct policy_state *state, const struct policy_totals *totals,
                   const struct policy_ops *ops, void *userdata);
    /* in a few words why it moves this job, for users: asked when an op of a decision succeeded */
    void (*explain)(const struct policy_state *state, uint64_t id, char *buffer, size_t size);
    /* as things are; NULL: it knows no prices. O(log n), and a bounded number of shapes of requests
     */
    void (*prices)(const struct policy_state *state, const struct policy_totals *totals,
                   struct policy_price ret[POLICY_RESOURCES]);
    /* Which of two jobs gives an instance up when the core needs room on a node (for a gang, a
     * repair, a machine's own services): below 0: a. 0: it is all the same, the later one does.
     * parallelism: its minimum and the instances that it could still give. It may know less of them
     * than of those that were put. O(1) */
    int (*compare_givers)(const struct policy_state *state, const struct policy_job *a,
                          const struct policy_job *b);
};

extern const struct policy policy_fulfilment, policy_goodput, policy_goodput_balanced;
extern const struct policy *const policy_default; /* where none is asked for: goodput */

/* policy_group_part - what a group holds of the cluster, in billionths */
int64_t policy_group_part(const struct policy_group *group, int64_t cpu_total_millicores,
                          int64_t gpu_total);
/* policy_group_level - below 0: it has less than is guaranteed to it, by so many billionths of the
 * cluster; else what it has beyond that, divided by its weight */
int64_t policy_group_level(const struct policy_group *group, int64_t cpu_total_millicores,
                           int64_t gpu_total);

/* policy_find - by name, or NULL */
const struct policy *policy_find(const char *name);
/* policy_at - one after the other, from 0; NULL: there are no more */
const struct policy *policy_at(size_t at);
/* policy_names - all of them, for a remedy: "fulfilment, goodput" */
void policy_names(char *buffer, size_t size);

/* Upstream's building blocks, which policy_fulfilment is made of (reference: the autoscaler of
 * 2018). */
/* order: the least fulfilled first; then the smaller request of GPU, CPU, memory; then the id */
int policy_fulfilment_compare(const struct policy_job *a, const struct policy_job *b);
/* (parallelism - min) / (max - min) in millionths, 1000000 when min == max */
uint32_t policy_fulfilment_score_ppm(const struct policy_job *job);
/* one step up or down for a job of which `planned` are planned: the change, which totals then
 * account for. node_fits: some node has room for one more. */
int policy_fulfilment_dry_run(struct policy_totals *totals, const struct policy_job *job,
                              int64_t planned, bool down, bool node_fits);
