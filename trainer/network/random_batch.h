/* SPDX-License-Identifier: Apache-2.0 */
/* random_batch.h - a batch of random samples that fits a network: for checks */
#pragma once

#include "trainer/data/batch.h"

struct network;

/* random_batch_new - n samples, a function of the seed: ids even, values normal, sequences of 1 to
 * length_max ids; the caller's, for random_batch_free */
struct batch *random_batch_new(const struct network *network, uint32_t n, uint32_t length_max,
                               uint64_t seed);
/* random_batch_free - NULL is fine; returns NULL */
struct batch *random_batch_free(struct batch *batch);

/* random_next, random_normal - the generator of this folder (splitmix64) */
uint64_t random_next(uint64_t *state);
double random_normal(uint64_t *state);
