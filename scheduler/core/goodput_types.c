/* SPDX-License-Identifier: Apache-2.0 */
/* goodput_types.c - prices by auction, and a choice that fits: goodput_types_search.c makes the
 * best of it */
#include "scheduler/core/goodput_types.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/core/goodput_types_search.h"
#include "shared/macro.h"

#define SLACK 1e-9
/* Of a price, for a demand that is twice the budget: from nothing, from the last prices. */
#define STEP_BEGIN 0.5
#define STEP_KNOWN 0.05
/* Of the tries, the part that moves of one job or two may use up: the rest is for the search. */
#define LOCAL_PART 16

struct way_out {
    size_t at; /* of the job, in order */
    int option;
    double loss_per_bundle;
};

struct division {
    struct goodput_chooser **order; /* owned: by id */
    size_t n;
    struct goodput_type *types; /* borrowed */
    size_t n_types;
    double least_gain;    /* smaller ones are rounding */
    struct way_out *ways; /* owned: room for one of each job */
    int *best;            /* owned: choices of the best one so far, in order */
    double best_value;
    uint64_t tries;
    uint64_t tries_local; /* so many at most before the search */
};

static const struct goodput_option *option_of(const struct goodput_chooser *chooser, int option)
{
    return option < 0 ? NULL : &chooser->options[option];
}

static double value_of(const struct goodput_chooser *chooser, int option)
{
    return option < 0 ? 0 : chooser->options[option].value;
}

static int by_id(const void *left, const void *right)
{
    const struct goodput_chooser *a = *(struct goodput_chooser *const *)left;
    const struct goodput_chooser *b = *(struct goodput_chooser *const *)right;

    return (a->id > b->id) - (a->id < b->id);
}

/* --- the auction ---------------------------------------------------------------------------------
 */

/* What leaves it most; of equal ones what it holds, then the first. */
static int demand_of(const struct division *d, const struct goodput_chooser *chooser,
                     double *ret_surplus)
{
    int best = GOODPUT_NO_OPTION;

    *ret_surplus = 0;
    for (int o = 0; o < chooser->n_options; o++) {
        const struct goodput_option *option = &chooser->options[o];
        double surplus = option->value - d->types[option->type].price * option->cost;

        if (option->cost > d->types[option->type].budget + SLACK)
            continue;
        if (surplus > *ret_surplus || (surplus == *ret_surplus && o == chooser->chosen)) {
            *ret_surplus = surplus;
            best = o;
        }
    }
    return best;
}

/* The demand at these prices, in `used`; the bound that they prove */
static double ask_all(struct division *d)
{
    double bound = 0;

    for (size_t t = 0; t < d->n_types; t++) {
        bound += d->types[t].price * d->types[t].budget;
        d->types[t].used = 0;
    }
    for (size_t i = 0; i < d->n; i++) {
        double surplus;
        const struct goodput_option *option;

        d->order[i]->chosen = demand_of(d, d->order[i], &surplus);
        option = option_of(d->order[i], d->order[i]->chosen);
        bound += surplus;
        if (option != NULL)
            d->types[option->type].used += option->cost;
    }
    return bound;
}

/* A price to begin at: what a bundle of the type is worth on average to those who might use it.
 * How far prices move at first. */
static double begin(struct division *d)
{
    double step = STEP_BEGIN;

    for (size_t t = 0; t < d->n_types; t++) {
        double sum = 0;
        size_t n = 0;

        if (d->types[t].price > 0) {
            step = STEP_KNOWN;
            continue;
        }
        for (size_t i = 0; i < d->n; i++)
            for (int o = 0; o < d->order[i]->n_options; o++) {
                const struct goodput_option *option = &d->order[i]->options[o];

                if (option->type == t) {
                    sum += option->value / option->cost;
                    n++;
                }
            }
        d->types[t].price = n > 0 ? sum / (double)n : 0;
    }
    return step;
}

static void change_prices(struct division *d, double step)
{
    for (size_t t = 0; t < d->n_types; t++) {
        struct goodput_type *type = &d->types[t];
        double over = type->budget > 0 ? (type->used - type->budget) / type->budget : 0;

        type->price *= exp(step * fmin(fmax(over, -1), 1));
    }
}

/* --- a choice that fits --------------------------------------------------------------------------
 */

static bool fits(const struct division *d, const double *used)
{
    for (size_t t = 0; t < d->n_types; t++)
        if (used[t] > d->types[t].budget + SLACK)
            return false;
    return true;
}

static void move(const struct goodput_chooser *chooser, int from, int to, double *used)
{
    const struct goodput_option *a = option_of(chooser, from), *b = option_of(chooser, to);

    if (a != NULL)
        used[a->type] -= a->cost;
    if (b != NULL)
        used[b->type] += b->cost;
}

static void use(const struct division *d, double *ret_used)
{
    memset(ret_used, 0, GOODPUT_TYPES_MAX * sizeof *ret_used);
    for (size_t i = 0; i < d->n; i++)
        move(d->order[i], GOODPUT_NO_OPTION, d->order[i]->chosen, ret_used);
}

