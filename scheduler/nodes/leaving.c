/* SPDX-License-Identifier: Apache-2.0 */
/* leaving.c - see leaving.h */
#include "scheduler/nodes/leaving.h"

#include <errno.h>
#include <stdio.h>

#include "scheduler/api/api.h"
#include "scheduler/core/core.h"
#include "scheduler/core/events/scheduler_away.h"
#include "scheduler/nodes/machine_ends.h"
#include "scheduler/scheduler.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/http_server.h"
#include "shared/log.h"
#include "shared/macro.h"

#define TELL_MOST_US (2 * USEC_PER_SEC) /* a node polls again within a moment, if it lives */
#define LINGER_US (200 * USEC_PER_MSEC) /* for the answers to leave before the process does */

static void end(struct scheduler *scheduler)
{
    (void)sd_event_exit(scheduler->event, 0);
}

static int on_end(sd_event_source *source, uint64_t usec, void *userdata)
{
    (void)source;
    (void)usec;
    end(userdata);
    return 0;
}

static void end_after(struct scheduler *scheduler, uint64_t us)
{
    struct leaving *leaving = &scheduler->leaving;

    leaving->end = sd_event_source_disable_unref(leaving->end);
    if (sd_event_add_time_relative(scheduler->event, &leaving->end, CLOCK_MONOTONIC, us, 0, on_end,
                                   scheduler) < 0)
        end(scheduler);
}

static bool may_know(const struct node *node)
{
    return node->heard && node->state != NODE_LOST && !node->told_away;
}

/* A poll that is answered removes no node. */
static void tell_all(struct scheduler *scheduler)
{
    struct leaving *leaving = &scheduler->leaving;
    char topic[TOPIC_MAX];

    leaving->told = true;
    for (struct node *node = cluster_nodes(scheduler->cluster); node != NULL; node = node->hh.next)
        leaving->n_left += may_know(node);
    end_after(scheduler, leaving->n_left > 0 ? TELL_MOST_US : LINGER_US);
    for (struct node *node = cluster_nodes(scheduler->cluster); node != NULL;
         node = node->hh.next) {
        (void)snprintf(topic, sizeof topic, "orders/%s", node->name);
        waiters_notify(scheduler, topic);
    }
}

/* The turn stores it together with what came before the signal. */
static void on_known(bool machine_ends, void *userdata)
{
    struct scheduler *scheduler = userdata;
    struct leaving *leaving = &scheduler->leaving;

    leaving->away_us = scheduler->options.away_us[machine_ends];
    leaving->known = true;
    if (leaving->away_us == 0) {
        end(scheduler);
        return;
    }
    log_info("stopping: nodes are told to go on for %.0f s%s",
             (double)leaving->away_us / (double)USEC_PER_SEC,
             machine_ends ? ", for this machine ends as well" : "");
    leaving_go_on(scheduler);
}

void leaving_go_on(struct scheduler *scheduler)
{
    struct leaving *leaving = &scheduler->leaving;

    if (!leaving->known || leaving->told || scheduler->flight != NULL)
        return;
    if (scheduler->degraded.on || scheduler->failed) {
        end(scheduler);
        return;
    }
    if (!leaving->sent) {
        leaving->sent = true;
        cluster_leave(scheduler->cluster, leaving->away_us);
        if (scheduler_turn(scheduler) != 0) {
            if (scheduler->flight == NULL)
                end(scheduler);
            return;
        }
    }
    tell_all(scheduler);
}

void leaving_begin(struct scheduler *scheduler)
{
    struct leaving *leaving = &scheduler->leaving;

    if (leaving->on || scheduler->store == NULL) { /* a standby has told nobody anything */
        end(scheduler);
        return;
    }
    sessions_stop(scheduler); /* before what has changed is stored */
    leaving->on = true;
    machine_ends_ask(scheduler->event, on_known, scheduler, &leaving->asked);
}

void leaving_done(struct leaving *leaving)
{
    leaving->asked = machine_ends_free(leaving->asked);
    leaving->end = sd_event_source_disable_unref(leaving->end);
}

bool leaving_serves(const struct scheduler *scheduler, const struct http_route *route,
                    struct edl_error *error)
{
    if (!scheduler->leaving.on || route->handler == api_node_orders ||
        route->handler == api_session_show) /* for people who ask why theirs has ended */
        return true;
    (void)edl_error_set(error, -EAGAIN, "the scheduler is stopping");
    return false;
}

bool leaving_orders(struct scheduler *scheduler, struct node *node, uint64_t asked_us,
                    json_t *orders)
{
    struct leaving *leaving = &scheduler->leaving;
    uint64_t now_us = clock_read_us(CLOCK_BOOTTIME);

    if (!leaving->told || !may_know(node))
        return false;
    node->told_away = true;
    (void)json_object_set_new(orders, "lease_us",
                              json_integer((json_int_t)(leaving->away_us + now_us - asked_us)));
    if (--leaving->n_left == 0)
        end_after(scheduler, LINGER_US);
    return true;
}
