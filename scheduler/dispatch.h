/* SPDX-License-Identifier: Apache-2.0 */
/* dispatch.h - what stands between the HTTP server and the handlers of the route table */
#pragma once

#include <stddef.h>

struct edl_error;
struct http_request;
struct http_route;
struct scheduler;

/* dispatch - http_server_config.dispatch; userdata is the scheduler. Calls the route's handler now,
 * or, when it reads state and a turn is under way, behind that turn's commit. */
void dispatch(struct http_request *request, const struct http_route *route, void *userdata);

/* dispatch_readers - the turn is committed: handles what waited for that */
void dispatch_readers(struct scheduler *scheduler);

/* dispatch_refuse - the turn is not committed: what waited is asked to try again */
void dispatch_refuse(struct scheduler *scheduler);

/* dispatch_n_readers - how many reads wait */
size_t dispatch_n_readers(const struct scheduler *scheduler);

/* dispatch_done - forgets what still waits (the server is gone) */
void dispatch_done(struct scheduler *scheduler);
