/* SPDX-License-Identifier: Apache-2.0 */
/* dev_cluster.h - a scheduler and its agents as children of one process */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct dev_reaper;
struct edl_error;

#define DEV_NODES_MAX 64

struct dev_config {
    const char *programs;  /* folder of edl-scheduler and edl-agent */
    const char *state_dir; /* absolute, exists, with scheduler/, nodes/ and output/ in it */
    uint64_t n_nodes;
    uint64_t cpu_millicores, memory_bytes; /* of each node */
    const char *keep_outputs;              /* of the agents; NULL: their default */
    const char *policy;                    /* NULL: the scheduler's default, as for the next five */
    const char *default_cpu;
    const char *parking;
    double max_load;
    uint64_t lease_us;
    uint64_t port;   /* 0 = any */
    bool allow_root; /* agents may run jobs as root */
    /* called once, when all nodes are ready */
    void (*on_ready)(const char *base, const char *token_file, void *userdata);
    void *userdata;
};

/* dev_cluster_run - until SIGINT, SIGTERM or SIGHUP (which the caller has blocked, with SIGCHLD)
 * Returns 0 after such a stop; a negative code with error when the cluster did not come up. Either
 * way agents and scheduler are gone; what else descends from us is left to dev_reaper_kill_all. */
int dev_cluster_run(const struct dev_config *config, struct dev_reaper *reaper,
                    struct edl_error *error);
