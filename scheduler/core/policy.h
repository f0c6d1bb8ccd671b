/* SPDX-License-Identifier: Apache-2.0 */
/* policy.h - an allocation policy: a pure function from what the cluster looks like to how many
 * each job gets
 *
 * A policy is one file with one struct policy; policy_find knows them all. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct policy_node {
    int64_t cpu_idle_millicores;
    int64_t memory_free_bytes;
    int64_t gpus_free;
};

struct policy_job {
    uint64_t id; /* ties are broken by it, lower first */
    int32_t priority;
    uint32_t min, max;    /* of the elastic role */
    uint32_t parallelism; /* instances granted now (assigned, preparing or running; not stopping) */
    bool stable;          /* all of them run */
    bool pending;         /* waits for its gang; its minimum is in the requested totals already */
    uint64_t cpu_millicores, memory_bytes; /* request of one instance */
    uint32_t gpus;                         /* limit of one instance */
};

struct policy_view {
    int64_t cpu_total_millicores,
        cpu_requested_millicores; /* requested includes pending gangs and foreign load */
    int64_t memory_total_bytes, memory_requested_bytes;
    int64_t gpu_total, gpu_requested;
    uint32_t max_load_permille; /* 970: grow while requested <= 97 % of the total */
    const struct policy_node *nodes;
    size_t n_nodes;
    const struct policy_job *jobs;
    size_t n_jobs;
};

struct policy {
    const char *name;
    const char *summary;
    /* ret_target[i]: instances wanted for jobs[i], always within min..max (min for a pending one).
     * Deterministic. */
    void (*plan)(const struct policy_view *view, uint32_t *ret_target);
};

extern const struct policy policy_fulfilment;

/* policy_find - by name, or NULL */
const struct policy *policy_find(const char *name);

/* Upstream's building blocks, exposed for the conformance cases (reference: the autoscaler of
 * 2018). */
int policy_fulfilment_compare(const struct policy_job *a, const struct policy_job *b);
uint32_t policy_fulfilment_score_ppm(
    const struct policy_job *job); /* (cur-min)/(max-min), 1000000 when min == max */
int policy_fulfilment_dry_run(struct policy_view *view, struct policy_node *nodes,
                              const struct policy_job *job, int32_t delta, bool down);
