/* SPDX-License-Identifier: Apache-2.0 */
/* interrupt.h - what Ctrl-C means while a verb follows a job: the job is killed; the second one
 * only lets go of it, once the job was asked to end. Signals within a second are one
 *
 * A child waits for the signal, since the verb itself waits in calls to the scheduler. SIGTERM to
 * the verb means the same, as does SIGHUP unless it is ignored (nohup). The child leaves the
 * request to another one, so that the second Ctrl-C is heard while the scheduler does not answer.
 * Used by: cmd_run.c, cmd_submit.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct common_options;
struct edl_error;

struct interrupt {
    pid_t child; /* 0: none */
};

/* interrupt_hold - from now on SIGINT and SIGTERM wait: what comes between the submission and
 * interrupt_start is not lost */
void interrupt_hold(void);

/* interrupt_release - as before interrupt_hold; for a job that was refused */
void interrupt_release(void);

/* interrupt_start - from now on the first Ctrl-C kills the job with that number, the second ends
 * this process with status 130. shown: the job's name. What fails is told on stderr. */
int interrupt_start(struct interrupt *interrupt, const struct common_options *options,
                    uint64_t job_id, const char *shown, struct edl_error *error);

/* interrupt_end - nothing is followed any more; whether the job was killed so */
bool interrupt_end(struct interrupt *interrupt);
