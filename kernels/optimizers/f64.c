/* SPDX-License-Identifier: Apache-2.0 */
/* f64.c - the optimizers on double */
#define REAL double
#define OF(name) name##_f64
#define REAL_SQRT sqrt
#define REAL_ABS fabs

#include "kernels/optimizers/real.inc"

#include "kernels/optimizers/adadelta.inc"
#include "kernels/optimizers/adagrad.inc"
#include "kernels/optimizers/adam.inc"
#include "kernels/optimizers/adamax.inc"
#include "kernels/optimizers/decayed_adagrad.inc"
#include "kernels/optimizers/momentum.inc"
#include "kernels/optimizers/rmsprop.inc"
