/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_run.h - a scenario is played, and its outcome is measured from the outside
 *
 * Everything is measured by looking at the processes that really run, once every sample_us of the
 * scenario. A value holds from its sample to the next.
 *
 *   waiting      from the client's first try until the whole minimum of the job really runs; of a
 *                job that never ran, until the end of the scenario
 *   utilisation  CPU requests of our processes that really run (those that stop still do, those
 *                that start do not yet) and the part that the others get of their load, of all CPU
 *   fairness     Jain's index over the running instances of the elastic role of the running jobs
 *   short        a node is short when our processes on it, starting ones included, and the load of
 *                others do not fit; short_longest_us is how long others waited for their cores at
 *                worst */
#pragma once

#include "scheduler/core/core.h"
#include "shared/job_spec.h"
#include "simulator/metrics.h"
#include "simulator/scenario.h"

/* What was seen in one look. */
struct scenario_sample {
    uint64_t at_us;
    double ours_cores, others_cores, missing_cores, total_cores;
    uint32_t submitted, waiting, running, ended; /* jobs */
    uint32_t trainers;                           /* of all jobs */
    double jain;
    const uint32_t *job_trainers; /* n_jobs of them, by submission; borrowed */
    size_t n_jobs;
};

typedef void (*scenario_sample_fn)(const struct scenario_sample *sample, void *userdata);

/* Of one job; times are NEVER_US while they have not come. */
struct scenario_job_result {
    char name[JOB_NAME_MAX + 1];
    enum job_state state;
    uint64_t submitted_us, acknowledged_us;
    uint64_t placed_us;  /* seen to have its room granted */
    uint64_t started_us; /* its minimum really ran */
    uint64_t shown_us;   /* seen as running in the scheduler */
    uint64_t ended_us;
    uint32_t trainers;    /* at the end */
    double trainers_mean; /* in the plateau */
    uint32_t resizes;
};

struct scenario_result {
    uint64_t seed, end_us, events;
    char violation[400]; /* "": none */
    struct scenario_job_result *jobs;
    size_t n_jobs;
    uint32_t never_started;
    struct distribution waiting_s, waiting_acknowledged_s, waiting_room_s, waiting_shown_s;
    struct distribution completion_s; /* of the jobs that succeeded */
    double utilisation, utilisation_plateau, utilisation_ours_plateau;
    double jain_plateau, jain_end, trainers_plateau;
    uint32_t resizes;
    uint64_t starts;                           /* processes that really began */
    uint64_t tasks_finished, tasks_given_back; /* given back: done in part and for nothing */
    uint64_t short_longest_us;                 /* 0: no node ever was short */
    double short_core_s;                       /* cores that were missing, over time */
    uint64_t short_returns_us[8]; /* of the first rises: until no node was short; NEVER_US: open */
    size_t n_returns;
};

/* scenario_run - seed replaces the scenario's; fn (may be NULL) sees every sample
 * 0 also when a check was violated: ret->violation tells. Errors: EDL_EBADSPEC. */
int scenario_run(const struct scenario *scenario, uint64_t seed, scenario_sample_fn fn,
                 void *userdata, struct scenario_result *ret, struct edl_error *error);
void scenario_result_done(struct scenario_result *result);
