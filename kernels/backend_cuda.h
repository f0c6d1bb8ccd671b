/* SPDX-License-Identifier: Apache-2.0 */
/* backend_cuda.h - the ops of kernels.h on one NVIDIA device
 *
 * Host pointers go in and out: every op copies its operands to scratch buffers on the device, which
 * grow to the largest batch seen and stay, and copies its results back before it returns. One
 * thread at a time; one device per program. */
#pragma once

#include <stddef.h>

#include "kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* backend_cuda - opens the device; NULL with the reason in ret_text[size] when there is none */
const struct edl_backend *backend_cuda(int device, char *ret_text, size_t size);

/* backend_cuda_failure - the first failure since backend_cuda, NULL when there was none
 *
 * Ops return nothing, so a failed one fills its outputs (and its cost) with NaN, and so do all
 * after it: a failure can be noticed late but never be taken for a result. */
const char *backend_cuda_failure(void);

/* backend_cuda_close - gives the device's memory back; the table must not be used any more */
void backend_cuda_close(void);

#ifdef __cplusplus
}
#endif
