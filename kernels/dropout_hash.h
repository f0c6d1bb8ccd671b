/* SPDX-License-Identifier: Apache-2.0 */
/* dropout_hash.h - the bit that decides whether element i stays; the same on every back-end
 *
 * Counter-based: a function of (seed, i) alone, so that masks do not depend on the order of
 * evaluation, the number of threads or the device. Two rounds of Murmur's 32-bit finaliser under
 * two keys; only 32-bit operations, because they vectorise. */
#pragma once

#include <stdint.h>

#ifdef __CUDACC__
#define EDL_HASH_INLINE static __host__ __device__ inline
#else
#define EDL_HASH_INLINE static inline __attribute__((always_inline))
#endif

#define DROPOUT_BITS 24 /* resolution of the rate */

EDL_HASH_INLINE uint32_t dropout_mix(uint32_t h)
{
    h ^= h >> 16;
    h *= 0x85ebca6bu;
    h ^= h >> 13;
    h *= 0xc2b2ae35u;
    return h ^ (h >> 16);
}

/* dropout_key - two 32-bit keys from the seed and the upper half of the counter (splitmix64) */
EDL_HASH_INLINE uint64_t dropout_key(uint64_t seed, uint64_t counter_high)
{
    uint64_t z = seed + (counter_high + 1) * UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* dropout_threshold - draws below it drop the element */
EDL_HASH_INLINE int32_t dropout_threshold(float rate)
{
    return (int32_t)((double)rate * (1 << DROPOUT_BITS));
}

/* dropout_draw - uniform integer in [0, 2^24) */
EDL_HASH_INLINE int32_t dropout_draw(uint32_t counter, uint32_t key_low, uint32_t key_high)
{
    uint32_t h = dropout_mix(dropout_mix(counter + key_low) ^ key_high);

    return (int32_t)(h >> (32 - DROPOUT_BITS));
}
