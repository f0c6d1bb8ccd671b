/* SPDX-License-Identifier: Apache-2.0 */
/* freezing.h - processes that stand still at the end of a lease, and the checks of that
 *
 * Checks: "frozen", nothing acts from the deadline of its lease on; "thaw", nothing goes on whose
 * place went to others, nothing is frozen for longer than it may be, and in the calm everything
 * frozen goes on or ends; "undisturbed", a scheduler that is away ends nothing. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/core/lease_word.h"

struct event;
struct sim;
struct sim_node;
struct unit;

/* freezing_new_node - whether it can freeze what runs there */
void freezing_new_node(struct sim *sim, struct sim_node *node);

/* freezing_may - the process may stand still at the end of a lease: what its supervisor sees */
void freezing_may(const struct sim *sim, struct unit *unit);

/* freezing_lease - as its supervisor reads it */
struct lease_word freezing_lease(const struct sim *sim, const struct unit *unit);

/* freezing_look_at - when its supervisor looks again; two mutants look all the time */
uint64_t freezing_look_at(const struct sim *sim, const struct unit *unit, uint64_t look_at_us);

/* freezing_extend - the agent writes the lease file */
void freezing_extend(struct sim *sim, struct sim_node *node, struct lease_word lease);

/* freezing_begin - its supervisor was told to freeze it. freezing_end - to thaw it */
void freezing_begin(struct sim *sim, struct unit *unit);
void freezing_end(struct sim *sim, struct unit *unit);

/* freezing_thaw - its agent says that it may go on, in this epoch; the signal may take a while.
 * freezing_calm - no longer */
void freezing_calm(struct sim *sim);
void freezing_thaw(struct sim *sim, struct unit *unit, uint16_t epoch);

/* freezing_thaw_all - SIM_MUTANT_THAW_OLD_ORDERS: what the orders from before the gap had here */
void freezing_thaw_all(struct sim *sim, struct sim_node *node);

/* freezing_event - EVENT_FROZEN, EVENT_THAW, EVENT_STOOD, EVENT_LEASE_OVER */
void freezing_event(struct sim *sim, const struct event *event);

/* freezing_check_node - nothing acts here beyond its lease */
void freezing_check_node(struct sim *sim, const struct sim_node *node);

/* freezing_check_end - it was killed: was it right to? */
void freezing_check_end(struct sim *sim, const struct unit *unit);

/* freezing_check_calm - every second of the calm */
void freezing_check_calm(struct sim *sim);
