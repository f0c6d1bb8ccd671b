/* SPDX-License-Identifier: Apache-2.0 */
/* log_chunks.c - see log_chunks.h
 *
 * An answer is a node's word: a chunk is no longer than nodes make it, and places rise. */
#include "client/log_chunks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "shared/macro.h"

#define CHUNK_MAX_BYTES 65536

static struct log_chunk *append(struct log_chunks *chunks, uint64_t offset, uint64_t time_us,
                                size_t size)
{
    struct log_chunk *chunk = xcalloc(1, sizeof *chunk + size);

    chunk->offset = offset;
    chunk->time_us = time_us;
    chunk->size = size;
    DL_APPEND(chunks->list, chunk);
    return chunk;
}

struct log_chunk *log_chunks_add(struct log_chunks *chunks, uint64_t offset, uint64_t time_us,
                                 const char *data, size_t size)
{
    struct log_chunk *chunk = append(chunks, offset, time_us, size);

    if (size > 0)
        memcpy(chunk->data, data, size);
    return chunk;
}

static int take_head(struct log_chunks *chunks)
{
    unsigned long long offset, size, time_us;
    int end = -1;

    chunks->head[chunks->n_head] = '\0';
    if (chunks->head[0] < '0' || chunks->head[0] > '9' ||
        sscanf(chunks->head, "%llu %llu %llu%n", &offset, &size, &time_us, &end) != 3 ||
        end != (int)chunks->n_head || offset < chunks->next || offset > INT64_MAX ||
        size > CHUNK_MAX_BYTES)
        return -EINVAL;
    (void)append(chunks, offset, time_us, (size_t)size);
    chunks->next = offset + size;
    chunks->missing = (size_t)size;
    chunks->n_head = 0;
    return 0;
}

int log_chunks_feed(struct log_chunks *chunks, const char *data, size_t size)
{
    while (size > 0) {
        size_t n = MIN_OF(size, chunks->missing);

        if (n > 0) {
            struct log_chunk *last = chunks->list->prev;

            memcpy(last->data + last->size - chunks->missing, data, n);
            chunks->missing -= n;
        } else if (*data == '\n') {
            if (take_head(chunks) < 0)
                return -EINVAL;
            n = 1;
        } else if (chunks->n_head + 1 < sizeof chunks->head) {
            chunks->head[chunks->n_head++] = *data;
            n = 1;
        } else {
            return -EINVAL;
        }
        data += n;
        size -= n;
    }
    return 0;
}

void log_chunks_drop(struct log_chunks *chunks)
{
    struct log_chunk *first = chunks->list;

    DL_DELETE(chunks->list, first);
    free(first);
}

void log_chunks_clear(struct log_chunks *chunks)
{
    while (chunks->list != NULL)
        log_chunks_drop(chunks);
    *chunks = (struct log_chunks){ 0 };
}
