/* SPDX-License-Identifier: Apache-2.0 */
/* crf.c - a linear chain over the places of sequences: how likely the labels are among all
 *
 * The weights are [S + 2, S]: of a first place, of a last one, and from the class of a row to that
 * of a column. Sums are of logarithms, in f64. */
#include "kernels/cpu_ops.h"

#include <float.h>

#include "kernels/real.h"

/* One sequence. */
struct chain {
    const real *x, *first, *last, *to;
    const int32_t *labels;
    size_t length, S;
};

static struct chain chain_of(const real *x, const real *w, const int32_t *labels,
                             const uint32_t *starts, size_t i, size_t S)
{
    return (struct chain){ .x = x + starts[i] * S,
                           .first = w,
                           .last = w + S,
                           .to = w + 2 * S,
                           .labels = labels + starts[i],
                           .length = starts[i + 1] - starts[i],
                           .S = S };
}

/* log(e^a + e^b) */
static double log_add(double a, double b)
{
    const double high = a > b ? a : b, low = a > b ? b : a;

    return low == -DBL_MAX ? high : high + log1p(exp(low - high));
}

/* What leads to class j at place k: all ways there. */
static void forward_chain(const struct chain *c, real *alpha)
{
    for (size_t k = 0; k < c->length; k++)
        for (size_t j = 0; j < c->S; j++) {
            double sum = k == 0 ? (double)c->first[j] : -DBL_MAX;

            for (size_t i = 0; k > 0 && i < c->S; i++)
                sum = log_add(sum, (double)alpha[(k - 1) * c->S + i] + (double)c->to[i * c->S + j]);
            alpha[k * c->S + j] = (real)(sum + (double)c->x[k * c->S + j]);
        }
}

static double log_of_all(const struct chain *c, const real *alpha)
{
    double sum = -DBL_MAX;

    for (size_t i = 0; i < c->S; i++)
        sum = log_add(sum, (double)alpha[(c->length - 1) * c->S + i] + (double)c->last[i]);
    return sum;
}

static double score(const struct chain *c)
{
    const int32_t *y = c->labels;
    double sum = (double)c->first[y[0]] + (double)c->last[y[c->length - 1]];

    for (size_t k = 0; k < c->length; k++)
        sum += (double)c->x[k * c->S + (size_t)y[k]];
    for (size_t k = 1; k < c->length; k++)
        sum += (double)c->to[(size_t)y[k - 1] * c->S + (size_t)y[k]];
    return sum;
}

double NAME(crf_forward)(const void *x, const void *w, const int32_t *labels,
                         const uint32_t *starts, size_t n, size_t S, void *alpha)
{
    double cost = 0;

    for (size_t i = 0; i < n; i++) {
        const struct chain c = chain_of(x, w, labels, starts, i, S);
        real *own = (real *)alpha + starts[i] * S;

        forward_chain(&c, own);
        cost += log_of_all(&c, own) - score(&c);
    }
    return cost;
}

/* What follows class i at place k: all ways to the end. */
static void backward_chain(const struct chain *c, real *beta)
{
    for (size_t k = c->length; k > 0; k--)
        for (size_t i = 0; i < c->S; i++) {
            double sum = k == c->length ? (double)c->last[i] : -DBL_MAX;

            for (size_t j = 0; k < c->length && j < c->S; j++)
                sum = log_add(sum, (double)c->to[i * c->S + j] + (double)c->x[k * c->S + j] +
                                       (double)beta[k * c->S + j]);
            beta[(k - 1) * c->S + i] = (real)sum;
        }
}

/* Of a step from place k - 1 to k: how likely each pair of classes is, less the one that is there.
 */
static void back_step(const struct chain *c, size_t k, const real *alpha, const real *beta,
                      double all, double factor, real *dto)
{
    for (size_t i = 0; i < c->S; i++)
        for (size_t j = 0; j < c->S; j++) {
            const double ways = (double)alpha[(k - 1) * c->S + i] + (double)c->to[i * c->S + j] +
                                (double)c->x[k * c->S + j] + (double)beta[k * c->S + j];
            const int there = (size_t)c->labels[k - 1] == i && (size_t)c->labels[k] == j;

            dto[i * c->S + j] += (real)(factor * (exp(ways - all) - there));
        }
}

static void back_one(const struct chain *c, const real *alpha, const real *beta, double factor,
                     real *dx, real *dw)
{
    const double all = log_of_all(c, alpha);

    for (size_t k = 0; k < c->length; k++)
        for (size_t i = 0; i < c->S; i++) {
            const size_t at = k * c->S + i;
            const double d = factor * (exp((double)alpha[at] + (double)beta[at] - all) -
                                       ((size_t)c->labels[k] == i));

            if (dx != NULL)
                dx[at] = (real)d;
            if (k == 0)
                dw[i] += (real)d;
            if (k + 1 == c->length)
                dw[c->S + i] += (real)d;
        }
    for (size_t k = 1; k < c->length; k++)
        back_step(c, k, alpha, beta, all, factor, dw + 2 * c->S);
}

void NAME(crf_backward)(const void *x, const void *w, const int32_t *labels, const uint32_t *starts,
                        size_t n, size_t S, const void *alpha, void *beta, double factor, void *dx,
                        void *dw)
{
    for (size_t i = 0; i < n; i++) {
        const struct chain c = chain_of(x, w, labels, starts, i, S);
        const size_t at = starts[i] * S;

        backward_chain(&c, (real *)beta + at);
        back_one(&c, (const real *)alpha + at, (real *)beta + at, factor,
                 dx != NULL ? (real *)dx + at : NULL, dw);
    }
}
