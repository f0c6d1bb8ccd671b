/* SPDX-License-Identifier: Apache-2.0 */
/* kept_outputs.h - which folders of ended processes stay for a while, and which go
 *
 * Pure: the outputs that exist come in, those that go are marked. A folder goes when its time is
 * over. When all together hold too much, the account that holds most loses its oldest one, until it
 * fits: so nobody's outputs are pushed out by those of another who fills the disk.
 *
 * Used by: workspace_sweep.c. Tests: tests/unit/test_kept_outputs.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/core/process_id.h"

struct kept_bounds {
    uint64_t keep_us;   /* after the end; 0: none is kept */
    uint64_t max_bytes; /* of all together */
    uint64_t now_us;    /* elapsed time of this node (node_clock.h), for a sweep */
};

struct kept_output {
    char name[PROCESS_KEY_SIZE];
    uid_t owner;
    uint64_t bytes;
    uint64_t ended_us; /* elapsed time */
    bool work;         /* a private workspace, and no copy */
    bool goes;
};

/* kept_outputs_most - what they may hold: no more than they leave free */
uint64_t kept_outputs_most(const struct kept_bounds *bounds, uint64_t kept_bytes,
                           uint64_t free_bytes);

/* kept_outputs_choose - marks those that go; sorts the list */
void kept_outputs_choose(struct kept_output *list, size_t n, const struct kept_bounds *bounds,
                         uint64_t now_us, uint64_t free_bytes);
