/* SPDX-License-Identifier: Apache-2.0 */
/* script_call.h - `edl submit job.sh`: a call whose first argument is a script with options
 *
 * The script's options stand before those of the command line, which win. Used by: cmd_submit.c,
 * cmd_plan.c. */
#pragma once

#include <stdbool.h>

#include "client/job_input.h"
#include "client/job_script.h"
#include "client/verb.h"

struct script_call {
    struct job_script script;
    char **argv, **rest; /* owned; the words are borrowed */
    void *options;       /* owned: the verb's, of both */
    struct invocation invocation;
};

/* script_call_read - when the call's first argument is a script: *ret_call is a call with its
 * command behind "--", else the one that was given, borrowed. of_job: where the verb's options have
 * those of the job. Prints what is wrong. Returns enum status; free with script_call_clear in any
 * case */
int script_call_read(const struct invocation *given, size_t of_job, struct script_call *call,
                     const struct invocation **ret_call);
void script_call_clear(struct script_call *call);

/* script_call_note - on stderr, of a script that was taken: what is not as Slurm has it */
void script_call_note(const struct script_call *call, const struct job_options *options);
