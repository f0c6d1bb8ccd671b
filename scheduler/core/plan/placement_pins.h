/* SPDX-License-Identifier: Apache-2.0 */
/* placement_pins.h - roles that name the node of each instance */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct capacity;
struct demand;
struct placed;

/* demand_slot - the index of the instance at that place of the demand */
uint32_t demand_slot(const struct demand *demand, uint32_t at);

/* demand_want - what that instance wants: its node as well, if it has one */
struct want demand_want(const struct demand *demand, uint32_t at);
bool demands_pin(const struct demand *demands, size_t n);

/* demand_fits - there are so many places for it, with nothing else beside it; demand_might_fit - if
 * all gave way that could. Take nothing */
bool demand_fits(const struct capacity *capacity, const struct demand *demand, bool now);
bool demand_might_fit(const struct capacity *capacity, const struct demand *demand);

/* pins_fit - all pinned instances of the demands, each on its node. Takes nothing */
bool pins_fit(struct capacity *capacity, const struct demand *demands, size_t n);

/* place_pins - as place_gang, but of the pinned demands alone; ret_n: how many are placed */
bool place_pins(struct capacity *capacity, const struct demand *demands, size_t n, bool now,
                struct placed *placed, size_t *ret_n);
