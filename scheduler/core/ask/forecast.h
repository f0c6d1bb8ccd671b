/* SPDX-License-Identifier: Apache-2.0 */
/* forecast.h - the effects of a change of the cluster as it is: places, times, the jobs that give
 * way, the cost
 *
 * Pure. The change is made in a copy of the cluster, which the same deciding code then plans and
 * which is played forward: a process that is asked to stop is seen gone after a while, an assigned
 * one runs after a while, and jobs whose rate is known end. The cluster itself is only read. Two
 * plays with the shortest and the longest stops give the bounds of the wait; everything else is the
 * first one's.
 *
 * A forecast knows what is there now. It knows of no later submission, of no failure, of no later
 * measurement and of no end of a job without a dataset. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/core/model/cause.h"
#include "scheduler/core/model/states.h"
#include "shared/job_spec.h"
#include "shared/node_name.h"

struct archived_jobs;
struct cluster;
struct edl_error;
struct instant;
struct job;
struct job_change;
struct job_spec;
struct node;

enum forecast_verdict {
    FORECAST_NOW,             /* it is done with the next plan */
    FORECAST_AFTER_SHRINKING, /* as soon as the processes that have to give way are gone */
    FORECAST_LATER,           /* as soon as the changes that are under way are over */
    FORECAST_AFTER_END,       /* when jobs have ended */
    FORECAST_UNKNOWN,         /* it waits, and nothing that is known ends the wait */
    FORECAST_NEVER,           /* it does not fit these nodes even when they are empty */
};

/* forecast_verdict_to_string - "now", "after-shrinking", "later", "after-end", "unknown", "never"
 */
const char *forecast_verdict_to_string(enum forecast_verdict verdict);

/* Of an array so many jobs have their roles and placements in the forecast, the first ones. */
#define FORECAST_ARRAY_LISTED 100
/* No more jobs of an array are played than have so many instances together, but one is. */
#define FORECAST_INSTANCES_MAX 10000

/* Zero stands for the default. */
struct forecast_options {
    uint64_t stop_us;  /* shortest time from being asked to stop to being seen gone: 1 s; the
                          longest is the job's grace */
    uint64_t start_us; /* time from assigned to running: the mean of running processes, else 1 s */
    uint64_t horizon_us; /* looks no further ahead: 24 h */
    uint32_t steps_max;  /* instants at which something happens: 4096 */
};

/* A process that the change brings about. */
struct forecast_placement {
    char job[JOB_NAME_MAX + 1], role[ROLE_NAME_MAX + 1];
    uint32_t index;
    char node[NODE_NAME_MAX + 1];
    uint64_t gpu_mask; /* devices of its node */
};

/* A process that is asked to stop. */
struct forecast_victim {
    uint32_t index;
    char node[NODE_NAME_MAX + 1];
    uint64_t lost_us; /* how long it has worked on the tasks that it holds now */
    uint64_t incarnation;
    bool after_end; /* only after some job has ended */
};

/* The change of one role of one job. */
struct forecast_role {
    uint64_t job_id;
    char job[JOB_NAME_MAX + 1], role[ROLE_NAME_MAX + 1];
    bool subject;      /* the submitted or scaled job itself, or one of the array */
    bool ends;         /* its job ends by itself before the change is done */
    uint32_t from, to; /* instances before and when the change is done; stopping ones excluded */
    uint32_t later;    /* when all has settled that the change sets off */
    struct forecast_victim *victims; /* owned */
    size_t n_victims, cap_victims;
};

/* The further facts of an array, which is done when all of its jobs have started. */
struct forecast_array {
    uint32_t n_jobs;   /* 0: it is none */
    uint32_t n_played; /* of them, that the forecast is about: the first */
    uint32_t
        n_started; /* of those, all when it is done; else those that start before any job ends */
    uint64_t first_least_us, first_most_us; /* until the first starts; NEVER_US: not known */
};

struct forecast {
    enum forecast_verdict verdict;
    enum cause cause; /* the core's own; CAUSE_NONE: the code is a forecast's */
    char code[32];    /* "at-once", "gives-way", ..., or the core's own: "gang-does-not-fit" */
    char reason[480]; /* the same as a sentence, with the basis of an estimate */
    uint64_t wait_least_us, wait_most_us; /* until it is done (a job: its minimum is assigned);
                                             NEVER_US: not known */
    struct forecast_array array;
    struct forecast_placement *placements; /* owned; when it is done */
    size_t n_placements;
    struct forecast_role
        *roles; /* owned; those of the subject, and of other jobs all that change */
    size_t n_roles;
    uint64_t lost_us;   /* sum over the victims: work to be done again, in task-seconds */
    uint32_t n_victims; /* processes asked to stop */
    uint32_t n_resizes; /* how often other jobs change size */
    uint32_t utilisation_before_ppm, utilisation_after_ppm;
};

/* cluster_forecast - of submitting a job, or the jobs of an array; spec is only read. archived: as
 * for cluster_submit_array. Errors: those of cluster_submit_array.
 * options may be NULL. *ret is the caller's, forecast_done frees what it owns. Costs two copies of
 * the cluster and a plan for each instant at which something happens. */
int cluster_forecast(const struct cluster *cluster, const struct job_spec *spec, const char *user,
                     const struct archived_jobs *archived, struct instant now,
                     const struct forecast_options *options, struct forecast *ret,
                     struct edl_error *error);

/* cluster_forecast_change - of other bounds or another priority. Done when the job has the size
 * that it gets at once and all of it runs. Errors: those of cluster_change_job. */
int cluster_forecast_change(const struct cluster *cluster, const struct job *job,
                            const struct job_change *change, struct instant now,
                            const struct forecast_options *options, struct forecast *ret,
                            struct edl_error *error);

/* cluster_forecast_node - of another state of a node. Done when nothing is left on a node that is
 * drained and every job that is complete now is complete again. Errors: those of
 * cluster_set_node_state. */
int cluster_forecast_node(const struct cluster *cluster, const struct node *node,
                          enum node_state state, struct instant now,
                          const struct forecast_options *options, struct forecast *ret,
                          struct edl_error *error);

void forecast_done(struct forecast *forecast);
