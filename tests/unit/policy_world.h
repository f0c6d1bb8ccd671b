/* SPDX-License-Identifier: Apache-2.0 */
/* policy_world.h - a policy's view of a cluster, and the code that carries out its decisions */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "scheduler/core/policy/policy.h"
#include "shared/macro.h"
#include "shared/random.h"

#define JOBS_MAX 32
#define NODES_MAX 160

struct world {
    struct policy_totals totals;
    struct policy_job jobs[JOBS_MAX];
    uint32_t target[JOBS_MAX];
    size_t n_jobs;
    struct {
        int64_t cpu, memory, gpus;
    } nodes[NODES_MAX]; /* idle */
    size_t n_nodes;
    size_t calls; /* a decision that does not end runs into CALLS_MAX */
};

#define CALLS_MAX 20000

static inline struct policy_job *find_job(struct world *w, uint64_t id)
{
    for (size_t i = 0; i < w->n_jobs; i++)
        if (w->jobs[i].id == id)
            return &w->jobs[i];
    fail_msg("the policy speaks of job %llu", (unsigned long long)id);
    return NULL;
}

/* The node it went to keeps it: the original's first fit. */
static inline bool place(struct world *w, const struct policy_job *job)
{
    for (size_t i = 0; i < w->n_nodes; i++) {
        if (w->nodes[i].cpu < (int64_t)job->cpu_millicores ||
            w->nodes[i].memory < (int64_t)job->memory_bytes ||
            w->nodes[i].gpus < (int64_t)job->gpus)
            continue;
        w->nodes[i].cpu -= (int64_t)job->cpu_millicores;
        w->nodes[i].memory -= (int64_t)job->memory_bytes;
        w->nodes[i].gpus -= job->gpus;
        return true;
    }
    return false;
}

static inline bool grow(void *userdata, uint64_t id)
{
    struct world *w = userdata;
    struct policy_job *job = find_job(w, id);

    if (++w->calls > CALLS_MAX)
        fail_msg("the decision does not end");
    if (!place(w, job))
        return false;
    w->target[job - w->jobs]++;
    return true;
}

static inline bool shrink(void *userdata, uint64_t id)
{
    struct world *w = userdata;
    const struct policy_job *job = find_job(w, id);

    if (++w->calls > CALLS_MAX)
        fail_msg("the decision does not end");
    w->target[job - w->jobs]--;
    return true;
}

static const struct policy_ops ops = { .grow = grow, .shrink = shrink };

static inline void decide_with(struct policy_state *state, struct world *w)
{
    for (size_t i = 0; i < w->n_jobs; i++)
        w->target[i] = w->jobs[i].parallelism;
    w->calls = 0;
    policy_fulfilment.decide(state, &w->totals, &ops, w);
}

static inline void decide(struct world *w)
{
    struct policy_state *state = policy_fulfilment.new();

    for (size_t i = 0; i < w->n_jobs; i++)
        policy_fulfilment.put(state, &w->jobs[i]);
    decide_with(state, w);
    assert_null(policy_fulfilment.free(state));
}
