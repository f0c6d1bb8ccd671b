/* SPDX-License-Identifier: Apache-2.0 */
/* group_exact.c - sums of f32 that have the same bits in any order */
#include "libedl/group_exact.h"

#include <stdbool.h>
#include <string.h>

/* clang builds for sanitizers and fuzzers: one version each, so that nothing depends on a resolver
 * that runs before the sanitizer does */
#if defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) &&                  \
    defined(__x86_64__)
#define FAST __attribute__((target_clones("avx512f", "avx2", "default"), optimize("O3")))
#else
#define FAST
#endif

/* Added to a number below 2^51, it leaves that number, rounded, in the low bits. */
#define SHIFTER 0x1.8p52
#define UNITS (double)(UINT64_C(1) << GROUP_EXACT_BITS)

static inline int64_t units_of(float value)
{
    double shifted = (double)value * UNITS + SHIFTER, shifter = SHIFTER;
    int64_t bits, none;

    memcpy(&bits, &shifted, sizeof bits);
    memcpy(&none, &shifter, sizeof none);
    return bits - none;
}

FAST static bool fits(const float *values, size_t n, float most)
{
    unsigned beyond = 0;

    for (size_t i = 0; i < n; i++) /* false for what is no number, too */
        beyond |= !(values[i] > -most && values[i] < most);
    return beyond == 0;
}

size_t group_exact_find(const float *values, size_t n, float most)
{
    size_t i = 0;

    if (fits(values, n, most))
        return n;
    while (values[i] > -most && values[i] < most)
        i++;
    return i;
}

FAST void group_exact_add(int64_t *sums, const float *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sums[i] = (int64_t)((uint64_t)sums[i] + (uint64_t)units_of(values[i]));
}

FAST void group_exact_put(int64_t *sums, const float *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sums[i] = units_of(values[i]);
}

FAST void group_exact_add_sums(int64_t *sums, const int64_t *more, size_t n)
{
    for (size_t i = 0; i < n; i++) /* unsigned: a peer's number may be anything */
        sums[i] = (int64_t)((uint64_t)sums[i] + (uint64_t)more[i]);
}

FAST void group_exact_round(float *values, const int64_t *sums, size_t n)
{
    for (size_t i = 0; i < n; i++)
        values[i] = (float)((double)sums[i] / UNITS);
}

FAST void group_f32_add(float *sums, const float *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sums[i] += values[i];
}
