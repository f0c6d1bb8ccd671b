/* SPDX-License-Identifier: Apache-2.0 */
/* pushes_print.c - see pushes_print.h */
#include "client/pushes_print.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "shared/cleanup.h"
#include "shared/macro.h"
#include "shared/process_progress.h"

struct row {
    uint64_t cells[PROGRESS_PUSHES_COLUMNS];
};

static int by_trainer(const void *left, const void *right)
{
    static const size_t order[] = { PROGRESS_PUSHES_TRAINER, PROGRESS_PUSHES_SHARD };
    const struct row *a = left, *b = right;

    for (size_t i = 0; i < ELEMENTS(order); i++)
        if (a->cells[order[i]] != b->cells[order[i]])
            return a->cells[order[i]] < b->cells[order[i]] ? -1 : 1;
    return 0;
}

static struct row *rows_of(const json_t *processes, size_t *ret_n)
{
    struct row *rows = NULL;
    size_t i, k, n = 0;
    json_t *process, *told;

    json_array_foreach(processes, i, process)
    {
        const json_t *pushes =
            json_object_get(json_object_get(process, "progress"), PROGRESS_PUSHES);

        rows = xreallocarray(rows, n + json_array_size(pushes) + 1, sizeof *rows);
        json_array_foreach(pushes, k, told)
        {
            for (size_t c = 0; c < PROGRESS_PUSHES_COLUMNS; c++)
                rows[n].cells[c] = (uint64_t)json_integer_value(json_array_get(told, c));
            n++;
        }
    }
    if (n > 0)
        qsort(rows, n, sizeof *rows, by_trainer);
    *ret_n = n;
    return rows;
}

/* add_most - programs say these numbers: a sum that is too large stays at its end */
static uint64_t add_most(uint64_t a, uint64_t b)
{
    uint64_t sum;

    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

/* print_trainer - "trainer-0  120 committed, 3 discarded (server 0: 60, 1; server 1: 60, 2)" */
static void print_trainer(const struct row *rows, size_t n)
{
    uint64_t committed = 0, discarded = 0;

    for (size_t i = 0; i < n; i++) {
        committed = add_most(committed, rows[i].cells[PROGRESS_PUSHES_COMMITTED]);
        discarded = add_most(discarded, rows[i].cells[PROGRESS_PUSHES_DISCARDED]);
    }
    (void)printf("  trainer-%" PRIu64 "  %" PRIu64 " committed, %" PRIu64 " discarded (",
                 rows[0].cells[PROGRESS_PUSHES_TRAINER], committed, discarded);
    for (size_t i = 0; i < n; i++)
        (void)printf("%sserver %" PRIu64 ": %" PRIu64 ", %" PRIu64, i > 0 ? "; " : "",
                     rows[i].cells[PROGRESS_PUSHES_SHARD], rows[i].cells[PROGRESS_PUSHES_COMMITTED],
                     rows[i].cells[PROGRESS_PUSHES_DISCARDED]);
    (void)printf(")\n");
}

void pushes_print(const json_t *processes)
{
    size_t n, next;
    _cleanup_free_ struct row *rows = rows_of(processes, &n);

    if (n > 0)
        (void)printf("\npushes\n");
    for (size_t i = 0; i < n; i = next) {
        for (next = i + 1; next < n && rows[next].cells[PROGRESS_PUSHES_TRAINER] ==
                                           rows[i].cells[PROGRESS_PUSHES_TRAINER];
             next++)
            ;
        print_trainer(rows + i, next - i);
    }
}
