/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_config.h - what a cluster is made with */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define FOREIGN_HOLD_US (5 * USEC_PER_SEC) /* what edl-scheduler sets */

struct cluster_config {
    const struct policy *policy;
    uint32_t max_load_permille;
    uint64_t lease_us;        /* a node's lease; an agent stops its processes before it ends */
    uint64_t lease_margin_us; /* on top, before a silent node's work is granted again */
    /* Another scheduler may have led before, and tell leases by its permission still: a start waits
     * for that, too. False: only one process ever holds the state. */
    bool follows_leader;
    uint64_t first_session;   /* sessions count from here: random, so that runs do not meet */
    uint64_t foreign_hold_us; /* foreign load that falls is believed after so long; 0: at once */
    /* Jobs that are over leave the core: when there are more, when they ended longer ago (wall
     * clock); 0: never. */
    uint64_t keep_ended_jobs, keep_ended_us;
    /* so many more that succeeded and that queued jobs were to run after; 0: any */
    uint64_t keep_named_jobs;
    uint64_t parking_us; /* a job is parked once in this time at most (plan/park.c); 0: never */
    const struct group_table *groups; /* borrowed; NULL: none */
    bool first_come;                  /* users have no shares: shares.c */
    bool ignores_speed;               /* all nodes are taken to be equally fast */
    bool ignores_types;               /* all types of GPU are, for each job */
};
