/* SPDX-License-Identifier: Apache-2.0 */
/* corpus_chain.c - a synthetic language whose entropy is known exactly
 *
 * P(j | i) = (1 - L) z(j) + L * (sum of the weights of those successors of i that are j), z = Zipf.
 * The stationary distribution is the fixed point of a contraction by L, so 400 rounds leave nothing
 * that a double could show. Only
 * + - * / decide what is drawn: the same on every machine with IEEE arithmetic. */
#include "shared/corpus_chain.h"

#include <math.h>
#include <stdlib.h>

#include "shared/macro.h"
#include "shared/random.h"

#define SUCCESSORS 4
#define LOYALTY 0.8 /* L: the share of words that come from the successors */
#define ROUNDS 400

static const double weights[SUCCESSORS] = { 0.5, 0.25, 0.15, 0.1 };

struct corpus_chain {
    uint32_t words;
    uint32_t *successors; /* words x SUCCESSORS; may repeat */
    double *zipf;         /* z(j), and its running sum for drawing */
    double *zipf_sum;
    double *stationary, *stationary_sum;
};

static void running_sum(const double *p, double *sum, uint32_t n)
{
    double total = 0;

    for (uint32_t i = 0; i < n; i++)
        sum[i] = total += p[i];
}

static void find_stationary(struct corpus_chain *chain)
{
    double *next = xcalloc(chain->words, sizeof *next), *now = chain->stationary;

    memcpy(now, chain->zipf, chain->words * sizeof *now);
    for (int round = 0; round < ROUNDS; round++) {
        for (uint32_t j = 0; j < chain->words; j++)
            next[j] = (1 - LOYALTY) * chain->zipf[j];
        for (uint32_t i = 0; i < chain->words; i++)
            for (int s = 0; s < SUCCESSORS; s++)
                next[chain->successors[i * SUCCESSORS + s]] += LOYALTY * weights[s] * now[i];
        memcpy(now, next, chain->words * sizeof *now);
    }
    free(next);
}

struct corpus_chain *corpus_chain_new(uint32_t words, uint64_t seed)
{
    struct corpus_chain *chain = xcalloc(1, sizeof *chain);
    uint64_t state = seed;
    double total = 0;

    chain->words = words;
    chain->successors = xcalloc((size_t)words * SUCCESSORS, sizeof *chain->successors);
    chain->zipf = xcalloc(words, sizeof *chain->zipf);
    chain->zipf_sum = xcalloc(words, sizeof *chain->zipf_sum);
    chain->stationary = xcalloc(words, sizeof *chain->stationary);
    chain->stationary_sum = xcalloc(words, sizeof *chain->stationary_sum);
    for (uint32_t j = 0; j < words; j++)
        total += chain->zipf[j] = 1.0 / (j + 1.0);
    for (uint32_t j = 0; j < words; j++)
        chain->zipf[j] /= total;
    for (size_t i = 0; i < (size_t)words * SUCCESSORS; i++)
        chain->successors[i] = (uint32_t)random_below(&state, words);
    running_sum(chain->zipf, chain->zipf_sum, words);
    find_stationary(chain);
    running_sum(chain->stationary, chain->stationary_sum, words);
    return chain;
}

struct corpus_chain *corpus_chain_free(struct corpus_chain *chain)
{
    if (chain == NULL)
        return NULL;
    free(chain->successors);
    free(chain->zipf);
    free(chain->zipf_sum);
    free(chain->stationary);
    free(chain->stationary_sum);
    free(chain);
    return NULL;
}

/* draw - the first word whose running sum exceeds u (scaled, so that rounding cannot run off the
 * end) */
static uint32_t draw(const double *sum, uint32_t n, uint64_t *state)
{
    double u = random_unit(state) * sum[n - 1];
    uint32_t low = 0, high = n - 1;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (sum[middle] > u)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

uint32_t corpus_chain_first(const struct corpus_chain *chain, uint64_t *state)
{
    return draw(chain->stationary_sum, chain->words, state);
}

uint32_t corpus_chain_next(const struct corpus_chain *chain, uint32_t word, uint64_t *state)
{
    double u;
    int s = 0;

    if (random_unit(state) >= LOYALTY)
        return draw(chain->zipf_sum, chain->words, state);
    u = random_unit(state);
    while (s < SUCCESSORS - 1 && u >= weights[s])
        u -= weights[s++];
    return chain->successors[(size_t)word * SUCCESSORS + (size_t)s];
}

double corpus_chain_probability(const struct corpus_chain *chain, uint32_t word, uint32_t next)
{
    double p = (1 - LOYALTY) * chain->zipf[next];

    for (int s = 0; s < SUCCESSORS; s++)
        if (chain->successors[(size_t)word * SUCCESSORS + (size_t)s] == next)
            p += LOYALTY * weights[s];
    return p;
}

/* corpus_chain_truth - a row differs from (1 - L) z at its successors only, so V rows cost 4 V
 * logarithms */
void corpus_chain_truth(const struct corpus_chain *chain, double *ret_entropy, double *ret_error)
{
    double base = 0, entropy = 0, hits = 0;

    for (uint32_t j = 0; j < chain->words; j++)
        base -= (1 - LOYALTY) * chain->zipf[j] * log((1 - LOYALTY) * chain->zipf[j]);
    for (uint32_t i = 0; i < chain->words; i++) {
        const uint32_t *successors = chain->successors + (size_t)i * SUCCESSORS;
        double row = base, best = corpus_chain_probability(chain, i, 0); /* rank 1 of Zipf */

        for (int s = 0; s < SUCCESSORS; s++) {
            double p = corpus_chain_probability(chain, i, successors[s]), before;
            int repeated = 0;

            for (int t = 0; t < s; t++)
                repeated |= successors[t] == successors[s];
            best = MAX_OF(best, p);
            before = (1 - LOYALTY) * chain->zipf[successors[s]];
            if (!repeated)
                row += before * log(before) - p * log(p);
        }
        entropy += chain->stationary[i] * row;
        hits += chain->stationary[i] * best;
    }
    *ret_entropy = entropy;
    *ret_error = 1 - hits;
}
