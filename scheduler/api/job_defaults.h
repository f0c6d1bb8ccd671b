/* SPDX-License-Identifier: Apache-2.0 */
/* job_defaults.h - what the instances of a job ask for whose document does not say */
#pragma once

#include <jansson.h>
#include <stdint.h>

struct job_spec;
struct scheduler;

/* The roles, 1 << role, that were given an amount. */
struct job_defaults {
    uint32_t cpu, memory;
};

/* job_defaults_apply - by the options of the scheduler, and the nodes that there are. O(nodes) */
void job_defaults_apply(const struct scheduler *scheduler, struct job_spec *spec,
                        struct job_defaults *ret);

/* job_defaults_to_json - an array: of each such role what it was given; new reference */
json_t *job_defaults_to_json(const struct job_spec *spec, const struct job_defaults *given);
