/* SPDX-License-Identifier: Apache-2.0 */
/* job_learned.h - the beliefs about an elastic job since it was started */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "scheduler/core/base/gpu_table.h"
#include "scheduler/core/learn/families.h"
#include "scheduler/core/speed/measure.h"

struct job;

/* By what a job differs from others in what it makes of the types of GPU (job_types.c): logarithms
 * whose mean over the types that it knows is 0. */
struct type_bias {
    double log[GPU_TYPES_MAX];
    uint32_t born[GPU_TYPES_MAX]; /* of the name that is meant */
    uint32_t known;               /* types, a mask */
    bool clear;                   /* else it counts for nothing */
};

/* The beliefs about an elastic job since it was started. Volatile: after a restart it begins with
 * what its family knows, which is remembered. The policy is told what was known at the last
 * measurement, not what is true at the moment it is told: else a plan that looks at everything
 * would decide otherwise than the one before it.
 */
struct job_learned {
    bool stood_still;              /* a process did, since the last look at what was measured */
    double still_s;                /* that instances at work did, which are not taken off yet */
    struct goodput_learned of;     /* as it is learnt */
    struct goodput_learned told;   /* as it was at the last measurement */
    double units_done, units_left; /* then; left below 0: nobody knows, and done is work_s */
    double elapsed_s; /* since its submission, or the end of what it was to run after, then */
    uint32_t crowd;   /* jobs that had not ended, then */
    /* the instants at which learning began, the policy was told, its family was saved */
    uint64_t since_us, told_us, saved_us;
    const struct goodput_families *families; /* borrowed from the cluster */
    char family[JOB_FAMILY_SIZE];
    char curve[JOB_FAMILY_SIZE];   /* its speeds are noted there; mostly the same */
    char program[JOB_FAMILY_SIZE]; /* and there, in seconds; "": nowhere */
    /* its instances beside each other (slow_instances.c) */
    uint32_t paces;     /* tasks that can be compared, since they were */
    bool lockstep;      /* its instances wait for the slowest one in every step */
    double evenness;    /* the job's speed by what it would be without stragglers: 0 .. 1 */
    uint64_t straggler; /* the slowest one, to be looked at by the next plan; 0: none */
    /* of a job without a queue: what its instances told of their steps (job_learn_steps) */
    uint64_t step_notes;
    double step_units, step_s;
    struct type_bias bias;
    char moved[192]; /* the last one: "trainer-3 was moved from NODE: ..."; "": none */
};

/* job_learn_outdated_us - from then on the next report of a process of the job renews what the
 * policy is told; NEVER_US: nothing is learnt of it */
uint64_t job_learn_outdated_us(const struct job *job);
