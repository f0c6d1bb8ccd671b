/* SPDX-License-Identifier: Apache-2.0 */
/* ranks.c - an ordered set of lengths with sums, and the corners of a grid in it */
#include "scheduler/core/policy/ranks.h"

#include <math.h>
#include <stddef.h>
#include <utlist.h>

#include "scheduler/core/base/task_queue.h"
#include "scheduler/core/base/tree.h"
#include "shared/macro.h"

#define STEPS_PER_OCTAVE 2
#define NO_STEP INT32_MIN /* below all sums, or not known yet */

struct goodput_tier {
    struct tree_node tree;        /* first: a tree's node is its tier */
    double length;                /* the key */
    struct goodput_rank *members; /* borrowed list */
    double weight;                /* of the members */
    int32_t before;               /* step of the sum of the longer ones */
    int32_t tied;                 /* step of the weight of several; NO_STEP: it is but one */
    bool settled;
    double sum;          /* of the subtree */
    int32_t least, most; /* steps in the subtree */
    bool all_settled;    /* in the subtree */
};

static struct goodput_tier *tier_at(const struct tree_node *node)
{
    return (struct goodput_tier *)node;
}

/* The last step of the grid that is not above a sum */
static int32_t step_of(double sum)
{
    static const double steps[STEPS_PER_OCTAVE] = { 0.5, 0.7071067811865476 };
    int exponent, step = STEPS_PER_OCTAVE - 1;
    double part;

    if (sum <= 0)
        return NO_STEP;
    part = frexp(sum, &exponent); /* 0.5 <= part < 1 */
    while (step > 0 && part < steps[step])
        step--;
    return (exponent - 1) * STEPS_PER_OCTAVE + step;
}

/* The middle of a step */
static double sum_at(int32_t step)
{
    return step == NO_STEP ? 0 : exp2((step + 0.5) / STEPS_PER_OCTAVE);
}

static int longer_first(const struct tree_node *left, const struct tree_node *right)
{
    double a = tier_at(left)->length, b = tier_at(right)->length;

    return a == b ? 0 : a > b ? -1 : 1;
}

static void add_up(struct tree_node *node)
{
    struct goodput_tier *tier = tier_at(node);
    const struct tree_node *below[] = { node->left, node->right };

    tier->sum = tier->weight;
    tier->least = tier->before;
    tier->most = tier->before;
    tier->all_settled = tier->settled;
    for (size_t i = 0; i < ELEMENTS(below); i++) {
        const struct goodput_tier *other = tier_at(below[i]);

        if (other == NULL)
            continue;
        tier->sum += other->sum;
        tier->least = MIN_OF(tier->least, other->least);
        tier->most = MAX_OF(tier->most, other->most);
        tier->all_settled = tier->all_settled && other->all_settled;
    }
}

void goodput_ranks_init(struct goodput_ranks *ranks)
{
    *ranks = (struct goodput_ranks){ .tiers = { .compare = longer_first, .update = add_up } };
}

void goodput_ranks_done(struct goodput_ranks *ranks)
{
    struct tree_node *node;

    while ((node = tree_first(&ranks->tiers)) != NULL) {
        tree_remove(&ranks->tiers, node);
        free(tier_at(node));
    }
}

static struct goodput_tier *find(const struct goodput_ranks *ranks, double length)
{
    const struct goodput_tier wanted = { .length = length };
    struct tree_node *node = ranks->tiers.root;

    while (node != NULL) {
        int order = longer_first(&wanted.tree, node);

        if (order == 0)
            return tier_at(node);
        node = order < 0 ? node->left : node->right;
    }
    return NULL;
}

/* Its sums change, but not its place: those above it in the tree are told by a walk to it. */
static void add_up_to(struct tree_node *at, struct tree_node *node)
{
    int order = longer_first(node, at);

    if (order != 0)
        add_up_to(order < 0 ? at->left : at->right, node);
    add_up(at);
}

static struct goodput_tier *tier_of(struct goodput_ranks *ranks, double length)
{
    struct goodput_tier *tier = find(ranks, length);

    if (tier != NULL)
        return tier;
    tier = xcalloc(1, sizeof *tier);
    tier->length = length;
    tier->before = tier->tied = NO_STEP;
    tree_insert(&ranks->tiers, &tier->tree);
    return tier;
}

/* One that is alone counts with its weight; several with the middle of a step. */
static int32_t tied_step(const struct goodput_tier *tier)
{
    return tier->members->next == NULL ? NO_STEP : step_of(tier->weight);
}

static void check_tie(struct goodput_tier *tier)
{
    if (tied_step(tier) != tier->tied)
        tier->settled = false;
}

void goodput_ranks_remove(struct goodput_ranks *ranks, struct goodput_rank *rank)
{
    struct goodput_tier *tier = rank->tier;

    if (tier == NULL)
        return;
    rank->tier = NULL;
    ranks->changed = true;
    DL_DELETE(tier->members, rank);
    tier->weight -= rank->weight;
    if (tier->members != NULL) {
        check_tie(tier);
        add_up_to(ranks->tiers.root, &tier->tree);
        return;
    }
    tree_remove(&ranks->tiers, &tier->tree);
    free(tier);
}

void goodput_ranks_put(struct goodput_ranks *ranks, struct goodput_rank *rank, double length,
                       double weight)
{
    if (rank->tier != NULL && rank->tier->length == length && rank->weight == weight)
        return;
    goodput_ranks_remove(ranks, rank);
    rank->tier = tier_of(ranks, length);
    rank->weight = weight;
    ranks->changed = true;
    DL_APPEND(rank->tier->members, rank);
    rank->tier->weight += weight;
    check_tie(rank->tier);
    add_up_to(ranks->tiers.root, &rank->tier->tree);
}

struct settlement {
    void (*each)(struct goodput_rank *rank, void *userdata);
    void *userdata;
};

static void settle_tier(const struct settlement *settlement, struct goodput_tier *tier,
                        double before)
{
    int32_t step = step_of(before), tied = tied_step(tier);
    struct goodput_rank *rank;

    if (tier->settled && tier->before == step && tier->tied == tied)
        return;
    tier->settled = true;
    tier->before = step;
    tier->tied = tied;
    DL_FOREACH(tier->members, rank)
    settlement->each(rank, settlement->userdata);
}

/* before: the sum of all that is longer than the jobs of the subtree. Where nothing lies at a
 * corner of the grid, now or before, nothing is looked at. */
static void settle(const struct settlement *settlement, struct tree_node *node, double before)
{
    struct goodput_tier *tier = tier_at(node);
    double left_sum;

    if (node == NULL)
        return;
    if (tier->all_settled && tier->least == tier->most && step_of(before) == tier->least &&
        step_of(before + tier->sum) == tier->least)
        return;
    left_sum = node->left != NULL ? tier_at(node->left)->sum : 0;
    settle(settlement, node->left, before);
    settle_tier(settlement, tier, before + left_sum);
    settle(settlement, node->right, before + left_sum + tier->weight);
    add_up(node);
}

void goodput_ranks_settle(struct goodput_ranks *ranks,
                          void (*each)(struct goodput_rank *rank, void *userdata), void *userdata)
{
    if (!ranks->changed)
        return;
    ranks->changed = false;
    settle(&(struct settlement){ each, userdata }, ranks->tiers.root, 0);
}

double goodput_ranks_before(const struct goodput_rank *rank)
{
    const struct goodput_tier *tier = rank->tier;

    if (!tier->settled)
        return 0;
    return sum_at(tier->before) + fmax(sum_at(tier->tied) - rank->weight, 0) / 2;
}
