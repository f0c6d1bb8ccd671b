/* SPDX-License-Identifier: Apache-2.0 */
/* job_build.h - a job document from a command line: `edl submit -- COMMAND...` */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct edl_error;
struct option_list;

struct job_build {
    const char *name;      /* NULL: derived from the command */
    const char *workspace; /* absolute; "" = a private folder per process */
    const char *dataset;   /* glob, or NULL */
    uint64_t min;          /* 0 = 1 */
    uint64_t max;          /* 0 = min */
    uint64_t cpu_millicores, memory_bytes, gpus, passes; /* 0 = the scheduler's default */
    uint64_t task_records, task_tries;                   /* likewise */
    const struct option_list *env;                       /* "NAME=VALUE", may be NULL */
    const struct option_list *after;                     /* jobs, may be NULL */
    const char *deadline, *expected, *time_limit;        /* or NULL, as the next ones */
    const char *array, *user;
    const char *shuffle;                                 /* a seed of the order of tasks, or NULL */
    const char *mode;                                    /* NULL: collective */
    bool takes_input;                                    /* stdin: true */
    const char *priority, *nodes, *dependency, *exports; /* or NULL; job_words.h */
    const char *mail_type, *mail_user, *webhook;         /* likewise; notify_words.h */
    const char *name_like;      /* the beginning of the name that is derived, or NULL */
    const char *output, *error; /* files for the output, or NULL; job_wrap.h */
    bool slurm_env;
    const struct option_list *selector; /* "KEY=VALUE", may be NULL */
    mode_t umask;                       /* of its processes */
    char **argv;
    size_t argc; /* >= 1 */
};

/* job_build_name - DNS label from the command ("python3 train.py" gives "train-x7k2q"), new string
 * random: 5 bytes, the caller's; they make the suffix. */
char *job_build_name(char **argv, size_t argc, const unsigned char random[5]);

/* job_add_time_limit - time_limit of a document or a change, also in Slurm's forms that no other
 * time has: 1:30:00, 2-12. NULL: nothing. -EINVAL: a number without a unit */
int job_add_time_limit(json_t *to, const char *text, struct edl_error *error);

/* job_build_document - *ret: new reference. -EINVAL for a --env without '=', for max < min
 * and for a --shuffle that is no seed */
int job_build_document(const struct job_build *build, json_t **ret, struct edl_error *error);
