/* SPDX-License-Identifier: Apache-2.0 */
/* kernels_cases.c - the checks of every op of a back-end against the f64 reference */
#include "tests/lib/kernels_cases.h"

#include <math.h>
#include <stdio.h>

#include "shared/macro.h"
#include "tests/lib/kernels_reference.h"

#define GUARD 8 /* words behind every output, which no op may touch */
#define GUARD_VALUE 12345.0f

static const struct tensor_ops *ops;
static uint64_t state = 7;

static const size_t lengths[] = { 1,  2,  3,  7,  8,  13,  15,  16,  17,   31,
                                  32, 33, 63, 64, 65, 127, 128, 129, 1009, 2073 };

static const struct {
    size_t B, D, H;
} shapes[] = {
    { 1, 1, 1 },      { 1, 7, 13 },   { 3, 1, 5 },      { 2, 5, 1 },      { 31, 33, 17 },
    { 32, 128, 256 }, { 33, 63, 65 }, { 17, 127, 129 }, { 64, 101, 211 }, { 5, 256, 2073 },
};

void kernels_cases_use(const struct tensor_ops *o)
{
    ops = o;
}

/* uniform in (-1, 1) */
static float draw(void)
{
    uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (float)((double)((z ^ (z >> 31)) >> 40) * 0x1p-23 - 1.0);
}

static float *new_input(size_t n, float scale)
{
    float *x = xcalloc(n, sizeof *x);

    for (size_t i = 0; i < n; i++)
        x[i] = scale * draw();
    return x;
}

static void guard(float *x, size_t n)
{
    for (size_t i = 0; i < GUARD; i++)
        x[n + i] = GUARD_VALUE;
}

static float *new_output(size_t n)
{
    float *x = xcalloc(n + GUARD, sizeof *x);

    for (size_t i = 0; i < n; i++)
        x[i] = NAN;
    guard(x, n);
    return x;
}

/* For in-place ops: input and guard words. */
static float *new_inout(size_t n, float scale)
{
    float *x = xcalloc(n + GUARD, sizeof *x);

    for (size_t i = 0; i < n; i++)
        x[i] = scale * draw();
    guard(x, n);
    return x;
}

static void check(const char *what, const float *got, const double *want, size_t n, double absolute,
                  double relative)
{
    for (size_t i = 0; i < n; i++) {
        double error = fabs((double)got[i] - want[i]);
        double tolerance = absolute + relative * fabs(want[i]);

        if (!(error <= tolerance))
            fail_msg("%s: element %zu of %zu is %.9g, not %.9g (error %.3g > %.3g)", what, i, n,
                     (double)got[i], want[i], error, tolerance);
    }
    for (size_t i = 0; i < GUARD; i++)
        if (!(got[n + i] == GUARD_VALUE))
            fail_msg("%s: wrote behind the end of %zu elements", what, n);
}

static void test_gather_rows(void **unused)
{
    (void)unused;
    for (size_t s = 0; s < ELEMENTS(shapes); s++) {
        const size_t B = shapes[s].H, V = shapes[s].B, D = shapes[s].D;
        float *table = new_input(V * D, 1.0f), *out = new_output(B * D);
        uint32_t *indices = xcalloc(B, sizeof *indices);
        double *want = xcalloc(B * D, sizeof *want);

        for (size_t i = 0; i < B; i++)
            indices[i] = (uint32_t)((i * 7 + 3) % V);
        for (size_t i = 0; i < B * D; i++)
            want[i] = (double)table[indices[i / D] * D + i % D];
        ops->gather_rows(table, indices, B, D, out);
        check("gather_rows", out, want, B * D, 0.0, 0.0);
        free(table);
        free(out);
        free(indices);
        free(want);
    }
}

