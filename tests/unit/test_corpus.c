/* SPDX-License-Identifier: Apache-2.0 */
/* test_corpus.c - what becomes a word and a sample, which files count, and a synthetic source's
 * truth */
#include "shared/corpus.h"

#include <errno.h>
#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "shared/cleanup.h"
#include "shared/corpus_chain.h"
#include "shared/corpus_files.h"
#include "shared/corpus_words.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/recordio.h"
#include "tests/unit/test.h"

#define PATHS 256

struct fixture {
    char folder[64];
    char *paths[PATHS]; /* of `at`, freed at the end */
    unsigned int next;
};

/* at - a path in the fixture's folder; valid until the end of the test */
static const char *at(struct fixture *f, const char *name)
{
    char **path = &f->paths[f->next++];

    assert_true(f->next <= PATHS);
    if (asprintf(path, "%s/%s", f->folder, name) < 0)
        abort();
    return *path;
}

static int setup(void **state)
{
    struct fixture *f = xcalloc(1, sizeof *f);

    (void)snprintf(f->folder, sizeof f->folder, "/tmp/test_corpus.XXXXXX");
    *state = f;
    return mkdtemp(f->folder) == NULL ? -1 : mkdir(at(f, "in"), 0700);
}

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)st, (void)kind, (void)ftw;
    return remove(path);
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    int r = nftw(f->folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);

    for (size_t i = 0; i < PATHS; i++)
        free(f->paths[i]);
    free(f);
    return r;
}

static void put_bytes(const char *path, const char *bytes, size_t size)
{
    _cleanup_fclose_ FILE *file = fopen(path, "we");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
}

static void put_text(const char *path, const char *text)
{
    put_bytes(path, text, strlen(text));
}

static char *get_text(const char *path, size_t *ret_size)
{
    _cleanup_fclose_ FILE *file = fopen(path, "re");
    char *text = xcalloc(1, 1 << 20);

    if (file == NULL)
        fail_msg("cannot open %s", path);
    *ret_size = fread(text, 1, (1 << 20) - 1, file);
    return text;
}

/* sentences - the ids back as text: "<s> a b <e>|<s> c <e>|" */
static void check_sentences(const char *text, size_t piece, const char *expected)
{
    struct corpus_words *words = corpus_words_new(1000);
    char dictionary[4096] = "", *names[256] = { 0 }, got[4096] = "";
    FILE *file = fmemopen(dictionary, sizeof dictionary, "w");
    size_t n = 0, count = 0;
    const uint32_t *ids;

    for (size_t i = 0; i < strlen(text); i += piece)
        (void)corpus_words_feed(words, (const uint8_t *)text + i, MIN_OF(piece, strlen(text) - i));
    corpus_words_end(words);
    (void)corpus_words_finish(words, 1);
    assert_int_equal(corpus_words_write(words, file), 0);
    (void)fclose(file);
    for (char *line = dictionary, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        names[count++] = line;
        *strchr(line, ' ') = '\0';
    }
    ids = corpus_words_ids(words, &n);
    for (size_t i = 0; i < n; i++) {
        size_t used = strlen(got);

        (void)snprintf(got + used, sizeof got - used, "%s%s",
                       ids[i] == CORPUS_SENTENCE_END ? "|" : names[ids[i]],
                       ids[i] == CORPUS_SENTENCE_END || ids[i + 1] == CORPUS_SENTENCE_END ? ""
                                                                                          : " ");
    }
    assert_string_equal(got, expected);
    (void)corpus_words_free(words);
}

