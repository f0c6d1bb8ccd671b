/* SPDX-License-Identifier: Apache-2.0 */
/* backend_cpu.c - the table of the CPU back-end */
#include "kernels/kernels.h"

#include "kernels/cpu_ops.h"

static const struct edl_backend cpu = {
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
    .gather_rows = cpu_gather_rows,
    .scatter_rows = cpu_scatter_rows,
    .scatter_add_rows = cpu_scatter_add_rows,
    .add = cpu_add,
    .scale = cpu_scale,
    .multiply = cpu_multiply,
    .fc_forward = cpu_fc_forward,
    .fc_forward_transposed = cpu_fc_forward_transposed,
    .fc_backward = cpu_fc_backward,
    .fc_backward_transposed = cpu_fc_backward_transposed,
    .sigmoid_forward = cpu_sigmoid_forward,
    .sigmoid_backward = cpu_sigmoid_backward,
    .dropout_forward = cpu_dropout_forward,
    .softmax_xent_forward = cpu_softmax_xent_forward,
    .softmax_xent_backward = cpu_softmax_xent_backward,
    .adagrad = cpu_adagrad,
};

const struct edl_backend *backend_cpu(void)
{
    return &cpu;
}
