/* SPDX-License-Identifier: Apache-2.0 */
/* kernels_reference.h - ops of kernels/tensor_ops.h written as naively as possible, in f64
 *
 * One loop nest per formula and nothing clever, so that they can be checked by reading. The legend
 * is that of tensor_ops.h. */
#pragma once

#include <stddef.h>
#include <stdint.h>

double reference_sigmoid(double x);
/* logits -> probabilities in place; returns the cost sum */
double reference_softmax_xent(double *logits, const int32_t *targets, size_t B, size_t K,
                              uint32_t *ret_errors);

/* f64 copy of n floats; the caller frees it */
double *reference_widen(const float *x, size_t n);
