/* SPDX-License-Identifier: Apache-2.0 */
/* environment.h - turns an order into order.json: folders made, environment completed */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/core/order_policy.h"

struct edl_error;
struct layout;
struct process_id;

struct environment_facts {
    const char *boot_id;
    uint64_t lease_us;        /* 0: no fencing */
    uint64_t cut_off_kill_us; /* what a lease that ran out has frozen is killed after so long; 0: it
                               * is killed at once, as of an earlier version */
    /* which accounts the node's owner allows: {allow_users, allow_groups, default_user,
     * user_first, user_last, allow_root}; borrowed */
    json_t *accounts;
    const char *cpus;       /* of its own, "0-3"; "" or NULL: it runs on all */
    uint64_t tasks_max;     /* 0: as process_limits.h has it */
    bool cpu_quota;         /* no more than what was granted, also when there is */
    uint64_t log_max_bytes; /* what its log is kept within */
    json_t *cgroup;         /* where its control group is to be made (cgroup_home.h); NULL: nowhere,
                             * or by a service manager; borrowed */
    const char
        *scheduler; /* unix:PATH, or else where the agent calls it; NULL: nowhere; borrowed */
    const char *cuda_libraries; /* NULL: /usr/local/cuda/lib64 */
    struct node_limits limits;
};

/* environment_complete - a new object for the process folder; order: as it came, borrowed
 * Makes the private workspace, the log and the output folder. -EINVAL or -errno with error. */
int environment_complete(const struct layout *layout, const struct process_id *id,
                         const json_t *order, const struct environment_facts *facts, json_t **ret,
                         struct edl_error *error);

/* environment_account - as whom it is to run, and what the node's owner allows (accounts): whoever
 * looks it up decides (account_resolve). New reference */
json_t *environment_account(const struct layout *layout, const json_t *order, json_t *accounts);

/* environment_workspace - where the working folder of a process is: the given folder, or its copy
 * of an archive, or a private one ("" given); to be freed */
char *environment_workspace(const struct layout *layout, const struct process_id *id,
                            const char *given);

/* environment_output_dir - the EDL_OUTPUT_DIR of a job here, to be freed; the name has to be valid
 */
char *environment_output_dir(const struct layout *layout, const char *job, uint64_t job_id);

/* environment_job_name_valid - a job's name becomes part of a path */
bool environment_job_name_valid(const char *name);
