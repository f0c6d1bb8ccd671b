/* SPDX-License-Identifier: Apache-2.0 */
/* promises.h - processes that promise to be alive, and the checks of that; in the profile "alive"
 *
 * Checks: "alive", no program that goes on is killed for its silence. In the calm no program hangs
 * for long that promised to be alive. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct event;
struct sim;
struct sim_node;
struct unit;

/* promises_begin - its program runs: it promises, and says so again and again until it hangs */
void promises_begin(struct sim *sim, struct unit *unit);
void promises_event(struct sim *sim, const struct event *event);

/* promises_adopt - an agent that starts reads what was promised in the folder of the process */
void promises_adopt(struct sim *sim, const struct unit *unit);

/* promises_broken - its agent says so: its supervisor kills it, unless it is frozen
 * promises_spoil - a mutant of the agent does not look whether it is */
void promises_broken(struct sim *sim, struct unit *unit);
void promises_spoil(struct sim *sim, struct sim_node *node);

/* agent_said_alive - its agent hears it (agent_shell.c) */
void agent_said_alive(struct sim *sim, struct unit *unit);

/* promises_check_calm - each second of the calm */
void promises_check_calm(struct sim *sim);
