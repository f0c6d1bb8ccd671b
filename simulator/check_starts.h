/* SPDX-License-Identifier: Apache-2.0 */
/* check_starts.h - what could not be started on a node is not put there again while another one
 * idles */
#pragma once

#include <stddef.h>

struct effect;
struct sim;
struct unit;

/* check_starts_failed - the unit ends because it cannot be started */
void check_starts_failed(const struct sim *sim, const struct unit *unit);

/* check_starts - right behind a plan, of what it assigned */
void check_starts(struct sim *sim, const struct effect *effects, size_t n);
