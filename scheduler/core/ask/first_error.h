/* SPDX-License-Identifier: Apache-2.0 */
/* first_error.h - the process of a job that failed first
 *
 * When one process of many fails, the others fail for that, and each says another thing. The first
 * one says why. The time of its error counts where that is known. It may hang behind it until the
 * others have failed, and is stopped with them: so it counts as well. Of each slot the newest
 * process counts: an error that a restart has mended is none.
 *
 * For people who ask; plans do not look at it. Linear in the processes of the job. Used by:
 * scheduler (api: why.c). Tests: tests/unit/test_first_error.c. */
#pragma once

#include <stdint.h>

struct job;
struct process;

/* job_first_error - NULL: none of them failed by itself, or the job succeeded */
const struct process *job_first_error(const struct job *job);

/* process_error_text - what its program said of it, or how it ended; borrowed from process */
const char *process_error_text(const struct process *process);

/* process_failed_us - when it wrote why, or ended; wall clock */
uint64_t process_failed_us(const struct process *process);
