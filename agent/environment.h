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
    uint64_t lease_us; /* 0: no fencing */
    /* which accounts the node's owner allows: {allow_users, allow_groups, default_user,
     * user_first, user_last, allow_root}; borrowed */
    json_t *accounts;
    const char *cpus;       /* of its own, "0-3"; "" or NULL: it runs on all */
    uint64_t tasks_max;     /* 0: as process_limits.h has it */
    bool cpu_quota;         /* no more than what was granted, also when there is */
    uint64_t log_max_bytes; /* what its log is kept within */
    json_t *cgroup;         /* where its control group is to be made (cgroup_home.h); NULL: nowhere,
                             * or by a service manager; borrowed */
    struct node_limits limits;
};

/* environment_complete - a new object for the process folder; order: as it came, borrowed
 * Makes the private workspace, the log and the output folder. -EINVAL or -errno with error. */
int environment_complete(const struct layout *layout, const struct process_id *id,
                         const json_t *order, const struct environment_facts *facts, json_t **ret,
                         struct edl_error *error);
