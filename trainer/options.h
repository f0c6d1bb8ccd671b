/* SPDX-License-Identifier: Apache-2.0 */
/* options.h - what a process of a job is told: environment first, long options over it */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct edl_error;

/* One value of a program, found in argv as "--name VALUE" or "--name=VALUE", else in the
 * environment, else the fallback. Exactly one of u64, real, text is set. */
struct option_value {
    const char *name;        /* "batch" */
    const char *environment; /* "EDL_INDEX", or NULL */
    const char *fallback;    /* NULL: stays as it is */
    uint64_t *u64;
    float *real;       /* finite, >= 0 */
    const char **text; /* borrowed from argv or the environment */
    const char *help;  /* one line */
};

enum { OPTIONS_RUN, OPTIONS_HELP, OPTIONS_VERSION };

/* options_parse - returns OPTIONS_RUN, _HELP or _VERSION; -EINVAL with a text that names the option
 */
int options_parse(int argc, char **argv, const struct option_value *values, size_t n_values,
                  struct edl_error *error);

/* options_help - the table as text on standard output */
void options_help(const char *usage, const struct option_value *values, size_t n_values);
