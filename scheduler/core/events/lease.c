/* SPDX-License-Identifier: Apache-2.0 */
/* lease.c - how long nodes may be silent, also when the scheduler could not listen
 *
 * All leases are equally long, so the list of them is in order when the one that is renewed goes to
 * its end. The leases that a start gives are longer, and are a list of their own: a node leaves it
 * when it repeats the session of our answer to its report. A scheduler that stood still (stopped,
 * swapped out, waiting for its disk) has heard of nobody meanwhile: silence in that time says
 * nothing about a node. So every lease ends later by as much. That only ever makes the scheduler
 * wait longer than its agents do; nothing is granted twice by it. */
#include "scheduler/core/events/lease.h"

#include <utlist.h>
#include <stddef.h>
#include <uthash.h>

#include "scheduler/core/base/permission.h"
#include "scheduler/core/events/scheduler_away.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/node.h"
#include "shared/clock.h"
#include "shared/macro.h"

#define STALL_PART_OF_LEASE 16
#define LEASE_OF_NODE_US (5 * USEC_PER_MSEC) /* at most 800 reports a second, of all nodes */
/* Messages in the sockets are read first: nobody is judged sooner after a standstill. */
#define HEARING_PART_OF_LEASE 8

static uint64_t full_lease_us(const struct cluster *cluster)
{
    return cluster->config.lease_us + cluster->config.lease_margin_us;
}

static uint64_t start_lease_us(const struct cluster *cluster)
{
    const struct cluster_config *config = &cluster->config;
    uint64_t us =
        MAX_OF(MAX_OF(full_lease_us(cluster), FIRST_LEASE_LEAST_US), away_wait_us(cluster));

    if (!config->follows_leader)
        return us;
    return MAX_OF(us, permission_first_lease_us(config->lease_us, config->lease_margin_us));
}

void node_renew_lease(struct cluster *cluster, struct node *node, struct instant now)
{
    uint64_t deadline_us = now.now_us + full_lease_us(cluster);

    if (node->start_session != 0 && deadline_us < node->lease_deadline_us)
        return; /* it has not heard us yet, as far as we know */
    node_end_lease(cluster, node);
    node->lease_deadline_us = deadline_us;
    DL_APPEND2(cluster->leases, node, lease_prev, lease_next);
}

void node_extend_lease(struct cluster *cluster, struct node *node, struct instant now)
{
    uint64_t deadline_us = now.now_us + full_lease_us(cluster);

    if (node->lease_prev == NULL || deadline_us <= node->lease_deadline_us)
        return;
    if (node->start_session != 0) { /* a standstill may have made the last one longer still */
        node->lease_deadline_us =
            MAX_OF(deadline_us, cluster->starting->lease_prev->lease_deadline_us);
        DL_DELETE2(cluster->starting, node, lease_prev, lease_next);
        DL_APPEND2(cluster->starting, node, lease_prev, lease_next);
    } else {
        node->lease_deadline_us = deadline_us;
        DL_DELETE2(cluster->leases, node, lease_prev, lease_next);
        DL_APPEND2(cluster->leases, node, lease_prev, lease_next);
    }
}

void node_begin_lease(struct cluster *cluster, struct node *node, struct instant now)
{
    node->start_session = ++cluster->sessions;
    node->lease_deadline_us = now.now_us + start_lease_us(cluster);
    DL_APPEND2(cluster->starting, node, lease_prev, lease_next);
}

void node_repeats(struct cluster *cluster, struct node *node, uint64_t session)
{
    if (session != 0 && session == node->start_session)
        node_end_lease(cluster, node); /* the report that says so renews it */
}

void node_end_lease(struct cluster *cluster, struct node *node)
{
    if (node->lease_prev == NULL)
        return;
    if (node->start_session != 0)
        DL_DELETE2(cluster->starting, node, lease_prev, lease_next);
    else
        DL_DELETE2(cluster->leases, node, lease_prev, lease_next);
    node->start_session = 0;
    node->lease_prev = NULL;
    node->lease_next = NULL;
    away_settle(cluster);
}

struct node *cluster_first_lease(const struct cluster *cluster)
{
    struct node *heard = cluster->leases;
    struct node *starting = cluster->starting;

    if (heard == NULL || starting == NULL)
        return heard != NULL ? heard : starting;
    return starting->lease_deadline_us < heard->lease_deadline_us ? starting : heard;
}

uint64_t cluster_least_lease_us(const struct cluster *cluster)
{
    return HASH_COUNT(cluster->nodes) * LEASE_OF_NODE_US;
}

uint64_t cluster_stall_least_us(const struct cluster *cluster)
{
    return cluster->config.lease_us / STALL_PART_OF_LEASE;
}

/* cluster_stalled - see lease.h. A node that was heard in between has a full lease already, and
 * nobody gets more than that but those who are waited for since the start; each step keeps the
 * lists in order. */
void cluster_stalled(struct cluster *cluster, uint64_t missed_us, struct instant now)
{
    uint64_t least_us = now.now_us + cluster->config.lease_us / HEARING_PART_OF_LEASE;
    uint64_t most_us = now.now_us + full_lease_us(cluster);
    struct node *node;

    cluster->figures.stalls++;
    cluster->figures.stalled_us += missed_us;
    DL_FOREACH2(cluster->leases, node, lease_next)
    {
        uint64_t room_us = most_us - MIN_OF(node->lease_deadline_us, most_us);

        node->lease_deadline_us += MIN_OF(missed_us, room_us);
        node->lease_deadline_us = MAX_OF(node->lease_deadline_us, least_us);
    }
    DL_FOREACH2(cluster->starting, node, lease_next)
    node->lease_deadline_us = MAX_OF(node->lease_deadline_us + missed_us, least_us);
}
