/* SPDX-License-Identifier: Apache-2.0 */
/* own_job.h - a job that a verb submits for the person who types it: `edl shell --cpu 4`,
 * `edl notebook` */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct common_options;
struct server;

struct own_job {
    const char *name;       /* the beginning of its name: "shell" */
    const char *node;       /* only there; NULL: anywhere */
    const char *time_limit; /* it is killed when it ran for so long; NULL: never */
    const char *workspace;  /* NULL: the current folder where nodes have it */
    uint64_t cpu_millicores, memory_bytes, gpus;
    bool port;                  /* it has one of its own, in EDL_PORTS */
    const char *const *command; /* NULL-terminated */
};

/* own_job_start - submits it and waits until it runs, telling why it waits; prints failures
 * Ctrl-C meanwhile kills it. Enum status; *ret_id, *ret_name: the job's, new strings. */
int own_job_start(struct server *server, const struct common_options *common,
                  const struct own_job *job, char **ret_id, char **ret_name);

/* own_job_kill - what was started for nothing; a failure is told */
void own_job_kill(struct server *server, const char *id);
