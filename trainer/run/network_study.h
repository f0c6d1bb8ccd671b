/* SPDX-License-Identifier: Apache-2.0 */
/* network_study.h - a network with its data and its parameters while something is asked of it: for
 * network_*.c and trainer_collective.c alone */
#pragma once

#include "trainer/exchange/local_sgd.h"
#include "trainer/run/sgd_mode.h"
#include "trainer/parameters/declaration.h"
#include "trainer/data/network_data.h"
#include "trainer/model/network_files.h"
#include "trainer/learn/network_saves.h"
#include "trainer/run/progress.h"

struct edl_error;
struct local_sgd;
struct model_average;
struct network;
struct network_job;
struct network_learner;
struct network_servers;
struct table;

struct study {
    const struct network_job *job;
    struct network_file file;
    struct network *network;
    struct network_data data;
    struct declaration declaration;
    enum sgd_mode mode;              /* of trainers that share servers */
    struct table *table;             /* here, or */
    struct network_servers *servers; /* on these, or */
    struct local_sgd *local;         /* here between meetings on these */
    uint64_t servers_wait_us;
    struct network_learner *learner;
    struct model_average *average; /* tested and saved in the place of the values, NULL: none */
    struct network_saves saves;
    struct progress progress;
};

/* study_read - files only: what can be wrong with them is told before anybody is asked for
 * anything. The network comes first: which data it needs is said of one that is there. */
int study_read(struct study *s, const struct network_job *job, struct edl_error *error);

/* Samples of a batch, passes, and whether each pass has another order: the command line's, else the
 * network's. */
uint64_t study_batch(const struct study *s);
uint64_t study_passes(const struct study *s);
bool study_shuffles(const struct study *s);

/* study_network - s->network of the file that is open, with the sizes of the data that are there */
int study_network(struct study *s, struct edl_error *error);
/* study_declare - s->declaration of the network and the job */
int study_declare(struct study *s, struct edl_error *error);
void study_close(struct study *s);

/* study_method - of meetings, by --center_parameter_update_method */
enum local_sgd_method study_method(const struct network_job *job);

/* study_agreement - what the servers compare with the other trainers'; sets the study's mode, and
 * says it where trainers wait for each other. -EINVAL: two options exclude each other */
int study_agreement(struct study *s, struct agreement *ret, struct edl_error *error);
