/* SPDX-License-Identifier: Apache-2.0 */
/* corpus_chain.h - a synthetic language whose entropy is known exactly
 *
 * Order-1 Markov chain over V words. With probability 1/5 the next word comes from Zipf's law
 * (1/rank), else it is one of four successors of the word before, with fixed weights. The score of
 * a perfect model can be computed, so that a training run can be judged against the truth instead
 * of against another program. */
#pragma once

#include <stdint.h>

struct corpus_chain;

/* corpus_chain_new - words >= 2; successors are drawn with the seed */
struct corpus_chain *corpus_chain_new(uint32_t words, uint64_t seed);
struct corpus_chain *corpus_chain_free(struct corpus_chain *chain); /* accepts NULL; returns NULL */

/* corpus_chain_first - a word of the stationary distribution; state: any number, moved on */
uint32_t corpus_chain_first(const struct corpus_chain *chain, uint64_t *state);

/* corpus_chain_next - a word after another */
uint32_t corpus_chain_next(const struct corpus_chain *chain, uint32_t word, uint64_t *state);

/* corpus_chain_probability - of `next` after `word` */
double corpus_chain_probability(const struct corpus_chain *chain, uint32_t word, uint32_t next);

/* corpus_chain_truth - nats per word given the word before, and the error rate of the best guess */
void corpus_chain_truth(const struct corpus_chain *chain, double *ret_entropy, double *ret_error);
