/* SPDX-License-Identifier: Apache-2.0 */
/* push_counts.c - see push_counts.h */
#include "scheduler/nodes/push_counts.h"

#include "shared/cleanup.h"
#include "shared/macro.h"
#include "shared/process_progress.h"

struct push_count {
    uint64_t shard, trainer;
    uint64_t pushes[PUSHES_KINDS];
};

static int compare(const void *left, const void *right)
{
    const struct push_count *a = left, *b = right;

    if (a->shard != b->shard)
        return a->shard < b->shard ? -1 : 1;
    return a->trainer == b->trainer ? 0 : a->trainer < b->trainer ? -1 : 1;
}

static uint64_t cell(const json_t *row, size_t column)
{
    return (uint64_t)json_integer_value(json_array_get(row, column));
}

/* raise_to - pushes to at least this much; what that adds goes from *most to sums */
static void raise_to(struct push_count *count, const uint64_t pushes[PUSHES_KINDS], uint64_t *most,
                     uint64_t sums[PUSHES_KINDS])
{
    for (size_t k = 0; k < PUSHES_KINDS; k++) {
        uint64_t more;

        if (pushes[k] <= count->pushes[k])
            continue;
        more = MIN_OF(pushes[k] - count->pushes[k], *most);
        *most -= more;
        sums[k] += more;
        count->pushes[k] = pushes[k];
    }
}

/* read_rows - sorted; the caller frees them */
static struct push_count *read_rows(const json_t *rows)
{
    struct push_count *told = xcalloc(json_array_size(rows), sizeof *told);
    size_t i;
    json_t *row;

    json_array_foreach(rows, i, row)
    {
        told[i] = (struct push_count){ .shard = cell(row, PROGRESS_PUSHES_SHARD),
                                       .trainer = cell(row, PROGRESS_PUSHES_TRAINER),
                                       .pushes = { cell(row, PROGRESS_PUSHES_COMMITTED),
                                                   cell(row, PROGRESS_PUSHES_DISCARDED) } };
    }
    qsort(told, json_array_size(rows), sizeof *told, compare);
    return told;
}

/* Both are sorted: one walk through them, however many rows there are. */
void push_counts_take(struct push_counts *counts, const json_t *rows, uint64_t most,
                      uint64_t sums[PUSHES_KINDS])
{
    const size_t n_told = json_array_size(rows);
    _cleanup_free_ struct push_count *told = NULL;
    struct push_count *items;
    size_t room = PROGRESS_PUSHES_MAX - counts->n, at = 0, n = 0;

    if (n_told == 0)
        return;
    told = read_rows(rows);
    items = xcalloc(counts->n + MIN_OF(n_told, room), sizeof *items);
    for (size_t i = 0; i < n_told; i++) {
        while (at < counts->n && compare(&counts->items[at], &told[i]) <= 0)
            items[n++] = counts->items[at++];
        if (n == 0 || compare(&items[n - 1], &told[i]) != 0) {
            if (room == 0)
                continue;
            room--;
            items[n++] = counts->counted_before ? told[i]
                                                : (struct push_count){ .shard = told[i].shard,
                                                                       .trainer = told[i].trainer };
        }
        raise_to(&items[n - 1], told[i].pushes, &most, sums);
    }
    while (at < counts->n)
        items[n++] = counts->items[at++];
    free(counts->items);
    counts->items = items;
    counts->n = n;
}

void push_counts_done(struct push_counts *counts)
{
    free(counts->items);
    *counts = (struct push_counts){ 0 };
}
