/* SPDX-License-Identifier: Apache-2.0 */
/* sampler.c - the order of the records of an epoch, as a function of numbers
 *
 * Nothing is remembered. So a process that comes late, or a job that has another size now, works
 * out the same records for the same step. python/edl/_sampler.py gives the same numbers: both are
 * tested with the same table. The order is that of shared/permutation.h. */
#include <errno.h>

#include "libedl/edl/edl.h"
#include "shared/macro.h"
#include "shared/permutation.h"

#define RECORDS_MAX INT64_MAX

/* m * part / parts without an overflow */
static uint64_t share(uint64_t m, uint64_t part, uint64_t parts)
{
    return (uint64_t)((unsigned __int128)m * part / parts);
}

int edl_sample(const struct edl_sampler *sampler, uint64_t epoch, uint64_t place, uint64_t *ret)
{
    struct permutation order;

    if (sampler->n_records > RECORDS_MAX || place >= sampler->n_records)
        return -EINVAL;
    order = permutation_of(sampler->n_records, sampler->seed, epoch);
    *ret = permutation_at(&order, place);
    return 0;
}

int edl_sample_step(const struct edl_sampler *sampler, uint64_t epoch, uint64_t step, uint64_t rank,
                    uint64_t size, uint64_t *ret, size_t *ret_n)
{
    const uint64_t n = sampler->n_records, batch = sampler->global_batch;
    struct permutation order;
    uint64_t first, m, end;

    if (n == 0 || n > RECORDS_MAX || batch == 0 || rank >= size || step > (n - 1) / batch)
        return -EINVAL;
    first = step * batch;
    m = MIN_OF(batch, n - first);
    order = permutation_of(n, sampler->seed, epoch);
    end = share(m, rank + 1, size);
    *ret_n = 0;
    for (uint64_t i = share(m, rank, size); i < end; i++)
        ret[(*ret_n)++] = permutation_at(&order, first + i);
    return 0;
}
