/* SPDX-License-Identifier: Apache-2.0 */
/* goodput_index.c - the division of a budget, event by event
 *
 * Of one job the segments that are bought are its first ones, because their worth falls: how many
 * is all that is kept. What the cut leaves is given to few jobs ("extras"), which are forgotten at
 * the next settlement. */
#include "scheduler/core/goodput_index.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>
#include <utlist.h>

#include "scheduler/core/goodput_buckets.h"
#include "scheduler/core/goodput_ranks.h"
#include "scheduler/core/goodput_weights.h"
#include "shared/macro.h"

const struct goodput_index_tuning goodput_index_tuning = { .drift = 0.05,
                                                           .sweep = 16,
                                                           .looks = 256 };

struct step {
    int point;    /* reached at its end */
    double slope; /* before the weight */
};

struct item {
    struct goodput_rank rank; /* first: a rank's item */
    struct goodput_request request;
    struct goodput_lot *lots; /* owned */
    struct step *steps;       /* owned: what each lot is of */
    int n_lots, cap_lots;
    int n_bought;
    int base; /* point that it holds in any case */
    int64_t base_units;
    int extra;          /* point that the rest of the budget gave it, or GOODPUT_NO_POINT */
    int told;           /* target at the last settlement */
    bool is_new;        /* never told */
    bool touched;       /* in the list of those to be told */
    uint64_t closed_in; /* settlement in which it got of the rest what it can use */
    double weighed_at;  /* sum of the weights before it then */
    double remaining_s, a;
    struct item *touched_next, *extra_next;
    struct item *prev, *next; /* of all, in the order in which they came */
    UT_hash_handle hh;
};

struct goodput_index {
    struct goodput_options options;
    struct goodput_index_tuning tuning;
    struct goodput_buckets buckets;
    struct goodput_ranks ranks;
    struct item *by_id;   /* k: id -> v: item, owned */
    struct item *all;     /* the same, in a ring that the sweep goes round */
    struct item *sweep;   /* borrowed: whose turn it is */
    struct item *touched; /* borrowed list */
    struct item *extras;  /* borrowed list */
    struct goodput_line line;
    int64_t budget, base_units, left;
    uint32_t looks;
    uint64_t settlement; /* counted */
};

struct goodput_index *goodput_index_new(const struct goodput_options *options,
                                        const struct goodput_index_tuning *tuning, double budget)
{
    struct goodput_index *index = xcalloc(1, sizeof *index);

    index->options = *options;
    index->options.weights = GOODPUT_WEIGHTS_RANK;
    index->tuning = *tuning;
    index->budget = goodput_units(budget);
    goodput_ranks_init(&index->ranks);
    return index;
}

static void free_item(struct item *item)
{
    free(item->lots);
    free(item->steps);
    free(item);
}

struct goodput_index *goodput_index_free(struct goodput_index *index)
{
    struct item *item, *next;

    if (index == NULL)
        return NULL;
    HASH_ITER(hh, index->by_id, item, next)
    {
        HASH_DEL(index->by_id, item);
        free_item(item);
    }
    goodput_buckets_done(&index->buckets);
    free(index);
    return NULL;
}

void goodput_index_set_budget(struct goodput_index *index, double budget)
{
    index->budget = goodput_units(budget);
}

static struct item *item_of(const struct goodput_index *index, uint64_t id)
{
    struct item *item;

    HASH_FIND(hh, index->by_id, &id, sizeof id, item);
    return item;
}

static void touch(struct goodput_index *index, struct item *item)
{
    if (item->touched)
        return;
    item->touched = true;
    LL_PREPEND2(index->touched, item, touched_next);
}

static int bought_point(const struct item *item)
{
    return item->n_bought > 0 ? item->steps[item->n_bought - 1].point : item->base;
}

static int target_of(const struct item *item)
{
    return item->extra != GOODPUT_NO_POINT ? item->extra : bought_point(item);
}

/* --- what one job brings ------------------------------------------------------------------------
 */

static void values_of(const struct goodput_index *index, const struct item *item, double *ret)
{
    const struct goodput_options *options = &index->options;
    struct goodput_change change = { .current = item->request.current,
                                     .remaining_s = item->remaining_s,
                                     .resize_s = item->request.resize_s,
                                     .horizon_s = options->horizon_s,
                                     .floor = options->change_floor };

    goodput_curve_values(item->request.curve, options->q, &change, ret);
}

