/* SPDX-License-Identifier: Apache-2.0 */
/* archive_drain.h - jobs that are over leave memory, and old ones the database, until none is to go
 *
 * A turn does so much of that as takes milliseconds. When more is left, a timer asks for the next
 * turn: many jobs may end at once, and then nothing happens for long. Used by: turn.c. Tests:
 * tests/unit/test_archive.c, tests/unit/test_store_archive.c, tests/integration/152-archive.sh. */
#pragma once

struct edl_error;
struct scheduler;

/* archive_drain_init - scheduler->drain, its timer, not armed */
int archive_drain_init(struct scheduler *scheduler, struct edl_error *error);

/* archive_drain_turn - before the commit: the core lets go of some, unless the database is behind
 * with earlier ones */
void archive_drain_turn(struct scheduler *scheduler);

/* archive_drain_go_on - after the commit: asks for the next turn if more is left */
void archive_drain_go_on(struct scheduler *scheduler);
