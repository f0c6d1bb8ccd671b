/* SPDX-License-Identifier: Apache-2.0 */
/* vector.h - what the vectorised loops of the CPU back-end share
 *
 * Loops are plain C with `#pragma omp simd` (-fopenmp-simd: no OpenMP runtime), compiled once per
 * instruction set and chosen at load time, so that one package runs well on every x86-64. The
 * reductions say reassociation loop by loop. -ffast-math would do it too, but it also lets the
 * compiler assume that no NaN exists, and NaN is how a diverged training shows. */
#pragma once

#include <stdint.h>
#include <string.h>

/* Resolvers of ifuncs run before a sanitizer's runtime is up, so clones and sanitizers exclude each
 * other. UBSan alone has no macro: build with -DEDL_NO_MULTIVERSION then. */
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__) &&       \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) &&                             \
    !defined(EDL_NO_MULTIVERSION)
#define EDL_MULTIVERSION __attribute__((target_clones("avx512f", "avx2", "default")))
#define EDL_MULTIVERSIONED
#else
#define EDL_MULTIVERSION
#endif

#define EDL_INLINE static inline __attribute__((always_inline))

EDL_INLINE uint32_t bits_of_f32(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

EDL_INLINE float f32_of_bits(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

/* exp_f32 - e^x within 2 ulp; x below -87.3 gives 2^-126 (about 1e-38) and above 88 e^88; NaN stays
 *
 * x = n ln 2 + r with |r| <= ln 2 / 2; e^r by polynomial (Cephes' coefficients), 2^n by writing the
 * exponent. Adding 1.5 * 2^23 rounds to an integer and leaves n in the low bits. */
EDL_INLINE float exp_f32(float x)
{
    const float magic = 12582912.0f;
    float z, n, r, p;

    x = x < -87.3f ? -87.3f : x; /* both are false for NaN, which therefore stays */
    x = x > 88.0f ? 88.0f : x;
    z = x * 1.44269504088896341f + magic;
    n = z - magic;
    r = x - n * 0.693359375f;
    r = r + n * 2.12194440e-4f;
    p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    return p * f32_of_bits((bits_of_f32(z) + 127u) << 23);
}
