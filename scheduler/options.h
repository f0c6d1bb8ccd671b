/* SPDX-License-Identifier: Apache-2.0 */
/* options.h - edl-scheduler's command line */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/core/holdings.h"
#include "scheduler/listen_spec.h"
#include "scheduler/users.h"
#include "scheduler/workspaces.h"

struct edl_error;
struct policy;

#define SERVER_NAMES_MAX 16

struct scheduler_options {
    char state_dir[4096 - 64]; /* room for a file name behind it */
    char port_file[4096];
    char restore_file[4096]; /* not to run, but to restore this backup; "" to run */
    struct listen_spec listen[LISTEN_MAX];
    size_t n_listen;
    const char *names[SERVER_NAMES_MAX]; /* borrowed from argv; what nodes reach this machine by */
    size_t n_names;
    const struct policy *policy;
    uint32_t max_load_permille;
    uint64_t lease_us;
    struct holding_limits limits; /* of jobs that are not over */
    struct workspace_limits workspaces;
    uint64_t keep_logs_bytes;                 /* of ends of processes' output; 0: all */
    uint64_t keep_events, keep_jobs, keep_us; /* of history; 0: all */
    enum user_role socket_role;               /* of accounts of this machine that have no row */
};

/* options_parse - fills *ret from argv
 * *ret_done: --help or --version was asked for and printed. Errors: -EINVAL with remedy. */
int options_parse(int argc, char **argv, struct scheduler_options *ret, bool *ret_done,
                  struct edl_error *error);
