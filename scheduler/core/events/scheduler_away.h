/* SPDX-License-Identifier: Apache-2.0 */
/* scheduler_away.h - a scheduler that leaves in order says for how long its nodes may go on without
 * it */
#pragma once

#include <stdint.h>

struct cluster;

#define CLUSTER_AWAY_MOST_US (UINT64_C(900) * 1000000)

/* cluster_leave - this run ends, and nodes are to be told that they may go on for away_us (900 s at
 * most; 0: they are told nothing). Nodes may be told once the effects of this are stored, and
 * nothing else may be told or changed from then on. */
void cluster_leave(struct cluster *cluster, uint64_t away_us);

/* away_wait_us - from a start on; away_settle - one node fewer is waited for */
uint64_t away_wait_us(const struct cluster *cluster);
void away_settle(struct cluster *cluster);
