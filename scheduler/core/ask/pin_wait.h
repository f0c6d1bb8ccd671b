/* SPDX-License-Identifier: Apache-2.0 */
/* pin_wait.h - an instance whose role names a node for it, and which has no place there
 *
 * For people who ask why a job waits; plans do not look at it. */
#pragma once

#include <stddef.h>

#include "scheduler/core/plan/capacity.h"
#include "scheduler/core/plan/planned.h"
#include "scheduler/core/ask/node_account.h"

struct demand;

struct pin_wait {
    const char *role; /* borrowed, as all of it */
    uint32_t index;
    const char *name;        /* of the node */
    const struct node *node; /* NULL: there is none of that name */
    struct node_account account;
    struct want want;
};

/* pin_wait_find - the first pinned instance of the demands that has no place on its node now,
 * beside those before it; empty: not even if nothing ran there. false: there is none, or none is
 * pinned. O(instances) */
bool pin_wait_find(const struct cluster *cluster, const struct demand *demands, size_t n,
                   bool empty, struct pin_wait *ret);
/* pin_wait_say - "instance 2 of trainer runs on n7, which is not a member (edl nodes)"; returns
 * buffer */
char *pin_wait_say(const struct pin_wait *wait, char *buffer, size_t size);
/* pin_wait_of_job - of a gang that waits, or of the lacking instances of a started job */
bool pin_wait_of_job(const struct cluster *cluster, const struct job *job, struct pin_wait *ret);
/* verdict_is_of_room - it says that there is no room, and not that it is not its turn */
bool verdict_is_of_room(enum queue_verdict verdict);
/* pin_wait_of_verdict - of a job that waits with this verdict; false: not for such a node */
bool pin_wait_of_verdict(const struct cluster *cluster, const struct job *job,
                         enum queue_verdict verdict, struct pin_wait *ret);
/* pin_wait_explain - behind the reason of a started job: not a part of it, as that is stored.
 * Returns buffer */
char *pin_wait_explain(const struct pin_wait *wait, const struct job *job, char *buffer,
                       size_t size);
