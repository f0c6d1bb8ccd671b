/* SPDX-License-Identifier: Apache-2.0 */
/* reason.h - the reasons of waiting jobs: why, in numbers, and the remedy */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "scheduler/core/plan/planned.h"
#include "shared/clock.h"

struct cluster;
struct job;
struct job_spec;

/* explain_never - why not, in numbers, and what would change it */
void explain_never(const struct cluster *cluster, const struct job_spec *spec, char *buffer,
                   size_t size);

/* reasons_tell - behind a plan: the jobs that it told where they stand */
void reasons_tell(struct cluster *cluster, struct instant now);

/* cluster_explain - why a queued job waits, with the numbers of this moment (job->reason has those
 * of when it was written), or why one that stops does not end; "" when there is nothing to
 * add. Returns buffer. */
char *cluster_explain(const struct cluster *cluster, const struct job *job, char *buffer,
                      size_t size);
/* cluster_explain_code - that goes with it. Both are linear in the nodes with foreign load */
const char *cluster_explain_code(const struct cluster *cluster, const struct job *job);

/* cluster_never_fits - a queued job needs more than the nodes that there are offer when all are
 * empty: its need, and their offer. For the answer to a submission: a look at its class, or a
 * search in the index for the first of a class. False also while there is no node. */
bool cluster_never_fits(const struct cluster *cluster, const struct job *job, char *buffer,
                        size_t size);
