/* SPDX-License-Identifier: Apache-2.0 */
/* methods.h - the functions of all optimizers, for their table and the two files that make them */
#pragma once

#include "kernels/optimizer.h"

#define DECLARE_METHOD(method, type, suffix)                                                       \
    void method##_update_##suffix(type *w, type *const slots[], const type *g, size_t n,           \
                                  const struct optimizer_step *step);                              \
    void method##_catch_up_##suffix(type *w, type *const slots[], size_t n,                        \
                                    const struct optimizer_step *step);
#define XX(upper, lower, states, abilities)                                                        \
    DECLARE_METHOD(lower, float, f32)                                                              \
    DECLARE_METHOD(lower, double, f64)
OPTIMIZER_MAP(XX)
#undef XX
#undef DECLARE_METHOD