static void test_scatter_add_rows(void **unused)
{
    (void)unused;
    for (size_t s = 0; s < ELEMENTS(shapes); s++) {
        const size_t B = shapes[s].H, V = shapes[s].B, D = shapes[s].D;
        float *in = new_input(B * D, 1.0f), *table = new_inout(V * D, 1.0f);
        double *want = reference_widen(table, V * D);
        uint32_t *indices = xcalloc(B, sizeof *indices);

        for (size_t i = 0; i < B; i++)
            indices[i] = (uint32_t)(i * i % V); /* repeats */
        for (size_t i = 0; i < B * D; i++)
            want[indices[i / D] * D + i % D] += (double)in[i];
        ops->scatter_add_rows(in, indices, B, D, table);
        check("scatter_add_rows", table, want, V * D, 1e-6 * (double)(B + 1), 1e-6);
        free(in);
        free(table);
        free(indices);
        free(want);
    }
}

/* Rows that no index names stay as they are. */
static void test_scatter_rows(void **unused)
{
    (void)unused;
    for (size_t s = 0; s < ELEMENTS(shapes); s++) {
        const size_t B = shapes[s].B, V = 2 * B, D = shapes[s].D;
        float *in = new_input(B * D, 1.0f), *table = new_inout(V * D, 1.0f);
        double *want = reference_widen(table, V * D);
        uint32_t *indices = xcalloc(B, sizeof *indices);

        for (size_t i = 0; i < B; i++)
            indices[i] = (uint32_t)(2 * (B - 1 - i) + i % 2); /* distinct, falling */
        for (size_t i = 0; i < B * D; i++)
            want[indices[i / D] * D + i % D] = (double)in[i];
        ops->scatter_rows(in, indices, B, D, table);
        check("scatter_rows", table, want, V * D, 0.0, 0.0);
        free(in);
        free(table);
        free(indices);
        free(want);
    }
}

static void test_elementwise(void **unused)
{
    (void)unused;
    for (size_t s = 0; s < ELEMENTS(lengths); s++) {
        const size_t n = lengths[s];
        float *x = new_input(n, 3.0f), *y = new_input(n, 5.0f);
        float *sum = new_inout(n, 1.0f), *out = new_output(n), *in_place = new_inout(n, 1.0f);
        double *want = xcalloc(n, sizeof *want);

        for (size_t i = 0; i < n; i++)
            want[i] = (double)(sum[i] + x[i]);
        ops->add(x, n, sum);
        check("add", sum, want, n, 0.0, 0.0);
        for (size_t i = 0; i < n; i++)
            want[i] = (double)(x[i] * 0.3f);
        ops->scale(x, n, (double)0.3f, out);
        check("scale", out, want, n, 0.0, 0.0);
        memcpy(in_place, x, n * sizeof *x);
        ops->scale(in_place, n, (double)0.3f, in_place);
        check("scale in place", in_place, want, n, 0.0, 0.0);
        for (size_t i = 0; i < n; i++)
            want[i] = (double)(x[i] * y[i]);
        ops->multiply(x, y, n, out);
        check("multiply", out, want, n, 0.0, 0.0);
        memcpy(in_place, x, n * sizeof *x);
        ops->multiply(in_place, y, n, in_place);
        check("multiply in place", in_place, want, n, 0.0, 0.0);
        free(x);
        free(y);
        free(sum);
        free(out);
        free(in_place);
        free(want);
    }
}

/* c[M,N] = op(a) op(b), onto what is there where accumulate */
static void gemm_case(size_t M, size_t N, size_t K, int transpose_a, int transpose_b,
                      int accumulate)
{
    float *a = new_input(M * K, 1.0f), *b = new_input(K * N, 1.0f);
    float *c = accumulate ? new_inout(M * N, 1.0f) : new_output(M * N);
    double *want = xcalloc(M * N, sizeof *want);

    for (size_t i = 0; i < M; i++)
        for (size_t j = 0; j < N; j++) {
            double sum = accumulate ? (double)c[i * N + j] : 0.0;

            for (size_t k = 0; k < K; k++)
                sum += (double)a[transpose_a ? k * M + i : i * K + k] *
                       (double)b[transpose_b ? j * K + k : k * N + j];
            want[i * N + j] = sum;
        }
    ops->gemm(transpose_a, transpose_b, M, N, K, a, b, accumulate, c);
    check("gemm", c, want, M * N, 1e-6 + 2e-7 * (double)K, 1e-6);
    free(a);
    free(b);
    free(c);
    free(want);
}

