/* SPDX-License-Identifier: Apache-2.0 */
/* sampler.c - the order of the records of an epoch, as a function of numbers
 *
 * Nothing is remembered, so a process that comes late, or a job that has another size now, works
 * out the same records for the same step. python/edl/_sampler.py gives the same numbers: both are
 * tested with the same table.
 *
 * The order is a Feistel network over a * b >= n places, a the least number with a * a >= n, so
 * that hardly any place is outside of n. A place is two digits; each round adds a number that the
 * other digit and the round's key make to one of them, modulo its base. That can be undone, so no
 * two places meet. A place outside of n is sent through again until it is inside. */
#include <errno.h>

#include "libedl/edl/edl.h"
#include "shared/macro.h"

#define ROUNDS 8 /* even; few digits need more rounds than many do */
#define RECORDS_MAX INT64_MAX
#define GOLDEN UINT64_C(0x9e3779b97f4a7c15)

/* One epoch's order. */
struct order {
    uint64_t n, a, b;
    uint64_t keys[ROUNDS];
};

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

static struct order order_of(uint64_t n, uint64_t seed, uint64_t epoch)
{
    struct order order = { .n = n, .a = root_above(n) };
    const uint64_t base = mix(mix(seed) + epoch);

    order.b = (n + order.a - 1) / order.a;
    for (uint64_t i = 0; i < ROUNDS; i++)
        order.keys[i] = mix(base + (i + 1) * GOLDEN);
    return order;
}

static uint64_t order_at(const struct order *order, uint64_t place)
{
    do {
        uint64_t high = place / order->b, low = place % order->b;

        for (int i = 0; i < ROUNDS; i += 2) {
            high = (high + mix(low ^ order->keys[i]) % order->a) % order->a;
            low = (low + mix(high ^ order->keys[i + 1]) % order->b) % order->b;
        }
        place = high * order->b + low;
    } while (place >= order->n);
    return place;
}

/* m * part / parts without an overflow */
static uint64_t share(uint64_t m, uint64_t part, uint64_t parts)
{
    return (uint64_t)((unsigned __int128)m * part / parts);
}

int edl_sample(const struct edl_sampler *sampler, uint64_t epoch, uint64_t place, uint64_t *ret)
{
    struct order order;

    if (sampler->n_records > RECORDS_MAX || place >= sampler->n_records)
        return -EINVAL;
    order = order_of(sampler->n_records, sampler->seed, epoch);
    *ret = order_at(&order, place);
    return 0;
}

int edl_sample_step(const struct edl_sampler *sampler, uint64_t epoch, uint64_t step, uint64_t rank,
                    uint64_t size, uint64_t *ret, size_t *ret_n)
{
    const uint64_t n = sampler->n_records, batch = sampler->global_batch;
    struct order order;
    uint64_t first, m, end;

    if (n == 0 || n > RECORDS_MAX || batch == 0 || rank >= size || step > (n - 1) / batch)
        return -EINVAL;
    first = step * batch;
    m = MIN_OF(batch, n - first);
    order = order_of(n, sampler->seed, epoch);
    end = share(m, rank + 1, size);
    *ret_n = 0;
    for (uint64_t i = share(m, rank, size); i < end; i++)
        ret[(*ret_n)++] = order_at(&order, first + i);
    return 0;
}