TEST(test_words)
{
    static const struct {
        const char *text, *sentences;
    } rows[] = {
        { "Hello, World", "<s> hello world <e>|" },
        { "It's x86-64, 'quoted' and 3rd of 42.", "<s> it's x86 quoted and 3rd of <e>|" },
        { "One. Two! Three?\nFour", "<s> one <e>|<s> two <e>|<s> three <e>|<s> four <e>|" },
        { "see file.txt now\nnext line\n\nnew", "<s> see file txt now next line <e>|<s> new <e>|" },
        { "He said \"no.\" Yes", "<s> he said no <e>|<s> yes <e>|" },
        { "\n\n\n. . .\n12 34\n", "" },
        { "ÄRGER Élan ΣΩ ЖЁ œ", "<s> ärger élan σω жё œ <e>|" },
        { "don’t — 日本語 € x", "<s> don't 日本語 x <e>|" },
        { "a\xff"
          "b\xc3",
          "<s> a b <e>|" },
        { "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa b",
          "<s> <unk> b <e>|" },
    };

    for (size_t i = 0; i < ELEMENTS(rows); i++)
        for (size_t piece = 1; piece < 8; piece++) /* however the reads cut the text */
            check_sentences(rows[i].text, piece, rows[i].sentences);
}

TEST(test_dictionary)
{
    struct corpus_words *words = corpus_words_new(1000);
    static const char text[] = "b b b a a a. c c rare <unk> a b d d d d.";
    char dictionary[256] = "";
    FILE *file = fmemopen(dictionary, sizeof dictionary, "w");

    (void)corpus_words_feed(words, (const uint8_t *)text, strlen(text));
    corpus_words_end(words);
    assert_int_equal(corpus_words_finish(words, 3), 6);
    assert_int_equal(corpus_words_write(words, file), 0);
    (void)fclose(file);
    /* by falling frequency, then by name; markers stay although they are rare; <unk> last */
    assert_string_equal(dictionary, "a 0\nb 1\nd 2\n<e> 3\n<s> 4\n<unk> 5\n");
    (void)corpus_words_free(words);
}

TEST(test_max_words)
{
    struct corpus_words *words = corpus_words_new(3);

    assert_false(corpus_words_feed(words, (const uint8_t *)"a b ", 4));
    assert_true(corpus_words_feed(words, (const uint8_t *)"c d e ", 6));
    corpus_words_end(words);
    assert_int_equal(corpus_words_count(words), 3);
    (void)corpus_words_free(words);
}

struct heard {
    char text[4096];
    uint64_t files;
    enum corpus_verdict verdict; /* what to answer */
};

static enum corpus_verdict hear_text(const uint8_t *bytes, size_t size, void *userdata)
{
    struct heard *heard = userdata;

    (void)strncat(heard->text, (const char *)bytes, size);
    return heard->verdict;
}

static void hear_end(uint64_t files, void *userdata)
{
    struct heard *heard = userdata;

    heard->files = files;
    (void)strncat(heard->text, "|", 2);
}

TEST_EACH(setup, teardown);

TEST(test_files)
{
    struct fixture *f = *state;
    struct heard heard = { 0 };
    struct corpus_sink sink = { hear_text, hear_end, &heard };
    const char *paths[] = { at(f, "in") };
    uint64_t files = 0;
    gzFile gz;

    put_text(at(f, "in/b"), "second");
    put_text(at(f, "in/a"), "first");
    put_text(at(f, "in/same"), "first"); /* the same content again */
    assert_int_equal(link(at(f, "in/b"), at(f, "in/hard")), 0);
    put_text(at(f, "outside"), "not to be read");
    assert_int_equal(symlink(at(f, "outside"), at(f, "in/link")), 0);
    assert_int_equal(mkfifo(at(f, "in/fifo"), 0600), 0);
    put_bytes(at(f, "in/nul"), "bin\0ary", 7);
    put_text(at(f, "in/latin"), "\xe9\xe8\xe9\xe8\xe9\xe8 abc");
    put_text(at(f, "in/empty"), "");
    put_text(at(f, "in/page.html"), " \n<html>not words</html>");
    put_text(at(f, "in/page.ps"), "%!PS-Adobe");
    put_text(at(f, "in/percent"), "%x");
    assert_int_equal(mkdir(at(f, "in/d"), 0700), 0);
    gz = gzopen(at(f, "in/d/doc.gz"), "wb");
    assert_int_equal(gzputs(gz, "unpacked"), 8);
    assert_int_equal(gzclose(gz), Z_OK);
    assert_int_equal(corpus_files_read(paths, 1, true, &sink, &files, NULL), 0);
    assert_string_equal(heard.text, "first|second|unpacked|%x|");
    assert_int_equal(files, 4);
    assert_int_equal(heard.files, 4);
    heard = (struct heard){ .verdict = CORPUS_NEXT_FILE };
    assert_int_equal(corpus_files_read(paths, 1, true, &sink, &files, NULL), 0);
    assert_int_equal(files, 4);
    heard = (struct heard){ .verdict = CORPUS_STOP };
    assert_int_equal(corpus_files_read(paths, 1, true, &sink, &files, NULL), 0);
    assert_string_equal(heard.text, "first|");
    assert_int_equal(files, 1);
}

