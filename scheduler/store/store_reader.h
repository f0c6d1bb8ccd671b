/* SPDX-License-Identifier: Apache-2.0 */
/* store_reader.h - a look at the history beside the loop: a connection of its own, for reading
 *
 * Any thread may use one. It sees what was committed when it was opened, and delays no commit.
 * There may be many rows, so each of its calls ends with -ETIMEDOUT once the reader is older than
 * STORE_READER_US. Used by: scheduler/history/reads.c. Tests: tests/unit/test_store_held.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "scheduler/store/store.h"

struct edl_error;
struct reader_source;
struct store_reader;

#define STORE_READER_US (5 * USEC_PER_SEC)

/* store_reader_open - source: of a database that is open for writing elsewhere
 * (store_reader_source). Errors: as store_open, -ENOTCONN */
int store_reader_open(const struct reader_source *source, struct store_reader **ret,
                      struct edl_error *error);
/* store_reader_close - NULL is accepted; returns NULL */
struct store_reader *store_reader_close(struct store_reader *reader);

/* What is looked at: who held what in a window of time. */
struct held_query {
    uint64_t since_us, until_us;
    uint64_t job_id; /* of this job alone; 0: of all */
    bool by_job;     /* owners are jobs, else users */
    bool gpus;       /* amounts are GPUs, else millicores */
};

/* An owner, and how much that was: amount times microseconds. */
struct held_owner {
    const char *user; /* borrowed during the call */
    uint64_t job_id;  /* 0: not by job */
    double total;
};
typedef void (*held_owner_fn)(const struct held_owner *owner, void *userdata);
/* store_reader_owners - all that held something, those with the most first */
int store_reader_owners(struct store_reader *reader, const struct held_query *query,
                        held_owner_fn fn, void *userdata, struct edl_error *error);

struct held_span {
    uint64_t since_us, until_us; /* within the window */
    const char *user;            /* borrowed during the call */
    uint64_t job_id;
    uint32_t role;
    uint64_t processes, amount;
};
typedef void (*held_span_fn)(const struct held_span *span, void *userdata);
/* store_reader_spans - of the window, in no order */
int store_reader_spans(struct store_reader *reader, const struct held_query *query, held_span_fn fn,
                       void *userdata, struct edl_error *error);

/* store_reader_known - since when all spans are there */
int store_reader_known(struct store_reader *reader, uint64_t *ret_us, struct edl_error *error);

/* A resize, and whose. */
struct held_resize {
    struct stored_event event;
    const char *name, *user; /* of the job; "" when it was deleted */
};
typedef void (*held_resize_fn)(const struct held_resize *resize, void *userdata);
/* store_reader_resizes - of the query's window and job, the newest first, at most limit */
int store_reader_resizes(struct store_reader *reader, const struct held_query *query,
                         uint64_t limit, held_resize_fn fn, void *userdata,
                         struct edl_error *error);

/* store_reader_job - the name of a job and its user, "" when it was deleted; the caller's */
int store_reader_job(struct store_reader *reader, uint64_t job_id, char **ret_name, char **ret_user,
                     struct edl_error *error);

/* store_reader_series - as store_series */
int store_reader_series(struct store_reader *reader, uint64_t job_id, store_series_fn fn,
                        void *userdata, struct edl_error *error);
