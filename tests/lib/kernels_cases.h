/* SPDX-License-Identifier: Apache-2.0 */
/* kernels_cases.h - the checks of every op that each back-end has, against the f64 reference
 *
 * The same cases run for every back-end: a test program calls kernels_cases_use and then runs the
 * table. One with a memory of its own goes through kernels_on_host. Sizes are 1, primes and vector
 * or tile widths give or take one. Outputs are filled with NaN beforehand and end in guard words;
 * comparisons are !(err <= tol), which a NaN fails. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernels/tensor_ops.h"

#define KERNELS_CASES_MAX 16

void kernels_cases_use(const struct tensor_ops *ops);

/* kernels_cases - fills in the table; returns how many */
size_t kernels_cases(struct CMUnitTest ret_tests[KERNELS_CASES_MAX]);
