/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_use.h - whether a GPU that we may see does anything
 *
 * Asked of NVIDIA's library by a process of its own, as a driver may not come back. It is asked
 * once for each look, and the answer counts at the next one. One that does not answer works.
 *
 * Used by: idle.c. Tests: tests/unit/test_idle.c. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct gpu_use {
    pid_t pid;        /* of the helper; 0: there is no GPU to look at */
    int fd;           /* owned */
    bool asked;       /* and it has not answered */
    bool works;       /* as it said last */
    uint64_t used_us; /* CPU time of it, as it said last */
};

/* gpu_use_sees_any - by CUDA_VISIBLE_DEVICES, NULL where it is not set */
bool gpu_use_sees_any(const char *visible);

/* gpu_use_of - whether one of the devices that are visible does anything: at least a hundredth of
 * its time. One that does not tell, as with MIG, is left to the CPU. gpus: as nvml_gpus has them */
bool gpu_use_of(const json_t *gpus, const char *visible);

/* gpu_use_begin - starts the helper, if there is any GPU; before there are threads */
void gpu_use_begin(struct gpu_use *use);

/* gpu_use_look - whether one works, and asks anew; never waits */
bool gpu_use_look(struct gpu_use *use);

/* gpu_use_end - nobody asks the helper any more: it ends, with us at the latest */
void gpu_use_end(struct gpu_use *use);
