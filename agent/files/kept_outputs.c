/* SPDX-License-Identifier: Apache-2.0 */
/* kept_outputs.c - see kept_outputs.h */
#include "agent/files/kept_outputs.h"

#include <stdlib.h>
#include <string.h>

#include "shared/cleanup.h"
#include "shared/macro.h"

/* Those of one account, which are beside each other in the list, the oldest first. */
struct holder {
    size_t next, end; /* next: the oldest that stays */
    uint64_t bytes;
};

static int by_owner_and_age(const void *a, const void *b)
{
    const struct kept_output *one = a, *other = b;

    if (one->owner != other->owner)
        return one->owner < other->owner ? -1 : 1;
    if (one->ended_us != other->ended_us)
        return one->ended_us < other->ended_us ? -1 : 1;
    return strcmp(one->name, other->name);
}

uint64_t kept_outputs_most(const struct kept_bounds *bounds, uint64_t kept_bytes,
                           uint64_t free_bytes)
{
    uint64_t half = kept_bytes / 2 + free_bytes / 2;

    return MIN_OF(bounds->max_bytes, half);
}

/* What a sweep of an earlier version noted may lie ahead: that makes none older than it is. */
static void end_old(struct kept_output *list, size_t n, uint64_t keep_us, uint64_t now_us)
{
    for (size_t i = 0; i < n; i++)
        list[i].goes = now_us >= list[i].ended_us && now_us - list[i].ended_us >= keep_us;
}

static size_t find_holders(const struct kept_output *list, size_t n, struct holder *holders,
                           uint64_t *ret_bytes)
{
    size_t n_holders = 0;

    *ret_bytes = 0;
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || list[i].owner != list[i - 1].owner)
            holders[n_holders++] = (struct holder){ .next = i };
        holders[n_holders - 1].end = i + 1;
        if (!list[i].goes) {
            holders[n_holders - 1].bytes += list[i].bytes;
            *ret_bytes += list[i].bytes;
        }
    }
    return n_holders;
}

static struct holder *largest_of(struct holder *holders, size_t n)
{
    struct holder *largest = NULL;

    for (size_t i = 0; i < n; i++)
        if (largest == NULL || holders[i].bytes > largest->bytes)
            largest = &holders[i];
    return largest;
}

/* drop_oldest - returns how much that was; holder has some */
static uint64_t drop_oldest(struct kept_output *list, struct holder *holder)
{
    while (list[holder->next].goes)
        holder->next++;
    list[holder->next].goes = true;
    holder->bytes -= list[holder->next].bytes;
    return list[holder->next].bytes;
}

void kept_outputs_choose(struct kept_output *list, size_t n, const struct kept_bounds *bounds,
                         uint64_t now_us, uint64_t free_bytes)
{
    _cleanup_free_ struct holder *holders = xcalloc(n, sizeof *holders);
    uint64_t bytes, most;
    size_t n_holders;

    if (n == 0)
        return;
    qsort(list, n, sizeof *list, by_owner_and_age);
    end_old(list, n, bounds->keep_us, now_us);
    n_holders = find_holders(list, n, holders, &bytes);
    most = kept_outputs_most(bounds, bytes, free_bytes);
    while (bytes > most)
        bytes -= drop_oldest(list, largest_of(holders, n_holders));
}
