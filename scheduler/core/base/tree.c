/* SPDX-License-Identifier: Apache-2.0 */
/* tree.c - an ordered set of things that embed their place in it
 *
 * Recursion is as deep as the tree: some 2 log2 n. */
#include "scheduler/core/base/tree.h"

#include <stddef.h>

/* Well mixed and never 0; its value does not change any answer, only the shape. */
static uint32_t draw(struct tree *tree)
{
    uint32_t x = ++tree->drawn * UINT32_C(0x9E3779B9);

    x ^= x >> 16;
    x *= UINT32_C(0x85EBCA6B);
    x ^= x >> 13;
    x *= UINT32_C(0xC2B2AE35);
    x ^= x >> 16;
    return x != 0 ? x : 1;
}

static void update(const struct tree *tree, struct tree_node *node)
{
    if (tree->update != NULL)
        tree->update(node);
}

/* All below key to the left, the others to the right. */
static void split(const struct tree *tree, struct tree_node *at, const struct tree_node *key,
                  struct tree_node **ret_left, struct tree_node **ret_right)
{
    if (at == NULL) {
        *ret_left = NULL;
        *ret_right = NULL;
        return;
    }
    if (tree->compare(at, key) < 0) {
        split(tree, at->right, key, &at->right, ret_right);
        *ret_left = at;
    } else {
        split(tree, at->left, key, ret_left, &at->left);
        *ret_right = at;
    }
    update(tree, at);
}

static struct tree_node *merge(const struct tree *tree, struct tree_node *left,
                               struct tree_node *right)
{
    if (left == NULL || right == NULL)
        return left != NULL ? left : right;
    if (left->weight > right->weight) {
        left->right = merge(tree, left->right, right);
        update(tree, left);
        return left;
    }
    right->left = merge(tree, left, right->left);
    update(tree, right);
    return right;
}

static struct tree_node *insert(const struct tree *tree, struct tree_node *at,
                                struct tree_node *node)
{
    if (at == NULL || node->weight > at->weight) {
        split(tree, at, node, &node->left, &node->right);
        update(tree, node);
        return node;
    }
    if (tree->compare(node, at) < 0)
        at->left = insert(tree, at->left, node);
    else
        at->right = insert(tree, at->right, node);
    if (tree->add != NULL)
        tree->add(at, node);
    else
        update(tree, at);
    return at;
}

void tree_insert(struct tree *tree, struct tree_node *node)
{
    node->weight = draw(tree);
    tree->root = insert(tree, tree->root, node);
    tree->n++;
}

static struct tree_node *take_out(const struct tree *tree, struct tree_node *at,
                                  struct tree_node *node)
{
    if (at == node)
        return merge(tree, node->left, node->right);
    if (tree->compare(node, at) < 0)
        at->left = take_out(tree, at->left, node);
    else
        at->right = take_out(tree, at->right, node);
    update(tree, at);
    return at;
}

void tree_remove(struct tree *tree, struct tree_node *node)
{
    if (!tree_holds(node))
        return;
    tree->root = take_out(tree, tree->root, node);
    tree->n--;
    *node = (struct tree_node){ 0 };
}

struct tree_node *tree_first(const struct tree *tree)
{
    struct tree_node *at = tree->root;

    while (at != NULL && at->left != NULL)
        at = at->left;
    return at;
}

struct tree_node *tree_after(const struct tree *tree, const struct tree_node *key)
{
    struct tree_node *found = NULL;
    struct tree_node *at = tree->root;

    while (at != NULL) {
        if (tree->compare(at, key) > 0) {
            found = at;
            at = at->left;
        } else {
            at = at->right;
        }
    }
    return found;
}
