/* SPDX-License-Identifier: Apache-2.0 */
/* submit.h - what people do to jobs: submit, kill, change */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "shared/clock.h"
#include "shared/job_secret.h"

struct cluster;
struct edl_error;
struct job_spec;

/* The parts of a submission besides its document. */
struct submit_terms {
    const char *user;
    const struct archived_jobs *archived;
    bool resolved; /* the jobs that it is to run after have their numbers already */
    struct instant now;
};

/* A change that somebody makes to a job. A part that is not wanted stays as it is. */
struct job_change {
    bool scale;       /* bounds of a role */
    const char *role; /* NULL: "trainer" */
    uint32_t min, max;
    bool prioritise;
    int32_t priority;
    bool bound;             /* of its array: */
    uint32_t at_once;       /* so many jobs; 0: all */
    bool limit;             /* how long it may run: */
    uint64_t time_limit_us; /* 0: no limit any more */
};

/* submit_prepare - what cluster_submit_array does before anything is made: its checks, then names
 * and times become absolute. Nothing is changed after an error */
int submit_prepare(const struct cluster *cluster, struct job_spec *spec, const char *user,
                   const struct archived_jobs *archived, struct instant now,
                   struct edl_error *error);

/* submission_prepare - submit_prepare by such terms. submission_add - a queued job, in no queue
 * yet. submission_enter - it has its turn: it enters the queue, or waits for others. O(log n) */
int submission_prepare(const struct cluster *cluster, struct job_spec *spec,
                       const struct submit_terms *terms, struct edl_error *error);
struct job *submission_add(struct cluster *cluster, struct job_spec *take_spec, const char *user,
                           struct instant now);
void submission_enter(struct cluster *cluster, struct job *job, struct instant now);

struct job *job_new(struct cluster *cluster, uint64_t id, struct job_spec *take_spec,
                    const char *user);

/* cluster_give_secret - the job's secret, for its processes; copied. A job keeps the one that it
 * has, and one that is over gets none. */
void cluster_give_secret(struct cluster *cluster, struct job *job,
                         const uint8_t secret[JOB_SECRET_BYTES]);

/* cluster_kill_array - every job of the arrays of that name that is not over and owner's; owner
 * NULL: anybody's. *ret_n: how many. archived: there are jobs of such an array that are not in the
 * core any more. -ENOENT when there never was one, EDL_EBADTRANSITION when all are over. Linear in
 * all jobs of the core */
int cluster_kill_array(struct cluster *cluster, const char *name, const char *owner, bool archived,
                       const char *reason, struct instant now, uint32_t *ret_n,
                       struct edl_error *error);

/* cluster_kill_job - idempotent for a job that is stopping; EDL_EBADTRANSITION when final */
int cluster_kill_job(struct cluster *cluster, struct job *job, const char *reason,
                     struct instant now, struct edl_error *error);

/* cluster_change_job - all of it or nothing; -EINVAL with pointer when bounds make no sense,
 * EDL_EBADTRANSITION when the job is over or on its way to that */
int cluster_change_job(struct cluster *cluster, struct job *job, const struct job_change *change,
                       struct instant now, struct edl_error *error);

/* cluster_scale_job - cluster_change_job with bounds alone */
int cluster_scale_job(struct cluster *cluster, struct job *job, const char *role, uint32_t min,
                      uint32_t max, struct instant now, struct edl_error *error);
