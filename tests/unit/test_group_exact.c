/* SPDX-License-Identifier: Apache-2.0 */
/* test_group_exact.c - sums that have the same bits in any order */
#include <float.h>
#include <math.h>

#include "libedl/group_exact.h"
#include "shared/macro.h"
#include "shared/random.h"
#include "tests/unit/test.h"

#define UNITS 0x1p36

TEST(test_values_are_rounded_to_the_nearest_unit)
{
    static const struct {
        float value;
        int64_t units;
    } table[] = { { 0.0F, 0 },
                  { -0.0F, 0 },
                  { 1.0F, INT64_C(1) << 36 },
                  { -1.0F, -(INT64_C(1) << 36) },
                  { 0x1p-36F, 1 },
                  { 0x1.8p-37F, 1 },
                  { 0x1p-37F, 0 }, /* half a unit: to the even one */
                  { 0x1.8p-36F, 2 },
                  { -0x1.8p-36F, -2 },
                  { 0x1p-149F, 0 },
                  { 0x1.fffffep14F, (INT64_C(1) << 51) - (INT64_C(1) << 27) },
                  { -0x1.fffffep14F, (INT64_C(1) << 27) - (INT64_C(1) << 51) } };
    int64_t sum;

    for (size_t i = 0; i < ELEMENTS(table); i++) {
        group_exact_put(&sum, &table[i].value, 1);
        assert_true(sum == table[i].units);
        sum = 5;
        group_exact_add(&sum, &table[i].value, 1);
        assert_true(sum == table[i].units + 5);
    }
}

TEST(test_the_largest_sum_does_not_overflow)
{
    const float most = 0x1.fffffep14F;
    int64_t sum = 0;
    float back;

    for (int i = 0; i < 128; i++)
        group_exact_add(&sum, &most, 1);
    group_exact_round(&back, &sum, 1);
    assert_true(back == 128 * most);
}

TEST(test_any_order_and_any_parts_have_the_same_bits)
{
    enum { N = 1001, PARTS = 24 };
    static float values[PARTS][N];
    static int64_t once[N], parts[3][N];
    uint64_t seed = 7;

    for (int p = 0; p < PARTS; p++)
        for (int i = 0; i < N; i++)
            values[p][i] = (float)ldexp(random_unit(&seed) - 0.5, (int)random_below(&seed, 20) - 8);
    for (int p = 0; p < PARTS; p++)
        group_exact_add(once, values[p], N);
    for (int p = PARTS - 1; p >= 0; p--)
        group_exact_add(parts[p % 3], values[p], N);
    group_exact_add_sums(parts[0], parts[1], N);
    group_exact_add_sums(parts[0], parts[2], N);
    assert_memory_equal(once, parts[0], sizeof once);
    for (int i = 0; i < N; i++) {
        double exact = 0; /* whole units below 2^53 */
        float back;

        for (int p = 0; p < PARTS; p++)
            exact += nearbyint((double)values[p][i] * UNITS);
        group_exact_round(&back, &once[i], 1);
        assert_true((double)once[i] == exact && back == (float)(exact / UNITS));
    }
}

TEST(test_what_cannot_be_added_is_found)
{
    static const float bad[] = { 32768.0F, -32768.0F, NAN, INFINITY, -INFINITY };
    static float values[100];

    assert_int_equal(group_exact_find(values, 100, GROUP_EXACT_MOST), 100);
    for (size_t i = 0; i < ELEMENTS(bad); i++) {
        values[37] = bad[i];
        assert_int_equal(group_exact_find(values, 100, GROUP_EXACT_MOST), 37);
        assert_int_equal(group_exact_find(values, 37, GROUP_EXACT_MOST), 37);
        /* of floats that are not exact what is no number alone */
        assert_int_equal(group_exact_find(values, 100, INFINITY), i < 2 ? 100 : 37);
    }
}
