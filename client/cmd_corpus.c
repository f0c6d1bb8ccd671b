/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_corpus.c - `edl corpus build`: a word n-gram dataset from text, ready for a job's `dataset`
 */
#include <errno.h>
#include <inttypes.h>

#include "client/json_read.h"
#include "client/report.h"
#include "client/verb.h"
#include "shared/corpus.h"
#include "shared/error.h"
#include "shared/macro.h"

struct corpus_verb_options {
    struct common_options common;
    const char *out;
    uint64_t min_frequency, ngram, max_words, chunk_records, shards, seed, synthetic, samples;
    double held_out;
};

#define AT(member) OPTION_FIELD(struct corpus_verb_options, member)

static const struct option_row corpus_options[] = {
    { "out", "DIR", "folder to make; must be absent or empty", option_text, AT(out),
      .letter = 'o' },
    { "min-frequency", "N", "rarer words become <unk> (10)", option_positive, AT(min_frequency) },
    { "ngram", "N", "words in a sample (5)", option_positive, AT(ngram) },
    { "held-out", "SHARE", "share of sentences kept for testing (0.05)", option_share,
      AT(held_out) },
    { "max-words", "N", "stop reading after N words (2000000)", option_positive, AT(max_words) },
    { "chunk-records", "N", "samples in a chunk (2000)", option_positive, AT(chunk_records) },
    { "shards", "N", "training files (4)", option_positive, AT(shards) },
    { "seed", "N", "of the shuffle", option_number, AT(seed) },
    { "synthetic", "WORDS", "no files: a Markov chain over so many words", option_positive,
      AT(synthetic) },
    { "samples", "N", "of the synthetic source (100000)", option_positive, AT(samples) },
};

static void progress(const char *text, void *userdata)
{
    (void)userdata;
    report_note("%s", text);
}

/* The library's counts are 32 bits wide; silently cutting a larger number would build something
 * else. */
static int narrow(const char *name, uint64_t value, uint32_t *ret, struct edl_error *error)
{
    if (value > UINT32_MAX)
        return edl_error_set(error, -ERANGE, "--%s is too large", name);
    *ret = (uint32_t)value;
    return 0;
}

static int fill(const struct corpus_verb_options *given, struct corpus_options *ret,
                struct edl_error *error)
{
    struct {
        const char *name;
        uint64_t value;
        uint32_t *place;
    } const numbers[] = {
        { "min-frequency", given->min_frequency, &ret->min_frequency },
        { "ngram", given->ngram, &ret->ngram },
        { "chunk-records", given->chunk_records, &ret->chunk_records },
        { "shards", given->shards, &ret->shards },
        { "synthetic", given->synthetic, &ret->synthetic_words },
    };

    for (size_t i = 0; i < ELEMENTS(numbers); i++) {
        int r = narrow(numbers[i].name, numbers[i].value, numbers[i].place, error);

        if (r < 0)
            return r;
    }
    ret->out = given->out;
    ret->held_out_ppm = (uint32_t)(given->held_out * 1e6 + 0.5);
    ret->max_words = given->max_words;
    ret->synthetic_samples = given->samples;
    ret->seed = given->seed;
    ret->progress = given->common.json ? NULL : progress;
    return 0;
}

static void print_summary(const struct corpus_verb_options *given,
                          const struct corpus_summary *summary)
{
    if (given->common.json) {
        _cleanup_json_ json_t *object =
            json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:f, s:f}", "out", given->out, "files",
                      (json_int_t)summary->files, "words", (json_int_t)summary->words, "vocabulary",
                      (json_int_t)summary->vocabulary, "train_samples",
                      (json_int_t)summary->train_samples, "test_samples",
                      (json_int_t)summary->test_samples, "entropy_nats", summary->entropy_nats,
                      "bayes_error", summary->bayes_error);

        json_print(object);
        return;
    }
    (void)printf("%s: %" PRIu64 " word%s of %" PRIu64 " file%s, vocabulary %" PRIu32 ", %" PRIu64
                 " training and %" PRIu64 " test sample%s\n",
                 given->out, summary->words, PLURAL(summary->words), summary->files,
                 PLURAL(summary->files), summary->vocabulary, summary->train_samples,
                 summary->test_samples, PLURAL(summary->test_samples));
    if (given->synthetic != 0)
        (void)printf("no model can do better than %.4f nats (%.1f%% of the words wrong)\n",
                     summary->entropy_nats, 100.0 * summary->bayes_error);
    (void)printf("dataset: %s/train-*.recordio\n", given->out);
}

static int run(const struct invocation *invocation)
{
    const struct corpus_verb_options *given = invocation->options;
    const struct option_words *arguments = &invocation->arguments;
    struct corpus_options options = { 0 };
    struct corpus_summary summary = { 0 };
    struct edl_error error = { 0 };

    if (!streq(arguments->args[0], "build") || given->out == NULL) {
        (void)edl_error_set(&error, -EINVAL, "corpus: %s",
                            given->out == NULL ? "--out DIR is missing" : "only `build` is known");
        (void)edl_error_remedy(&error, "edl corpus build --out DIR");
        return report_error(&error);
    }
    if (fill(given, &options, &error) < 0)
        return report_error(&error);
    options.paths = (const char *const *)(arguments->args + 1);
    options.n_paths = arguments->n_args - 1;
    if (corpus_build(&options, &summary, &error) < 0)
        return report_error(&error);
    print_summary(given, &summary);
    return STATUS_OK;
}

const struct verb verb_corpus = {
    .name = "corpus",
    .usage = "build --out DIR [OPTION]... [PATH...]",
    .summary = "Build a word n-gram dataset from text",
    .details = "PATH is a file or a folder of text; without any, the documentation installed on "
               "this machine\n"
               "is read. DIR gets word_dict, train-*.recordio, test-*.recordio and corpus.json.",
    VERB_OPTIONS(corpus_options, struct corpus_verb_options),
    .min_args = 1,
    .max_args = SIZE_MAX,
    .local = true,
    .run = run,
};
