/* SPDX-License-Identifier: Apache-2.0 */
/* core.h - the door of the deciding core, which finds the next step of nodes, jobs and processes
 *
 * Pure: no I/O, no clock, no randomness. Events come in as calls with an instant, and the state
 * changes. Effects come out: the world has to do them or to remember them. The shell writes the
 * effects' records in one transaction. Only then it answers and wakes the agents. The simulator
 * drives the same code. The shell sees no field of struct cluster.
 *
 * Invariants (cluster_check): one live process per slot; incarnations rise; sum granted <= offered
 * per node; a job runs min..max of each role or is queued with nothing granted (gang); a resource
 * is free again only when its holder was seen gone (exited) or its node's lease ended. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/core/check/check.h"
#include "scheduler/core/events/after_resolve.h"
#include "scheduler/core/events/node_identity.h"
#include "scheduler/core/events/node_report.h"
#include "scheduler/core/events/submit.h"
#include "scheduler/core/learn/families.h"
#include "scheduler/core/learn/job_types.h"
#include "scheduler/core/model/after.h"
#include "scheduler/core/model/cluster.h"
#include "scheduler/core/model/cluster_config.h"
#include "scheduler/core/model/effects.h"
#include "scheduler/core/model/groups.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/node.h"
#include "scheduler/core/model/node_kept.h"
#include "scheduler/core/model/process.h"
#include "scheduler/core/model/recovered.h"
#include "scheduler/core/model/reports.h"
#include "scheduler/core/model/tasks.h"
#include "scheduler/core/plan/group_levels.h"
#include "scheduler/core/plan/grow.h"
#include "scheduler/core/record/compare.h"
#include "scheduler/core/record/epoch.h"
#include "scheduler/core/record/restore.h"
#include "scheduler/core/submission.h"
#include "shared/clock.h"

struct cluster *cluster_new(const struct cluster_config *config);
struct cluster *cluster_free(struct cluster *cluster);

/* cluster_tick - what time alone brings: leases and back-offs that are over, task deadlines */
void cluster_tick(struct cluster *cluster, struct instant now);
uint64_t cluster_next_deadline_us(const struct cluster *cluster); /* NEVER_US when none */

/* cluster_wants_plan - something changed that a plan has to look at, or something was learnt of it.
 * A turn asks this, then plans */
bool cluster_wants_plan(struct cluster *cluster);

/* cluster_want_plan - the next turn plans */
void cluster_want_plan(struct cluster *cluster);

/* cluster_plan - if anything changed since the last plan: gang starts, shrinking, growth. Looks at
 * all jobs and nodes. While plans have had their share of the time (cluster_plan_took) it does
 * nothing and returns false; a deadline wants the plan then */
bool cluster_plan(struct cluster *cluster, struct instant now);

/* cluster_plan_took - by the shell, which has the clock: the last plan took so long to decide.
 * Plans take a tenth of the time, so an event never waits for many; but none is put off for more
 * than 2 s. Never said: no plan pauses */
void cluster_plan_took(struct cluster *cluster, struct instant now, uint64_t us);

/* cluster_replan - a plan at once, though nothing changed. After a plan it changes nothing; tests
 * say so. */
void cluster_replan(struct cluster *cluster, struct instant now);

/* cluster_clone - an independent copy to try something on: all that is remembered, or that a plan
 * looks at, without pending effects. cluster_free it. Linear. */
struct cluster *cluster_clone(const struct cluster *cluster, struct instant now);

/* cluster_clone_active - without the jobs that are over: it plans the same. Linear in the nodes and
 * the jobs that are not, and a walk over the list of all. */
struct cluster *cluster_clone_active(const struct cluster *cluster, struct instant now);

/* The array is the cluster's; valid until the next event. SAVE_* are deduplicated. */
const struct effect *cluster_effects(struct cluster *cluster, size_t *ret_n);
