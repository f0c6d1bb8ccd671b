/* SPDX-License-Identifier: Apache-2.0 */
/* random.h - splitmix64: the same numbers on every machine for the same seed; not for secrets */
#pragma once

#include <stdint.h>

static inline uint64_t random_u64(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* random_below - 0..n-1; the bias of the multiplication is below n / 2^64 */
static inline uint64_t random_below(uint64_t *state, uint64_t n)
{
    return (uint64_t)((unsigned __int128)random_u64(state) * n >> 64);
}

/* random_unit - [0, 1) with 53 bits */
static inline double random_unit(uint64_t *state)
{
    return (double)(random_u64(state) >> 11) * 0x1p-53;
}
