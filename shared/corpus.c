/* SPDX-License-Identifier: Apache-2.0 */
/* corpus.c - text on this machine, or a synthetic source, to a folder of n-gram RecordIO shards
 *
 * All ids are kept in memory (4 bytes a word, max_words bounds it). Samples are positions in that
 * stream, so that shuffling moves 4 bytes each. A sentence goes to the test set by a hash of its
 * words: the licence text that a hundred packages repeat is then on one side only. So the test cost
 * is not flattered by texts of the training. */
#include "shared/corpus.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/corpus_chain.h"
#include "shared/corpus_files.h"
#include "shared/corpus_words.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/random.h"
#include "shared/recordio.h"
#include "shared/whole_file.h"

#define MILLION 1000000
#define SYNTHETIC_SAMPLES_PER_SENTENCE 16
#define SYNTHETIC_SAMPLES_MAX UINT64_C(50000000)
#define CHUNK_RECORDS_MAX 100000
#define PROGRESS_FILES 500
#define FILE_SHARE 200 /* a default file gives at most max_words / 200, by the 64 KiB piece */
#define SAMPLES_MAX UINT32_MAX

/* One set: where its samples start in the id stream. */
struct samples {
    uint32_t *starts;
    size_t n, room;
};

struct build {
    struct corpus_options options; /* defaults filled in */
    struct corpus_summary summary;
    struct corpus_words *words;
    uint64_t words_before_file; /* of the file being read */
    struct corpus_chain *chain;
    uint32_t *chain_ids; /* the synthetic stream */
    const uint32_t *ids;
    size_t n_ids;
    struct samples train, test;
    char *folder; /* being written, beside options.out */
};

