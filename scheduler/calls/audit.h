/* SPDX-License-Identifier: Apache-2.0 */
/* audit.h - who changed what: every change that people make, stored with the change itself */
#pragma once

#include <stddef.h>

struct account_change;
struct held;
struct scheduler;

/* audit_take - held tells of a change that was made: if a person asked for it, the turn stores that
 * beside it. Once for each held: a handler that takes away what its caller came with calls it
 * before, held_after_commit does for all others. */
void audit_take(struct scheduler *scheduler, struct held *held, unsigned status);

/* audit_log - a line of the log for each stored entry: the table is bounded, and a user who makes
 * enough changes pushes the lines of others out of it */
void audit_log(const struct account_change *changes, size_t n);
