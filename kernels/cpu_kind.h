/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_kind.h - which variants of its kernels the CPU back-end has chosen on this machine
 *
 * Results have the same bits only where these are the same: another instruction set adds up in
 * another order. */
#pragma once

#include <stddef.h>

/* cpu_kind_kernels - "avx512f", "avx2" or "default": the clone that the loader took (vector.h) */
const char *cpu_kind_kernels(void);

/* cpu_kind_blas - "OpenBLAS 0.3.21 Haswell, threads 1" */
void cpu_kind_blas(char *ret, size_t size);
