/* SPDX-License-Identifier: Apache-2.0 */
/* orders.c - the long poll of an agent: the orders of its node, as soon as they change */
#include <errno.h>
#include <stdio.h>

#include "scheduler/api/api.h"
#include "scheduler/core/core.h"
#include "scheduler/nodes/orders.h"
#include "scheduler/scheduler.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/http_server.h"
#include "shared/macro.h"

struct poll_orders {
    char node[NODE_NAME_MAX + 1];
    bool has_version;
    uint64_t version;
    uint64_t asked_us; /* boot time */
};

static json_t *orders_of(const struct scheduler *scheduler, const struct node *node)
{
    json_t *orders = orders_to_json(node, scheduler->logs, scheduler->account_numbers);

    file_reads_order(scheduler, node->name, orders);
    sessions_order(scheduler, node->name, orders);
    return leadership_add(scheduler, orders);
}

static json_t *build_orders(struct scheduler *scheduler, const char *key, uint64_t id)
{
    const struct node *node = cluster_node(scheduler->cluster, key);

    (void)id;
    return node != NULL ? orders_of(scheduler, node) : NULL;
}

/* The orders that a node has already, with the time for which it may go on alone. */
static bool tell_away(struct scheduler *scheduler, struct held *held, struct node *node,
                      uint64_t asked_us)
{
    json_t *orders = orders_of(scheduler, node);
    bool told = leaving_orders(scheduler, node, asked_us, orders);

    if (told)
        held_reply_json(held, 200, orders);
    else
        json_decref(orders);
    return told;
}

static bool poll_orders(struct scheduler *scheduler, struct held *held, void *data, bool last)
{
    const struct poll_orders *poll = data;
    struct node *node = cluster_node(scheduler->cluster, poll->node);
    struct edl_error error = { 0 };

    if (scheduler->failed) { /* memory is ahead of the disk for good */
        (void)edl_error_set(&error, -EAGAIN, "the scheduler is restarting");
        held_reply_error(held, &error);
        return true;
    }
    if (node == NULL) {
        (void)edl_error_set(&error, -ENOENT, "node %s was removed", poll->node);
        held_reply_error(held, &error);
        return true;
    }
    if (scheduler->leaving.on && !last)
        return tell_away(scheduler, held, node, poll->asked_us);
    /* What it was ordered before this run may have ended, and have been forgotten here (a backup
     * was restored): it is ordered nothing before it has told what it runs. */
    if (!node->heard && !last)
        return false;
    if (!node->heard) {
        (void)edl_error_set(&error, -EAGAIN, "node %s has not reported yet", poll->node);
        held_reply_error(held, &error);
        return true;
    }
    /* Not "greater": after a restart of the scheduler versions begin anew, anywhere. */
    if (poll->has_version && poll->version == node->orders_version && !last)
        return false;
    if (scheduler->turn_wanted) /* the core is ahead of the database: nothing of that goes out */
        held_build_after_commit(scheduler, held, 200, build_orders, node->name, 0);
    else
        held_reply_json(held, 200, orders_of(scheduler, node));
    return true;
}

/* Its agent has ended, or its machine said goodbye: the lease would tell the same, much later. Its
 * processes go on. */
static void on_left(struct scheduler *scheduler, const void *data)
{
    const struct poll_orders *poll = data;
    struct node *node = cluster_node(scheduler->cluster, poll->node);

    if (node == NULL || scheduler->leaving.on)
        return;
    cluster_note_disconnected(scheduler->cluster, node, clock_instant());
    scheduler_touch(scheduler);
}

void api_node_orders(struct http_request *request, void *userdata)
{
    struct scheduler *scheduler = userdata;
    const struct node *node = api_node(scheduler, request);
    struct edl_error error = { 0 };
    struct poll_orders *poll;
    uint64_t deadline_us, version;
    char topic[TOPIC_MAX];

    if (node == NULL)
        return;
    if (http_request_query_u64(request, "after", 0, &version, &error) < 0 ||
        api_wait_us(request, POLL_WAIT_MAX_S, &deadline_us, &error) < 0) {
        http_reply_error(request, &error);
        return;
    }
    poll = xcalloc(1, sizeof *poll);
    (void)snprintf(poll->node, sizeof poll->node, "%s", node->name);
    poll->has_version = http_request_query(request, "after") != NULL;
    poll->version = version;
    poll->asked_us = clock_read_us(CLOCK_BOOTTIME);
    (void)snprintf(topic, sizeof topic, "orders/%s", node->name);
    waiters_add_watched(scheduler, held_new(request), topic, deadline_us, poll_orders, on_left,
                        poll);
    scheduler_notify(scheduler, topic); /* at once, or after the commit that is due */
}
