/* SPDX-License-Identifier: Apache-2.0 */
/* foreign.h - how foreign load is smoothed before it is reported
 *
 * Pure. Up within a second, because trainers must give way soon. Down with a time constant of 5 s,
 * because a load that has just gone may come back. */
#pragma once

#include <stdint.h>

/* foreign_smooth - a value moved towards a new sample that was taken elapsed_us after the last */
uint64_t foreign_smooth(uint64_t value, uint64_t sample, uint64_t elapsed_us);
