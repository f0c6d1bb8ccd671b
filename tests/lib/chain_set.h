/* SPDX-License-Identifier: Apache-2.0 */
/* chain_set.h - the samples of trainer_fixture.h's chain as a network takes them, and ngram_lm for
 * them */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct network;
struct sample_set;

/* chain_network - ngram_lm of the chain's words, with arguments "embedding=5 rate=0.1"; for
 * network_free */
struct network *chain_network(const char *arguments);

/* chain_set - chain_samples of that network; for sample_set_free */
struct sample_set *chain_set(const struct network *network, size_t n, uint64_t seed);
