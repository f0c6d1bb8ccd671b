/* SPDX-License-Identifier: Apache-2.0 */
/* tree.h - an ordered set of things that embed their place in it
 *
 * A treap: a search tree by compare() and a heap by weights that are drawn from a counter, so that
 * insert, remove and look-ups are O(log n) expected and one history gives one tree. update() keeps
 * what is known of a whole subtree (maxima) up to date; add() does so at less cost where one came
 * in below. No two members may compare equal; a member's key must not change while it is in the
 * tree. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct tree_node {
    struct tree_node *left, *right;
    uint32_t weight; /* 0: in no tree */
};

struct tree {
    struct tree_node *root;
    int (*compare)(const struct tree_node *a, const struct tree_node *b);
    void (*update)(struct tree_node *node); /* NULL: nothing is kept of subtrees */
    void (*add)(struct tree_node *node, const struct tree_node *below); /* NULL: as update() */
    uint32_t n;
    uint32_t drawn;
};

void tree_insert(struct tree *tree, struct tree_node *node);
/* nothing when it is not in the tree */
void tree_remove(struct tree *tree, struct tree_node *node);
struct tree_node *tree_first(const struct tree *tree);
/* the first that is greater than key, which need not be a member; NULL when there is none */
struct tree_node *tree_after(const struct tree *tree, const struct tree_node *key);
static inline bool tree_holds(const struct tree_node *node)
{
    return node->weight != 0;
}
