/* SPDX-License-Identifier: Apache-2.0 */
/* notify_words.h - receivers of notices about a job, by the words of the command line: --mail-type,
 * --mail-user, --webhook; pure but for the caller's own name
 *
 * Used by: job_build.c. Tests: tests/unit/test_job_words.c. */
#pragma once

#include <jansson.h>

struct edl_error;

/* notify_words_add - `notify` of a job's spec; nothing where nothing is asked for. Each word may be
 * NULL. -EINVAL with remedy: a type that means nothing here */
int notify_words_add(json_t *spec, const char *types, const char *users, const char *webhook,
                     struct edl_error *error);
