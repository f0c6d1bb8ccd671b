/* SPDX-License-Identifier: Apache-2.0 */
/* real.h - the element type of a source that is compiled twice: for training in f32, and in f64,
 * by which gradients are checked
 *
 * One formula for both: the code that the check in f64 finds right is the code of training. */
#pragma once

#include <math.h>

#include "kernels/vector.h"

#ifdef EDL_REAL_F64
typedef double real;
#define NAME(op) f64_##op
#define REAL_EXP(x) exp(x)
#define REAL_SQRT(x) sqrt(x)
#else
typedef float real;
#define NAME(op) cpu_##op
#define REAL_EXP(x) exp_f32(x)
#define REAL_SQRT(x) sqrtf(x)
#endif
