/* SPDX-License-Identifier: Apache-2.0 */
/* memory_cpu.c - the memory of the CPU back-end, which is the program's */
#include "kernels/cpu_ops.h"

#include <stdlib.h>
#include <string.h>

int cpu_start(int device, char *ret_text, size_t size)
{
    (void)device;
    if (size > 0)
        ret_text[0] = '\0';
    return 0;
}

void cpu_stop(void)
{
}

const char *cpu_failure(void)
{
    return NULL;
}

void *cpu_allocate(size_t bytes)
{
    return calloc(1, bytes > 0 ? bytes : 1);
}

void cpu_release(void *memory)
{
    free(memory);
}

void cpu_upload(const void *host, size_t bytes, void *memory)
{
    memcpy(memory, host, bytes);
}

void cpu_download(const void *memory, size_t bytes, void *host)
{
    memcpy(host, memory, bytes);
}

void cpu_zero(void *memory, size_t bytes)
{
    memset(memory, 0, bytes);
}
