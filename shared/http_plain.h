/* SPDX-License-Identifier: Apache-2.0 */
/* http_plain.h - the common call to a server on this machine, without libcurl
 *
 * libcurl brings forty libraries along, whose loading takes longer than such a call. Everything
 * that is not common is left to it. */
#pragma once

#include "shared/http_call.h"
#include "shared/http_parse.h"

/* http_plain_call - blocks; one connection for this call. Over a Unix socket, or, with a small
 * body, http:// to localhost or 127.x.x.x; neither from a file nor to be saved in one.
 * Time in which this process stood still is none of the call's (patience.h). *ret_spent_us: how
 * much of the call's time was spent, 0 when it could not be tried; may be NULL.
 * True: the call was made, *ret is its answer or how it failed, as libcurl would have told it.
 * False: nothing was sent, *ret is as it was: libcurl has to make this call, or to tell what is
 * wrong with it (nobody listens, for one). */
bool http_plain_call(const struct http_base *base, const struct http_call *call,
                     uint64_t *ret_spent_us, struct http_answer *ret);

/* One call under way, for a caller that has a poll loop: nothing here blocks. */
struct http_plain {
    const struct http_base *base; /* borrowed */
    int fd;                       /* to be polled for `events` */
    short events;
    char *request; /* owned */
    size_t size, n_sent;
    struct http_parse parse;
};

/* http_plain_begin - the connection is made; clear the exchange in any case. Negative: nothing
 * was sent, as nobody listens (-ECONNREFUSED, -ENOENT), its queue is full (-EAGAIN), or the call is
 * none that http_plain_call makes (-EINVAL). */
int http_plain_begin(struct http_plain *exchange, const struct http_base *base,
                     const struct http_call *call);
/* http_plain_go_on - what can be done without a wait; -EAGAIN: poll; else 0, and *ret is the
 * answer, or how the call failed. */
int http_plain_go_on(struct http_plain *exchange, struct http_answer *ret);
void http_plain_clear(struct http_plain *exchange);
