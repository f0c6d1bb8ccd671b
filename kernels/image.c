/* SPDX-License-Identifier: Apache-2.0 */
/* image.c - images laid out as columns, so that a convolution is a product of matrices; pooling */
#include "kernels/cpu_ops.h"

#include <string.h>

#include "kernels/real.h"

/* The outputs of one line whose pixel lies inside the image: [*from, *to) of out_width. */
EDL_INLINE void inside(const struct window *w, uint32_t k, size_t *from, size_t *to)
{
    const int64_t shift = (int64_t)k - w->padding, stride = w->stride;
    int64_t first = shift < 0 ? (-shift + stride - 1) / stride : 0;
    int64_t end =
        (int64_t)w->width - shift <= 0 ? 0 : ((int64_t)w->width - shift + stride - 1) / stride;

    end = end > w->out_width ? w->out_width : end;
    first = first > end ? end : first;
    *from = (size_t)first;
    *to = (size_t)end;
}

static void line_to_columns(const real *line, const struct window *w, uint32_t k, real *out)
{
    const ptrdiff_t shift = (ptrdiff_t)k - (ptrdiff_t)w->padding;
    size_t from, to;

    inside(w, k, &from, &to);
    memset(out, 0, from * sizeof *out);
    memset(out + to, 0, (w->out_width - to) * sizeof *out);
    if (w->stride == 1 && to > from)
        memcpy(out + from, line + (ptrdiff_t)from + shift, (to - from) * sizeof *out);
    else
        for (size_t x = from; x < to; x++)
            out[x] = line[(ptrdiff_t)(x * w->stride) + shift];
}

void NAME(im2col)(const void *image, const struct window *w, void *columns)
{
    const real *plane = image;
    real *out = columns;

    for (uint32_t c = 0; c < w->channels; c++, plane += (size_t)w->height * w->width)
        for (uint32_t ky = 0; ky < w->size_y; ky++)
            for (uint32_t kx = 0; kx < w->size; kx++)
                for (uint32_t y = 0; y < w->out_height; y++, out += w->out_width) {
                    const int64_t from = (int64_t)y * w->stride_y + ky - w->padding_y;

                    if (from < 0 || from >= w->height)
                        memset(out, 0, w->out_width * sizeof *out);
                    else
                        line_to_columns(plane + (size_t)from * w->width, w, kx, out);
                }
}

static void columns_to_line(const real *in, const struct window *w, uint32_t k, real *line)
{
    const ptrdiff_t shift = (ptrdiff_t)k - (ptrdiff_t)w->padding;
    size_t from, to;

    inside(w, k, &from, &to);
    for (size_t x = from; x < to; x++)
        line[(ptrdiff_t)(x * w->stride) + shift] += in[x];
}

void NAME(col2im)(const void *columns, const struct window *w, void *image)
{
    const real *in = columns;
    real *plane = image;

    memset(plane, 0, (size_t)w->channels * w->height * w->width * sizeof *plane);
    for (uint32_t c = 0; c < w->channels; c++, plane += (size_t)w->height * w->width)
        for (uint32_t ky = 0; ky < w->size_y; ky++)
            for (uint32_t kx = 0; kx < w->size; kx++)
                for (uint32_t y = 0; y < w->out_height; y++, in += w->out_width) {
                    const int64_t to = (int64_t)y * w->stride_y + ky - w->padding_y;

                    if (to >= 0 && to < w->height)
                        columns_to_line(in, w, kx, plane + (size_t)to * w->width);
                }
}

/* The part of a window that lies on the image, for the output at y, x. */
struct part {
    size_t top, bottom, left, right;
};

static size_t clipped(uint32_t at, uint32_t shift, uint32_t padding, uint32_t size)
{
    const uint64_t sum = (uint64_t)at + shift;

    return sum < padding ? 0 : sum - padding > size ? size : (size_t)(sum - padding);
}

static struct part part_of(const struct window *w, uint32_t y, uint32_t x)
{
    const uint32_t top = y * w->stride_y, left = x * w->stride;

    return (struct part){ clipped(top, 0, w->padding_y, w->height),
                          clipped(top, w->size_y, w->padding_y, w->height),
                          clipped(left, 0, w->padding, w->width),
                          clipped(left, w->size, w->padding, w->width) };
}

static real pool_part(enum pooling pooling, const real *plane, size_t width, const struct part *p,
                      uint32_t *at)
{
    size_t best = p->top * width + p->left;
    real sum = 0;

    for (size_t y = p->top; y < p->bottom; y++)
        for (size_t x = p->left; x < p->right; x++) {
            sum += plane[y * width + x];
            if (!(plane[y * width + x] <= plane[best])) /* NaN wins */
                best = y * width + x;
        }
    *at = (uint32_t)best;
    if (pooling == POOL_MAX)
        return plane[best];
    return pooling == POOL_SUM ? sum : sum / (real)((p->bottom - p->top) * (p->right - p->left));
}

void NAME(pool_forward)(enum pooling pooling, const void *in, const struct window *w, size_t n,
                        uint32_t *at, void *of_out)
{
    const real *plane = in;
    real *out = of_out;

    for (size_t i = 0; i < n * w->channels; i++, plane += (size_t)w->height * w->width)
        for (uint32_t y = 0; y < w->out_height; y++)
            for (uint32_t x = 0; x < w->out_width; x++) {
                const struct part part = part_of(w, y, x);

                *out++ = pool_part(pooling, plane, w->width, &part, at++);
            }
}

static void spread(real value, size_t width, const struct part *p, real *plane)
{
    for (size_t y = p->top; y < p->bottom; y++)
        for (size_t x = p->left; x < p->right; x++)
            plane[y * width + x] += value;
}

void NAME(pool_backward)(enum pooling pooling, const void *of_dout, const struct window *w,
                         size_t n, const uint32_t *at, void *din)
{
    const size_t pixels = (size_t)w->height * w->width;
    const real *dout = of_dout;
    real *plane = din;

    memset(plane, 0, n * w->channels * pixels * sizeof *plane);
    for (size_t i = 0; i < n * w->channels; i++, plane += pixels)
        for (uint32_t y = 0; y < w->out_height; y++)
            for (uint32_t x = 0; x < w->out_width; x++, dout++, at++) {
                const struct part p = part_of(w, y, x);
                const size_t area = (p.bottom - p.top) * (p.right - p.left);

                if (pooling == POOL_MAX)
                    plane[*at] += *dout;
                else
                    spread(pooling == POOL_SUM ? *dout : *dout / (real)area, w->width, &p, plane);
            }
}
