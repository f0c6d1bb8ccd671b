/* SPDX-License-Identifier: Apache-2.0 */
/* node_disk.h - a node whose disk is full starts nothing; its processes go on */
#pragma once

#include <stdbool.h>

struct cluster;
struct instant;
struct node;

#define REASON_DISK_FULL                                                                           \
    "its disk is full, so nothing starts there; make room where its agent keeps its state and "    \
    "the "                                                                                         \
    "output of jobs"

/* node_take_disk - as its agent reports it */
void node_take_disk(struct cluster *cluster, struct node *node, bool full, struct instant now);
