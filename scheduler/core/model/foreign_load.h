/* SPDX-License-Identifier: Apache-2.0 */
/* foreign_load.h - what other programs take of a node: a rise counts at once, a fall later */
#pragma once

#include <stdint.h>

struct cluster;
struct instant;
struct node;
struct node_report;

/* foreign load that was lower than planned for long enough: the peak of that time is planned with
 */
void node_foreign_fell(struct cluster *cluster, struct node *node, struct instant now);

/* node_plan_with_foreign - others are taken to use so much of it from now on */
void node_plan_with_foreign(struct cluster *cluster, struct node *node, uint64_t cpu_millicores,
                            uint64_t memory_bytes);

/* node_take_foreign - what others use of it, as its report says */
void node_take_foreign(struct cluster *cluster, struct node *node, const struct node_report *report,
                       struct instant now);
