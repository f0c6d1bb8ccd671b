/* SPDX-License-Identifier: Apache-2.0 */
/* park_facts.h - how long jobs run still, and the cost of parking one
 *
 * again_s: the time between two parkings of a job (policy/parking.h). */
#pragma once

#include "scheduler/core/policy/parking.h"

struct job;
struct plan;

/* park_facts - of a started job. O(its instances) */
struct parking_job park_facts(const struct plan *plan, const struct job *job, double again_s);

/* park_loan_s - for how long it may have the room of parked jobs: several times the length that was
 * told of it, and again_s at least. O(its document) */
double park_loan_s(const struct plan *plan, const struct job *job, double again_s);

/* park_length_s - how long a waiting job will run. O(its document) */
double park_length_s(const struct plan *plan, const struct job *job, double again_s);
