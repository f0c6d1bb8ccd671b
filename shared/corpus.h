/* SPDX-License-Identifier: Apache-2.0 */
/* corpus.h - text on this machine, or a synthetic source, to a folder of n-gram RecordIO shards
 *
 * Output folder: word_dict ("word id" lines, ids dense from 0, <s>, <e> and <unk> included),
 * train-NNNNN-of-NNNNN.recordio, test-00000-of-00001.recordio and corpus.json. A record is `ngram`
 * word ids, int32 little endian. The same input and options give the same bytes. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct edl_error;

#define CORPUS_NGRAM_MIN 2
#define CORPUS_NGRAM_MAX 64
#define CORPUS_SHARDS_MAX 1024
#define CORPUS_WORDS_DEFAULT UINT64_C(2000000)
#define CORPUS_WORDS_MAX UINT64_C(100000000) /* 400 MB of ids in memory */
#define CORPUS_SYNTHETIC_WORDS_MAX 65536

/* Zero in any number means the default named beside it. */
struct corpus_options {
    const char *out;        /* folder to make; must not exist, or be empty */
    uint32_t min_frequency; /* rarer words become <unk>: 10 */
    uint32_t ngram;         /* 5 */
    uint32_t held_out_ppm;  /* share of sentences in the test set, in millionths: 50000 */
    uint32_t shards;        /* train files: 4 */
    uint32_t chunk_records; /* records in one chunk: 2000 */
    uint64_t max_words;     /* stop reading after so many: CORPUS_WORDS_DEFAULT */
    const char *const
        *paths; /* n_paths files or folders; none: the documentation of this machine */
    size_t n_paths;
    uint32_t synthetic_words; /* > 0: no files are read, a Markov chain over so many words speaks */
    uint64_t synthetic_samples; /* n-grams to make, train and test together: 100000 */
    uint64_t seed; /* of the shuffle and of the synthetic source; 0 is a seed like any other */
    void (*progress)(const char *text, void *userdata); /* may be NULL */
    void *userdata;
};

struct corpus_summary {
    uint64_t files, words;
    uint64_t train_samples, test_samples;
    uint32_t vocabulary; /* lines of word_dict */
    double entropy_nats; /* synthetic only: no model's cost can be lower on average, else 0 */
    double bayes_error;  /* synthetic only: share of words that even the best guess gets wrong, else
                            0 */
};

/* corpus_build - reads, counts, splits, shuffles and writes; *ret is set on success only
 * Written beside `out` and renamed into place. Errors: -ENOTEMPTY when out holds something, -EINVAL
 * for options out of range and for paths that hold no words, -errno of the file system. */
int corpus_build(const struct corpus_options *options, struct corpus_summary *ret,
                 struct edl_error *error);