static void test_gemm(void **unused)
{
    (void)unused;
    for (size_t s = 0; s < ELEMENTS(shapes); s++)
        for (int i = 0; i < 8; i++)
            if (i < 3 || shapes[s].H < 1000) /* the long loop of the reference */
                gemm_case(shapes[s].B, shapes[s].H, shapes[s].D, i & 1, i >> 1 & 1, i >> 2);
}

static void test_rows_and_columns(void **unused)
{
    (void)unused;
    for (size_t s = 0; s < ELEMENTS(shapes); s++) {
        const size_t B = shapes[s].B, D = shapes[s].H;
        float *in = new_input(B * D, 1.0f), *rows = new_output(B * D), *sums = new_output(D);
        float *copy = new_output(B * D), *crossed = new_output(B * D);
        double *want = xcalloc(B * D, sizeof *want);

        for (size_t i = 0; i < B * D; i++)
            want[i] = (double)in[i % D];
        ops->fill_rows(in, B, D, rows);
        check("fill_rows", rows, want, B * D, 0.0, 0.0);
        memset(want, 0, B * D * sizeof *want);
        ops->fill_rows(NULL, B, D, rows);
        check("fill_rows of nothing", rows, want, B * D, 0.0, 0.0);
        for (size_t i = 0; i < B * D; i++)
            want[i % D] += (double)in[i];
        ops->column_sums(in, B, D, sums);
        check("column_sums", sums, want, D, 1e-6 + 2e-7 * (double)B, 1e-6);
        for (size_t i = 0; i < B * D; i++)
            want[i] = (double)in[i];
        ops->copy(in, B * D, copy);
        check("copy", copy, want, B * D, 0.0, 0.0);
        ops->from_float(in, B * D, copy);
        check("from_float", copy, want, B * D, 0.0, 0.0);
        ops->to_float(copy, B * D, crossed);
        check("to_float", crossed, want, B * D, 0.0, 0.0);
        memset(want, 0, B * D * sizeof *want);
        ops->zero(copy, B * D);
        check("zero", copy, want, B * D, 0.0, 0.0);
        free(in);
        free(rows);
        free(sums);
        free(copy);
        free(crossed);
        free(want);
    }
}

/* One bad value at any place is seen. */
static void test_finite(void **unused)
{
    const float bad[] = { NAN, INFINITY, -INFINITY };

    (void)unused;
    for (size_t s = 0; s < ELEMENTS(lengths); s++) {
        float *x = new_input(lengths[s], 1.0f);

        assert_true(ops->finite(x, lengths[s]));
        x[s * 31 % lengths[s]] = bad[s % ELEMENTS(bad)];
        assert_false(ops->finite(x, lengths[s]));
        free(x);
    }
}

static void test_sigmoid(void **unused)
{
    (void)unused;
    for (size_t s = 0; s < ELEMENTS(lengths); s++) {
        const size_t n = lengths[s];
        float *x = new_input(n, 20.0f), *y = new_output(n), *in_place = new_inout(n, 1.0f);
        float *dy = new_input(n, 1.0f), *dx = new_output(n);
        double *want = xcalloc(n, sizeof *want);

        for (size_t i = 0; i < n; i++)
            want[i] = reference_sigmoid((double)x[i]);
        ops->sigmoid_forward(x, n, y);
        check("sigmoid_forward", y, want, n, 0.0, 6e-7);
        memcpy(in_place, x, n * sizeof *x);
        ops->sigmoid_forward(in_place, n, in_place);
        check("sigmoid_forward in place", in_place, want, n, 0.0, 6e-7);
        for (size_t i = 0; i < n; i++)
            want[i] = (double)dy[i] * (double)y[i] * (1.0 - (double)y[i]);
        ops->sigmoid_backward(y, dy, n, dx);
        check("sigmoid_backward", dx, want, n, 1e-12, 6e-7);
        memcpy(in_place, dy, n * sizeof *dy);
        ops->sigmoid_backward(y, in_place, n, in_place);
        check("sigmoid_backward in place", in_place, want, n, 1e-12, 6e-7);
        free(x);
        free(y);
        free(in_place);
        free(dy);
        free(dx);
        free(want);
    }
}

