/* SPDX-License-Identifier: Apache-2.0 */
/* arena.c - places in one block of memory for pieces that live for a while each */
#include "trainer/network/arena.h"

#include <stdlib.h>

#include "shared/macro.h"

#define ALIGNMENT 64u

static int by_size(const void *a, const void *b)
{
    const struct arena_piece *x = *(const struct arena_piece *const *)a;
    const struct arena_piece *y = *(const struct arena_piece *const *)b;

    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return x->born != y->born ? (x->born < y->born ? -1 : 1) : (x < y ? -1 : x > y);
}

static int by_offset(const void *a, const void *b)
{
    const struct arena_piece *x = *(const struct arena_piece *const *)a;
    const struct arena_piece *y = *(const struct arena_piece *const *)b;

    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* The lowest gap between those that are alive in the piece's time. */
static size_t lowest(const struct arena_piece *piece, struct arena_piece *const *placed,
                     size_t n_placed, struct arena_piece **alive)
{
    size_t n = 0, offset = 0;

    for (size_t i = 0; i < n_placed; i++)
        if (placed[i]->bytes > 0 && placed[i]->born <= piece->dead &&
            piece->born <= placed[i]->dead)
            alive[n++] = placed[i];
    qsort(alive, n, sizeof(struct arena_piece *), by_offset);
    for (size_t i = 0; i < n; i++) {
        if (alive[i]->offset >= offset + piece->bytes)
            break;
        offset = MAX_OF(offset, alive[i]->offset + alive[i]->bytes);
    }
    return offset;
}

size_t arena_lay(struct arena_piece *pieces, size_t n)
{
    struct arena_piece **sorted = xcalloc(n, sizeof(struct arena_piece *));
    struct arena_piece **alive = xcalloc(n, sizeof(struct arena_piece *));
    size_t total = 0;

    for (size_t i = 0; i < n; i++) {
        pieces[i].bytes = (pieces[i].bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        sorted[i] = &pieces[i];
    }
    qsort(sorted, n, sizeof(struct arena_piece *), by_size);
    for (size_t i = 0; i < n; i++) {
        sorted[i]->offset = lowest(sorted[i], sorted, i, alive);
        total = MAX_OF(total, sorted[i]->offset + sorted[i]->bytes);
    }
    free(sorted);
    free(alive);
    return total;
}
