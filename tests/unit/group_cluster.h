/* SPDX-License-Identifier: Apache-2.0 */
/* group_cluster.h - processes on 127.0.0.1 that train as a group, and a pretended scheduler
 *
 * The test is the scheduler. It names the members of a generation, hears of deaths, and starts
 * others in the place of the dead. It also kills and freezes ranks, and tells some to leave. Each
 * rank tells it the hash of its values behind each step: these steps are its clock. */
#pragma once

#include <signal.h>

#include "libedl/group_internal.h"

enum { CLUSTER_RANKS = 8, CLUSTER_PROCESSES = 256, CLUSTER_STEPS = 2000, CLUSTER_NODES = 4 };

/* What is to happen. */
struct cluster_plan {
    unsigned ranks; /* at first, and kept so by new processes */
    unsigned steps;
    unsigned micro_batches;
    uint64_t n_values;
    bool exact;
    uint64_t seed;

    unsigned kills;                /* at random, of one rank each */
    unsigned stops;                /* one is frozen, and killed when the others wait for it */
    unsigned thaws;                /* one is frozen, and goes on */
    unsigned leaves;               /* told to leave; its place stays empty */
    unsigned joins;                /* one more rank comes */
    enum group_point point;        /* the processes end themselves there; 0: nowhere */
    unsigned crashes;              /* so many of them, one after the other */
    unsigned other_values;         /* the last rank has so many more values */
    bool apart;                    /* every other process seems to be on another machine */
    unsigned nodes[CLUSTER_NODES]; /* so many seem to be on each machine */
    bool blind;                    /* nobody can read the memory of the last rank */
    unsigned other_batches;        /* newcomers have so many more micro-batches */
    bool other_secret;             /* the last rank has another secret */
    bool other_signature;          /* the last rank has another signature */
    bool odd_joins;                /* those that come have it, in place of the last rank */
    bool cut_off;                  /* behind step 1 nothing answers once about the generation */
    bool linear;       /* micro_batches of each rank, and edl_group_end in place of steps */
    bool chooses;      /* ... micro_batches at most, by the state; they meet anew for it */
    bool follow;       /* newcomers follow before they arrive */
    unsigned bad_step; /* in this step rank 0 has a gradient that is no number */
};

struct cluster_result {
    uint64_t hash[CLUSTER_STEPS + 1];       /* behind each step; 0: nobody told it */
    uint64_t generation[CLUSTER_STEPS + 1]; /* that computed it */
    unsigned n_killed, n_stopped, n_left, n_joined, n_crashed;
    unsigned n_generations, n_states; /* formed; given to somebody */
    unsigned n_finished;              /* processes that ended well */
    unsigned n_restarted;             /* that nobody killed and that failed all the same */
    unsigned n_steps;                 /* told, by all */
    unsigned n_shared;                /* of them: with memory of another rank in sight */
    unsigned n_by_node;               /* of them: summed within nodes first */
    uint64_t n_bytes;                 /* that those who finished sent to other machines */
    unsigned n_followed;              /* of them: by newcomers before they arrived */
    uint64_t last_stable;
    char error[600]; /* of the last process that failed */
    char fault[300]; /* what must not be; "": nothing */
};

void cluster_run(const struct cluster_plan *plan, struct cluster_result *ret);

/* cluster_alone - the hashes of one process without any group; plan: values, steps and so on */
void cluster_alone(const struct cluster_plan *plan, uint64_t ret_hash[CLUSTER_STEPS + 1]);

/* cluster_train - what a rank does, by the public calls alone; told: after each step, false ends */
typedef void (*cluster_told)(void *userdata, const struct edl_group_step *step, uint64_t hash);
struct cluster_model;
struct cluster_model *cluster_model_new(const struct cluster_plan *plan);
void cluster_model_free(struct cluster_model *model);
void cluster_options(struct cluster_model *model, struct edl_group_options *ret);
int cluster_train(struct edl_group *group, struct cluster_model *model, cluster_told told,
                  void *userdata);
