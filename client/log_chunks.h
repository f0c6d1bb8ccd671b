/* SPDX-License-Identifier: Apache-2.0 */
/* log_chunks.h - an answer of a log with times, taken apart as it comes: "OFFSET BYTES TIME_US", a
 * line end, the bytes. Pure.
 *
 * Used by: log_source.c. Tests: tests/unit/test_log_chunks.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOG_CHUNK_HEAD_MAX 80

struct log_chunk {
    uint64_t offset, time_us; /* time_us 0: unknown */
    size_t size;
    bool is_ours; /* a sentence about what is missing, and no part of the log */
    bool is_old;  /* see struct log_piece */
    struct log_chunk *next, *prev;
    char data[];
};

struct log_chunks {
    struct log_chunk *list; /* owned; utlist */
    char head[LOG_CHUNK_HEAD_MAX];
    size_t n_head;
    size_t missing; /* of the last chunk */
    uint64_t next;  /* no byte before this comes any more */
};

/* log_chunks_feed - so many bytes more; -EINVAL: that is no such answer */
int log_chunks_feed(struct log_chunks *chunks, const char *data, size_t size);

/* log_chunks_add - behind the others; the data is copied */
struct log_chunk *log_chunks_add(struct log_chunks *chunks, uint64_t offset, uint64_t time_us,
                                 const char *data, size_t size);

/* log_chunks_drop - the first one */
void log_chunks_drop(struct log_chunks *chunks);
void log_chunks_clear(struct log_chunks *chunks);
