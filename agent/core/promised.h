/* SPDX-License-Identifier: Apache-2.0 */
/* promised.h - the units that promised to be alive; for agent_core.c
 *
 * A list by promise_next, so that those that promised nothing cost nothing. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct agent_unit;

/* promised_set - the unit is alive now, and promises to say so again; 0: no more */
void promised_set(struct agent_unit **list, struct agent_unit *unit, uint64_t within_us,
                  uint64_t now_us);

/* promised_broken - whether it is to be killed; held: the lease is, and not near its end */
bool promised_broken(struct agent_unit *unit, bool held, uint64_t now_us);

/* promised_next_us - when to look at one of them; NEVER_US */
uint64_t promised_next_us(const struct agent_unit *list);
