/* SPDX-License-Identifier: Apache-2.0 */
/* plugin.h - what a back-end in a shared library of its own exports: its table, under this name
 *
 * A program that loads one looks at abi before anything else of it. */
#pragma once

#include "kernels/kernels.h"

#define EDL_KERNELS_SYMBOL "edl_kernels_backend"

#ifdef __cplusplus
extern "C" {
#endif

extern const struct edl_backend edl_kernels_backend;

#ifdef __cplusplus
}
#endif
