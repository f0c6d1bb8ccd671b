/* SPDX-License-Identifier: Apache-2.0 */
/* http_plain.h - the common call to a server on this machine, without libcurl
 *
 * libcurl brings forty libraries along, whose loading takes longer than such a call. Everything
 * that is not common is left to it. */
#pragma once

#include "shared/http_call.h"

/* http_plain_call - blocks; one connection for this call. Over a Unix socket, or, with a small
 * body, http:// to localhost or 127.x.x.x; neither from a file nor to be saved in one.
 * Time in which this process stood still is none of the call's (patience.h). *ret_spent_us: how
 * much of the call's time was spent, 0 when it could not be tried; may be NULL.
 * True: the call was made, *ret is its answer or how it failed, as libcurl would have told it.
 * False: nothing was sent, *ret is as it was: libcurl has to make this call, or to tell what is
 * wrong with it (nobody listens, for one). */
bool http_plain_call(const struct http_base *base, const struct http_call *call,
                     uint64_t *ret_spent_us, struct http_answer *ret);