static double excess(const struct division *d, const double *used)
{
    double sum = 0;

    for (size_t t = 0; t < d->n_types; t++)
        sum += fmax(used[t] - d->types[t].budget - SLACK, 0);
    return sum;
}

/* The move of one job that loses least for what it frees of what is over; false: it frees nothing
 */
static bool way_out_of(const struct division *d, size_t at, const double *used, double over,
                       struct way_out *ret)
{
    const struct goodput_chooser *chooser = d->order[at];
    const struct goodput_option *now = option_of(chooser, chooser->chosen);

    *ret = (struct way_out){ .at = at, .loss_per_bundle = INFINITY };
    if (now == NULL || used[now->type] <= d->types[now->type].budget + SLACK)
        return false;
    for (int o = GOODPUT_NO_OPTION; o < chooser->n_options; o++) {
        double then[GOODPUT_TYPES_MAX], freed, loss;

        memcpy(then, used, sizeof then);
        move(chooser, chooser->chosen, o, then);
        freed = over - excess(d, then);
        loss = value_of(chooser, chooser->chosen) - value_of(chooser, o);
        if (freed > SLACK && loss / freed < ret->loss_per_bundle) {
            ret->loss_per_bundle = loss / freed;
            ret->option = o;
        }
    }
    return isfinite(ret->loss_per_bundle);
}

static int cheapest_first(const void *left, const void *right)
{
    const struct way_out *a = left, *b = right;

    if (a->loss_per_bundle != b->loss_per_bundle)
        return a->loss_per_bundle < b->loss_per_bundle ? -1 : 1;
    return (a->at > b->at) - (a->at < b->at);
}

/* Whoever loses least for what it frees gives way, until the demand fits. A move is looked at again
 * when its turn comes: others may have freed enough, or taken the room that it was to have. */
static void make_fit(struct division *d, double *used)
{
    double over;

    while ((over = excess(d, used)) > 0) {
        size_t n = 0;

        for (size_t i = 0; i < d->n; i++)
            n += way_out_of(d, i, used, over, &d->ways[n]);
        if (n == 0)
            return;
        qsort(d->ways, n, sizeof *d->ways, cheapest_first);
        for (size_t w = 0; w < n && (over = excess(d, used)) > 0; w++) {
            struct way_out way;

            if (!way_out_of(d, d->ways[w].at, used, over, &way))
                continue;
            move(d->order[way.at], d->order[way.at]->chosen, way.option, used);
            d->order[way.at]->chosen = way.option;
        }
    }
}

/* The type of which more is used than there is; the number of types: none */
static size_t type_over(const struct division *d, const double *used)
{
    size_t t = 0;

    while (t < d->n_types && used[t] <= d->types[t].budget + SLACK)
        t++;
    return t;
}

/* The best partner of a move of `first`, which gains so much: one that makes room for it, or that
 * takes the room it leaves. used: as after that move. */
static bool move_partner(struct division *d, size_t first, double gain, double *used)
{
    size_t over = type_over(d, used);
    struct goodput_chooser *who = NULL;
    double most = d->least_gain - gain;
    int what = GOODPUT_NO_OPTION;

    for (size_t i = 0; i < d->n; i++) {
        struct goodput_chooser *chooser = d->order[i];
        const struct goodput_option *now = option_of(chooser, chooser->chosen);

        if (i == first || (over < d->n_types && (now == NULL || now->type != over)))
            continue;
        for (int o = GOODPUT_NO_OPTION; o < chooser->n_options; o++) {
            double more = value_of(chooser, o) - value_of(chooser, chooser->chosen);
            double then[GOODPUT_TYPES_MAX];

            d->tries++;
            if (more <= most || o == chooser->chosen)
                continue;
            memcpy(then, used, sizeof then);
            move(chooser, chooser->chosen, o, then);
            if (!fits(d, then))
                continue;
            most = more;
            who = chooser;
            what = o;
        }
    }
    if (who == NULL)
        return false;
    move(who, who->chosen, what, used);
    who->chosen = what;
    return true;
}

/* The best move of one job, or a move of two that is for the better; false: there is none */
static bool improve(struct division *d, size_t at, double *used)
{
    struct goodput_chooser *chooser = d->order[at];
    double most = d->least_gain;
    int best = chooser->chosen;

    for (int o = 0; o < chooser->n_options; o++) {
        double then[GOODPUT_TYPES_MAX];
        double gain = value_of(chooser, o) - value_of(chooser, chooser->chosen);

        if (gain <= most)
            continue;
        memcpy(then, used, sizeof then);
        move(chooser, chooser->chosen, o, then);
        if (!fits(d, then))
            continue;
        most = gain;
        best = o;
    }
    if (best != chooser->chosen) {
        move(chooser, chooser->chosen, best, used);
        chooser->chosen = best;
        return true;
    }
    for (int o = GOODPUT_NO_OPTION; o < chooser->n_options; o++) {
        double then[GOODPUT_TYPES_MAX];
        int before = chooser->chosen;

        if (o == before || d->tries > d->tries_local)
            continue;
        memcpy(then, used, sizeof then);
        move(chooser, before, o, then);
        if (!move_partner(d, at, value_of(chooser, o) - value_of(chooser, before), then))
            continue;
        chooser->chosen = o;
        memcpy(used, then, sizeof then);
        return true;
    }
    return false;
}

