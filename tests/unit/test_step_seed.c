/* SPDX-License-Identifier: Apache-2.0 */
/* test_step_seed.c - from where the dropout of a micro-batch draws */
#include "tests/unit/test.h"

#include <stdbool.h>

#include "shared/macro.h"
#include "trainer/learn/step_seed.h"

/* The seeds of another release would be other masks: a training that goes on has these. */
TEST(test_seeds_are_these)
{
    const struct step_place first = { 0 }, other = { 7, 1, 2, 3 };

    assert_int_equal(step_seed(1, &first), UINT64_C(0xee8c470daf70a98c));
    assert_int_equal(step_seed(1, &other), UINT64_C(0x9c01c9fe65557660));
    assert_int_equal(step_lesson("/data/train-00000.recordio", 4096), UINT64_C(0xf3903d5b901b0782));
}

static int compare(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* No two places of a small training share a mask, whatever the order of the numbers. */
TEST(test_no_two_are_alike)
{
    enum { N = 6 };
    static uint64_t seeds[N * N * N * N * N];
    size_t n = 0;

    for (uint64_t s = 0; s < N; s++)
        for (uint64_t l = 0; l < N; l++)
            for (uint64_t e = 0; e < N; e++)
                for (uint64_t t = 0; t < N; t++)
                    for (uint64_t m = 0; m < N; m++)
                        seeds[n++] = step_seed(s, &(struct step_place){ l, e, t, m });
    qsort(seeds, n, sizeof *seeds, compare);
    for (size_t i = 1; i < n; i++)
        assert_true(seeds[i] != seeds[i - 1]);
}

/* A file is the same on every node, whatever folder it lies in there. */
TEST(test_lesson_is_of_the_file)
{
    const uint64_t lesson = step_lesson("/mnt/a/train-1.recordio", 0);

    assert_int_equal(step_lesson("train-1.recordio", 0), lesson);
    assert_int_equal(step_lesson("/home/b/c/train-1.recordio", 0), lesson);
    assert_true(step_lesson("/mnt/a/train-2.recordio", 0) != lesson);
    assert_true(step_lesson("/mnt/a/train-1.recordio", 8) != lesson);
}
