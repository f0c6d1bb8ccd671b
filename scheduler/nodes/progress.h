/* SPDX-License-Identifier: Apache-2.0 */
/* progress.h - what processes tell of how far they are, as their nodes reported it last
 *
 * Shown; nothing is decided by what is kept here, and nothing of it is stored. A node's processes
 * have the figures of its last report: bounded by their number. Only pushes are added up, and only
 * those of servers: a server that runs when this begins adds its pushes from then on, at most 10^6
 * a second and process. */
#pragma once

#include <jansson.h>
#include <stdint.h>

struct process;

struct node_progress;

struct progresses {                /* all 0: of none */
    struct node_progress *by_node; /* owned; uthash */
    uint64_t pushes[2]; /* enum of push_counts.h; that servers told of since this began */
};

/* progresses_take - from the array `processes` of a node's report; a wrong row is left out: a
 * process that says nonsense is no reason to lose its node. Pushes are counted until a report names
 * the process no more. now_us: boot time. */
void progresses_take(struct progresses *progresses, const char *node, const json_t *processes,
                     uint64_t now_us);

/* progresses_find - of a process; borrowed; NULL: it has told nothing, or its node knows it no more
 */
json_t *progresses_find(const struct progresses *progresses, const struct process *process);

/* progresses_find_new - likewise; NULL also when it has said nothing new for long */
json_t *progresses_find_new(const struct progresses *progresses, const struct process *process);
void progresses_forget(struct progresses *progresses, const char *node);
void progresses_done(struct progresses *progresses);
