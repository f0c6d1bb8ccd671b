/* SPDX-License-Identifier: Apache-2.0 */
/* record_storm.h - random events that change everything that is remembered, for tests of the
 * records
 *
 * Jobs with documents, datasets and devices come, change and end; nodes join, fail, restart, are
 * cordoned, offer something else; tasks are leased, done, failed. Every turn is committed to the
 * world's disk, loaded again and compared (world_commit). */
#pragma once

#include "tests/unit/cluster_world.h"

/* a number from the environment */
uint64_t storm_number(const char *name, uint64_t otherwise);

/* four nodes; the seed is EDL_SEED and printed; every commit is compared */
struct world *storm_new(void);

/* so many events, a plan after most and after the last */
void storm(struct world *w, uint64_t events);

/* one event; the work of one process on its data; the end of one process */
void storm_act(struct world *w);
void storm_work(struct world *w);
void storm_exit(struct world *w);

/* what is submitted; the caller owns it */
struct job_spec *storm_spec(struct world *w);
