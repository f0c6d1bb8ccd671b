/* SPDX-License-Identifier: Apache-2.0 */
/* test_kernels.c - every op of the CPU back-end against the f64 reference */
#include "tests/lib/kernels_cases.h"

#include <math.h>

#include "kernels/tensor_ops.h"
#include "kernels/vector.h"
#include "shared/macro.h"

/* The exponential under all loops, over its whole range. */
static void test_exp(void **unused)
{
    (void)unused;
    for (double x = -87.3; x <= 88.0; x += 0.0137) {
        const double want = exp((double)(float)x), got = (double)exp_f32((float)x);

        if (!(fabs(got - want) <= 2.5e-7 * want))
            fail_msg("exp(%g) is %.9g, not %.9g", x, got, want);
    }
    assert_true(exp_f32(0.0f) == 1.0f);
    assert_true(isnan(exp_f32(NAN)));
    assert_true(exp_f32(-INFINITY) >= 0.0f && exp_f32(-INFINITY) <= 1.3e-38f);
    assert_true(exp_f32(INFINITY) > 1e38f);
}

/* One value of an array, wherever it lies in a vector or behind the last one. */
static void test_finite(void **unused)
{
    static const float bad[] = { INFINITY, -INFINITY, NAN };
    static const float good[] = { 0.0f, -0.0f, 3.4e38f, -3.4e38f, 1e-45f };
    float x[67];

    (void)unused;
    for (size_t i = 0; i < ELEMENTS(x); i++)
        x[i] = good[i % ELEMENTS(good)];
    for (size_t n = 0; n <= ELEMENTS(x); n++)
        assert_int_equal(tensor_ops_f32()->finite(x, n), 1);
    for (size_t i = 0; i < ELEMENTS(x); i++)
        for (size_t b = 0; b < ELEMENTS(bad); b++) {
            const float was = x[i];

            x[i] = bad[b];
            assert_int_equal(tensor_ops_f32()->finite(x, ELEMENTS(x)), 0);
            assert_int_equal(tensor_ops_f32()->finite(x, i), 1);
            x[i] = was;
        }
}

int main(void)
{
    struct CMUnitTest tests[KERNELS_CASES_MAX + 2];
    size_t n = kernels_cases(tests);

    kernels_cases_use(tensor_ops_f32());
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_exp);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_finite);
    return _cmocka_run_group_tests("kernels: cpu", tests, n, NULL, NULL);
}
