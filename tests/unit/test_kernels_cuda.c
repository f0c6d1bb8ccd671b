/* SPDX-License-Identifier: Apache-2.0 */
/* test_kernels_cuda.c - the CUDA back-end as a trainer loads it: its ops, and a training by them
 *
 * The ops against the f64 reference by the cases of the CPU. The comparison beside them pins what
 * both must share beyond rounding: the dropout mask, bit by bit. Without a device it must say which
 * call found none, and the rest is skipped. */
#include "tests/lib/kernels_cases.h"

#include <cblas.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/lib/kernels_host.h"
#include "tests/lib/learner_run.h"
#include "trainer/learn/device.h"

#define EXIT_SKIP 77

static struct device cuda;
static const struct tensor_ops *device; /* its ops on the program's memory */

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
        tensor_ops_f32()->dropout_forward(x, B * H, 0.3f, seed, other, x);
        assert_memory_equal(mask, other, B * H * sizeof *mask);
    }
    free(x);
    free(mask);
    free(other);
}

/* The two large products and the loss on the sizes of a training step. */
static void test_step_sizes(void **unused)
{
    const struct tensor_ops *ops[2] = { device, tensor_ops_f32() };
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
        ops[i]->fill_rows(b, B, K, p[i]);
        ops[i]->gemm(0, 1, B, K, H, x, w, 1, p[i]);
        cost[i] = ops[i]->softmax_xent_forward(p[i], targets, B, K, &errors[i]);
        ops[i]->softmax_xent_backward(p[i], targets, B, K);
        ops[i]->gemm(1, 0, K, H, B, p[i], x, 0, dw[i]);
        ops[i]->column_sums(p[i], B, K, db[i]);
        ops[i]->gemm(0, 0, B, H, K, p[i], w, 0, dx[i]);
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

/* The same batches, the same masks; sums are rounded in another order, and training makes of that
 * what it likes. */
static void test_same_training(void **unused)
{
    struct learner_run host, here;

    (void)unused;
    for (uint32_t push_every = 1; push_every <= 3; push_every += 2) {
        learner_run(backend_cpu(), push_every, &host);
        learner_run(cuda.backend, push_every, &here);
        assert_int_equal(host.result, 0);
        if (here.result != 0)
            fail_msg("%s", here.text);
        print_message("cost before %.6f, cpu %.6f; after %.6f, cpu %.6f\n", here.before.cost,
                      host.before.cost, here.after.cost, host.after.cost);
        assert_int_equal(here.updates, host.updates);
        assert_int_equal(here.n_costs, host.n_costs);
        assert_true(fabs(here.before.cost - host.before.cost) <= 1e-5 * host.before.cost);
        for (uint32_t i = 0; i < 10; i++)
            if (!(fabs(here.costs[i] - host.costs[i]) <= 1e-3 * host.costs[i]))
                fail_msg("batch %u: cost %.9g, cpu %.9g", i, here.costs[i], host.costs[i]);
        assert_true(fabs(here.after.cost - host.after.cost) <= 0.01 * host.after.cost);
        learner_run_free(&host);
        learner_run_free(&here);
    }
}

static void test_no_failure(void **unused)
{
    (void)unused;
    assert_null(cuda.backend->failure());
}

/* More than any device has: refused, and no failure of the device. */
static void test_too_much_memory(void **unused)
{
    (void)unused;
    assert_null(cuda.backend->allocate((size_t)1 << 50));
    assert_null(cuda.backend->failure());
}

/* EXIT_SKIP with the reason where there is no device; what else keeps it from being loaded is a
 * fault. */
static int without_device(const struct edl_error *error)
{
    static const char *const calls[] = { "NVIDIA driver is not there (libcuda.so.1",
                                         "cuInit: ", "cuDeviceGetCount: " };
    bool named = false;

    for (size_t i = 0; i < ELEMENTS(calls); i++)
        named |= strstr(error->text, calls[i]) != NULL;
    if (error->code != -ENODEV || !named) {
        (void)fprintf(stderr, "it cannot be loaded: %s\n", error->text);
        return EXIT_FAILURE;
    }
    (void)printf("1..0 # SKIP %s\n", error->text);
    return EXIT_SKIP;
}

int main(void)
{
    char folder[PATH_MAX];
    struct CMUnitTest tests[KERNELS_CASES_MAX + 5];
    struct edl_error error = { 0 };
    size_t n = kernels_cases(tests);
    int failed;

    openblas_set_num_threads(1);
    (void)snprintf(folder, sizeof folder, "%s/kernels", getenv("EDL_BUILD_DIR"));
    if (setenv("EDL_KERNELS_DIR", folder, 1) < 0)
        return EXIT_FAILURE;
    if (device_open("cuda", &cuda, &error) < 0)
        return without_device(&error);
    device = kernels_on_host(cuda.backend);
    kernels_cases_use(device);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_same_mask_as_cpu);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_step_sizes);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_too_much_memory);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_same_training);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_no_failure);
    failed = _cmocka_run_group_tests("kernels: cuda", tests, n, NULL, NULL);
    device_close(&cuda);
    return failed;
}
