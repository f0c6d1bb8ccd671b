/* SPDX-License-Identifier: Apache-2.0 */
/* far_internal.h - shared by the files of scheduler/store/far only */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "scheduler/store/engine.h"
#include "scheduler/store/far/far.h"
#include "scheduler/store/far/image.h"
#include "scheduler/store/store_internal.h"
#include "scheduler/worker.h"
#include "shared/error.h"

#define FAR_VALUES_MAX 64 /* parameters of a statement */

struct far_rows;

/* A statement of the loop: it is recorded, or its rows come from the reading thread. */
struct far_statement {
    struct prepared prepared; /* the first member */
    int place;                /* enum statement */
    struct far_value values[FAR_VALUES_MAX];
    int n_values;          /* up to the last that was bound */
    struct far_rows *rows; /* far_reads.c: that it stands on; NULL: none */
};

/* What the writing thread leaves with each turn that it stored, for those who ask in the loop. */
struct far_sums {
    struct engine_figures figures;
    uint64_t log_bytes, archived_bytes;
    uint64_t archived[FIGURE_JOB_STATES];
    bool rest, behind; /* store_has_rest, store_is_behind */
};

struct far_turn;
struct far_reads;

struct far {
    struct engine engine; /* the first member: far_engine.c */
    struct far_config config;
    struct store *near;     /* owned; the writing thread's while it is busy */
    struct worker *writing; /* owned */
    struct image *image;    /* borrowed: runs are recorded here; NULL: none may be */
    bool in_flight, probing;
    far_stored_fn stored;
    void *userdata;
    struct edl_error error; /* of the engine's last call */
    int n_prepared;
    struct far_sums sums;    /* of the last turn that was stored */
    struct far_reads *reads; /* owned: far_reads.c */
};

/* far_of - of a far store; NULL: it is near, or NULL */
struct far *far_of(const struct store *store);
struct far *far_of_engine(struct engine *engine);
struct far_statement *far_statement_of(struct prepared *statement);

extern const struct engine_calls far_calls;

/* far_commit - store_commit of a far store: 0, 1 it is in flight, or negative */
int far_commit(struct store *store, const struct turn_records *records, struct edl_error *error);

/* --- far_reads.c: rows from the reading thread --- */

int far_reads_new(sd_event *event, struct far *far, struct far_reads **ret,
                  struct edl_error *error);
struct far_reads *far_reads_free(struct far_reads *reads);

/* far_next - 1 the statement stands on the next row; 0 behind the last; negative, with far->error:
 * -EINPROGRESS is on its way. far_reset - no more of its rows are wanted */
int far_next(struct far *far, struct far_statement *statement);
void far_reset(struct far_statement *statement);
/* of the row that it stands on */
const char *far_text(struct far_statement *statement, int column); /* NULL: the column is NULL */
int64_t far_number(struct far_statement *statement, int column);
double far_real(struct far_statement *statement, int column);
const char *far_name(struct far_statement *statement, int column);
