/* SPDX-License-Identifier: Apache-2.0 */
/* permutation.c - an order of n things that follows from a seed and an epoch
 *
 * A Feistel network over a * b >= n places, a the least number with a * a >= n, so that hardly any
 * place is outside of n. A place is two digits. Each round adds a number that the other digit and
 * the round's key make to one of them, modulo its base. That can be undone, so no two places meet.
 * A place outside of n is sent through again until it is inside. */
#include "shared/permutation.h"

#define GOLDEN UINT64_C(0x9e3779b97f4a7c15)

/* The end of splitmix64: each bit of x changes half of the others. */
static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* The least a with a * a >= n; n is at most INT64_MAX. */
static uint64_t root_above(uint64_t n)
{
    uint64_t root = 0;

    for (uint64_t bit = UINT64_C(1) << 31; bit != 0; bit >>= 1)
        if ((root | bit) * (root | bit) <= n)
            root |= bit;
    return root * root < n ? root + 1 : root;
}

struct permutation permutation_of(uint64_t n, uint64_t seed, uint64_t epoch)
{
    struct permutation permutation = { .n = n, .a = root_above(n) };
    const uint64_t base = mix(mix(seed) + epoch);

    permutation.b = n > 0 ? (n + permutation.a - 1) / permutation.a : 0;
    for (uint64_t i = 0; i < PERMUTATION_ROUNDS; i++)
        permutation.keys[i] = mix(base + (i + 1) * GOLDEN);
    return permutation;
}

uint64_t permutation_at(const struct permutation *permutation, uint64_t place)
{
    const struct permutation *p = permutation;

    do {
        uint64_t high = place / p->b, low = place % p->b;

        for (int i = 0; i < PERMUTATION_ROUNDS; i += 2) {
            high = (high + mix(low ^ p->keys[i]) % p->a) % p->a;
            low = (low + mix(high ^ p->keys[i + 1]) % p->b) % p->b;
        }
        place = high * p->b + low;
    } while (place >= p->n);
    return place;
}
