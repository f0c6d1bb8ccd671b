/* SPDX-License-Identifier: Apache-2.0 */
/* adagrad.c - AdaGrad as an op, for a training that keeps its parameters on the device */
#include "kernels/cpu_ops.h"

#include <math.h>

#include "kernels/optimizer.h"

void cpu_adagrad(float *w, float *a, const float *g, size_t N, float lr, float l2, float epsilon)
{
    const struct optimizer_step step = { .rate = (double)lr,
                                         .l2_rate = (double)l2,
                                         .epsilon = (double)epsilon,
                                         .clipping = INFINITY,
                                         .count = 1,
                                         .batches = 1 };

    optimizer_kind(OPTIMIZER_ADAGRAD)->update(w, (float *const[]){ a, NULL }, g, N, &step);
}
