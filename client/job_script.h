/* SPDX-License-Identifier: Apache-2.0 */
/* job_script.h - a script with options of its job in its first lines: #EDL and #SBATCH
 *
 * The script itself goes along in the command of the job, as it is at its submission. Pure.
 * Used by: script_call.c. Tests: tests/unit/test_job_script.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "client/word_list.h"

struct edl_error;

struct job_script {
    char *text;             /* owned */
    struct word_list words; /* what its lines say, as options of edl submit */
    struct word_list start; /* the interpreter, its option, the text, and the script's name */
    bool reads_slurm;       /* it has a variable of Slurm */
    unsigned late_line; /* the first line of options behind a command, which is not read; 0: none */
};

/* job_script_parse - name: of the file; text: size bytes, borrowed. always: a script also without
 * such lines. 1: it is one; 0: it is none. -EINVAL with the line and the remedy; free with
 * job_script_clear in any case */
int job_script_parse(const char *name, const char *text, size_t size, bool always,
                     struct job_script *ret, struct edl_error *error);
void job_script_clear(struct job_script *script);