static void test_sigmoid_extremes(void **unused)
{
    const float x[] = { 0.0f, 200.0f, -200.0f, INFINITY, -INFINITY, NAN, 1e38f, -1e38f };
    const double want[] = { 0.5, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0 };
    float y[ELEMENTS(x)];

    (void)unused;
    ops->sigmoid_forward(x, ELEMENTS(x), y);
    for (size_t i = 0; i < ELEMENTS(x); i++) {
        if (isnan(x[i]))
            assert_true(isnan(y[i])); /* a diverged training must stay visible */
        else if (!(fabs((double)y[i] - want[i]) <= 1e-30))
            fail_msg("sigmoid(%g) is %g", (double)x[i], (double)y[i]);
    }
}

/* Mask of 0 and 1, y = x*mask, the share dropped within 5 standard deviations, neighbours and
 * masks of neighbouring seeds independent within the same bound. */
static void dropout_statistics(float rate, uint64_t seed)
{
    const size_t n = 1 << 18;
    float *x = new_input(n, 1.0f), *y = new_output(n), *mask = new_output(n);
    float *other_y = new_output(n), *other = new_output(n);
    const double p = (double)rate, q = p * (1.0 - p) * 2.0;
    double dropped = 0.0, pairs = 0.0, across = 0.0;

    ops->dropout_forward(x, n, rate, seed, mask, y);
    ops->dropout_forward(x, n, rate, seed + 1, other, other_y);
    for (size_t i = 0; i < n; i++) {
        assert_true(mask[i] == 0.0f || mask[i] == 1.0f);
        assert_true(y[i] == x[i] * mask[i]);
        dropped += mask[i] == 0.0f;
        pairs += i > 0 && mask[i] != mask[i - 1];
        across += mask[i] != other[i];
    }
    assert_true(mask[n] == GUARD_VALUE && y[n] == GUARD_VALUE);
    if (!(fabs(dropped / (double)n - p) <= 5.0 * sqrt(p * (1.0 - p) / (double)n)))
        fail_msg("rate %g: dropped %g", p, dropped / (double)n);
    /* pairs overlap, hence the factor 2 on the variance */
    if (!(fabs(pairs / (double)n - q) <= 5.0 * sqrt(2.0 * q * (1.0 - q) / (double)n) + 1e-5))
        fail_msg("rate %g: neighbours differ in %g, not %g", p, pairs / (double)n, q);
    if (!(fabs(across / (double)n - q) <= 5.0 * sqrt(q * (1.0 - q) / (double)n)))
        fail_msg("rate %g: seeds differ in %g, not %g", p, across / (double)n, q);
    free(x);
    free(y);
    free(mask);
    free(other_y);
    free(other);
}

static void test_dropout_statistics(void **unused)
{
    const float rates[] = { 0.0f, 0.1f, 0.5f, 0.9f };

    (void)unused;
    for (size_t r = 0; r < ELEMENTS(rates); r++)
        for (uint64_t seed = 0; seed < 4; seed++)
            dropout_statistics(rates[r], seed * UINT64_C(0x100000001));
}

/* Element i depends on (seed, i) alone: a prefix has the same mask as the whole, and the first 64
 * draws of seed 1 are these, on every machine and every back-end. */
static void test_dropout_deterministic(void **unused)
{
    float x[2073], whole[2073], part[2073], y[2073];
    uint64_t bits = 0;

    (void)unused;
    for (size_t i = 0; i < ELEMENTS(x); i++)
        x[i] = 1.0f;
    ops->dropout_forward(x, ELEMENTS(x), 0.5f, 1, whole, y);
    for (size_t s = 0; s < ELEMENTS(lengths); s++) {
        ops->dropout_forward(x, lengths[s], 0.5f, 1, part, y);
        assert_memory_equal(part, whole, lengths[s] * sizeof *part);
    }
    memcpy(y, x, sizeof y);
    ops->dropout_forward(y, ELEMENTS(y), 0.5f, 1, part, y); /* in place */
    assert_memory_equal(y, whole, sizeof y);
    for (size_t i = 0; i < 64; i++)
        bits |= (uint64_t)(whole[i] == 1.0f) << i;
    assert_int_equal(bits, UINT64_C(0x86f61520d08df6a8));
}

