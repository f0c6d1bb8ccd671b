/* SPDX-License-Identifier: Apache-2.0 */
/* trainer.h - a trainer of a job: leases tasks, trains on them against the parameter servers, saves
 * the model
 *
 * Also alone, without any cluster (trainer_run_local): the reference that the distributed run must
 * equal. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct device;
struct edl_error;

struct trainer_config {
    /* who it is */
    uint64_t job_id;
    uint64_t index;
    uint64_t incarnation;
    const char *socket_path; /* the agent's */
    const char *dataset;     /* glob of train files */
    const char *output_dir;  /* the model goes to output_dir/model; NULL (local only): nowhere */
    const struct device *device; /* open; NULL: the CPU */
    /* what it trains */
    const char *network;           /* name or file; NULL: ngram_lm */
    const char *network_arguments; /* NULL: the file's */
    uint64_t batch;                /* 0: the network's, or 32 */
    uint64_t push_every, log_period, seed, task_records;
    uint64_t embedding, hidden;            /* of ngram_lm; 0: the file's */
    float learning_rate, epsilon, l2_rate; /* negative: the file's */
    float dropout;                         /* of ngram_lm; negative: the file's */
    bool sync, async;                      /* sgd_mode.h */
    uint64_t evaluate_max;                 /* held-out samples at the end */
    uint64_t hosts_wait_us;                /* for the servers, at first */
    uint64_t reconnect_us;                 /* for the servers, later */
    uint64_t api_retry_us;                 /* for the scheduler */
    const volatile sig_atomic_t *stop;     /* set by SIGTERM */
};

/* trainer_run - until the job is trained
 * Returns 0, -EINTR when told to stop (the task in hand was given back), or a negative code. */
int trainer_run(const struct trainer_config *config, struct edl_error *error);

/* trainer_run_local - passes over the whole data set in this process */
int trainer_run_local(const struct trainer_config *config, uint64_t passes,
                      struct edl_error *error);
