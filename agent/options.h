/* SPDX-License-Identifier: Apache-2.0 */
/* options.h - command line of edl-agent */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "shared/label.h"

#define AGENT_GPUS_MAX 64

struct edl_error;

struct agent_options { /* text is borrowed from argv */
    const char *node;
    const char *scheduler;
    const char *join_token_file;
    const char *state_dir;
    const char *output_dir; /* NULL: in the state folder */
    const char *address;
    uint64_t cpu_millicores; /* 0: all of the machine */
    uint64_t memory_bytes;   /* 0: all of the machine */
    uint64_t gpus;
    uint8_t gpu_numa[AGENT_GPUS_MAX]; /* NUMA node of each device, below UINT8_MAX */
    uint64_t n_gpu_numa;              /* 0, or as many as gpus */
    struct labels labels;
    uint16_t port_first;
    uint16_t port_last;
    uint64_t heartbeat_us;
    bool allow_root;
    bool stop_processes_on_exit;
    bool no_foreign; /* other load of the machine is not reported */
};

/* options_parse - the command line, and EDL_LABELS for labels that it does not give
 * 0: run; 1: help or version was printed; -EINVAL with error */
int options_parse(int argc, char **argv, struct agent_options *ret, struct edl_error *error);
