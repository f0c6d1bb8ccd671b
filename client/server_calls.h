/* SPDX-License-Identifier: Apache-2.0 */
/* server_calls.h - a call to one of several schedulers, which moves to the one that leads
 *
 * A scheduler that stands still, or whose machine is off, answers nothing for long: while a call
 * waits, the others are looked at (server_watch.h). What changes something is sent again with its
 * key only, so it is done once. */
#pragma once

#include <stdbool.h>

struct http_answer;
struct http_call;
struct server;
struct server_calls;

/* server_calls_make - blocks, as http_client_call does; server->current is where it was answered.
 * may_again: it may be made twice. ret_answer is always valid. */
void server_calls_make(struct server *server, const struct http_call *call, bool may_again,
                       struct http_answer *ret_answer);

/* server_calls_free - its connections; accepts NULL, returns NULL */
struct server_calls *server_calls_free(struct server_calls *calls);
