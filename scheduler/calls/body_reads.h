/* SPDX-License-Identifier: Apache-2.0 */
/* body_reads.h - large bodies are read beside the loop, before they are handled
 *
 * The worst body within the bounds takes some 10 ms to be read, and many may come at once. So those
 * of more than some KiB wait here: one at a time is read in a thread, nodes first, then the kinds
 * of callers in turn and within a kind the callers (fair.h). The result is set at the request
 * (http_request_set_read), which is then dispatched as if it had just come. A caller who closes the
 * connection, or its half of it, while its body waits is gone, and the body is not read. While a
 * turn is in flight few are read ahead: a document takes more memory than its body.
 *
 * Used by: dispatch.c. Tests: tests/unit/test_body_reads.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "scheduler/calls/dispatch_tier.h"
#include "scheduler/calls/fair.h"

struct body_read;
struct edl_error;
struct http_request;
struct scheduler;
struct worker;

struct body_reads {
    struct fair *waiting[DISPATCH_TIERS]; /* owned */
    struct worker *worker;                /* owned */
    struct body_read *running;            /* owned; NULL: none is being read */
    enum dispatch_tier last;              /* whose turn it was, other than nodes' */
    uint64_t n_read, n_left;              /* callers that left while theirs waited */
};

int body_reads_init(struct scheduler *scheduler, struct edl_error *error);
/* body_reads_done - behind the listeners: no request is left */
void body_reads_done(struct scheduler *scheduler);

/* body_reads_wants - the body is large, and was not read yet */
bool body_reads_wants(const struct http_request *request, enum dispatch_tier tier);

/* body_reads_add - it waits, and dispatch_read is called when it was read; since_us: it waits
 * already. Other than FAIR_TAKEN: the caller, or all, have as many waiting as they may. */
enum fair_answer body_reads_add(struct scheduler *scheduler, struct http_request *request,
                                enum dispatch_tier tier, const char *caller, uint64_t since_us);

/* body_reads_wake - nodes were heard (dispatch_open), or one that was read waits no more: others
 * may be read */
void body_reads_wake(struct scheduler *scheduler);

/* body_reads_most - so many may wait, of one caller or of all */
size_t body_reads_most(enum fair_answer why);
