/* SPDX-License-Identifier: Apache-2.0 */
/* maps.c - across the channels of images: normalisation by those around, the largest of some, zeros
 * around an image */
#include "kernels/cpu_ops.h"

#include <string.h>

#include "kernels/real.h"

#ifdef EDL_REAL_F64
#define REAL_POW(x, y) pow(x, y)
#else
#define REAL_POW(x, y) powf(x, y)
#endif

/* The channels that count for channel c: [*from, *to) of size around it. */
static void around(size_t c, size_t C, uint32_t size, size_t *from, size_t *to)
{
    const size_t before = (size - 1) / 2, behind = size - before;

    *from = c > before ? c - before : 0;
    *to = c + behind < C ? c + behind : C;
}

void NAME(map_norm_forward)(const void *of_x, size_t n, size_t C, size_t P, uint32_t size,
                            double scale, double power, void *of_base, void *of_y)
{
    const real *x = of_x;
    real *base = of_base, *y = of_y;
    size_t from, to;

    for (size_t i = 0; i < n; i++, x += C * P, base += C * P, y += C * P)
        for (size_t c = 0; c < C; c++) {
            around(c, C, size, &from, &to);
            for (size_t p = 0; p < P; p++) {
                real sum = 0;

                for (size_t k = from; k < to; k++)
                    sum += x[k * P + p] * x[k * P + p];
                base[c * P + p] = 1 + (real)scale * sum;
                y[c * P + p] = x[c * P + p] * REAL_POW(base[c * P + p], -(real)power);
            }
        }
}

/* dx[k] gets of each y[c] that looks at k: -2 scale power x[k] x[c] base[c]^(-power - 1) dy[c] */
static void map_norm_image(const real *x, const real *base, const real *dy, size_t C, size_t P,
                           uint32_t size, real scale, real power, real *dx)
{
    size_t from, to;

    for (size_t at = 0; at < C * P; at++)
        dx[at] = dy[at] * REAL_POW(base[at], -power);
    for (size_t c = 0; c < C; c++) {
        around(c, C, size, &from, &to);
        for (size_t p = 0; p < P; p++) {
            const size_t at = c * P + p;
            const real part = -2 * scale * power * x[at] * dy[at] * REAL_POW(base[at], -power - 1);

            for (size_t k = from; k < to; k++)
                dx[k * P + p] += part * x[k * P + p];
        }
    }
}

void NAME(map_norm_backward)(const void *of_x, const void *of_base, const void *of_dy, size_t n,
                             size_t C, size_t P, uint32_t size, double scale, double power,
                             void *of_dx)
{
    const real *x = of_x, *base = of_base, *dy = of_dy;
    real *dx = of_dx;

    for (size_t i = 0; i < n; i++)
        map_norm_image(x + i * C * P, base + i * C * P, dy + i * C * P, C, P, size, (real)scale,
                       (real)power, dx + i * C * P);
}

void NAME(maxout_forward)(const void *of_in, size_t n, size_t C, size_t P, uint32_t groups,
                          uint32_t *at, void *of_out)
{
    const real *in = of_in;
    real *out = of_out;

    for (size_t i = 0; i < n * (C / groups); i++, in += groups * P)
        for (size_t p = 0; p < P; p++, out++, at++) {
            *at = 0;
            for (uint32_t k = 1; k < groups; k++)
                if (!(in[k * P + p] <= in[*at * P + p])) /* NaN wins */
                    *at = k;
            *out = in[*at * P + p];
        }
}

void NAME(maxout_backward)(const void *of_dout, size_t n, size_t C, size_t P, uint32_t groups,
                           const uint32_t *at, void *of_din)
{
    const real *dout = of_dout;
    real *din = of_din;

    memset(din, 0, n * C * P * sizeof *din);
    for (size_t i = 0; i < n * (C / groups); i++, din += groups * P)
        for (size_t p = 0; p < P; p++)
            din[*at++ * P + p] = *dout++;
}

/* Where a line of the image lies in the one with zeros. */
static size_t line_at(const uint32_t *image, const uint32_t *pad, size_t i, size_t c, size_t y)
{
    const size_t high = pad[2] + image[1] + pad[3], wide = pad[4] + image[2] + pad[5];

    return ((i * (pad[0] + image[0] + pad[1]) + pad[0] + c) * high + pad[2] + y) * wide + pad[4];
}

void NAME(pad_forward)(const void *in, size_t n, const uint32_t *image, const uint32_t *pad,
                       void *of_out)
{
    const uint32_t none[6] = { 0 };
    const real *small = in;
    real *out = of_out;

    memset(out, 0, (line_at(image, pad, n, 0, 0) - line_at(image, pad, 0, 0, 0)) * sizeof *out);
    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; c < image[0]; c++)
            for (size_t y = 0; y < image[1]; y++)
                memcpy(out + line_at(image, pad, i, c, y), small + line_at(image, none, i, c, y),
                       image[2] * sizeof *out);
}

void NAME(pad_backward)(const void *of_dout, size_t n, const uint32_t *image, const uint32_t *pad,
                        void *din)
{
    const uint32_t none[6] = { 0 };
    const real *dout = of_dout;
    real *small = din;

    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; c < image[0]; c++)
            for (size_t y = 0; y < image[1]; y++)
                memcpy(small + line_at(image, none, i, c, y), dout + line_at(image, pad, i, c, y),
                       image[2] * sizeof *dout);
}
