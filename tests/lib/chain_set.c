/* SPDX-License-Identifier: Apache-2.0 */
/* chain_set.c - the samples of trainer_fixture.h's chain as a network takes them */
#include "tests/lib/chain_set.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/network_case.h"
#include "tests/unit/trainer_fixture.h"
#include "trainer/data/sample.h"
#include "trainer/data/sample_set.h"

struct network *chain_network(const char *arguments)
{
    char all[256];

    (void)snprintf(all, sizeof all, "ngram=%d vocabulary=%d %s", CHAIN_NGRAM, CHAIN_WORDS,
                   arguments);
    return network_shipped("ngram_lm", all);
}

struct sample_set *chain_set(const struct network *network, size_t n, uint64_t seed)
{
    struct sample_set *set = sample_set_new(network->inputs, network->n_inputs);
    int32_t *words = xcalloc(n, CHAIN_NGRAM * sizeof *words);
    struct sample_record record = { 0 };

    chain_samples(words, n, seed);
    for (size_t i = 0; i < n; i++) {
        struct sample_value values[CHAIN_NGRAM] = { 0 };

        for (int k = 0; k < CHAIN_NGRAM; k++)
            values[k].ids = words + i * CHAIN_NGRAM + k;
        assert_int_equal(sample_encode(network->inputs, CHAIN_NGRAM, values, &record, NULL), 0);
        assert_int_equal(sample_set_add(set, record.bytes, record.size, NULL), 0);
    }
    free(record.bytes);
    free(words);
    return set;
}
