/* SPDX-License-Identifier: Apache-2.0 */
/* idempotency.h - Idempotency-Key: the same request again has the same answer and no second effect
 *
 * For routes with ROUTE_KEYED. An answer is remembered with the effect that it tells of, in one
 * transaction, for a day (store.h says how many). Refusals and forecasts did nothing and are not
 * remembered. Used by: dispatch.c, turn.c. Tests: tests/unit/test_idempotency.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct edl_error;
struct held;
struct http_request;
struct keyed;
struct scheduler;
struct stored_answer;

#define IDEMPOTENCY_KEY_MAX 255

/* idempotency_begin - looks at the request's key before its handler
 * Returns true when nothing is left to do: the request is answered (again, or 400, 422), or waits
 * for the answer of its like in the turn under way. Otherwise the handler is to run, and
 * idempotency_end to be called behind it. */
bool idempotency_begin(struct scheduler *scheduler, struct http_request *request);
void idempotency_end(struct http_request *request);

/* idempotency_take - the handler had an effect, held is to tell of it: from here on it is the
 * answer to the request's key, if it has one */
void idempotency_take(struct held *held);

/* idempotency_seal - the turn is planned: the answers to its keys, to be stored with it. The array
 * is the caller's, its contents are not. */
struct stored_answer *idempotency_seal(struct scheduler *scheduler, size_t *ret_n);

/* idempotency_answer - the turn is committed (error NULL) or failed: answers held's request and
 * those that wait with it, and frees held */
void idempotency_answer(struct held *take_held, const struct edl_error *error);

/* idempotency_free - forgets; accepts NULL */
void idempotency_free(struct keyed *keyed);
