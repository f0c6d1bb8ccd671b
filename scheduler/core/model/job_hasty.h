/* SPDX-License-Identifier: Apache-2.0 */
/* job_hasty.h - a job whose processes end at once on a node backs off there */
#pragma once

#include <stdint.h>

struct instant;
struct job;
struct process;

/* A program that comes so far has imported and read what it begins with. */
#define AT_ONCE_US (30 * USEC_PER_SEC)

/* job_hasty_failed - a process of the job failed by itself: when it may be started again at the
 * earliest, for the job's ends on its node; 0: at any time
 * job_hasty_ran - one ended with success. Both O(16) */
uint64_t job_hasty_failed(struct job *job, const struct process *process, struct instant now);
void job_hasty_ran(struct job *job, const struct process *process);
void job_hasty_copy(struct job *to, const struct job *from);
void job_hasty_forget(struct job *job);
