/* SPDX-License-Identifier: Apache-2.0 */
/* param_init.c - start values of parameters, computable element by element
 *
 * Each shard of each server computes its own rows, so a value may depend on nothing but
 * (name, seed, row, column). Bit-equal on every machine: the normal variate is the sum of twelve
 * 16-bit uniform integers (Irwin-Hall: mean 6, variance 1, tails end at 6 sigma), exact in integer
 * arithmetic, followed by correctly rounded operations. A logarithm or cosine of libm would
 * differ between its versions. */
#include "trainer/parameters/param_spec.h"

#include <stddef.h>

static uint64_t mix(uint64_t z)
{
    z += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static uint64_t hash_name(const char *name, size_t size)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325); /* FNV-1a */

    for (size_t i = 0; i < size && name[i] != '\0'; i++)
        h = (h ^ (uint8_t)name[i]) * UINT64_C(0x100000001b3);
    return h;
}

/* Mean 0, variance 1. */
static double normal_of(uint64_t z)
{
    int64_t sum = 0;

    for (int word = 0; word < 3; word++) {
        for (int shift = 0; shift < 64; shift += 16)
            sum += (int64_t)(z >> shift & 0xffff);
        z = mix(z);
    }
    /* Each draw has mean 65535/2; twelve of them 393210. The division by 2^16 is exact. */
    return (double)(sum - 393210) / 65536.0;
}

/* In (-1, 1): the middles of 2^52 equal pieces. */
static double uniform_of(uint64_t z)
{
    return ((double)(z >> 12) + 0.5) * 0x1p-51 - 1.0;
}

float param_init_value(const struct param_spec *spec, uint64_t seed, uint32_t row, uint32_t column)
{
    const double mean = (double)spec->initial_mean;
    double drawn;
    uint64_t z;

    if (spec->initial_std == 0.0f || spec->initial == PARAM_CONSTANT)
        return spec->initial_mean;
    z = mix(seed ^ hash_name(spec->name, sizeof spec->name));
    z = mix(z ^ ((uint64_t)row << 32 | column));
    drawn = spec->initial == PARAM_UNIFORM ? uniform_of(z) : normal_of(z);
    return (float)(mean + drawn * (double)spec->initial_std);
}
