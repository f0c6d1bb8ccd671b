/* SPDX-License-Identifier: Apache-2.0 */
/* f32.c - the optimizers on float */
#define REAL float
#define OF(name) name##_f32
#define REAL_SQRT sqrtf
#define REAL_ABS fabsf

#include "kernels/optimizers/real.inc"

#include "kernels/optimizers/adadelta.inc"
#include "kernels/optimizers/adagrad.inc"
#include "kernels/optimizers/adam.inc"
#include "kernels/optimizers/adamax.inc"
#include "kernels/optimizers/decayed_adagrad.inc"
#include "kernels/optimizers/momentum.inc"
#include "kernels/optimizers/rmsprop.inc"
