/* SPDX-License-Identifier: Apache-2.0 */
/* store_sums.h - numbers of the newest rows, and sums: a store knows them without reading
 *
 * Read once, and counted on with each turn: the rows of a turn get their numbers in
 * store_write_records, and store_write_rest counts the rows that came and went. After a turn that
 * failed they are void, and are read again. Sums that are long in the making have rows of their
 * own, which the turn that changes them writes.
 *
 * Used by: store. Tests: tests/unit/test_store_sums.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uthash.h>

#include "scheduler/core/model/figures.h"
#include "scheduler/store/store.h"

struct prepared;
struct span_now;

/* The last ones that were given. */
struct store_numbers {
    uint64_t event, answer, audit, family; /* of store_write_records */
    uint64_t token, notice;                /* the highest ones; their makers count */
    uint64_t document, held;               /* of store_write_rest */
};

struct user_sum {
    char *user; /* owned */
    uint64_t n, bytes;
    bool changed; /* and not written; where sums have rows */
    UT_hash_handle hh;
};

/* Rows and their bytes, of each user and of all. */
struct user_sums {
    struct user_sum *users; /* owned */
    uint64_t n, bytes;
    bool have_rows; /* one of nothing stays until it is written */
};

/* user_sums_add, user_sums_take - take: of rows that were added */
void user_sums_add(struct user_sums *sums, const char *user, uint64_t n, uint64_t bytes);
void user_sums_take(struct user_sums *sums, const char *user, uint64_t n, uint64_t bytes);
void user_sums_clear(struct user_sums *sums);
/* user_sums_most - whose rows, or bytes, are the most; of two the first by name. NULL: nobody has
 * any */
const struct user_sum *user_sums_most(const struct user_sums *sums, bool by_bytes);

/* Revisions that a restored history skipped: those between. */
struct event_gap {
    uint64_t last, next_first;
};

/* A look for rows older than keep_us is dear, and most find nothing: then it rests for a while.
 * store_rests - until then. store_rest_from - a look found nothing (more); oldest_us: of those that
 * stay
 */
#define STORE_REST_US (60 * USEC_PER_SEC)
bool store_rests(uint64_t until_us, uint64_t keep_us, uint64_t now_us);
uint64_t store_rest_from(uint64_t keep_us, uint64_t oldest_us, uint64_t now_us);

struct store_sums {
    bool known;
    struct user_sums answers;
    struct user_sums audit; /* once there may be too many */
    bool audit_known;
    uint64_t audit_first, audit_last; /* numbers of lines that there are, or above and below it */
    struct user_sums archive;         /* bytes: with those of documents */
    uint64_t archived[FIGURE_JOB_STATES];
    bool archived_changed[FIGURE_JOB_STATES];
    uint64_t log_bytes; /* of kept ends of logs */
    struct event_bounds events;
    struct event_gap *gaps; /* owned; rising */
    size_t n_gaps;
    struct span_now *spans;    /* owned: store_held.c */
    uint64_t epoch, first_job; /* of the newest epoch; 0: there is none, or it does not say */
    uint64_t answers_rest_us, audit_rests_us, events_rest_us, archive_rests_us; /* until then */
};