TEST(test_missing_paths)
{
    struct fixture *f = *state;
    struct heard heard = { 0 };
    struct corpus_sink sink = { hear_text, hear_end, &heard };
    const char *paths[] = { at(f, "missing") };
    struct edl_error error = { 0 };
    uint64_t files = 7;

    assert_int_equal(corpus_files_read(paths, 1, true, &sink, &files, &error), -ENOENT);
    assert_non_null(strstr(error.text, "missing"));
    assert_int_equal(corpus_files_read(paths, 1, false, &sink, &files, &error), 0);
    assert_int_equal(files, 0);
    assert_int_equal(symlink(at(f, "in"), at(f, "link")), 0);
    paths[0] = at(f, "link");
    assert_int_equal(corpus_files_read(paths, 1, true, &sink, &files, &error), -ELOOP);
}

/* count_records - in all train or test files; also looks at every id */
static uint64_t count_records(struct fixture *f, const char *name, uint32_t ngram,
                              uint32_t vocabulary, uint32_t chunk_records)
{
    struct recordio_chunk *chunks = NULL;
    uint64_t total = 0;
    size_t n = 0;

    assert_int_equal(recordio_index(at(f, name), &chunks, &n, NULL), 0);
    for (size_t i = 0; i < n; i++) {
        struct recordio_records records = { 0 };

        assert_int_equal(recordio_read_chunk(at(f, name), chunks[i].offset_bytes, &records, NULL),
                         0);
        assert_true(records.n == chunk_records || (i + 1 == n && records.n < chunk_records));
        for (uint32_t j = 0; j < records.n; j++) {
            assert_int_equal(records.sizes[j], ngram * 4);
            for (uint32_t k = 0; k < ngram; k++) {
                int32_t id;

                memcpy(&id, records.data + records.offsets[j] + k * 4, 4);
                assert_in_range(id, 0, vocabulary - 1);
            }
        }
        total += records.n;
        recordio_records_clear(&records);
    }
    free(chunks);
    return total;
}

/* write_text - sentences of words a..z, the same for the same seed */
static void write_text(const char *path, uint32_t seed, int sentences)
{
    _cleanup_fclose_ FILE *file = fopen(path, "we");

    assert_non_null(file);
    for (int i = 0; i < sentences; i++) {
        for (uint32_t j = 0; j < 3 + seed % 7; j++) {
            seed = seed * 1664525 + 1013904223;
            (void)fprintf(file, "%c%c ", (int)('a' + (seed >> 24) % 13), (int)('a' + (seed >> 28)));
        }
        (void)fputs("end.\n", file);
    }
}

static void hear_progress(const char *text, void *userdata)
{
    (void)snprintf(userdata, 160, "%s", text);
}

