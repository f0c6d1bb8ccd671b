/* SPDX-License-Identifier: Apache-2.0 */
/* account.h - why a job waits, node by node in numbers, and the changes that would start it now
 *
 * For people who ask; plans do not look at it. Linear in the nodes. Used by: scheduler (core:
 * ask/reason.c). Tests: tests/unit/test_account.c. */
#pragma once

#include <stddef.h>

#include "scheduler/core/base/resources.h"
#include "scheduler/core/ask/node_account.h"

struct cluster;

#define ACCOUNT_NODES_MAX 20 /* the nearest to taking it are listed, the others summed up */

/* The change that would start it. */
enum wait_change {
    CHANGE_NONE,    /* it does not wait */
    CHANGE_AFTER,   /* the success of a job that it is to run after */
    CHANGE_REPORTS, /* nodes that have not reported since the scheduler started */
    CHANGE_STOPS,   /* the end of the processes that stop for it */
    CHANGE_JOB,     /* the start or the end of a job before it */
    CHANGE_OWNER,   /* less that its user or group holds, or a higher limit */
    CHANGE_ARRAY,   /* the end of a job of its array, or a higher bound of that */
    CHANGE_FOREIGN, /* less foreign load on the nodes */
    CHANGE_NODE,    /* a node that takes processes, or one with these labels */
    CHANGE_ROOM,    /* so much more on one node */
    CHANGE_SMALLER, /* a smaller request or other nodes: it never fits these */
};
const char *wait_change_to_string(enum wait_change change); /* "room", "job", "job-before", ... */

struct job_account {
    uint32_t role;                 /* the largest waiting instance; its figures: */
    uint32_t wanted;               /* instances of it that have to find a place */
    struct resources needs;        /* of one instance */
    const struct labels *selector; /* borrowed; NULL: any node */
    struct node_account nodes[ACCOUNT_NODES_MAX];
    size_t n_nodes;
    uint32_t others[ACCOUNT_VERDICTS]; /* nodes that are not listed */
    enum wait_change change;
    struct resources more;    /* CHANGE_ROOM, _NODE: on that one node, besides its free room */
    const struct node *on;    /* CHANGE_ROOM: the nearest one; borrowed */
    const struct job *before; /* CHANGE_JOB, _AFTER; borrowed; NULL: many */
    char text[400];           /* the change as a sentence; "" none */
};

/* cluster_account - n_nodes is 0 for a job that does not wait for room, and so is the change unless
 * it waits for other jobs */
void cluster_account(const struct cluster *cluster, const struct job *job, struct job_account *ret);