static void withdraw(struct goodput_index *index, struct item *item)
{
    for (int i = 0; i < item->n_lots; i++)
        goodput_buckets_remove(&index->buckets, &item->lots[i]);
}

static void make_lots(struct goodput_index *index, struct item *item)
{
    double values[GOODPUT_POINTS_MAX];
    struct goodput_hull hull;

    values_of(index, item, values);
    goodput_hull_of(item->request.curve, values, item->base, &hull);
    if (hull.n > item->cap_lots) {
        item->cap_lots = hull.n;
        item->lots = xreallocarray(item->lots, (size_t)hull.n, sizeof *item->lots);
        item->steps = xreallocarray(item->steps, (size_t)hull.n, sizeof *item->steps);
    }
    item->n_lots = hull.n;
    for (int i = 0; i < hull.n; i++) {
        item->steps[i] = (struct step){ hull.segments[i].point, goodput_slope(&hull.segments[i]) };
        item->lots[i] = (struct goodput_lot){ .owner = item,
                                              .id = item->request.id,
                                              .units = goodput_units(hull.segments[i].cost),
                                              .bucket = -1,
                                              .at = i };
    }
}

static double weight_of(const struct goodput_index *index, const struct item *item, double before)
{
    const struct goodput_options *options = &index->options;
    double a = goodput_rank_weight(before, item->request.priority_weight, options->rank_p);

    return (options->beta == 1 ? a : pow(a, options->beta)) *
           goodput_fairness_boost(item->request.rho, options->fairness_gain);
}

/* What of it lies above the line: the sums tell how far the budget goes, the line whose it is. */
static void count_bought(struct goodput_index *index, struct item *item)
{
    item->n_bought = 0;
    while (item->n_bought < item->n_lots &&
           goodput_is_above(&item->lots[item->n_bought], &index->line))
        item->n_bought++;
    touch(index, item);
}

static void weigh(struct goodput_index *index, struct item *item, double before)
{
    double a = weight_of(index, item, before);

    withdraw(index, item);
    for (int i = 0; i < item->n_lots; i++) {
        item->lots[i].worth = a * item->steps[i].slope;
        goodput_buckets_add(&index->buckets, &item->lots[i]);
    }
    item->a = a;
    item->weighed_at = before;
    count_bought(index, item);
}

void goodput_index_put(struct goodput_index *index, const struct goodput_request *request)
{
    struct item *item = item_of(index, request->id);
    const struct goodput_options *options = &index->options;

    if (item == NULL) {
        item = xcalloc(1, sizeof *item);
        item->request.id = request->id;
        item->extra = GOODPUT_NO_POINT;
        item->is_new = true;
        HASH_ADD(hh, index->by_id, request.id, sizeof item->request.id, item);
        DL_APPEND(index->all, item);
    } else {
        withdraw(index, item);
        index->base_units -= item->base_units;
        goodput_ranks_remove(&index->ranks, &item->rank);
    }
    item->request = *request;
    item->base = MAX_OF(request->required, options->no_floors ? GOODPUT_NO_POINT : 0);
    item->remaining_s = goodput_remaining(&options->levels, &request->work);
    item->rank.length = goodput_length(request->curve, item->remaining_s, request->priority_weight);
    item->rank.id = request->id;
    item->rank.weight = request->priority_weight;
    goodput_ranks_add(&index->ranks, &item->rank);
    item->base_units = item->base < 0 ? 0 : goodput_units(request->curve->points[item->base].cost);
    index->base_units += item->base_units;
    make_lots(index, item);
    weigh(index, item, goodput_ranks_before(&index->ranks, &item->rank).weight);
}

void goodput_index_drop(struct goodput_index *index, uint64_t id)
{
    struct item *item = item_of(index, id);

    if (item == NULL)
        return;
    withdraw(index, item);
    index->base_units -= item->base_units;
    goodput_ranks_remove(&index->ranks, &item->rank);
    if (item->touched)
        LL_DELETE2(index->touched, item, touched_next);
    if (item->extra != GOODPUT_NO_POINT)
        LL_DELETE2(index->extras, item, extra_next);
    if (index->sweep == item)
        index->sweep = item->next;
    DL_DELETE(index->all, item);
    HASH_DEL(index->by_id, item);
    free_item(item);
}

