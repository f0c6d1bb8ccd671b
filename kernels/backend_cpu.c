/* SPDX-License-Identifier: Apache-2.0 */
/* backend_cpu.c - the table of the CPU back-end */
#include "kernels/kernels.h"

#include "kernels/cpu_ops.h"

const struct edl_backend *backend_cpu(void)
{
    static struct edl_backend cpu = {
        .abi = EDL_KERNELS_ABI,
        .host_memory = 1,
        .name = "cpu",
        .start = cpu_start,
        .stop = cpu_stop,
        .failure = cpu_failure,
        .allocate = cpu_allocate,
        .release = cpu_release,
        .upload = cpu_upload,
        .download = cpu_download,
        .zero = cpu_zero,
    };

    cpu.ops = tensor_ops_f32();
    return &cpu;
}
