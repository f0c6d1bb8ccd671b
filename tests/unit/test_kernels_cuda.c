/* SPDX-License-Identifier: Apache-2.0 */
/* test_kernels_cuda.c - every op of the CUDA back-end: the f64 reference and the CPU back-end
 *
 * The reference cases are those of the CPU. The comparison beside them pins what both must share
 * beyond rounding: the dropout mask, bit by bit. Without a device the program is skipped. */
#include "tests/lib/kernels_cases.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels/backend_cuda.h"
#include "shared/macro.h"

#define EXIT_SKIP 77

static const struct edl_backend *device;

enum { B = 32, D = 128, H = 256, K = 2073 };

static float *values(size_t n, float phase)
{
    float *x = xcalloc(n, sizeof *x);

    for (size_t i = 0; i < n; i++)
        x[i] = sinf(phase + 0.7f * (float)(i % 10007));
    return x;
}

static void compare(const char *what, const float *got, const float *want, size_t n, double scale)
{
    for (size_t i = 0; i < n; i++)
        if (!(fabs((double)got[i] - (double)want[i]) <= 2e-6 * scale))
            fail_msg("%s[%zu]: cuda %.9g, cpu %.9g", what, i, (double)got[i], (double)want[i]);
}

static void test_same_mask_as_cpu(void **unused)
{
    float *x = values(B * H, 0.1f), *mask = values(B * H, 1.0f), *other = values(B * H, 2.0f);

    (void)unused;
    for (uint64_t seed = 0; seed < 5; seed++) {
        device->dropout_forward(x, B * H, 0.3f, seed, mask, x);
        backend_cpu()->dropout_forward(x, B * H, 0.3f, seed, other, x);
        assert_memory_equal(mask, other, B * H * sizeof *mask);
    }
    free(x);
    free(mask);
    free(other);
}

/* The two large products and the loss on the sizes of a training step. */
static void test_step_sizes(void **unused)
{
    const struct edl_backend *backends[2] = { device, backend_cpu() };
    float *x = values(B * H, 0.1f), *w = values(K * H, 0.2f), *b = values(K, 0.3f);
    float *p[2], *dw[2], *db[2], *dx[2];
    int32_t targets[B];
    double cost[2];
    uint32_t errors[2];

    (void)unused;
    for (int i = 0; i < B; i++)
        targets[i] = i * 61;
    for (int i = 0; i < 2; i++) {
        p[i] = values(B * K, 3.0f);
        dw[i] = values(K * H, 4.0f);
        db[i] = values(K, 5.0f);
        dx[i] = values(B * H, 6.0f);
        backends[i]->fc_forward_transposed(x, w, b, B, H, K, p[i]);
        cost[i] = backends[i]->softmax_xent_forward(p[i], targets, B, K, &errors[i]);
        backends[i]->softmax_xent_backward(p[i], targets, B, K);
        backends[i]->fc_backward_transposed(x, w, p[i], B, H, K, dw[i], db[i], dx[i]);
    }
    assert_true(fabs(cost[0] - cost[1]) <= 1e-5 * fabs(cost[1]));
    assert_int_equal(errors[0], errors[1]);
    compare("p", p[0], p[1], B * K, 1.0);
    compare("dw", dw[0], dw[1], K * H, 10.0);
    compare("db", db[0], db[1], K, 10.0);
    compare("dx", dx[0], dx[1], B * H, 10.0);
    for (int i = 0; i < 2; i++) {
        free(p[i]);
        free(dw[i]);
        free(db[i]);
        free(dx[i]);
    }
    free(x);
    free(w);
    free(b);
}

static void test_no_failure(void **unused)
{
    (void)unused;
    assert_null(backend_cuda_failure());
}

int main(void)
{
    struct CMUnitTest tests[KERNELS_CASES_MAX + 3];
    char reason[256] = "";
    size_t n = kernels_cases(tests);
    int failed;

    device = backend_cuda(0, reason, sizeof reason);
    if (device == NULL) {
        (void)printf("1..0 # SKIP no CUDA device: %s\n", reason);
        return EXIT_SKIP;
    }
    kernels_cases_use(device);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_same_mask_as_cpu);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_step_sizes);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_no_failure);
    failed = _cmocka_run_group_tests("kernels: cuda", tests, n, NULL, NULL);
    backend_cuda_close();
    return failed;
}
