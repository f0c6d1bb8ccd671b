/* SPDX-License-Identifier: Apache-2.0 */
/* random_stream.h - random numbers of a generator: any sample by itself, in any order
 *
 * Each sample draws from a stream of its own, so sample 7 is the same whether 10 or 10,000 are
 * made.
 */
#pragma once

#include <math.h>

#include "shared/random.h"

/* random_stream - the state of stream number `index` of a purpose; the same for the same three */
static inline uint64_t random_stream(uint64_t seed, uint64_t purpose, uint64_t index)
{
    uint64_t state = seed ^ purpose * UINT64_C(0xd6e8feb86659fd93);

    state = random_u64(&state) ^ index;
    return random_u64(&state);
}

/* random_normal - mean 0, standard deviation 1 (Box and Muller); draws two numbers */
static inline double random_normal(uint64_t *state)
{
    double radius = sqrt(-2.0 * log(1.0 - random_unit(state)));

    return radius * cos(2.0 * M_PI * random_unit(state));
}
