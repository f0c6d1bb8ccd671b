/* SPDX-License-Identifier: Apache-2.0 */
/* unfit_nodes.h - the nodes that cannot run a job, as their agents said when it was to start there
 *
 * So are those that could not start it, for a fault of their own.
 * Kept with the job, and forgotten a while after the last of them was noted, as accounts and
 * folders may be made meanwhile; also by a restart. Placement passes by them: such a list is a part
 * of a job's wishes for a node (struct want). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/unfit.h"

struct node;

#define UNFIT_TEXT_SIZE 160

struct unfit_node {
    const struct node *node; /* borrowed */
    uint32_t roles;          /* that cannot run there, as a mask */
    uint32_t refused;        /* of these, those that the node said it cannot run at all */
    enum unfit why;
    char text[UNFIT_TEXT_SIZE]; /* the agent's sentence */
};

struct unfit_nodes {
    struct unfit_node *items; /* owned */
    size_t n;
};

/* unfit_nodes_find - what is known of the node; NULL: nothing. unfit: NULL, an empty list. O(n) */
const struct unfit_node *unfit_nodes_find(const struct unfit_nodes *unfit, const struct node *node);

/* unfit_nodes_hold - some of these roles cannot run on the node. O(n) */
static inline bool unfit_nodes_hold(const struct unfit_nodes *unfit, const struct node *node,
                                    uint32_t roles)
{
    const struct unfit_node *found = unfit != NULL ? unfit_nodes_find(unfit, node) : NULL;

    return found != NULL && (found->roles & roles) != 0;
}

/* unfit_remedy - what to do about one node, while others can run it */
const char *unfit_remedy(enum unfit why);

/* unfit_nodes_free - accepts NULL; returns NULL */
struct unfit_nodes *unfit_nodes_free(struct unfit_nodes *unfit);