TEST(test_build)
{
    static const char *const names[] = { "train-00000-of-00002.recordio",
                                         "train-00001-of-00002.recordio",
                                         "test-00000-of-00001.recordio", "word_dict",
                                         "corpus.json" };
    struct fixture *f = *state;
    const char *paths[] = { at(f, "in") };
    char progress[160] = "", *out = xstrdup(at(f, "out/"));
    struct corpus_options options = { .out = out,
                                      .min_frequency = 2,
                                      .ngram = 4,
                                      .shards = 2,
                                      .held_out_ppm = 200000,
                                      .chunk_records = 50,
                                      .paths = paths,
                                      .n_paths = 1,
                                      .seed = 1,
                                      .progress = hear_progress,
                                      .userdata = progress };
    struct corpus_summary summary = { 0 }, again = { 0 };
    struct edl_error error = { 0 };
    uint64_t train;

    write_text(at(f, "in/a"), 1, 300);
    if (corpus_build(&options, &summary, &error) < 0)
        fail_msg("%s", error.text);
    assert_non_null(strstr(progress, "training"));
    assert_int_equal(summary.files, 1);
    train = count_records(f, "out/train-00000-of-00002.recordio", 4, summary.vocabulary, 50) +
            count_records(f, "out/train-00001-of-00002.recordio", 4, summary.vocabulary, 50);
    assert_int_equal(train, summary.train_samples);
    assert_int_equal(count_records(f, "out/test-00000-of-00001.recordio", 4, summary.vocabulary,
                                   50),
                     summary.test_samples);
    /* every sentence of L words gives L + 2 - 3 windows */
    assert_int_equal(summary.train_samples + summary.test_samples, summary.words - 300);
    assert_in_range(summary.test_samples * 100 / (train + summary.test_samples), 12, 28);

    options.out = at(f, "again");
    assert_int_equal(corpus_build(&options, &again, &error), 0);
    for (size_t i = 0; i < ELEMENTS(names); i++) {
        char one[64], two[64];
        size_t size_one, size_two;
        _cleanup_free_ char *a = NULL, *b = NULL;

        (void)snprintf(one, sizeof one, "out/%s", names[i]);
        (void)snprintf(two, sizeof two, "again/%s", names[i]);
        a = get_text(at(f, one), &size_one);
        b = get_text(at(f, two), &size_two);
        assert_int_equal(size_one, size_two);
        assert_memory_equal(a, b, size_one);
    }
    free(out);
}

/* A text that many packages repeat lies in one of the two sets, never in both. */
TEST(test_split_by_content)
{
    struct fixture *f = *state;
    const char *paths[] = { at(f, "in") };
    struct corpus_options options = {
        .out = at(f, "out"), .ngram = 2, .held_out_ppm = 500000, .paths = paths, .n_paths = 1
    };
    struct corpus_summary summary = { 0 };
    _cleanup_free_ char *text = xcalloc(1, 100 * 20);
    int r;

    for (int i = 0; i < 100; i++)
        (void)strncat(text, "the same words.\n", 20);
    put_text(at(f, "in/a"), text);
    r = corpus_build(&options, &summary, NULL);
    if (r < 0)
        assert_int_equal(r, -EINVAL); /* all of it went to the test set */
    else
        assert_int_equal(summary.test_samples, 0);
}

TEST(test_build_refused)
{
    struct fixture *f = *state;
    const char *paths[] = { at(f, "in") };
    struct corpus_options options = { .out = at(f, "in"), .paths = paths, .n_paths = 1 }, wrong;
    struct corpus_summary summary = { .words = 4711 };
    struct edl_error error = { 0 };

    put_text(at(f, "in/a"), "42 1 2 3");
    assert_int_equal(corpus_build(&options, &summary, &error), -ENOTEMPTY);
    assert_string_equal(error.remedy, "remove it or name another folder");
    options.out = at(f, "out");
    assert_int_equal(corpus_build(&options, &summary, &error), -EINVAL);
    assert_non_null(strstr(error.text, "/in"));
    assert_true(error.remedy[0] != '\0');
    options.out = at(f, "no/such/parent");
    put_text(at(f, "in/b"), "some words that make at least one sample of five");
    assert_int_equal(corpus_build(&options, &summary, &error), -ENOENT);
    wrong = options;
    wrong.ngram = 1;
    assert_int_equal(corpus_build(&wrong, &summary, &error), -EINVAL);
    wrong = options;
    wrong.shards = 1025;
    assert_int_equal(corpus_build(&wrong, &summary, &error), -EINVAL);
    assert_string_equal(error.text, "shards: 1025 is outside 1 to 1024");
    wrong = options;
    wrong.synthetic_words = 1;
    assert_int_equal(corpus_build(&wrong, &summary, &error), -EINVAL);
    assert_int_equal(summary.words, 4711); /* untouched by failures */
    assert_int_equal(access(at(f, "out"), F_OK), -1);
}

