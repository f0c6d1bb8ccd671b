/* SPDX-License-Identifier: Apache-2.0 */
/* placement_pair.h - a gang of two sizes on few nodes: if there is a place, it is found */
#pragma once

#include <stdbool.h>

#include "scheduler/core/plan/capacity.h"
#include "scheduler/core/plan/placement.h"

/* place_pair - the same for two roles, however they have to be mixed; false:
 * there is no place, or there are too many of both or of nodes to be sure */
bool place_pair(struct capacity *capacity, const struct demand demands[2], bool now,
                struct placed *placed);
