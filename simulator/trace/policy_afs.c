/* SPDX-License-Identifier: Apache-2.0 */
/* policy_afs.c - AFS-L (NSDI 2021): one more instance to whom it helps most, pair by pair
 *
 * Everybody has one, or the shortest where there are not enough. Then each further one goes to the
 * winner of a knock-out: of two jobs the shorter one wins in one case: its gain relative to
 * its speed is more than the gain of the longer one relative to its speed after the gain. */
#include <math.h>

#include "shared/macro.h"
#include "simulator/trace/policy.h"

struct candidate {
    uint32_t i, now, next; /* next 0: it can take no more */
    double now_s, next_s;  /* remaining, with either */
    /* per instance: what it gains relative to its speed now, and relative to that after the gain */
    double gain_shorter, gain_longer;
};

static void look(const struct view *view, struct candidate *c)
{
    /* the next amount that helps: the first one beyond a node may not, but a second node does */
    c->next = c->now;
    do {
        c->next = view_next(&view->jobs[c->i], c->next);
        c->next_s = c->next != 0 ? view_remaining_s(view, c->i, c->next) : INFINITY;
    } while (c->next != 0 && !(c->next_s < c->now_s));
    c->gain_shorter = (c->now_s / c->next_s - 1) / (c->next - c->now);
    c->gain_longer = (1 - c->next_s / c->now_s) / (c->next - c->now);
}

/* wins - a against b; of two that are as long a is the shorter one */
static inline bool wins(const struct candidate *a, const struct candidate *b)
{
    if (a->now_s <= b->now_s)
        return a->gain_shorter > b->gain_longer;
    return b->gain_shorter <= a->gain_longer;
}

static int by_remaining(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;

    if (x->now_s != y->now_s)
        return x->now_s < y->now_s ? -1 : 1;
    return x->i < y->i ? -1 : x->i > y->i;
}

static int by_submission(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;

    return x->i < y->i ? -1 : x->i > y->i;
}

/* first_ones - to the shortest, while there are some; returns how many candidates got one */
static size_t first_ones(const struct view *view, struct candidate *candidates, uint32_t *left)
{
    size_t n = 0;

    for (size_t i = 0; i < view->n; i++) {
        uint32_t first = view_first(&view->jobs[i]);

        candidates[i] = (struct candidate){ .i = (uint32_t)i,
                                            .now = first,
                                            .now_s = view_remaining_s(view, i, first) };
    }
    qsort(candidates, view->n, sizeof(*candidates), by_remaining);
    for (size_t i = 0; i < view->n; i++)
        if (candidates[i].now <= *left) {
            *left -= candidates[i].now;
            candidates[n++] = candidates[i];
        }
    qsort(candidates, n, sizeof(*candidates), by_submission);
    return n;
}

static void decide(void *state, const struct view *view, struct plan *plan)
{
    struct candidate *candidates = xcalloc(view->n, sizeof(*candidates));
    uint32_t left = view->capacity;
    size_t n = first_ones(view, candidates, &left);

    (void)state;
    plan->placing = PLACE_ALIGNED;
    for (size_t i = 0; i < n && left > 0; i++)
        look(view, &candidates[i]);
    while (left > 0) {
        struct candidate *best = NULL;

        for (size_t i = 0; i < n; i++) {
            struct candidate *c = &candidates[i];

            if (c->next != 0 && c->next - c->now <= left && (best == NULL || !wins(best, c)))
                best = c;
        }
        if (best == NULL)
            break;
        left -= best->next - best->now;
        best->now = best->next;
        best->now_s = best->next_s;
        look(view, best);
    }
    for (size_t i = 0; i < n; i++)
        plan->counts[candidates[i].i] = candidates[i].now;
    free(candidates);
}

const struct trace_policy trace_policy_afs = {
    .name = "afs-l",
    .summary = "one more to whom it helps most, pair by pair",
    .uses = USES_LENGTHS | USES_SPEEDS,
    .decide = decide,
};
