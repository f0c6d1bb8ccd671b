/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_kind.c - which variants of its kernels the CPU back-end has chosen on this machine */
#include "kernels/cpu_kind.h"

#include <cblas.h>
#include <stdio.h>
#include <string.h>

#include "kernels/vector.h"

const char *cpu_kind_kernels(void)
{
#ifdef EDL_MULTIVERSIONED
    /* in the order of EDL_MULTIVERSION */
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f"))
        return "avx512f";
    if (__builtin_cpu_supports("avx2"))
        return "avx2";
#endif
    return "default";
}

void cpu_kind_blas(char *ret, size_t size)
{
    const char *config = openblas_get_config(); /* "OpenBLAS 0.3.21 NO_LAPACKE ..." */
    const size_t name = strcspn(config, " "),
                 version = strcspn(config + name + (config[name] == ' '), " ");

    (void)snprintf(ret, size, "%.*s %s, threads %d", (int)(name + 1 + version), config,
                   openblas_get_corename(), openblas_get_num_threads());
}
