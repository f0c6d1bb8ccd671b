/* SPDX-License-Identifier: Apache-2.0 */
/* kernels.h - a back-end: memory, and the ops of training on it, chosen once at start
 *
 * A back-end has a memory of its own: every pointer that an op takes leads into what allocate()
 * gave, but for those named host_*. Where host_memory is set that memory is the program's, and any
 * pointer will do. Ops may still run when they have returned: download() and softmax_xent_forward()
 * wait for the calls before them. One thread at a time.
 *
 * Ops (tensor_ops.h) never allocate, never exit and know nothing of the rest (they may not include
 * shared/). README.md holds the conventions. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "kernels/tensor_ops.h"

#define EDL_KERNELS_ABI                                                                            \
    3 /* of this struct, of tensor_ops and of what their members mean: any                         \
         change raises it */

struct edl_backend {
    uint32_t abi;         /* EDL_KERNELS_ABI; the first member for ever */
    uint32_t host_memory; /* 1: ops work on the program's memory, and nothing must be copied */
    const char *name;

    /* start - 0 with the device's name in ret_text[size]; or -ENODEV, and there which call failed
     * how. Nothing else but failure() may be called before. */
    int (*start)(int device, char *ret_text, size_t size);
    /* stop - all that was allocated must have been released */
    void (*stop)(void);
    /* failure - the first failure since start, NULL when there was none
     *
     * Ops return nothing, so after a failed one all do nothing, and whatever they bring to the host
     * is NaN: a failure can be noticed late but never be taken for a result. */
    const char *(*failure)(void);
    /* allocate - zeroed, for release; NULL: there is not so much */
    void *(*allocate)(size_t bytes);
    void (*release)(void *memory);
    void (*upload)(const void *host, size_t bytes, void *memory);
    void (*download)(const void *memory, size_t bytes, void *host);
    void (*zero)(void *memory, size_t bytes);

    /* ops - of the layers of networks, in f32, on this memory. The CPU has all of them, a device
     * those that it was built with: the others are NULL, and a network that needs one is refused
     * (plan_fits) */
    const struct tensor_ops *ops;
};

/* backend_cpu - OpenBLAS for the dense products, vectorised loops for the rest; always there */
const struct edl_backend *backend_cpu(void);
