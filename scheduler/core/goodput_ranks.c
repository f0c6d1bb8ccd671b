/* SPDX-License-Identifier: Apache-2.0 */
/* goodput_ranks.c - an ordered set with sums */
#include "scheduler/core/goodput_ranks.h"

#include <stddef.h>

static const struct goodput_rank *rank_of(const struct tree_node *node)
{
    return (const struct goodput_rank *)node;
}

static int longer_first(const struct tree_node *left, const struct tree_node *right)
{
    const struct goodput_rank *a = rank_of(left), *b = rank_of(right);

    if (a->length != b->length)
        return a->length > b->length ? -1 : 1;
    return (a->id > b->id) - (a->id < b->id);
}

static void add_up(struct tree_node *node)
{
    struct goodput_rank *rank = (struct goodput_rank *)node;

    rank->sum = rank->weight;
    rank->count = 1;
    if (node->left != NULL) {
        rank->sum += rank_of(node->left)->sum;
        rank->count += rank_of(node->left)->count;
    }
    if (node->right != NULL) {
        rank->sum += rank_of(node->right)->sum;
        rank->count += rank_of(node->right)->count;
    }
}

void goodput_ranks_init(struct goodput_ranks *ranks)
{
    *ranks = (struct goodput_ranks){ .tree = { .compare = longer_first, .update = add_up } };
}

void goodput_ranks_add(struct goodput_ranks *ranks, struct goodput_rank *rank)
{
    rank->sum = rank->weight;
    rank->count = 1;
    tree_insert(&ranks->tree, &rank->tree);
}

void goodput_ranks_remove(struct goodput_ranks *ranks, struct goodput_rank *rank)
{
    tree_remove(&ranks->tree, &rank->tree);
}

struct goodput_before goodput_ranks_before(const struct goodput_ranks *ranks,
                                           const struct goodput_rank *rank)
{
    struct goodput_before before = { 0 };
    const struct tree_node *node = ranks->tree.root;

    while (node != NULL) {
        int order = longer_first(&rank->tree, node);

        if (order >= 0 && node->left != NULL) {
            before.weight += rank_of(node->left)->sum;
            before.count += rank_of(node->left)->count;
        }
        if (order > 0) {
            before.weight += rank_of(node)->weight;
            before.count++;
        }
        if (order == 0)
            break;
        node = order < 0 ? node->left : node->right;
    }
    return before;
}
