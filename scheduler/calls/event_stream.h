/* SPDX-License-Identifier: Apache-2.0 */
/* event_stream.h - GET /events as server-sent events: every event once, in order, for as long as
 * the reader listens
 *
 * A stream holds no events: it reads them from the database when its connection takes more, so a
 * slow reader costs one piece of text. When history is compacted before such a reader got to it its
 * stream ends; asked again from where it was it is told so (410). So does the stream of a reader
 * that may read no more: that is asked before every piece, at every beat, and when users or tokens
 * change.
 */
#pragma once

#include <stdint.h>

struct http_request;
struct scheduler;

#define EVENT_STREAMS_MAX 256
#define EVENT_STREAMS_RESERVED 32 /* of them, for admins */
#define EVENT_STREAMS_USER_MAX 32 /* of one user who is none */

/* event_stream_new - answers the request with the events after `after` */
void event_stream_new(struct scheduler *scheduler, struct http_request *request, uint64_t after);

/* event_streams_wake - there are new events in the database, or some reader may no more */
void event_streams_wake(struct scheduler *scheduler);

/* event_streams_end - ends all; the answer to a reader that asks again names the leader */
void event_streams_end(struct scheduler *scheduler);
