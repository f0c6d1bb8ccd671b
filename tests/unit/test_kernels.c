/* SPDX-License-Identifier: Apache-2.0 */
/* test_kernels.c - every op of the CPU back-end against the f64 reference */
#include "tests/lib/kernels_cases.h"

#include <math.h>

#include "kernels/vector.h"

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

int main(void)
{
    struct CMUnitTest tests[KERNELS_CASES_MAX + 1];
    size_t n = kernels_cases(tests);

    kernels_cases_use(backend_cpu());
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_exp);
    return _cmocka_run_group_tests("kernels: cpu", tests, n, NULL, NULL);
}
