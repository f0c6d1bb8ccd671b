/* SPDX-License-Identifier: Apache-2.0 */
/* network_study.h - a network with its data and its parameters while something is asked of it: for
 * network_local.c and network_checkgrad.c alone */
#pragma once

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
    struct table *table;             /* here, or */
    struct network_servers *servers; /* on these, or */
    struct local_sgd *local;         /* here between meetings on these */
    uint64_t servers_wait_us;
    struct network_learner *learner;
    struct model_average *average; /* tested and saved in the place of the values, NULL: none */
    struct network_saves saves;
    struct progress progress;
};

/* study_network - s->network of the file that is open, with the sizes of the data that are there */
int study_network(struct study *s, struct edl_error *error);
/* study_declare - s->declaration of the network and the job */
int study_declare(struct study *s, struct edl_error *error);
void study_close(struct study *s);
