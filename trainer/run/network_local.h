/* SPDX-License-Identifier: Apache-2.0 */
/* network_local.h - a network trained, tested or checked, the parameters in this process, or on
 * servers that a person has started; data are this trainer's own */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct device;
struct edl_error;

struct network_job {
    const char *config;      /* name or file */
    const char *source;      /* what config was made from and is saved as, NULL: itself */
    const char *arguments;   /* "depth=20", NULL: the file's own */
    const char *data;        /* network_data_open */
    const char *save_dir;    /* pass-00000 and so on go there, NULL: nothing is saved */
    const char *predictions; /* a test writes its outputs to this folder, NULL: nowhere */
    const char *init_model;  /* a saved pass, NULL: start values; with servers trainer 0 reads it */
    uint64_t samples;        /* of generated data; of checkgrad's batch */
    uint64_t passes, batch;  /* UINT64_MAX, 0: the file's */
    uint64_t push_every, seed, log_period, saving_period;
    uint64_t saving_period_batches; /* 0: nothing is saved within a pass */
    uint64_t test_period;           /* batches between tests; 0: one behind each pass */
    uint64_t save_tar;              /* 1: a tar of paddle.v2 beside each save */
    uint64_t save_only_one;         /* 1: a saved pass takes the place of the one before */
    uint64_t shuffle; /* 0: samples in the order of the data, each pass; UINT64_MAX: the file's */
    float learning_rate, l2_rate; /* negative: the file's */
    uint64_t start_pass;          /* the number of the first one; init_model is the pass before */
    uint64_t with_optimizer;      /* 1: of init_model, as behind start_pass */
    const char *missing; /* of a parameter that init_model has no file of: fail, rand, zero */
    bool glog;           /* the log's lines and dots as PaddlePaddle prints them */
    uint64_t dot_period; /* batches between dots; 0: none */
    const char *servers; /* host:port,... of all parameter servers, NULL: none */
    const char *secret_file, *socket;         /* of them: secret_read */
    uint64_t ports_num, ports_num_for_sparse; /* of each host among them */
    uint64_t job_id, trainer_id;              /* with servers; trainer 0 saves */
    uint64_t send_every; /* with servers: batches between two meetings (local_sgd.h); 1: none */
    const char *center;  /* average, elastic_average */
    float delta_add_rate;
    uint64_t trainers;            /* that share the servers; 0: not said */
    bool sync, async;             /* they wait for each other, or do not; neither: sgd_mode.h */
    bool collective;              /* in a group without servers (trainer_collective.h) */
    uint64_t micro_batches;       /* then: of a step; 0: as the batch can be cut, at most 8 */
    const char *batch_rule;       /* then: constant, linear, goodput */
    uint64_t batch_most, warm_up; /* then: of others: samples (0: eight batches), and steps */
    const char *batches;          /* then: the file of another training that has them */
    uint64_t exact;               /* then: 1: sums have the same bits whatever ranks there are */
    const char *output_dir;       /* then: model and checkpoint go there; NULL: nowhere */
    const char *dataset;          /* glob of train files, of a job: data where it names none */
    const char *servers_wait;     /* a time like 300s: for servers to be there */
    const struct device *device;  /* open; NULL: the CPU */
    const volatile sig_atomic_t *stop;
};

/* network_train - trains, tests after each pass, saves
 * -EINVAL: what is asked for; -EDOM: it has diverged; -EINTR: told to stop, this pass is not saved;
 * and what data, files and folders give. Every path is looked at before the first step. */
int network_train(const struct network_job *job, struct edl_error *error);

/* network_test - the cost of a saved pass on the test samples */
int network_test(const struct network_job *job, struct edl_error *error);

/* network_infer - what the network's output is for each test sample: a line of numbers with commas,
 * and a ; between outputs
 * -EINVAL: an output has many rows for a sample */
int network_infer(const struct network_job *job, struct edl_error *error);

/* network_time - how long a batch of a training takes; trains test_period of them (0: 100), and
 * keeps nothing */
int network_time(const struct network_job *job, struct edl_error *error);

/* network_checkgrad - a line for each comparison; -EDOM: some do not hold */
int network_checkgrad(const struct network_job *job, struct edl_error *error);
