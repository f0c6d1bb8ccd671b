/* SPDX-License-Identifier: Apache-2.0 */
/* log_places.h - how far a reader has come in the log of each process
 *
 * The server keeps the newest output alone. A reader that falls behind sees by the place of the
 * next entry that bytes are missing, and gets them from the log on the node. Pure.
 *
 * Used by: job_logs.c. Tests: tests/unit/test_log_places.c. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct log_places;

enum log_step {
    LOG_PRINT, /* the text: it goes on where the reader is */
    LOG_SKIP,  /* nothing: the reader has it, or it is a line of the server's */
    LOG_FETCH  /* the bytes of the log from offset up to end */
};

struct log_verdict {
    enum log_step step;
    uint64_t offset, end; /* of LOG_FETCH */
};

struct log_places *log_places_new(void);
struct log_places *log_places_free(struct log_places *places);

/* log_places_set - the reader has what is before this place. Of a process that nothing is set of it
 * has nothing. */
void log_places_set(struct log_places *places, const char *role, uint64_t index,
                    uint64_t incarnation, uint64_t at);

/* log_places_take - what to do about an entry of GET /jobs/{job}/logs. Behind that the reader has
 * it. */
struct log_verdict log_places_take(struct log_places *places, const json_t *entry);
