/* SPDX-License-Identifier: Apache-2.0 */
/* waiters.h - long polls: requests that wait for news of a topic, or for their deadline
 *
 * A topic is a word ("events", "orders/n1", "tasks/7", "logs/7"); waking one costs as much as its
 * own waiters, not all. Of topics for people (events, logs, services) the waking is only noted:
 * each waiter looks when it is its caller's turn (dispatch.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

struct edl_error;
struct held;
struct http_request;
struct scheduler;
struct topic;
struct waiter;

#define TOPIC_MAX 80

struct waiters {
    struct topic *topics; /* uthash by name, owned */
    struct waiter *due;   /* borrowed list: to be polled behind the turn in flight */
};

/* Looks whether there is news. `last`: the deadline came, so it must answer. Takes held and returns
 * true when it answered (held_*), else leaves it alone. */
typedef bool (*waiter_poll_fn)(struct scheduler *scheduler, struct held *held, void *data,
                               bool last);

/* waiters_add - polls at once; waits when that gave nothing. take_data ends with free(). */
void waiters_add(struct scheduler *scheduler, struct held *take_held, const char *topic,
                 uint64_t deadline_us, waiter_poll_fn poll, void *take_data);

/* waiters_add_unpolled - as waiters_add, but the first look is at the topic's next news */
void waiters_add_unpolled(struct scheduler *scheduler, struct held *take_held, const char *topic,
                          uint64_t deadline_us, waiter_poll_fn poll, void *take_data);

/* waiters_add_watched - as waiters_add_unpolled; left: NULL, or called when its client leaves
 * before it is answered, and nobody else waits on the topic */
typedef void (*waiter_left_fn)(struct scheduler *scheduler, const void *data);
void waiters_add_watched(struct scheduler *scheduler, struct held *take_held, const char *topic,
                         uint64_t deadline_us, waiter_poll_fn poll, waiter_left_fn left,
                         void *take_data);

/* waiter_left - the client of a request that waits has left: it waits no more */
void waiter_left(struct waiter *waiter);

/* waiters_notify - polls everything that waits on the topic */
void waiters_notify(struct scheduler *scheduler, const char *topic);

/* waiters_notify_all - polls everything that waits on any topic */
void waiters_notify_all(struct scheduler *scheduler);

/* waiters_refuse_all - answers everything that waits with the error */
void waiters_refuse_all(struct scheduler *scheduler, const struct edl_error *error);

/* waiters_go_on - the turn in flight is stored: polls those whose time came meanwhile */
void waiters_go_on(struct scheduler *scheduler);

/* waiters_recheck - answers waiting callers that may no more (auth_recheck); the others wait on */
void waiters_recheck(struct scheduler *scheduler);

/* waiters_done - forgets all (the server is gone) */
void waiters_done(struct waiters *waiters);
