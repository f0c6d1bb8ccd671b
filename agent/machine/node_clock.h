/* SPDX-License-Identifier: Apache-2.0 */
/* node_clock.h - the elapsed time of this node, kept in its state folder (shared/elapsed_clock.h)
 *
 * A node counts the ages of its own files by it, whatever becomes of its wall clock or of the
 * scheduler's. Written when the agent starts, and by each sweep of kept results.
 *
 * Used by: agent.c, workspace.c. Tests: tests/unit/test_node_clock.c. */
#pragma once

#include "shared/elapsed_clock.h"

struct edl_error;

#define NODE_CLOCK_FILE "clock" /* in the state folder */
#define NODE_CLOCK_TEXT_SIZE 128

struct node_clock {
    struct elapsed_clock elapsed;
    char boot_id[ELAPSED_BOOT_ID_SIZE];
};

/* node_clock_open - goes on from what the file in the state folder says, and writes it;
 * clock_instant reads it from then on. A file that makes no sense is as none: the clock begins as
 * the wall clock */
int node_clock_open(struct node_clock *clock, const char *state_dir, struct edl_error *error);

/* node_clock_text - of this moment, for node_clock_write */
void node_clock_text(const struct node_clock *clock, char ret[NODE_CLOCK_TEXT_SIZE]);

/* node_clock_parse - what node_clock_text made; -EINVAL */
int node_clock_parse(const char *text, struct elapsed_record *ret);

/* node_clock_write - waits for the disk */
int node_clock_write(const char *path, const char *text, struct edl_error *error);
