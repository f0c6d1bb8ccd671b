/* SPDX-License-Identifier: Apache-2.0 */
/* placement_types.h - to which types of GPU a job goes first, by what is believed of it */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "scheduler/core/plan/placement.h"
#include "shared/job_spec.h"

struct job;
struct plan;

/* want_of_job - the same with the types of GPU in the order in which this job
 * goes to them; gang_demands_of - what all of its kind ask for, likewise, in own if that makes a
 * difference. O(types) and a look at its family, once something is known of types */
struct want want_of_job(const struct plan *plan, const struct job *job, uint32_t role);
const struct demand *gang_demands_of(const struct plan *plan, const struct job *job,
                                     const struct demand *demands, size_t n,
                                     struct demand own[JOB_ROLES_MAX]);
