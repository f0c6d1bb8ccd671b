/* SPDX-License-Identifier: Apache-2.0 */
/* sigmoid.c - the logistic function and its derivative, expressed by the function's own value */
#include "kernels/cpu_ops.h"

#include "kernels/vector.h"

EDL_MULTIVERSION
void cpu_sigmoid_forward(const float *x, size_t N, float *y)
{
#pragma omp simd
    for (size_t i = 0; i < N; i++)
        y[i] = 1.0f / (1.0f + exp_f32(-x[i]));
}

EDL_MULTIVERSION
void cpu_sigmoid_backward(const float *y, const float *dy, size_t N, float *dx)
{
#pragma omp simd
    for (size_t i = 0; i < N; i++)
        dx[i] = dy[i] * y[i] * (1.0f - y[i]);
}
