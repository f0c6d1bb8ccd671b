/* SPDX-License-Identifier: Apache-2.0 */
/* run_internal.h - the state of a run: jobs, pool, a policy's view */
#pragma once

#include "shared/error.h"
#include "simulator/trace/learn.h"
#include "simulator/trace/pool.h"
#include "simulator/trace/profile.h"
#include "simulator/trace/run.h"
#include "simulator/trace/trace.h"

struct run_job {
    const struct trace_job *trace;
    struct run_job_result *result;
    struct shares shares;
    const struct pace *pace; /* NULL: it holds nothing */
    const struct pace *one;  /* at the smallest amount: speed 1 */
    uint32_t min, max, requested, pservers;
    const uint32_t *counts; /* the only amounts that it can have between them; NULL: all */
    size_t n_counts;
    uint32_t phase;
    double progress, own_bounds[2];
    double at_s; /* progress is that of this moment */
    double restart_left_s, run_s;
    double end_s; /* if nothing changes; INFINITY: it waits */
    bool started, done;
    /* where speeds are learnt */
    bool learns;
    size_t learnt;        /* in run.learnt */
    struct pace own_pace; /* of the present phase only */
    struct goodput_gradient gradient;
    bool has_gradient;
};

struct run {
    const struct trace *trace;
    const struct trace_policy *policy;
    void *policy_state;
    const struct run_config *config;
    struct run_result *result;
    struct pool pool;
    struct run_job *jobs;
    struct run_job **active; /* by submission */
    size_t n_active, next_job, decisions_cap;
    double now_s;
    uint64_t turns_left;
    struct view view;
    struct plan plan;
    struct view_job *view_jobs;
    size_t arrays_cap;
    struct learnt *learnt; /* NULL: the true speeds are told */
    uint32_t *shape_counts;
    struct view_ended *ended;
    size_t n_ended, ended_cap;
    struct edl_error *error;
};

/* run_job.c: progress */
const double *job_bounds(const struct run_job *job);
int job_begin(struct run_job *job, const struct trace_job *trace, const struct run *run,
              struct edl_error *error);
/* job_advance - to a moment; whole: as rounds of whole seconds have it. -ERANGE: what its batch
 * came to was not measured */
int job_advance(struct run_job *job, struct run *run, double to_s, bool whole);
/* job_remaining_s - without a restart: at a rate until the end of its phase, then so much longer */
double job_remaining_s(const struct run_job *job, double rate, double after_s);
void job_predict(struct run_job *job);

/* run_not_known - run->error is about the shape that a job was given: names policy, job and what to
 * do about it; returns its code */
int run_not_known(struct run *run, const struct run_job *job);

/* run_view.c */
void run_look(struct run *run);

/* run_apply.c: the pool follows the plan. Errors: -ERANGE, -EINVAL */
int run_apply(struct run *run);
