/* SPDX-License-Identifier: Apache-2.0 */
/* server_watch.c - see server_watch.h */
#include "client/server_watch.h"

#include "shared/macro.h"

static uint32_t bit(unsigned at)
{
    return UINT32_C(1) << at;
}

void server_watch_call(struct server_watch *watch, unsigned n, unsigned current)
{
    watch->n = n;
    watch->current = current;
    watch->turn = 0;
    watch->looking = 0;
    watch->unheard = false;
    watch->named = 0;
}

void server_watch_answered(struct server_watch *watch, bool is_stranger)
{
    watch->strangers &= ~bit(watch->current);
    if (is_stranger)
        watch->strangers |= bit(watch->current);
}

uint32_t server_watch_due(struct server_watch *watch, uint64_t *ret_next_us)
{
    uint32_t all = bit(watch->n) - 1, due;
    unsigned turn = ++watch->turn;

    if (turn < watch->n)
        due = bit((watch->current + turn) % watch->n);
    else
        due = all & ~bit(watch->current);
    if (turn == 1 || watch->unheard) /* it may be well, and the call a long one */
        due |= bit(watch->current);
    due &= ~watch->looking;
    watch->looking |= due;
    watch->named = 0;
    *ret_next_us = turn + 1 < watch->n ? WATCH_STEP_US : WATCH_AGAIN_US;
    return due;
}

static bool is_of_a_successor(const struct server_watch *watch, const struct server_word *word)
{
    if ((watch->led & bit(watch->current)) == 0)
        return true;
    return word->term > watch->term[watch->current];
}

/* is_silent - the one that the call is at, from the first look to the one that comes again */
static bool is_silent(const struct server_watch *watch)
{
    return watch->turn >= watch->n && (watch->looking & bit(watch->current)) != 0;
}

struct server_step server_watch_heard(struct server_watch *watch, unsigned at,
                                      const struct server_word *word)
{
    struct server_step step = { 0 };

    watch->looking &= ~bit(at);
    if (at == watch->current)
        watch->unheard = word == NULL;
    if (word == NULL)
        return step;
    if ((watch->strangers & bit(at)) != 0) {
        step.moves = word->leads && is_silent(watch);
        step.to = at;
        return step;
    }
    if (!word->leads) {
        if (word->named < watch->n && word->named != watch->current)
            step.looks = bit(word->named) & ~watch->looking & ~watch->named;
        watch->looking |= step.looks;
        watch->named |= step.looks; /* two may name each other */
        return step;
    }
    if (word->term < watch->highest)
        return step;
    step.moves = at != watch->current && is_of_a_successor(watch, word);
    step.to = at;
    watch->led |= bit(at);
    watch->term[at] = word->term;
    watch->highest = word->term;
    return step;
}
