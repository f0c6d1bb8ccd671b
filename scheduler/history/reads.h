/* SPDX-License-Identifier: Apache-2.0 */
/* reads.h - answers about the history, which may be many rows: made beside the loop
 *
 * A thread reads them with a connection of its own (store_reader.h) and makes the answer, one after
 * the other. So many callers cost the loop nothing, and wait for each other. Used by:
 * api/history.c. Tests: tests/integration/148-page-pictures.sh, tests/unit/test_history.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "scheduler/store/store_reader.h"

struct edl_error;
struct history_read;
struct http_request;
struct job;
struct scheduler;
struct worker;

#define HISTORY_SERIES_MAX 20   /* of an answer; the rest is one more */
#define HISTORY_RESIZES_MAX 500 /* of an answer, the newest */
#define HISTORY_READS_MAX 64    /* that wait; further ones are refused */

struct history_reads {
    struct worker *worker;        /* owned */
    struct history_read *waiting; /* owned list; the first one is being made */
    unsigned n;
    bool ends;
};

int history_reads_init(struct scheduler *scheduler, struct edl_error *error);
void history_reads_done(struct scheduler *scheduler);

/* history_read_allocation - answers who held what: the mean of each of n bins */
void history_read_allocation(struct scheduler *scheduler, struct http_request *request,
                             const struct held_query *query, uint32_t bins);

/* history_read_job - answers how a job went, in so many bins; query: its window and number */
void history_read_job(struct scheduler *scheduler, struct http_request *request,
                      const struct job *job, const struct held_query *query, uint32_t bins);
