/* SPDX-License-Identifier: Apache-2.0 */
/* deadline.c - what time alone will bring, the first one first */
#include "scheduler/core/base/deadline.h"

#include "scheduler/core/base/tree.h"

static int compare(const struct tree_node *a, const struct tree_node *b)
{
    const struct deadline *x = (const struct deadline *)a;
    const struct deadline *y = (const struct deadline *)b;

    if (x->at_us != y->at_us)
        return x->at_us < y->at_us ? -1 : 1;
    return x->serial < y->serial ? -1 : x->serial > y->serial;
}

void deadlines_init(struct deadlines *deadlines)
{
    *deadlines = (struct deadlines){ .tree = { .compare = compare } };
}

void deadline_set(struct deadlines *deadlines, struct deadline *deadline, enum deadline_kind kind,
                  uint64_t at_us)
{
    if (deadline_at(deadline) == at_us)
        return;
    if (tree_holds(&deadline->tree))
        deadlines->n[deadline->kind]--;
    tree_remove(&deadlines->tree, &deadline->tree);
    if (at_us == NEVER_US)
        return;
    deadlines->n[kind]++;
    if (deadline->serial == 0)
        deadline->serial = ++deadlines->next_serial;
    deadline->kind = kind;
    deadline->at_us = at_us;
    tree_insert(&deadlines->tree, &deadline->tree);
}

struct deadline *deadlines_first(const struct deadlines *deadlines)
{
    return (struct deadline *)tree_first(&deadlines->tree);
}
