/* SPDX-License-Identifier: Apache-2.0 */
/* record_internal.h - a record as it is kept */
#pragma once

#include <stdbool.h>
#include <uthash.h>

#include "shared/job_spec.h"
#include "simulator/trace/record.h"

enum instance_state { INSTANCE_GONE, INSTANCE_HELD, INSTANCE_RUNNING, INSTANCE_STOPPING };

struct record_instance {
    enum instance_state state;
    uint64_t held_us; /* since when it is there */
};

/* So many from now until the next step. */
struct record_step {
    uint64_t at_us;
    uint32_t held, running;
};

struct record_role {
    char name[ROLE_NAME_MAX + 1];
    struct record_instance *instances; /* by index */
    uint32_t n_instances;
    uint32_t held, running;
    uint32_t low, high;  /* bounds and targets that events named; 0: none */
    uint32_t begun_with; /* that ran when its job had all that it needs; 0: not yet */
    uint32_t most;       /* that ran at once */
    struct record_step *steps;
    size_t n_steps, steps_cap;
};

enum record_end { RECORD_OPEN, RECORD_SUCCEEDED, RECORD_FAILED, RECORD_KILLED };

struct recorded {
    uint64_t id;
    char *name, *user;            /* NULL: not known */
    char role[ROLE_NAME_MAX + 1]; /* "": not told */
    bool listed;
    uint64_t submit_us; /* of its event; 0: not in the record */
    uint64_t listed_us; /* of the list */
    uint64_t at_us, end_us;
    enum record_end end;
    uint32_t min, max, others; /* of the list */
    uint32_t resizes;
    uint64_t *passes_us; /* when passes ended */
    size_t n_passes, passes_cap;
    struct record_role *roles;
    size_t n_roles;
    UT_hash_handle hh; /* k: id */
};

struct record {
    struct recorded *jobs;
    uint64_t newest_us;
    double *starts_s;
    size_t n_starts, starts_cap;
};

/* recorded_role - the one whose instances count: what the list says, one that was resized,
 * "trainer", or the last one; NULL: nothing of it was ever there */
const struct record_role *recorded_role(const struct recorded *job);

/* What a role had between two moments. */
struct record_sums {
    double held_s, running_s; /* instances times seconds */
    double work;              /* n^power times seconds, of those that ran */
    double there_s;           /* with anything at all */
};

void record_sum(const struct record_role *role, uint64_t from_us, uint64_t to_us, double power,
                struct record_sums *ret);

/* A job of the trace to be. */
struct chosen {
    const struct recorded *job;
    const struct record_role *role;
    struct record_family *family;
    uint64_t end_us;
};

/* Jobs whose names differ in the number at the end. */
struct record_family {
    char *name;
    const struct chosen **jobs;
    size_t n, cap;
    double power;
    bool measured;
    struct profile *profile; /* of the last job; those with equal bounds share it */
    uint32_t profile_others, profile_min, profile_max;
    UT_hash_handle hh; /* k: name */
};

/* record_speed - sets power and measured from the passes of its jobs */
void record_speed(struct record_family *family);
