/* SPDX-License-Identifier: Apache-2.0 */
/* drop_in_run.h - one drop-in, from its start until nothing is left of it
 *
 * For edl-supervisor --drop-ins, which is a child subreaper and has one thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/core/drop_in.h"

struct edl_error;

struct drop_in_run {
    enum drop_in_kind kind;
    const char *path, *name; /* borrowed */
    char *const *environment;
    uint64_t job_id;      /* of the lines in the log */
    uint64_t deadline_us; /* boot time */
    int agent_fd;         /* it ends when the other end of this socket does */
};

struct drop_in_result {
    enum drop_in_end end;
    int number;
    char last_line[128];
    bool cut; /* the agent ended, or wanted it to end: nothing of the above counts */
};

/* drop_in_run - what it writes goes to the log, with bounds. Whatever it leaves is killed. */
void drop_in_run(const struct drop_in_run *run, struct drop_in_result *ret);
