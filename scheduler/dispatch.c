/* SPDX-License-Identifier: Apache-2.0 */
/* dispatch.c - what stands between the HTTP server and the handlers of the route table
 *
 * From a turn's first change to its commit the core is ahead of the disk. What a read would show
 * then may never have been: the commit can fail. So a read that comes in between is kept, and
 * handled right behind the commit, before anything else can change the core. It asks for no turn
 * and makes no commit of its own: it waits for one that is due anyway. */
#include "scheduler/dispatch.h"

#include <errno.h>
#include <utlist.h>

#include "scheduler/auth.h"
#include "scheduler/idempotency.h"
#include "scheduler/scheduler.h"
#include "shared/error.h"
#include "shared/http_server.h"
#include "shared/macro.h"

/* A read that waits for the commit. */
struct reader {
    struct http_request *request; /* borrowed; NULL once it went away by itself */
    http_handler_fn handler;
    struct reader *next, *prev;
};

static void on_gone(struct http_request *request, void *userdata)
{
    struct reader *reader = userdata;

    (void)request;
    reader->request = NULL;
}

/* Public routes tell nothing of the state: they answer whatever the disk does. */
static bool reads_state(const struct http_route *route)
{
    return streq(route->method, "GET") && (route->flags & ROUTE_PUBLIC) == 0;
}

/* Whether whoever was let in when the headers came may still; else the request is answered. */
static bool may(struct scheduler *scheduler, struct http_request *request)
{
    struct edl_error error = { 0 };

    if (auth_recheck(scheduler, request, &error) == 0)
        return true;
    http_reply_error(request, &error);
    return false;
}

static void handle(struct scheduler *scheduler, struct http_request *request,
                   const struct http_route *route)
{
    if ((route->flags & ROUTE_KEYED) == 0) {
        route->handler(request, scheduler);
    } else if (!idempotency_begin(scheduler, request)) {
        route->handler(request, scheduler);
        idempotency_end(request);
    }
}

static void refuse(struct http_request *request)
{
    struct edl_error error = { 0 };

    (void)edl_error_set(&error, -EAGAIN, "the scheduler is restarting");
    http_reply_error(request, &error);
}

/* Nothing can be stored. What was done before, with that key, is still answered. */
static void refuse_change(struct scheduler *scheduler, struct http_request *request,
                          const struct http_route *route)
{
    bool keyed = (route->flags & ROUTE_KEYED) != 0;

    if (keyed && idempotency_begin(scheduler, request))
        return;
    degraded_refuse(scheduler, request);
    if (keyed)
        idempotency_end(request);
}

void dispatch(struct http_request *request, const struct http_route *route, void *userdata)
{
    struct scheduler *scheduler = userdata;
    struct reader *reader;

    if (scheduler->failed) { /* its headers came before that: auth_check let it pass */
        refuse(request);
        return;
    }
    if (!may(scheduler, request))
        return;
    if (scheduler->degraded.on && !degraded_serves(request, route)) {
        refuse_change(scheduler, request, route);
        return;
    }
    if (!scheduler->turn_wanted || !reads_state(route)) {
        handle(scheduler, request, route);
        return;
    }
    reader = xcalloc(1, sizeof *reader);
    reader->request = request;
    reader->handler = route->handler;
    http_request_defer(request, on_gone, reader);
    DL_APPEND(scheduler->readers, reader);
}

/* Takes the first off the list; NULL when its request went away. */
static struct http_request *take_first(struct scheduler *scheduler, http_handler_fn *ret_handler)
{
    struct reader *reader = scheduler->readers;
    struct http_request *request = reader->request;

    *ret_handler = reader->handler;
    DL_DELETE(scheduler->readers, reader);
    free(reader);
    return request;
}

void dispatch_readers(struct scheduler *scheduler)
{
    /* Should one of them change the core, the rest waits for that turn's commit. */
    while (scheduler->readers != NULL && !scheduler->turn_wanted) {
        http_handler_fn handler;
        struct http_request *request = take_first(scheduler, &handler);

        if (request != NULL && may(scheduler, request))
            handler(request, scheduler);
    }
}

void dispatch_refuse(struct scheduler *scheduler)
{
    while (scheduler->readers != NULL) {
        http_handler_fn handler;
        struct http_request *request = take_first(scheduler, &handler);

        if (request != NULL)
            refuse(request);
    }
}

size_t dispatch_n_readers(const struct scheduler *scheduler)
{
    const struct reader *reader;
    size_t n = 0;

    DL_FOREACH(scheduler->readers, reader)
    n++;
    return n;
}

void dispatch_done(struct scheduler *scheduler)
{
    while (scheduler->readers != NULL) {
        http_handler_fn handler;

        (void)take_first(scheduler, &handler);
    }
}