/* The published truth against sums over all V x V probabilities, and against what the source really
 * says. */
TEST_PLAIN(test_chain_truth)
{
    enum { V = 60, STEPS = 400000 };
    struct corpus_chain *chain = corpus_chain_new(V, 7);
    double entropy, error, pi[V], next[V], want = 0, hits = 0, heard = 0;
    uint64_t random = 1;
    uint32_t word;

    corpus_chain_truth(chain, &entropy, &error);
    for (int i = 0; i < V; i++)
        pi[i] = 1.0 / V;
    for (int round = 0; round < 500; round++) {
        memset(next, 0, sizeof next);
        for (uint32_t i = 0; i < V; i++)
            for (uint32_t j = 0; j < V; j++)
                next[j] += pi[i] * corpus_chain_probability(chain, i, j);
        memcpy(pi, next, sizeof pi);
    }
    for (uint32_t i = 0; i < V; i++) {
        double sum = 0, best = 0;

        for (uint32_t j = 0; j < V; j++) {
            double p = corpus_chain_probability(chain, i, j);

            sum += p;
            best = fmax(best, p);
            want -= pi[i] * p * log(p);
        }
        assert_true(fabs(sum - 1) < 1e-12);
        hits += pi[i] * best;
    }
    assert_true(fabs(entropy - want) < 1e-9);
    assert_true(fabs(error - (1 - hits)) < 1e-9);
    word = corpus_chain_first(chain, &random);
    for (int i = 0; i < STEPS; i++) {
        uint32_t after = corpus_chain_next(chain, word, &random);

        heard -= log(corpus_chain_probability(chain, word, after));
        word = after;
    }
    assert_true(fabs(heard / STEPS - entropy) < 0.02);
    (void)corpus_chain_free(chain);
}

TEST(test_synthetic)
{
    struct fixture *f = *state;
    struct corpus_options options = { .out = at(f, "out"),
                                      .synthetic_words = 50,
                                      .synthetic_samples = 10007,
                                      .shards = 1,
                                      .seed = 3 };
    struct corpus_summary summary = { 0 };
    _cleanup_free_ char *json = NULL, *dictionary = NULL;
    size_t size;

    assert_int_equal(corpus_build(&options, &summary, NULL), 0);
    assert_int_equal(summary.vocabulary, 53);
    assert_int_equal(summary.train_samples + summary.test_samples, 10007);
    assert_in_range(summary.test_samples, 200, 900);
    assert_true(summary.entropy_nats > 1 && summary.entropy_nats < log(50));
    assert_true(summary.bayes_error > 0.4 && summary.bayes_error < 0.8);
    assert_int_equal(count_records(f, "out/train-00000-of-00001.recordio", 5, 50, 2000),
                     summary.train_samples);
    json = get_text(at(f, "out/corpus.json"), &size);
    assert_non_null(strstr(json, "\"entropy_nats\""));
    assert_non_null(strstr(json, "\"bayes_error\""));
    dictionary = get_text(at(f, "out/word_dict"), &size);
    assert_non_null(strstr(dictionary, "w00049 49\n<s> 50\n<e> 51\n<unk> 52\n"));
}
