/* SPDX-License-Identifier: Apache-2.0 */
/* log_places.h - how far a reader has come in the log of each process, and what it misses
 *
 * The server keeps the newest output alone. A reader that falls behind sees by the places of what
 * comes next that something is missing, and gets that from the log on the node. Pure.
 *
 * Used by: cmd_logs.c. Tests: tests/unit/test_log_places.c. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct log_places;

enum log_step {
    LOG_PRINT, /* the lines of the server that were held, and then the text */
    LOG_SKIP,  /* nothing: the reader has it, or it is held until it is known whether it is true */
    LOG_FETCH  /* from the node: bytes of the log from offset on, and no text */
};

struct log_verdict {
    enum log_step step;
    struct log_place *place;
    uint64_t offset, bytes; /* of LOG_FETCH */
    uint64_t dropped;       /* bytes before offset that the node does not keep any more */
};

/* log_places_new - from_start: the reader wants each log from its beginning on; else from what
 * comes first, but for a process that starts again */
struct log_places *log_places_new(bool from_start);
struct log_places *log_places_free(struct log_places *places);

/* log_places_take - what to do about an entry of GET /jobs/{job}/logs */
struct log_verdict log_places_take(struct log_places *places, json_t *entry);

/* log_places_held - an array: the lines of the server that stand before the text of LOG_PRINT, or
 * in the place of what could not be fetched; new reference, and they are held no more */
json_t *log_places_held(const struct log_verdict *verdict);

/* log_places_fetched - what LOG_FETCH asked for was printed, or is as good as that */
void log_places_fetched(const struct log_verdict *verdict);

/* log_places_not_fetched - the reader sees the text of the entry instead, and no more is fetched of
 * this process if its node refuses */
void log_places_not_fetched(const struct log_verdict *verdict, bool refused);
