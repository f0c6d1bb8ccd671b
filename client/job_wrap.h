/* SPDX-License-Identifier: Apache-2.0 */
/* job_wrap.h - what a shell does before it becomes the command of a job: files for the output, and
 * the variables of Slurm; pure
 *
 * Used by: job_build.c. Tests: tests/unit/test_job_script.c. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

struct edl_error;

struct job_wrap {
    const char *output, *error; /* "out-%j.txt", or NULL */
    bool slurm_env, many;       /* several instances may write into one file */
    const char *cpus;           /* of an instance, "" when nobody says */
};

/* job_wrap_add - the words of that shell, before those of the command; none where there is nothing
 * to do. -EINVAL: a pattern that nobody can fill in */
int job_wrap_add(const struct job_wrap *wrap, json_t *command, struct edl_error *error);
