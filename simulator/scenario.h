/* SPDX-License-Identifier: Apache-2.0 */
/* scenario.h - a cluster, its jobs and the load of others, as told by a document (edl-simulate(5))
 *
 * Plain data after parsing; scenario_run.h plays it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "shared/macro.h"
#include "simulator/sim.h"

#define SCENARIO_NODES_MAX 100000
#define SCENARIO_JOBS_MAX 100000
#define SCENARIO_NAME_MAX 52 /* with "-NUMBER" it still names a node */
#define SCENARIO_REPLICAS_MAX 100000
#define SCENARIO_ALL SIZE_MAX /* every group of nodes */

/* `count` equal machines, NAME-0, NAME-1, ..; the first has the number `first` in the simulator */
struct scenario_group {
    char name[SCENARIO_NAME_MAX + 1];
    uint32_t count, first;
    struct node_offer offer;
    uint32_t speed_permille; /* of what works there */
};

/* `copies` of a job, the i-th at at_us + i * every_us; with more than one, NAME-0, NAME-1, .. */
struct scenario_job {
    struct job_spec *spec; /* owned */
    struct sim_work work;
    uint64_t at_us, every_us;
    uint32_t copies;
    char user[ACCOUNT_NAME_MAX + 1]; /* who submits them; "": one user for all such jobs */
};

/* From at_us on, what is not ours takes so much on every node of the group (SCENARIO_ALL: of all).
 */
struct scenario_foreign {
    uint64_t at_us;
    size_t group;
    uint64_t cpu_millicores, memory_bytes;
};

struct scenario_step {
    uint64_t at_us;
    uint32_t replicas;
};

/* A service that is not ours: so many equal replicas from each step on, placed by its own keeper
 * (scenario_services.h). */
struct scenario_service {
    char name[SCENARIO_NAME_MAX + 1];
    uint64_t cpu_millicores, memory_bytes; /* of one replica */
    bool packed;                           /* fills machine after machine; else spread evenly */
    struct scenario_step *steps;           /* owned, rising in time */
    size_t n_steps;
};

struct scenario {
    char name[SCENARIO_NAME_MAX + 1];
    const struct policy *policy;
    uint64_t seed;
    uint64_t duration_us; /* 0: until every job has ended, SCENARIO_LONGEST_US at most */
    uint64_t begin_us;    /* from here on the figures of the whole time count */
    uint64_t sample_us;   /* how often the history is looked at */
    uint64_t plateau_from_us, plateau_to_us;
    uint32_t max_load_permille;
    uint64_t parking_us; /* 0: no job is parked */
    uint64_t heartbeat_us, lease_us, lease_margin_us;
    struct sim_range latency, commit;
    uint32_t loss_ppm;
    bool first_come;    /* users have no shares */
    bool ignores_types; /* and all types of GPU, for each job */
    bool ignores_speed; /* the scheduler takes all machines to be equally fast */
    struct scenario_group *groups;
    size_t n_groups;
    struct scenario_job *jobs;
    size_t n_jobs;
    struct scenario_foreign *foreign;
    size_t n_foreign;
    struct scenario_service *services;
    size_t n_services;
    /* sums */
    uint32_t nodes, submissions;
    uint64_t cpu_millicores;
    /* not of the document */
    FILE *trace; /* borrowed; every event one line; NULL: none */
};

#define SCENARIO_LONGEST_US (24 * 3600 * USEC_PER_SEC)

/* scenario_parse - a document (JSON or YAML); jobs given by path are looked for in `folder`
 * *ret: free with scenario_free. Errors: EDL_EBADSPEC with the pointer of the key, -E2BIG; errors
 * of a job's own file name that file. */
int scenario_parse(const char *text, size_t size, const char *folder, struct scenario **ret,
                   struct edl_error *error);

/* scenario_load - the same from a file. -EINVAL when it cannot be read. */
int scenario_load(const char *path, struct scenario **ret, struct edl_error *error);

/* scenario_free - accepts NULL; returns NULL */
struct scenario *scenario_free(struct scenario *scenario);
