/* SPDX-License-Identifier: Apache-2.0 */
/* test_libedl_sampler.c - the order of records: the same for everybody, whole, and another in each
 * epoch python/tests/test_sampler.py has the same table. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libedl/edl/edl.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

static uint64_t at(uint64_t n, uint64_t seed, uint64_t epoch, uint64_t place)
{
    const struct edl_sampler sampler = { .n_records = n, .seed = seed };
    uint64_t ret = UINT64_MAX;

    assert_int_equal(edl_sample(&sampler, epoch, place, &ret), 0);
    return ret;
}

TEST(test_the_numbers_are_those_of_the_table)
{
    static const struct {
        uint64_t n, seed, epoch, place, index;
    } table[] = {
        { 1U, 0U, 0U, 0U, 0U },
        { 2U, 0U, 0U, 0U, 1U },
        { 3U, 5U, 1U, 2U, 2U },
        { 10U, 7U, 0U, 0U, 4U },
        { 10U, 7U, 0U, 9U, 5U },
        { 1000U, 0U, 0U, 0U, 649U },
        { 1000U, 0U, 1U, 0U, 262U },
        { 1000U, 1U, 0U, 0U, 517U },
        { 1000000U, 42U, 3U, 999999U, 614585U },
        { 4294967297U, 18446744073709551615U, 9223372036854775808U, 4294967296U, 4291871862U },
        { 9223372036854775807U, 12345U, 7U, 9223372036854775806U, 7306926427870749943U },
        { 9223372036854775807U, 0U, 18446744073709551615U, 0U, 7211468075661176562U },
    };

    for (size_t i = 0; i < ELEMENTS(table); i++)
        assert_true(at(table[i].n, table[i].seed, table[i].epoch, table[i].place) ==
                    table[i].index);
}

TEST(test_each_record_comes_once)
{
    static const uint64_t sizes[] = { 1, 2, 3, 4, 5, 16, 17, 97, 1000, 1023, 1024, 1025 };
    uint8_t *seen = calloc(1025, 1);

    assert_non_null(seen);
    for (size_t i = 0; i < ELEMENTS(sizes); i++)
        for (uint64_t epoch = 0; epoch < 3; epoch++) {
            memset(seen, 0, 1025);
            for (uint64_t place = 0; place < sizes[i]; place++) {
                uint64_t index = at(sizes[i], 11, epoch, place);

                assert_true(index < sizes[i]);
                assert_int_equal(seen[index], 0);
                seen[index] = 1;
            }
        }
    free(seen);
}

/* A step by `size` processes: their parts, one behind the other. */
static size_t whole_step(const struct edl_sampler *sampler, uint64_t step, uint64_t size,
                         uint64_t ret[static 16])
{
    size_t n = 0, part = 0;

    for (uint64_t rank = 0; rank < size; rank++) {
        assert_int_equal(edl_sample_step(sampler, 0, step, rank, size, ret + n, &part), 0);
        assert_true(part <= (sampler->global_batch + size - 1) / size);
        n += part;
    }
    return n;
}

TEST(test_a_step_has_the_same_records_at_any_size)
{
    static const struct edl_sampler sampler = { .n_records = 25, .seed = 3, .global_batch = 8 };
    static const uint64_t first[] = { 4, 10, 12, 11, 2, 7, 5, 13 };
    uint64_t alone[16], together[16];

    assert_int_equal(whole_step(&sampler, 0, 1, alone), 8);
    assert_memory_equal(alone, first, sizeof first);
    for (uint64_t step = 0; step < 4; step++) {
        size_t n = whole_step(&sampler, step, 1, alone);

        assert_int_equal(n, step < 3 ? 8 : 1); /* 25 records are three batches and one more */
        for (uint64_t size = 2; size <= 9; size++) {
            assert_int_equal(whole_step(&sampler, step, size, together), n);
            assert_memory_equal(together, alone, n * sizeof alone[0]);
        }
    }
}

TEST(test_what_cannot_be)
{
    struct edl_sampler sampler = { .n_records = 25, .seed = 3, .global_batch = 8 };
    uint64_t index, indices[8];
    size_t n;

    assert_int_equal(edl_sample(&sampler, 0, 25, &index), -EINVAL);
    assert_int_equal(edl_sample_step(&sampler, 0, 4, 0, 1, indices, &n), -EINVAL);
    assert_int_equal(edl_sample_step(&sampler, 0, 0, 2, 2, indices, &n), -EINVAL);
    sampler.global_batch = 0;
    assert_int_equal(edl_sample_step(&sampler, 0, 0, 0, 1, indices, &n), -EINVAL);
    sampler = (struct edl_sampler){ .n_records = UINT64_C(1) << 63, .global_batch = 8 };
    assert_int_equal(edl_sample(&sampler, 0, 0, &index), -EINVAL);
    sampler.n_records = 0;
    assert_int_equal(edl_sample(&sampler, 0, 0, &index), -EINVAL);
    assert_int_equal(edl_sample_step(&sampler, 0, 0, 0, 1, indices, &n), -EINVAL);
}
