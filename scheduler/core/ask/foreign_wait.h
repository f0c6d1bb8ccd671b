/* SPDX-License-Identifier: Apache-2.0 */
/* foreign_wait.h - a job that waits because other programs use the nodes */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/core/base/resources.h"

struct cluster;
struct demand;
struct node;

/* The foreign load of the nodes that take processes, as far as plans reckon with it. */
struct foreign_load {
    struct resources sum;
    uint32_t n_nodes;
    const struct node *most; /* where most of it is; borrowed; NULL: nowhere */
};

struct resources plan_foreign_of(const struct node *node);

/* plan_waits_for_foreign - it would fit now if there were none of it. O(nodes log nodes) */
bool plan_waits_for_foreign(const struct cluster *cluster, const struct demand *demands, size_t n,
                            struct foreign_load *ret);

/* foreign_describe - "other programs use 500m CPU on n1 (foreign load)"; returns buffer */
char *foreign_describe(const struct foreign_load *load, char *buffer, size_t size);
