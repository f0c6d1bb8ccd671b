/* SPDX-License-Identifier: Apache-2.0 */
/* run.h - a trace under a policy, from the first submission to the last end */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "simulator/trace/policy.h"

struct edl_error;
struct trace;

/* four years of rounds of a minute, and some for each job */
#define RUN_TURNS(n_jobs) (UINT64_C(2000000) + UINT64_C(100) * (n_jobs))

struct run_config {
    uint32_t n_nodes, per_node;
    double round_s;   /* 0: decisions follow events */
    double window_s;  /* events so close to the first one are decided on together */
    double restart_s; /* what a job stands still for after each change */
    struct information information;
    uint64_t max_turns;         /* rounds or events before it gives up; 0: RUN_TURNS of the jobs */
    uint64_t (*clock_ns)(void); /* NULL: decision times are 0 */
};

struct run_job_result {
    double submit_s, start_s, done_s; /* start_s: when it first held something */
    double wait_s;                    /* without anything, until its end */
    double held_s;                    /* instances times seconds until its end */
    double lost_s;                    /* of these, standing still after a change */
    double served_s;                  /* what one instance would have needed for the same */
    uint32_t restarts;                /* changes after the first start */
};

struct run_result {
    struct run_job_result *jobs; /* as in the trace */
    size_t n_jobs;
    double first_s, end_s; /* first submission, last end */
    double used_s;         /* instances times seconds, until each was taken back */
    double *decisions_s;   /* what each decision took */
    size_t n_decisions;
    size_t n_cut; /* jobs that asked for more than was measured: they ask for the most that was */
};

/* run_uses - what the policy looks at of what is offered: enum trace_uses */
unsigned run_uses(const struct trace_policy *policy, const struct information *offered);

/* run_trace - deterministic: no clock, no random number
 * Errors: -EINVAL (a job cannot run on this cluster; the policy needs what is not offered; it
 * leaves a job waiting for ever), -ERANGE (nothing is known of a shape that it chose, although
 * of its amount on full nodes; nothing is known of a job's minimum), -E2BIG (more turns than
 * max_turns: a slow job with much work takes any number of them) */
int run_trace(const struct trace *trace, const struct trace_policy *policy,
              const struct run_config *config, struct run_result *ret, struct edl_error *error);

void run_result_done(struct run_result *result);
