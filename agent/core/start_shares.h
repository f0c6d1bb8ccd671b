/* SPDX-License-Identifier: Apache-2.0 */
/* start_shares.h - how many starts of each owner are under way
 *
 * Each may have as many as are still free (shared/fair_share.h): half of all when it is alone, and
 * something is left for the next owner. Pure but for memory. Tests: test_agent_starts.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct start_share;

struct start_shares {          /* zeroed: none is under way */
    struct start_share *table; /* owned; uthash: owners that have any */
    size_t n;
};

/* start_shares_has_room - for one more of the owner, where all may have so many */
bool start_shares_has_room(const struct start_shares *shares, uint64_t owner, size_t most);

/* start_shares_add - one more. start_shares_drop - one that was added is not under way any more */
void start_shares_add(struct start_shares *shares, uint64_t owner);
void start_shares_drop(struct start_shares *shares, uint64_t owner);
