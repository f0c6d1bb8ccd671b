/* SPDX-License-Identifier: Apache-2.0 */
/* patience.h - for how long something is tried, without the time in which this process stood still
 *
 * A process may be stopped for minutes: its node was cut off, its machine slept, somebody stopped
 * it. Clocks go on meanwhile, and an instant as the end of a try has passed when it goes on: it
 * would give up without one more try. So patience is an amount, which waits spend. Each wait is
 * planned for some time, and spends what it took. One that took over 2 s longer than planned
 * spends what was planned, for it was not waiting. Plan a second at most where that can be chosen.
 *
 *     struct patience patience = patience_of(60 * USEC_PER_SEC);
 *     do {
 *         r = try();
 *         us = patience_plan(&patience, 500 * USEC_PER_MSEC, now());
 *         .. wait for us ..
 *         patience_spend(&patience, now());
 *     } while (r < 0 && !patience_is_over(&patience));
 *
 * Pure: the caller looks at the clock, the same one each time. Tests: tests/unit/test_patience.c.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct patience {
    uint64_t left_us;
    uint64_t planned_us; /* of the wait that goes on */
    uint64_t began_us;   /* when it did */
};

/* patience_of - so much, whole */
static inline struct patience patience_of(uint64_t us)
{
    return (struct patience){ .left_us = us };
}

/* patience_plan - a wait begins now, of most_us or of what is left; returns how long it is to take
 */
uint64_t patience_plan(struct patience *patience, uint64_t most_us, uint64_t now_us);

/* patience_spend - it is over now, before its time or not */
void patience_spend(struct patience *patience, uint64_t now_us);

/* patience_use - so much was spent by a wait that somebody else measured */
static inline void patience_use(struct patience *patience, uint64_t us)
{
    patience->left_us -= us < patience->left_us ? us : patience->left_us;
}

static inline bool patience_is_over(const struct patience *patience)
{
    return patience->left_us == 0;
}