static double total(const struct division *d)
{
    double sum = 0;

    for (size_t i = 0; i < d->n; i++)
        sum += value_of(d->order[i], d->order[i]->chosen);
    return sum;
}

/* Makes of the demand a choice that fits, and keeps it when it is the best so far. */
static bool finish(struct division *d)
{
    double used[GOODPUT_TYPES_MAX];
    double value;
    bool moved = true;

    use(d, used);
    d->tries += d->n;
    make_fit(d, used);
    if (!fits(d, used))
        return false; /* cannot be: everybody can go to nothing */
    while (moved && d->tries <= d->tries_local) {
        moved = false;
        for (size_t i = 0; i < d->n; i++)
            moved |= improve(d, i, used);
    }
    value = total(d);
    if (value <= d->best_value + d->least_gain)
        return false;
    d->best_value = value;
    for (size_t i = 0; i < d->n; i++)
        d->best[i] = d->order[i]->chosen;
    return true;
}

static void take_best(struct division *d)
{
    for (size_t i = 0; i < d->n; i++)
        d->order[i]->chosen = d->best[i];
}

/* What the local moves did not find. true: there is nothing better */
static bool search(struct division *d, uint64_t tries_max)
{
    struct goodput_search search = { .choosers = d->order,
                                     .n = d->n,
                                     .types = d->types,
                                     .n_types = d->n_types,
                                     .least_gain = d->least_gain,
                                     .best = d->best,
                                     .best_value = d->best_value,
                                     .tries = d->tries,
                                     .tries_max = tries_max };
    bool all = d->tries < tries_max && goodput_types_search(&search);

    d->tries = search.tries;
    d->best_value = search.best_value;
    return all;
}

/* --- both ----------------------------------------------------------------------------------------
 */

static bool is_in_range(const struct goodput_chooser *chooser, size_t n_types)
{
    for (int o = 0; o < chooser->n_options; o++) {
        const struct goodput_option *option = &chooser->options[o];

        if (option->type >= n_types || !(option->cost > 0) || !(option->value > 0) ||
            !isfinite(option->cost) || !isfinite(option->value))
            return false;
    }
    return true;
}

/* Demands of the last rounds differ by a job or two: each is a place to begin from, as long as
 * the local part of the tries lasts. */
static double auction(struct division *d, int rounds, double step_begin)
{
    double prices[GOODPUT_TYPES_MAX];
    double least = INFINITY;

    for (int round = 0; round < rounds; round++) {
        double bound = ask_all(d);
        double step = step_begin / (1 + 0.25 * round);

        if (bound < least) {
            least = bound;
            for (size_t t = 0; t < d->n_types; t++)
                prices[t] = d->types[t].price;
        }
        if ((2 * round >= rounds || round + 1 == rounds) &&
            (d->tries <= d->tries_local || d->best_value < 0)) {
            double used[GOODPUT_TYPES_MAX];

            for (size_t t = 0; t < d->n_types; t++)
                used[t] = d->types[t].used;
            finish(d);
            for (size_t t = 0; t < d->n_types; t++)
                d->types[t].used = used[t];
        }
        change_prices(d, step);
    }
    for (size_t t = 0; t < d->n_types; t++)
        d->types[t].price = prices[t];
    return least;
}

int goodput_types_divide(struct goodput_chooser *choosers, size_t n, struct goodput_type *types,
                         size_t n_types, const struct goodput_effort *effort,
                         struct goodput_auction *ret_auction)
{
    struct division d = { .n = n,
                          .types = types,
                          .n_types = n_types,
                          .least_gain = 1e-12,
                          .best_value = -1,
                          .tries_local = effort->tries / LOCAL_PART };
    double used[GOODPUT_TYPES_MAX];

    if (n_types == 0 || n_types > GOODPUT_TYPES_MAX || effort->rounds < 1)
        return -EINVAL;
    for (size_t i = 0; i < n; i++)
        if (!is_in_range(&choosers[i], n_types))
            return -EINVAL;
    d.order = xcalloc(n, sizeof(struct goodput_chooser *));
    d.best = xcalloc(n, sizeof *d.best);
    for (size_t i = 0; i < n; i++)
        d.best[i] = GOODPUT_NO_OPTION;
    d.ways = xcalloc(n + 1, sizeof *d.ways);
    for (size_t i = 0; i < n; i++)
        d.order[i] = &choosers[i];
    qsort(d.order, n, sizeof(struct goodput_chooser *), by_id);
    ret_auction->bound = auction(&d, effort->rounds, begin(&d));
    if (search(&d, effort->tries))
        ret_auction->bound = fmin(ret_auction->bound, d.best_value + d.least_gain);
    take_best(&d);
    ret_auction->tries = d.tries;
    use(&d, used);
    for (size_t t = 0; t < n_types; t++)
        types[t].used = used[t];
    ret_auction->value = total(&d);
    free(d.order);
    free(d.best);
    free(d.ways);
    return 0;
}
