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

#define IN(x, n) stage(x, (n) * sizeof *(x), false)
#define OUT(x, n) stage(x, (n) * sizeof *(x), true)

/* A table's height is not an argument of the ops: the largest index bounds what is used of it. */
static size_t rows_used(const uint32_t *indices, size_t B)
{
    size_t rows = 0;

    for (size_t i = 0; i < B; i++)
        rows = MAX_OF(rows, (size_t)indices[i] + 1);
    return rows;
}

static void gather_rows(const float *table, const uint32_t *indices, size_t B, size_t D, float *out)
{
    on->gather_rows(IN(table, rows_used(indices, B) * D), IN(indices, B), B, D, OUT(out, B * D));
    finish();
}

static void scatter_rows(const float *in, const uint32_t *indices, size_t B, size_t D, float *table)
{
    on->scatter_rows(IN(in, B * D), IN(indices, B), B, D, OUT(table, rows_used(indices, B) * D));
    finish();
}

static void scatter_add_rows(const float *in, const uint32_t *indices, size_t B, size_t D,
                             float *table)
{
    on->scatter_add_rows(IN(in, B * D), IN(indices, B), B, D,
                         OUT(table, rows_used(indices, B) * D));
    finish();
}

static void add(const float *x, size_t N, float *sum)
{
    on->add(IN(x, N), N, OUT(sum, N));
    finish();
}

static void scale(const float *x, size_t N, float factor, float *y)
{
    on->scale(IN(x, N), N, factor, OUT(y, N));
    finish();
}

static void multiply(const float *x, const float *y, size_t N, float *z)
{
    on->multiply(IN(x, N), IN(y, N), N, OUT(z, N));
    finish();
}

static void fc_forward(const float *x, const float *w, const float *b, size_t B, size_t D, size_t H,
                       float *out)
{
    on->fc_forward(IN(x, B * D), IN(w, D * H), IN(b, H), B, D, H, OUT(out, B * H));
    finish();
}

static void fc_forward_transposed(const float *x, const float *w, const float *b, size_t B,
                                  size_t H, size_t K, float *out)
{
    on->fc_forward_transposed(IN(x, B * H), IN(w, K * H), IN(b, K), B, H, K, OUT(out, B * K));
    finish();
}

static void fc_backward(const float *x, const float *w, const float *dy, size_t B, size_t D,
                        size_t H, float *dw, float *db, float *dx)
{
    on->fc_backward(IN(x, B * D), IN(w, D * H), IN(dy, B * H), B, D, H, OUT(dw, D * H), OUT(db, H),
                    OUT(dx, B * D));
    finish();
}

static void fc_backward_transposed(const float *x, const float *w, const float *dy, size_t B,
                                   size_t H, size_t K, float *dw, float *db, float *dx)
{
    on->fc_backward_transposed(IN(x, B * H), IN(w, K * H), IN(dy, B * K), B, H, K, OUT(dw, K * H),
                               OUT(db, K), OUT(dx, B * H));
    finish();
}

static void sigmoid_forward(const float *x, size_t N, float *y)
{
    on->sigmoid_forward(IN(x, N), N, OUT(y, N));
    finish();
}

static void sigmoid_backward(const float *y, const float *dy, size_t N, float *dx)
{
    on->sigmoid_backward(IN(y, N), IN(dy, N), N, OUT(dx, N));
    finish();
}

static void dropout_forward(const float *x, size_t N, float rate, uint64_t seed, float *mask,
                            float *y)
{
    on->dropout_forward(IN(x, N), N, rate, seed, OUT(mask, N), OUT(y, N));
    finish();
}

static double softmax_xent_forward(float *logits, const int32_t *targets, size_t B, size_t K,
                                   uint32_t *host_errors)
{
    double cost = on->softmax_xent_forward(OUT(logits, B * K), IN(targets, B), B, K, host_errors);

    finish();
    return cost;
}

static void softmax_xent_backward(float *probabilities, const int32_t *targets, size_t B, size_t K)
{
    on->softmax_xent_backward(OUT(probabilities, B * K), IN(targets, B), B, K);
    finish();
}

static void adagrad(float *w, float *a, const float *g, size_t N, float lr, float l2, float epsilon)
{
    on->adagrad(OUT(w, N), OUT(a, N), IN(g, N), N, lr, l2, epsilon);
    finish();
}

const struct edl_backend *kernels_on_host(const struct edl_backend *device)
{
    static const struct edl_backend table = {
        .abi = EDL_KERNELS_ABI,
        .host_memory = 1,
        .name = "on host",
        .gather_rows = gather_rows,
        .scatter_rows = scatter_rows,
        .scatter_add_rows = scatter_add_rows,
        .add = add,
        .scale = scale,
        .multiply = multiply,
        .fc_forward = fc_forward,
        .fc_forward_transposed = fc_forward_transposed,
        .fc_backward = fc_backward,
        .fc_backward_transposed = fc_backward_transposed,
        .sigmoid_forward = sigmoid_forward,
        .sigmoid_backward = sigmoid_backward,
        .dropout_forward = dropout_forward,
        .softmax_xent_forward = softmax_xent_forward,
        .softmax_xent_backward = softmax_xent_backward,
        .adagrad = adagrad,
    };

    on = device;
    return &table;
}
