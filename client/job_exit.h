/* SPDX-License-Identifier: Apache-2.0 */
/* job_exit.h - the exit status of a command that follows a job
 *
 * Used by: cmd_submit.c, cmd_run.c. Tests: tests/unit/test_job_exit.c,
 * tests/integration/110-one-liner.sh. */
#pragma once

#include <jansson.h>

struct server;

/* job_exit_of - STATUS_OK of a job that succeeded. Of one that failed, what its program ended with,
 * as a shell has it: its status, or 128 and a signal. Of several ends it is the first, where that
 * ended the job, and the last where the job was fault tolerant. STATUS_FAILED: no end of a program
 * was the reason. */
int job_exit_of(const json_t *job, const json_t *processes);

/* job_exit_status - the same, by what the server knows of the job's processes */
int job_exit_status(struct server *server, const json_t *job);
