/* SPDX-License-Identifier: Apache-2.0 */
/* job_roles.h - pure questions about a job: which role is elastic, how many it lacks, whether its
 * data is done */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct job;
struct job_spec;
struct slot;

/* job_want_nothing - no process of it any more */
void job_want_nothing(struct job *job);

/* job_elastic_role - the one role that grows and shrinks, or -1 */
int job_elastic_role(const struct job *job);
int spec_elastic_role(const struct job_spec *spec);

/* job_role_works - its end is the job's end: every role but "pserver", and but "teacher" in another
 * mode than service; where no other role is there, these work as well
 * job_role_grows - it may be elastic: every role but "pserver" */
bool job_role_works(const struct job *job, uint32_t role);
bool job_role_grows(const struct job *job, uint32_t role);
/* job_can_resume - it may stop as a whole and go on later, on other nodes: its document promises
 * how often it saves a checkpoint, where all nodes see it. Where one failure ends it, the document
 * also says in words that it may be parked. Or the document says so, and tasks are all of its
 * state: it bears the loss of processes, has no parameter servers, and its processes never met to
 * share values. Nobody else knows that: a program may have learnt something from its tasks */
bool job_can_resume(const struct job *job);
bool job_is_started(const struct job *job); /* starting, running or resizing */
bool job_data_complete(
    const struct job *job); /* no dataset, or all passes ended and the model is saved */

/* job_owes_nothing - no dataset, or all passes ended, and the model is saved or no program has
 * asked who saves it: success of its last process is the job's */
bool job_owes_nothing(const struct job *job);

/* all O(1) */
uint32_t job_count_live(const struct job *job); /* stopping ones included */
uint32_t job_count_due(const struct job *job, uint32_t role);
uint32_t job_count_finished(const struct job *job, uint32_t role);

/* instances of its elastic role that it could lose: above the minimum, without those that leave a
 * draining node (others stand in for them) and those that are marked as victims */
uint32_t job_surplus(const struct job *job);

/* job_exchange_slot - its slot that waits for the place of another job; NULL: it has none, or that
 * is taken or wanted no more. job_exchanges - so many of it are being stopped for that: they come
 * back. O(1) */
struct slot *job_exchange_slot(const struct job *job);
uint32_t job_exchanges(const struct job *job, uint32_t role);

/* job_staying - instances of a role but those that stop or leave a draining node, which hold
 * nothing of the totals. held_of_role - and its lacking ones, by which the policy counts. O(1) */
uint32_t job_staying(const struct job *job, uint32_t role);
uint32_t held_of_role(const struct job *job, uint32_t role);

/* spec_servers - the role of parameter servers beside others; -1: there is none */
int spec_servers(const struct job_spec *spec);

/* instances that a started job must not lack now */
uint32_t job_role_floor(const struct job *job, uint32_t role);
void job_grow_slots(struct job *job, uint32_t role, uint32_t n);
