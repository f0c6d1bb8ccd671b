/* SPDX-License-Identifier: Apache-2.0 */
/* task_parts.c - the chunks of every task of a queue, in blocks */
#include "scheduler/core/base/task_parts.h"

#include <stdlib.h>
#include <string.h>

#include "scheduler/core/base/task_queue.h"
#include "shared/macro.h"

/* Blocks grow with the queue. */
#define BLOCK_BYTES_LEAST ((size_t)512)
#define BLOCK_BYTES_MOST ((size_t)64 << 10)

struct block {
    struct block *next;
    size_t used, size;
    _Alignas(struct task_chunk) char data[];
};

struct task_parts {
    uint32_t refs;
    uint64_t bytes;
    struct block *blocks; /* owned list; the first has room */
    const char *path;     /* borrowed: the last one, which the next chunk often has too */
};

struct task_parts *task_parts_new(void)
{
    struct task_parts *parts = xcalloc(1, sizeof *parts);

    parts->refs = 1;
    return parts;
}

struct task_parts *task_parts_ref(struct task_parts *parts)
{
    parts->refs++;
    return parts;
}

int task_parts_is_shared(const struct task_parts *parts)
{
    return parts->refs > 1;
}

void task_parts_unref(struct task_parts *parts)
{
    struct block *block, *next;

    if (--parts->refs > 0)
        return;
    for (block = parts->blocks; block != NULL; block = next) {
        next = block->next;
        free(block);
    }
    free(parts);
}

static void *take(struct task_parts *parts, size_t size)
{
    struct block *block = parts->blocks;
    size_t whole = (size + _Alignof(struct task_chunk) - 1) & ~(_Alignof(struct task_chunk) - 1);

    if (block == NULL || block->size - block->used < whole) {
        size_t usual =
            block != NULL ? MIN_OF(2 * block->size, BLOCK_BYTES_MOST) : BLOCK_BYTES_LEAST;

        block = xcalloc(1, sizeof *block + MAX_OF(whole, usual));
        block->size = MAX_OF(whole, usual);
        block->next = parts->blocks;
        parts->blocks = block;
    }
    block->used += whole;
    parts->bytes += whole;
    return block->data + block->used - whole;
}

static const char *add_path(struct task_parts *parts, const char *path)
{
    size_t size = strlen(path) + 1;

    if (parts->path == NULL || !streq(parts->path, path))
        parts->path = memcpy(take(parts, size), path, size);
    return parts->path;
}

const struct task_chunk *task_parts_add(struct task_parts *parts, const struct task_chunk *chunks,
                                        uint32_t n)
{
    struct task_chunk *copy = take(parts, n * sizeof *copy);

    for (uint32_t i = 0; i < n; i++) {
        copy[i] = chunks[i];
        copy[i].path = add_path(parts, chunks[i].path);
    }
    return copy;
}

uint64_t task_parts_bytes(const struct task_parts *parts)
{
    return parts->bytes;
}