static void softmax_case(size_t B, size_t K, float scale)
{
    float *p = new_inout(B * K, scale);
    double *want = reference_widen(p, B * K), want_cost, cost;
    int32_t *targets = xcalloc(B, sizeof *targets);
    uint32_t errors = UINT32_MAX, want_errors;

    for (size_t i = 0; i < B; i++)
        targets[i] = (int32_t)(i * 31 % K);
    for (size_t i = 0; i < B; i += 2) { /* every other row is right */
        p[i * K + (size_t)targets[i]] = scale * 1.5f;
        want[i * K + (size_t)targets[i]] = (double)(scale * 1.5f);
    }
    cost = ops->softmax_xent_forward(p, targets, B, K, &errors);
    want_cost = reference_softmax_xent(want, targets, B, K, &want_errors);
    check("softmax_xent_forward", p, want, B * K, 1e-36, 1e-5);
    if (!(fabs(cost - want_cost) <= 1e-5 * fabs(want_cost) + 2e-6 * (double)B))
        fail_msg("softmax_xent_forward: cost %.9g, not %.9g", cost, want_cost);
    assert_int_equal(errors, want_errors);
    for (size_t i = 0; i < B * K; i++)
        want[i] = (double)p[i] - (i % K == (size_t)targets[i / K]);
    ops->softmax_xent_backward(p, targets, B, K);
    check("softmax_xent_backward", p, want, B * K, 1e-7, 1e-6);
    free(p);
    free(want);
    free(targets);
}

static void test_softmax_xent(void **unused)
{
    const float scales[] = { 0.01f, 1.0f, 30.0f };

    (void)unused;
    for (size_t s = 0; s < ELEMENTS(lengths); s++)
        for (size_t i = 0; i < ELEMENTS(scales); i++)
            softmax_case(1 + s % 7, lengths[s], scales[i]);
}

/* Large logits must not overflow, a very unlikely target costs its distance and not infinity,
 * equal maxima count the first only, and a NaN reaches the cost. */
static void test_softmax_extremes(void **unused)
{
    float big[3] = { 1000.0f, 0.0f, -1000.0f }, ties[4] = { 2.0f, 5.0f, 5.0f, 1.0f };
    float again[4] = { 2.0f, 5.0f, 5.0f, 1.0f }, bad[3] = { 0.0f, NAN, 1.0f };
    const int32_t last = 2, first = 1;
    uint32_t errors;
    double cost;

    (void)unused;
    cost = ops->softmax_xent_forward(big, &last, 1, 3, &errors);
    assert_true(fabs(cost - 2000.0) <= 1e-6);
    assert_int_equal(errors, 1);
    (void)ops->softmax_xent_forward(ties, &first, 1, 4, &errors);
    assert_int_equal(errors, 0);
    (void)ops->softmax_xent_forward(again, &last, 1, 4, &errors);
    assert_int_equal(errors, 1);
    cost = ops->softmax_xent_forward(bad, &last, 1, 3, &errors);
    assert_true(isnan(cost));
}

size_t kernels_cases(struct CMUnitTest ret_tests[KERNELS_CASES_MAX])
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gather_rows),
        cmocka_unit_test(test_scatter_rows),
        cmocka_unit_test(test_scatter_add_rows),
        cmocka_unit_test(test_elementwise),
        cmocka_unit_test(test_gemm),
        cmocka_unit_test(test_rows_and_columns),
        cmocka_unit_test(test_finite),
        cmocka_unit_test(test_sigmoid),
        cmocka_unit_test(test_sigmoid_extremes),
        cmocka_unit_test(test_dropout_statistics),
        cmocka_unit_test(test_dropout_deterministic),
        cmocka_unit_test(test_softmax_xent),
        cmocka_unit_test(test_softmax_extremes),
    };

    _Static_assert(ELEMENTS(tests) <= KERNELS_CASES_MAX, "room in the table");
    memcpy(ret_tests, tests, sizeof tests);
    return ELEMENTS(tests);
}
