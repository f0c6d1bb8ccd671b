/* SPDX-License-Identifier: Apache-2.0 */
/* first_error.h - the process of a job that failed first
 *
 * When one process of many fails, the others fail for that, and each says another thing. The first
 * one says why. Of each slot the newest process counts: an error that a restart has mended is none.
 *
 * For people who ask; plans do not look at it. Linear in the processes of the job. Used by:
 * scheduler (api: why.c). Tests: tests/unit/test_first_error.c. */
#pragma once

struct job;
struct process;

/* job_first_error - NULL: none of them failed by itself, or the job succeeded */
const struct process *job_first_error(const struct job *job);
