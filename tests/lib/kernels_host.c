/* SPDX-License-Identifier: Apache-2.0 */
/* kernels_host.c - the ops of any back-end on the program's memory, for tests */
#include "tests/lib/kernels_host.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "shared/macro.h"

static const struct edl_backend *on;

/* The operands of the op under way. The same place twice (in place) is one operand. */
static struct operand {
    void *host, *device;
    size_t bytes;
    bool comes_back;
} operands[8];
static size_t n_operands;

/* All operands have elements of four bytes. */
static void *stage(const void *host, size_t bytes, bool comes_back)
{
    struct operand *o = operands;

    if (host == NULL)
        return NULL;
    while (o < operands + n_operands && o->host != host)
        o++;
    assert_true(o < operands + ELEMENTS(operands));
    if (o == operands + n_operands) {
        n_operands++;
        *o = (struct operand){ .host = (void *)(uintptr_t)host, .bytes = bytes };
        o->device = on->allocate(bytes);
        assert_non_null(o->device);
        on->upload(host, bytes, o->device);
    }
    o->comes_back |= comes_back;
    return o->device;
}

static void finish(void)
{
    for (size_t i = 0; i < n_operands; i++) {
        if (operands[i].comes_back)
            on->download(operands[i].device, operands[i].bytes, operands[i].host);
        on->release(operands[i].device);
    }
    n_operands = 0;
}

#define IN(x, n) stage(x, (n)*4, false)
#define OUT(x, n) stage(x, (n)*4, true)

/* A table's height is not an argument of the ops: the largest index bounds what is used of it. */
static size_t rows_used(const uint32_t *indices, size_t B)
{
    size_t rows = 0;

    for (size_t i = 0; i < B; i++)
        rows = MAX_OF(rows, (size_t)indices[i] + 1);
    return rows;
}

/* NAME (PARAMETERS) (OPERANDS): the device's op on what was staged */
#define OP(name, parameters, operands)                                                             \
    static void name parameters                                                                    \
    {                                                                                              \
        on->ops->name operands;                                                                    \
        finish();                                                                                  \
    }
OP(copy, (const void *in, size_t N, void *out), (IN(in, N), N, OUT(out, N)))
OP(zero, (void *out, size_t N), (OUT(out, N), N))
OP(gather_rows, (const void *table, const uint32_t *indices, size_t B, size_t D, void *out),
   (IN(table, rows_used(indices, B) * D), IN(indices, B), B, D, OUT(out, B *D)))
OP(scatter_rows, (const void *in, const uint32_t *indices, size_t B, size_t D, void *table),
   (IN(in, B *D), IN(indices, B), B, D, OUT(table, rows_used(indices, B) * D)))
OP(scatter_add_rows, (const void *in, const uint32_t *indices, size_t B, size_t D, void *table),
   (IN(in, B *D), IN(indices, B), B, D, OUT(table, rows_used(indices, B) * D)))
OP(fill_rows, (const void *b, size_t B, size_t D, void *out), (IN(b, D), B, D, OUT(out, B *D)))
OP(add, (const void *x, size_t N, void *sum), (IN(x, N), N, OUT(sum, N)))
OP(scale, (const void *x, size_t N, double factor, void *y), (IN(x, N), N, factor, OUT(y, N)))
OP(multiply, (const void *x, const void *y, size_t N, void *z), (IN(x, N), IN(y, N), N, OUT(z, N)))
OP(sigmoid_forward, (const void *x, size_t N, void *y), (IN(x, N), N, OUT(y, N)))
OP(sigmoid_backward, (const void *y, const void *dy, size_t N, void *dx),
   (IN(y, N), IN(dy, N), N, OUT(dx, N)))
OP(dropout_forward, (const void *x, size_t N, float rate, uint64_t seed, void *mask, void *y),
   (IN(x, N), N, rate, seed, OUT(mask, N), OUT(y, N)))
OP(column_sums, (const void *in, size_t B, size_t D, void *out), (IN(in, B *D), B, D, OUT(out, D)))
OP(gemm,
   (int transpose_a, int transpose_b, size_t M, size_t N, size_t K, const void *a, const void *b,
    int accumulate, void *c),
   (transpose_a, transpose_b, M, N, K, IN(a, M *K), IN(b, K *N), accumulate, OUT(c, M *N)))
OP(softmax_xent_backward, (void *probabilities, const int32_t *targets, size_t B, size_t D),
   (OUT(probabilities, B *D), IN(targets, B), B, D))

static int all_finite(const void *x, size_t N)
{
    int r = on->ops->finite(IN(x, N), N);

    finish();
    return r;
}

static void from_float(const float *host_in, size_t N, void *out)
{
    on->ops->from_float(host_in, N, OUT(out, N));
    finish();
}

static void to_float(const void *in, size_t N, float *host_out)
{
    on->ops->to_float(IN(in, N), N, host_out);
    finish();
}

static double softmax_xent_forward(void *logits, const int32_t *targets, size_t B, size_t D,
                                   uint32_t *host_errors)
{
    double cost =
        on->ops->softmax_xent_forward(OUT(logits, B * D), IN(targets, B), B, D, host_errors);

    finish();
    return cost;
}

const struct tensor_ops *kernels_on_host(const struct edl_backend *device)
{
    static const struct tensor_ops table = {
        .name = "on host",
        .element_bytes = sizeof(float),
        .from_float = from_float,
        .to_float = to_float,
        .copy = copy,
        .zero = zero,
        .gather_rows = gather_rows,
        .scatter_rows = scatter_rows,
        .scatter_add_rows = scatter_add_rows,
        .fill_rows = fill_rows,
        .add = add,
        .scale = scale,
        .multiply = multiply,
        .finite = all_finite,
        .sigmoid_forward = sigmoid_forward,
        .sigmoid_backward = sigmoid_backward,
        .dropout_forward = dropout_forward,
        .column_sums = column_sums,
        .gemm = gemm,
        .softmax_xent_forward = softmax_xent_forward,
        .softmax_xent_backward = softmax_xent_backward,
    };

    on = device;
    return &table;
}
