/* SPDX-License-Identifier: Apache-2.0 */
/* record_storm.h - random events that change everything that is remembered, for tests of the
 * records
 *
 * Jobs with documents, datasets and devices come, change and end; nodes join, fail, restart, are
 * cordoned, offer something else; tasks are leased, done, failed. Every turn is committed to the
 * world's disk, loaded again and compared (world_commit). */
#pragma once

#include "tests/unit/world_storm.h"

/* four nodes; the seed is EDL_SEED and printed; every commit is compared */
struct world *storm_new(void);

/* so many events, a plan after most and after the last */
void storm(struct world *w, uint64_t events);

/* one event */
void storm_act(struct world *w);

/* what is submitted; the caller owns it */
struct job_spec *storm_spec(struct world *w);
