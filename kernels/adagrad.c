/* SPDX-License-Identifier: Apache-2.0 */
/* adagrad.c - AdaGrad with L2, one pass
 *
 * Decay and update are fused, because the op is bound by memory: each element of w, a and g is
 * read once and w and a are written once. */
#include "kernels/cpu_ops.h"

#include <math.h>

#include "kernels/vector.h"

EDL_MULTIVERSION
void cpu_adagrad(float *w, float *a, const float *g, size_t N, float lr, float l2, float epsilon)
{
#pragma omp simd
    for (size_t i = 0; i < N; i++) {
        float gradient = g[i] + l2 * w[i];
        float sum = a[i] + gradient * gradient;

        a[i] = sum;
        w[i] -= lr * gradient / (sqrtf(sum) + epsilon);
    }
}
