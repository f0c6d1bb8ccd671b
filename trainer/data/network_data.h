/* SPDX-License-Identifier: Apache-2.0 */
/* network_data.h - the samples that a network is trained with alone, in memory
 *
 * "generated": by the generator for the network, whose floor is known. A folder with ratings.dat:
 * MovieLens 1M. Any other folder: a data set (data.json or corpus.json, train-*.recordio). */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "trainer/data/batch.h"

struct edl_error;
struct sample_set;

struct network_data {
    struct input_spec inputs[INPUTS_MAX];
    uint32_t n_inputs;
    struct sample_set *train, *test;
    json_t *floor; /* what no model can go below, NULL: nobody knows it */
};

/* network_data_open - the caller's, for network_data_close
 * data: see above. config: the name of the network, for "generated". samples: how many are
 * generated; 0: as many as the generator finds right. */
int network_data_open(const char *data, const char *config, uint64_t samples, uint64_t seed,
                      struct network_data *ret, struct edl_error *error);
void network_data_close(struct network_data *data);
