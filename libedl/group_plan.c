/* SPDX-License-Identifier: Apache-2.0 */
/* group_plan.c - what the ranks of a new generation do first: a pure function of their hellos */
#include "libedl/group_plan.h"

#include <string.h>

unsigned group_cover_count(const struct group_cover *cover)
{
    unsigned n = 0;

    for (unsigned i = 0; i < GROUP_COVER_BYTES; i++)
        n += (unsigned)__builtin_popcount(cover->bits[i]);
    return n;
}

struct group_cover group_share(unsigned rank, unsigned n, unsigned micro_batches)
{
    struct group_cover share = { 0 };

    for (unsigned m = micro_batches * rank / n; m < micro_batches * (rank + 1) / n; m++)
        group_cover_add(&share, m);
    return share;
}

static bool is_newer(const struct group_hello *a, const struct group_hello *b)
{
    return a->identity != b->identity ? a->identity > b->identity : a->applied > b->applied;
}

/* choose_state - the newest one, and the lowest rank that has it */
static void choose_state(const struct group_hello *hellos, unsigned n, struct group_plan *plan)
{
    for (unsigned k = 1; k < n; k++)
        if (is_newer(&hellos[k], &hellos[plan->donor]))
            plan->donor = k;
    plan->identity = hellos[plan->donor].identity;
    plan->applied = hellos[plan->donor].applied;
    for (unsigned k = 0; k < n; k++)
        plan->behind[k] = is_newer(&hellos[plan->donor], &hellos[k]);
}

unsigned group_plan_micro_batches(const struct group_hello *hellos, unsigned n)
{
    struct group_plan plan = { 0 };

    choose_state(hellos, n, &plan);
    return hellos[plan.donor].chosen;
}

static bool overlap(const struct group_cover *a, const struct group_cover *b)
{
    uint8_t both = 0;

    for (unsigned i = 0; i < GROUP_COVER_BYTES; i++)
        both |= a->bits[i] & b->bits[i];
    return both != 0;
}

static bool is_within(const struct group_cover *cover, unsigned micro_batches)
{
    for (unsigned m = micro_batches; m < GROUP_MICRO_BATCHES_MAX; m++)
        if (group_cover_has(cover, m))
            return false;
    return true;
}

/* keep_gradients - whole or not at all: nothing can be taken out of a sum */
static struct group_cover keep_gradients(const struct group_hello *hellos, unsigned n,
                                         unsigned micro_batches, struct group_plan *plan)
{
    struct group_cover kept = { 0 };

    for (unsigned k = 0; k < n; k++) {
        const struct group_hello *h = &hellos[k];

        if (plan->behind[k] || h->gradient_step != plan->applied + 1 ||
            h->micro_batches != micro_batches || !is_within(&h->cover, micro_batches) ||
            overlap(&h->cover, &kept))
            continue;
        plan->keeps[k] = true;
        plan->take[k] = h->cover;
        for (unsigned i = 0; i < GROUP_COVER_BYTES; i++)
            kept.bits[i] |= h->cover.bits[i];
    }
    return kept;
}

void group_plan_make(const struct group_hello *hellos, unsigned n, unsigned micro_batches,
                     struct group_plan *ret)
{
    unsigned load[GROUP_RANKS_MAX];
    struct group_cover kept;

    memset(ret, 0, sizeof *ret);
    choose_state(hellos, n, ret);
    kept = keep_gradients(hellos, n, micro_batches, ret);
    for (unsigned k = 0; k < n; k++) {
        if (group_cover_count(&kept) == 0)
            ret->take[k] = group_share(k, n, micro_batches);
        load[k] = group_cover_count(&ret->take[k]);
    }
    for (unsigned m = 0; group_cover_count(&kept) > 0 && m < micro_batches; m++) {
        unsigned least = 0;

        if (group_cover_has(&kept, m))
            continue;
        for (unsigned k = 1; k < n; k++)
            if (load[k] < load[least])
                least = k;
        load[least]++;
        group_cover_add(&ret->take[least], m);
    }
}