/* A few jobs in turn: who has drifted is weighed anew. */
static void sweep(struct goodput_index *index)
{
    uint32_t n = MIN_OF(index->tuning.sweep, HASH_COUNT(index->by_id));

    for (uint32_t i = 0; i < n; i++) {
        struct item *item = index->sweep != NULL ? index->sweep : index->all;
        double before = goodput_ranks_before(&index->ranks, &item->rank).weight;
        double rank = item->weighed_at + item->request.priority_weight;

        if (fabs(before - item->weighed_at) > index->tuning.drift * rank)
            weigh(index, item, before);
        index->sweep = item->next;
    }
}

/* --- the line, and who lies on another side of it than before -----------------------------------
 */

static void cross(struct goodput_lot *lot, void *userdata)
{
    count_bought(userdata, lot->owner);
}

static void give_extra(struct goodput_index *index, struct item *item, int point)
{
    const struct goodput_point *points = item->request.curve->points;
    int before = target_of(item);

    index->left -=
        goodput_units(points[point].cost) - (before < 0 ? 0 : goodput_units(points[before].cost));
    if (item->extra == GOODPUT_NO_POINT)
        LL_PREPEND2(index->extras, item, extra_next);
    item->extra = point;
    touch(index, item);
}

/* The rest is offered downwards, as goodput_allocate does it. */
static bool offer(struct goodput_lot *lot, void *userdata)
{
    struct goodput_index *index = userdata;
    struct item *item = lot->owner;
    int at = target_of(item), point;

    if (item->closed_in == index->settlement) {
        point = at;
    } else if (lot->units <= index->left) {
        point = item->steps[lot->at].point;
    } else {
        double values[GOODPUT_POINTS_MAX];

        values_of(index, item, values);
        point =
            goodput_fill(item->request.curve, values, at,
                         (double)index->left / GOODPUT_UNITS_PER_BUNDLE, index->options.cut_gain);
        item->closed_in = index->settlement;
    }
    if (point != at)
        give_extra(index, item, point);
    return index->left > 0 && ++index->looks < index->tuning.looks;
}

static void forget_extras(struct goodput_index *index)
{
    struct item *item, *next;

    LL_FOREACH_SAFE2(index->extras, item, next, extra_next)
    {
        item->extra = GOODPUT_NO_POINT;
        touch(index, item);
    }
    index->extras = NULL;
}

static size_t tell(struct goodput_index *index, void (*each)(uint64_t, int, void *), void *userdata)
{
    struct item *item, *next;
    size_t n = 0;

    LL_FOREACH_SAFE2(index->touched, item, next, touched_next)
    {
        int target = target_of(item);

        item->touched = false;
        if (!item->is_new && item->told == target)
            continue;
        item->is_new = false;
        item->told = target;
        n++;
        if (each != NULL)
            each(item->request.id, target, userdata);
    }
    index->touched = NULL;
    return n;
}

struct goodput_settled goodput_index_settle(struct goodput_index *index,
                                            void (*each)(uint64_t id, int point, void *userdata),
                                            void *userdata)
{
    int64_t room = index->budget - index->base_units;
    struct goodput_settled settled = { .short_of_floors = room < 0 };
    struct goodput_line before;
    struct item *item;

    index->settlement++;
    sweep(index);
    forget_extras(index);
    before = index->line;
    index->line = goodput_buckets_cut(&index->buckets, room, &index->left);
    LL_FOREACH2(index->touched, item, touched_next)
    count_bought(index, item);
    goodput_buckets_between(&index->buckets, &before, &index->line, cross, index);
    index->looks = 0;
    if (index->left > 0 && index->line.worth > 0 && !settled.short_of_floors)
        goodput_buckets_below(&index->buckets, &index->line, offer, index);
    settled.price = index->line.worth;
    settled.left = (double)index->left / GOODPUT_UNITS_PER_BUNDLE;
    settled.changed = tell(index, each, userdata);
    return settled;
}

bool goodput_index_target(const struct goodput_index *index, uint64_t id,
                          struct goodput_target *ret_target)
{
    const struct item *item = item_of(index, id);

    if (item == NULL)
        return false;
    *ret_target = (struct goodput_target){
        .point = target_of(item),
        .a = item->a,
        .worth = item->n_bought > 0 ? item->lots[item->n_bought - 1].worth : INFINITY,
    };
    return true;
}

double goodput_index_value(const struct goodput_index *index, double budget)
{
    return goodput_buckets_value(&index->buckets,
                                 MAX_OF(goodput_units(budget) - index->base_units, 0));
}
