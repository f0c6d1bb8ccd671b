/* SPDX-License-Identifier: Apache-2.0 */
/* past_refusals.h - refusals of nodes in the last ten minutes, also of jobs that are over */
#pragma once

#include <stdbool.h>

#include "shared/unfit.h"

struct cluster;
struct instant;
struct job;
struct process;

/* past_refusals_note - the node of the process refused it. past_refusals_ran - it runs there, as
 * others like it will. O(PAST_REFUSALS_MAX) */
void past_refusals_note(struct cluster *cluster, const struct process *process, enum unfit why,
                        const char *text, struct instant now);
void past_refusals_ran(struct cluster *cluster, const struct process *process);

/* past_refusals_copy - for a copy of the cluster */
void past_refusals_copy(struct cluster *copy, const struct cluster *cluster);

bool past_refusals_any(const struct cluster *cluster);

/* job_expect_refusals - a job of a copy, in no class of the queue: the nodes that refused another
 * one with the same account or folder are taken to refuse it as well */
void job_expect_refusals(struct cluster *copy, struct job *job, struct instant now);
