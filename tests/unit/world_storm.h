/* SPDX-License-Identifier: Apache-2.0 */
/* world_storm.h - random events on a pretended cluster, for the tests that want many
 *
 * A test names the events that it wants and how often each comes. The random part is drawn from the
 * world, so that its seed makes the whole history. */
#pragma once

#include "tests/unit/cluster_world.h"

#define STORM_SEED 20181103 /* without EDL_SEED */

struct storm_event {
    unsigned weight; /* relative to the others of its table */
    void (*happen)(struct world *w);
};

/* a number from the environment */
uint64_t storm_number(const char *name, uint64_t otherwise);

/* world_new with room for a storm; the seed is EDL_SEED and printed */
struct world *storm_world(size_t n_nodes);

/* Lets jobs go that are over, but the last dozen: each check looks at all that there are. */
void storm_archive(struct world *w);

/* one of n events */
void storm_happen(struct world *w, const struct storm_event *events, size_t n);

/* one of the active jobs, of their processes, of the agents; the first two NULL: none */
struct job *storm_job(struct world *w);
struct process *storm_process(struct world *w);
struct fake_agent *storm_agent(struct world *w);

/* storm_submit - unless n_max jobs are active or its name is taken; half of them with a dataset */
void storm_submit(struct world *w, struct job_spec *take_spec, int n_max);

/* storm_work_of - a process that runs does one task of its job's dataset, and ends with the last */
void storm_work_of(struct world *w, struct process *process);

/* what may be in a table */
void storm_turn(struct world *w); /* of one agent */
void storm_kill(struct world *w);
void storm_scale(struct world *w);
void storm_prioritise(struct world *w); /* sometimes with other bounds */
void storm_exit(struct world *w);       /* of a process by itself */
void storm_work(struct world *w);
void storm_arrive(struct world *w);  /* for the next generation, or done with the present one */
void storm_advance(struct world *w); /* the clock */
void storm_silence(struct world *w); /* of an agent, or its end */
void storm_boot(struct world *w);
void storm_node_state(struct world *w);
void storm_foreign(struct world *w);
/* some agent cannot run some jobs, or can again */
void storm_unfit(struct world *w);
void storm_remove_or_join(struct world *w);
void storm_restart(struct world *w); /* of the scheduler */
void storm_calm(struct world *w);    /* all nodes are there, ready, and idle but for ours */
