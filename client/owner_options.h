/* SPDX-License-Identifier: Apache-2.0 */
/* owner_options.h - the limits of a user or group on the command line and in tables */
#pragma once

#include <jansson.h>

struct table;

/* As texts: 0 takes a limit away. */
struct owner_options {
    const char *cpu, *gpus, *jobs, *time;
};

/* What a verb's option table has for them */
#define OWNER_OPTION_ROWS(type)                                                                    \
    { "max-cpu", "CORES", "that its jobs hold at once: 16, 500m; 0: no limit", option_text,        \
      OPTION_FIELD(type, limits.cpu) },                                                            \
        { "max-gpus", "N", "likewise; 0: no limit", option_text,                                   \
          OPTION_FIELD(type, limits.gpus) },                                                       \
        { "max-jobs", "N", "jobs that are not over; 0: no limit", option_text,                     \
          OPTION_FIELD(type, limits.jobs) },                                                       \
    {                                                                                              \
        "max-time", "TIME", "the largest time limit of a job: 8h; 0: no limit", option_text,       \
            OPTION_FIELD(type, limits.time)                                                        \
    }

/* owner_options_add - as members of the body. -EINVAL: one is wrong, which is said */
int owner_options_add(const struct owner_options *options, json_t *body);

/* owner_limits_print_over - "12 of 8 cores are in use; nothing is ended", where more is held than a
 * limit allows */
void owner_limits_print_over(const json_t *of);

/* owner_limits_text - "16 cores, 4 GPUs, 10 jobs, 8h", "-" for none. Returns buffer */
const char *owner_limits_text(const json_t *of, char *buffer, size_t size);
