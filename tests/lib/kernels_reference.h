/* SPDX-License-Identifier: Apache-2.0 */
/* kernels_reference.h - the ops of kernels/kernels.h written as naively as possible, in f64
 *
 * One loop nest per formula and nothing clever, so that they can be checked by reading. The legend
 * is that of kernels.h. */
#pragma once

#include <stddef.h>
#include <stdint.h>

void reference_fc_forward(const double *x, const double *w, const double *b, size_t B, size_t D,
                          size_t H, double *out);
void reference_fc_forward_transposed(const double *x, const double *w, const double *b, size_t B,
                                     size_t H, size_t K, double *out);
/* dx NULL: skipped */
void reference_fc_backward(const double *x, const double *w, const double *dy, size_t B, size_t D,
                           size_t H, double *dw, double *db, double *dx);
void reference_fc_backward_transposed(const double *x, const double *w, const double *dy, size_t B,
                                      size_t H, size_t K, double *dw, double *db, double *dx);
double reference_sigmoid(double x);
/* logits -> probabilities in place; returns the cost sum */
double reference_softmax_xent(double *logits, const int32_t *targets, size_t B, size_t K,
                              uint32_t *ret_errors);
void reference_adagrad(double *w, double *a, const double *g, size_t N, double lr, double l2,
                       double epsilon);

/* f64 copy of n floats; the caller frees it */
double *reference_widen(const float *x, size_t n);
