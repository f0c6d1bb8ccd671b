/* SPDX-License-Identifier: Apache-2.0 */
/* job_restarts.h - whether it is of any use to start again what failed */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cluster;
struct instant;
struct job;
struct node;
struct process;
struct process_report;
struct slot;

#define BACKOFF_MAX_US (60 * USEC_PER_SEC)
#define BACKOFF_LEAST_US (100 * USEC_PER_MSEC) /* from a slot's second failure on; doubles, too */

/* slot_failed_at_once - a process of the slot ran on that node for seconds only and failed by
 * itself, as far as its processes are remembered. O(JOB_HISTORY_MAX) */
bool slot_failed_at_once(const struct job *job, const struct slot *slot, const struct node *node,
                         struct instant now);

/* process_found_no_program - its node could not execute it: as its agent says, or as its end within
 * seconds tells, with a shell's code for that and nothing done. Of `report` its end counts */
bool process_found_no_program(const struct process *process, const struct process_report *report,
                              struct instant now);

/* process_ran_for_us - at most, by its agent's clock or ours */
uint64_t process_ran_for_us(const struct process *process, struct instant now);

/* job_can_do_without - others of its role are at the work, and the rest of its slots is enough for
 * the minimum */
bool job_can_do_without(const struct process *process);

/* job_refuses_for_good - of a collective job: `last` has just ended with EX_CONFIG, for the second
 * time on that node, or every node has seen one fail. Its peers refuse it, or its words are wrong,
 * at the next try too. Linear in the job's processes, times the nodes */
bool job_refuses_for_good(const struct cluster *cluster, const struct job *job,
                          const struct process *last);

/* job_fails_at_once - its program fails everywhere within seconds and nothing was ever done, as
 * often as the job bears of that; `last` has just failed. buffer: how often and where, as a clause.
 * Linear in its processes, times the nodes */
bool job_fails_at_once(const struct cluster *cluster, const struct job *job,
                       const struct process *last, struct instant now, char *buffer, size_t size);