static void report(const struct build *build, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void report(const struct build *build, const char *format, ...)
{
    char text[160];
    va_list ap;

    if (build->options.progress == NULL)
        return;
    va_start(ap, format);
    (void)vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    build->options.progress(text, build->options.userdata);
}

static int check_options(struct corpus_options *o, struct edl_error *error)
{
    const struct {
        const char *name;
        uint64_t value, min, max;
    } ranges[] = {
        { "ngram", o->ngram, CORPUS_NGRAM_MIN, CORPUS_NGRAM_MAX },
        { "shards", o->shards, 1, CORPUS_SHARDS_MAX },
        { "records in a chunk", o->chunk_records, 1, CHUNK_RECORDS_MAX },
        { "held-out share in millionths", o->held_out_ppm, 1, MILLION - 1 },
        { "max words", o->max_words, 1, CORPUS_WORDS_MAX },
        { "synthetic words", o->synthetic_words, 0, CORPUS_SYNTHETIC_WORDS_MAX },
        { "synthetic samples", o->synthetic_samples, 1, SYNTHETIC_SAMPLES_MAX },
    };

    for (size_t i = 0; i < ELEMENTS(ranges); i++)
        if (ranges[i].value < ranges[i].min || ranges[i].value > ranges[i].max)
            return edl_error_set(error, -EINVAL,
                                 "%s: %" PRIu64 " is outside %" PRIu64 " to %" PRIu64,
                                 ranges[i].name, ranges[i].value, ranges[i].min, ranges[i].max);
    if (o->synthetic_words == 1)
        return edl_error_set(error, -EINVAL, "a synthetic source needs at least 2 words");
    if (o->out == NULL || o->out[0] == '\0')
        return edl_error_set(error, -EINVAL, "the folder to write is missing");
    return 0;
}

static void default_options(struct corpus_options *o)
{
    o->min_frequency = o->min_frequency > 0 ? o->min_frequency : 10;
    o->ngram = o->ngram > 0 ? o->ngram : 5;
    o->held_out_ppm = o->held_out_ppm > 0 ? o->held_out_ppm : MILLION / 20;
    o->shards = o->shards > 0 ? o->shards : 4;
    o->chunk_records = o->chunk_records > 0 ? o->chunk_records : 2000;
    o->max_words = o->max_words > 0 ? o->max_words : CORPUS_WORDS_DEFAULT;
    o->synthetic_samples = o->synthetic_samples > 0 ? o->synthetic_samples : 100000;
    if (o->synthetic_words > 0)
        o->min_frequency = 1; /* every word of the source is in the dictionary */
}

static enum corpus_verdict on_text(const uint8_t *bytes, size_t size, void *userdata)
{
    struct build *build = userdata;

    if (corpus_words_feed(build->words, bytes, size))
        return CORPUS_STOP;
    /* of what nobody chose, no single file (a font's table, a changelog of decades) may be most of
     * the corpus */
    if (build->options.n_paths == 0 && corpus_words_count(build->words) - build->words_before_file >
                                           build->options.max_words / FILE_SHARE)
        return CORPUS_NEXT_FILE;
    return CORPUS_MORE;
}

static void on_file_end(uint64_t files, void *userdata)
{
    struct build *build = userdata;

    corpus_words_end(build->words);
    build->words_before_file = corpus_words_count(build->words);
    if (files % PROGRESS_FILES == 0)
        report(build, "%" PRIu64 " file%s, %" PRIu64 " word%s", files, PLURAL(files),
               build->words_before_file, PLURAL(build->words_before_file));
}

/* refuse_no_words - names the places that were searched */
static int refuse_no_words(const char *const *paths, size_t n, struct edl_error *error)
{
    char list[240] = "";

    for (size_t i = 0; i < n; i++) {
        size_t used = strlen(list);

        (void)snprintf(list + used, sizeof list - used, "%s%s", i > 0 ? ", " : "", paths[i]);
    }
    (void)edl_error_set(error, -EINVAL, "too few words for a corpus in %s", list);
    (void)edl_error_remedy(error, "name files or folders with more text, or lower --min-frequency");
    return -EINVAL;
}

static int read_text(struct build *build, const char *const *paths, size_t n_paths,
                     struct edl_error *error)
{
    struct corpus_sink sink = { on_text, on_file_end, build };
    int r;

    build->words = corpus_words_new(build->options.max_words);
    r = corpus_files_read(paths, n_paths, build->options.n_paths > 0, &sink, &build->summary.files,
                          error);
    if (r < 0)
        return r;
    build->summary.words = corpus_words_count(build->words);
    if (build->summary.words == 0)
        return refuse_no_words(paths, n_paths, error);
    report(build, "%" PRIu64 " file%s, %" PRIu64 " word%s", build->summary.files,
           PLURAL(build->summary.files), build->summary.words, PLURAL(build->summary.words));
    build->summary.vocabulary = corpus_words_finish(build->words, build->options.min_frequency);
    build->ids = corpus_words_ids(build->words, &build->n_ids);
    return 0;
}

/* make_synthetic - many short walks, each started from the stationary distribution: every target is
 * then drawn from exactly the distribution that the entropy is computed for */
static void make_synthetic(struct build *build)
{
    const struct corpus_options *o = &build->options;
    uint64_t left = o->synthetic_samples, state = ~o->seed;
    size_t walks = left / SYNTHETIC_SAMPLES_PER_SENTENCE + 1, n = 0;

    build->chain = corpus_chain_new(o->synthetic_words, o->seed);
    build->chain_ids = xcalloc(left + walks * o->ngram, sizeof *build->chain_ids);
    while (left > 0) {
        uint64_t samples = MIN_OF(left, (uint64_t)SYNTHETIC_SAMPLES_PER_SENTENCE);
        uint32_t word = corpus_chain_first(build->chain, &state);

        for (uint64_t i = 0; i < samples + o->ngram - 1; i++) {
            build->chain_ids[n++] = word;
            word = corpus_chain_next(build->chain, word, &state);
            build->summary.words++;
        }
        build->chain_ids[n++] = CORPUS_SENTENCE_END;
        left -= samples;
    }
    build->ids = build->chain_ids;
    build->n_ids = n;
    build->summary.vocabulary = o->synthetic_words + CORPUS_MARKERS;
    corpus_chain_truth(build->chain, &build->summary.entropy_nats, &build->summary.bayes_error);
}

static void add_sample(struct samples *samples, size_t start)
{
    if (samples->n == samples->room) {
        samples->room = samples->room * 2 + 4096;
        samples->starts = xreallocarray(samples->starts, samples->room, sizeof *samples->starts);
    }
    samples->starts[samples->n++] = (uint32_t)start;
}

/* is_held_out - by a hash of the sentence's words; 32 bits of it against the share */
static bool is_held_out(const uint32_t *ids, size_t n, uint32_t ppm)
{
    uint64_t state = n;

    for (size_t i = 0; i < n; i++) {
        state ^= ids[i];
        state = random_u64(&state);
    }
    return random_below(&state, MILLION) < ppm;
}

/* split - the windows of each sentence to one of the two sets; a sentence shorter than the window
 * gives none */
static int split(struct build *build, struct edl_error *error)
{
    size_t start = 0, ngram = build->options.ngram;

    if (build->n_ids > SAMPLES_MAX)
        return edl_error_set(error, -E2BIG, "more than 4294967295 words and marks");
    for (size_t i = 0; i < build->n_ids; i++) {
        struct samples *set = &build->train;

        if (build->ids[i] != CORPUS_SENTENCE_END)
            continue;
        if (is_held_out(build->ids + start, i - start, build->options.held_out_ppm))
            set = &build->test;
        for (size_t at = start; at + ngram <= i; at++)
            add_sample(set, at);
        start = i + 1;
    }
    build->summary.train_samples = build->train.n;
    build->summary.test_samples = build->test.n;
    return 0;
}

static void shuffle(struct samples *samples, uint64_t seed)
{
    uint64_t state = seed;

    for (size_t i = samples->n; i > 1; i--) {
        size_t j = (size_t)random_below(&state, i);
        uint32_t swap = samples->starts[i - 1];

        samples->starts[i - 1] = samples->starts[j];
        samples->starts[j] = swap;
    }
}

static int write_shard(const struct build *build, const char *path, const uint32_t *starts,
                       size_t n, struct edl_error *error)
{
    size_t bytes = (size_t)build->options.ngram * 4;
    struct recordio_writer *writer = NULL;
    uint8_t record[CORPUS_NGRAM_MAX * 4];
    int r;

    r = recordio_writer_open(path, RECORDIO_NONE, bytes * build->options.chunk_records, &writer,
                             error);
    for (size_t i = 0; r == 0 && i < n; i++) {
        for (size_t j = 0; j < bytes; j++)
            record[j] = (uint8_t)(build->ids[starts[i] + j / 4] >> (8 * (j % 4)));
        r = recordio_write(writer, record, bytes, error);
    }
    if (r < 0) {
        recordio_writer_abort(writer);
        return r;
    }
    return recordio_writer_close(writer, error);
}

static int write_set(const struct build *build, const char *name, const struct samples *samples,
                     uint32_t shards, struct edl_error *error)
{
    for (uint32_t i = 0; i < shards; i++) {
        _cleanup_free_ char *path = NULL;
        size_t first = samples->n * i / shards, end = samples->n * (i + 1) / shards;
        int r;

        if (asprintf(&path, "%s/%s-%05" PRIu32 "-of-%05" PRIu32 ".recordio", build->folder, name, i,
                     shards) < 0)
            abort();
        r = write_shard(build, path, samples->starts + first, end - first, error);
        if (r < 0)
            return r;
    }
    return 0;
}

static int write_synthetic_words(uint32_t n, FILE *file)
{
    for (uint32_t i = 0; i < n; i++)
        if (fprintf(file, "w%05" PRIu32 " %" PRIu32 "\n", i, i) < 0)
            return -errno;
    if (fprintf(file, "<s> %" PRIu32 "\n<e> %" PRIu32 "\n<unk> %" PRIu32 "\n", n, n + 1, n + 2) < 0)
        return -errno;
    return 0;
}

static int write_dictionary(const struct build *build, FILE *file)
{
    if (build->words == NULL)
        return write_synthetic_words(build->options.synthetic_words, file);
    return corpus_words_write(build->words, file);
}

static int write_summary(const struct build *build, FILE *file)
{
    const struct corpus_summary *s = &build->summary;
    json_t *json =
        json_pack("{sI sI sI sI sI sI sI}", "ngram", (json_int_t)build->options.ngram, "vocabulary",
                  (json_int_t)s->vocabulary, "train_samples", (json_int_t)s->train_samples,
                  "test_samples", (json_int_t)s->test_samples, "min_frequency",
                  (json_int_t)build->options.min_frequency, "words", (json_int_t)s->words, "files",
                  (json_int_t)s->files);
    int r = json != NULL ? 0 : -ENOMEM;

    if (build->chain != NULL) {
        (void)json_object_set_new(json, "entropy_nats", json_real(s->entropy_nats));
        (void)json_object_set_new(json, "bayes_error", json_real(s->bayes_error));
    }
    if (r == 0 && (json_dumpf(json, file, JSON_INDENT(4)) < 0 || fputc('\n', file) == EOF))
        r = -EIO;
    json_decref(json);
    return r;
}

static int write_text_file(const struct build *build, const char *name,
                           int (*content)(const struct build *build, FILE *file),
                           struct edl_error *error)
{
    _cleanup_free_ char *path = NULL;
    _cleanup_fclose_ FILE *file = NULL;
    int r;

    if (asprintf(&path, "%s/%s", build->folder, name) < 0)
        abort();
    file = fopen(path, "wxe");
    if (file == NULL)
        return edl_error_errno(error, -errno, "cannot create %s", path);
    r = content(build, file);
    if (r == 0 && (fflush(file) != 0 || fsync(fileno(file)) < 0))
        r = -errno;
    return r < 0 ? edl_error_errno(error, r, "cannot write %s", path) : name_sync(path, error);
}

/* remove_folder - the half-written one, files only: nothing else is ever put there */
static void remove_folder(const char *folder)
{
    _cleanup_closedir_ DIR *dir = opendir(folder);
    const struct dirent *entry;

    if (dir == NULL)
        return;
    while ((entry = readdir(dir)) != NULL)
        (void)unlinkat(dirfd(dir), entry->d_name, 0);
    (void)rmdir(folder);
}

/* check_target - fails early and with a remedy; rename() would refuse as well, but only after all
 * the work */
static int check_target(const char *out, struct edl_error *error)
{
    _cleanup_closedir_ DIR *dir = opendir(out);
    const struct dirent *entry;

    if (dir == NULL && errno == ENOENT)
        return 0;
    if (dir == NULL)
        return edl_error_errno(error, -errno, "cannot use %s", out);
    while ((entry = readdir(dir)) != NULL)
        if (!streq(entry->d_name, ".") && !streq(entry->d_name, "..")) {
            (void)edl_error_set(error, -ENOTEMPTY, "%s is not empty", out);
            (void)edl_error_remedy(error, "remove it or name another folder");
            return -ENOTEMPTY;
        }
    return 0;
}

static int make_folder(struct build *build, struct edl_error *error)
{
    size_t length = strlen(build->options.out);

    while (length > 1 && build->options.out[length - 1] == '/')
        length--;
    if (asprintf(&build->folder, "%.*s.%d.partial", (int)length, build->options.out,
                 (int)getpid()) < 0)
        abort();
    if (mkdir(build->folder, 0777) < 0) {
        int r = edl_error_errno(error, -errno, "cannot create %s", build->folder);

        free(TAKE_PTR(build->folder));
        return r;
    }
    return 0;
}

static int write_all(struct build *build, struct edl_error *error)
{
    int r;

    r = write_set(build, "train", &build->train, build->options.shards, error);
    if (r < 0)
        return r;
    r = write_set(build, "test", &build->test, 1, error);
    if (r < 0)
        return r;
    r = write_text_file(build, "word_dict", write_dictionary, error);
    if (r < 0)
        return r;
    r = write_text_file(build, "corpus.json", write_summary, error);
    if (r < 0)
        return r;
    if (rename(build->folder, build->options.out) < 0)
        return edl_error_errno(error, -errno, "cannot rename %s to %s", build->folder,
                               build->options.out);
    free(TAKE_PTR(build->folder));
    return name_sync(build->options.out, error);
}

static int run(struct build *build, struct edl_error *error)
{
    const char *const *paths = build->options.paths;
    size_t n_paths = build->options.n_paths;
    int r = 0;

    if (n_paths == 0)
        paths = corpus_files_default(&n_paths);
    if (build->options.synthetic_words > 0)
        make_synthetic(build);
    else
        r = read_text(build, paths, n_paths, error);
    if (r < 0)
        return r;
    r = split(build, error);
    if (r < 0)
        return r;
    if (build->train.n == 0)
        return build->words != NULL
                   ? refuse_no_words(paths, n_paths, error)
                   : edl_error_set(error, -EINVAL, "too few samples: all went to the test set");
    shuffle(&build->train, build->options.seed);
    report(build,
           "%" PRIu64 " training and %" PRIu64 " test sample%s, %" PRIu32 " word%s in the "
           "dictionary",
           build->summary.train_samples, build->summary.test_samples,
           PLURAL(build->summary.test_samples), build->summary.vocabulary,
           PLURAL(build->summary.vocabulary));
    r = make_folder(build, error);
    return r < 0 ? r : write_all(build, error);
}

int corpus_build(const struct corpus_options *options, struct corpus_summary *ret,
                 struct edl_error *error)
{
    struct build build = { .options = *options };
    int r;

    default_options(&build.options);
    r = check_options(&build.options, error);
    if (r == 0)
        r = check_target(build.options.out, error);
    if (r == 0)
        r = run(&build, error);
    if (build.folder != NULL)
        remove_folder(build.folder);
    free(build.folder);
    (void)corpus_words_free(build.words);
    (void)corpus_chain_free(build.chain);
    free(build.chain_ids);
    free(build.train.starts);
    free(build.test.starts);
    if (r == 0)
        *ret = build.summary;
    return r;
}
