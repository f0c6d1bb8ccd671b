/* SPDX-License-Identifier: Apache-2.0 */
/* dataset.c - the training data on disk: RecordIO files, their index, the tasks' samples, the
 * held-out set */
#include "trainer/dataset.h"

#include <errno.h>
#include <glob.h>
#include <gnutls/crypto.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/recordio.h"

#define VOCABULARY_MAX (1 << 24)
#define NGRAM_MAX 64
#define SAMPLES_MAX ((size_t)1 << 26) /* of one task */

struct dataset {
    char *pattern;
    char *folder;
    uint32_t ngram;
    uint32_t vocabulary;
};

static int read_corpus(struct dataset *dataset, struct edl_error *error)
{
    char path[PATH_MAX];
    json_error_t at;
    json_int_t ngram = 0, vocabulary = 0;
    json_t *corpus;

    if ((size_t)snprintf(path, sizeof path, "%s/corpus.json", dataset->folder) >= sizeof path)
        return edl_error_set(error, -ENAMETOOLONG, "path is too long: %s", dataset->folder);
    corpus = json_load_file(path, 0, &at);
    if (corpus == NULL) {
        (void)edl_error_set(error, -ENOMEDIUM, "no valid dataset specified: cannot read %s: %s",
                            path, at.text);
        (void)edl_error_remedy(error, "build the data set with: edl corpus build --out %s",
                               dataset->folder);
        return -ENOMEDIUM;
    }
    (void)json_unpack(corpus, "{s?I, s?I}", "ngram", &ngram, "vocabulary", &vocabulary);
    json_decref(corpus);
    if (ngram < 2 || ngram > NGRAM_MAX || vocabulary < 1 || vocabulary > VOCABULARY_MAX)
        return edl_error_set(error, EDL_ECORRUPT,
                             "%s has ngram %lld and vocabulary %lld, which is impossible", path,
                             (long long)ngram, (long long)vocabulary);
    dataset->ngram = (uint32_t)ngram;
    dataset->vocabulary = (uint32_t)vocabulary;
    return 0;
}

int dataset_open(const char *pattern, struct dataset **ret, struct edl_error *error)
{
    struct dataset *dataset = xcalloc(1, sizeof *dataset);
    const char *slash = strrchr(pattern, '/');
    int r;

    dataset->pattern = xstrdup(pattern);
    dataset->folder = slash != NULL ? xstrdup(pattern) : xstrdup(".");
    if (slash != NULL)
        dataset->folder[slash == pattern ? 1 : slash - pattern] = '\0';
    r = read_corpus(dataset, error);
    if (r < 0) {
        (void)dataset_free(dataset);
        return r;
    }
    *ret = dataset;
    return 0;
}

struct dataset *dataset_free(struct dataset *dataset)
{
    if (dataset == NULL)
        return NULL;
    free(dataset->pattern);
    free(dataset->folder);
    free(dataset);
    return NULL;
}

uint32_t dataset_ngram(const struct dataset *dataset)
{
    return dataset->ngram;
}

uint32_t dataset_vocabulary(const struct dataset *dataset)
{
    return dataset->vocabulary;
}

const char *dataset_folder(const struct dataset *dataset)
{
    return dataset->folder;
}

void dataset_chunks_free(struct dataset_chunk *chunks, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(chunks[i].path);
    free(chunks);
}

static int append_file(const char *path, struct dataset_chunk **io_chunks, size_t *io_n,
                       struct edl_error *error)
{
    struct recordio_chunk *found = NULL;
    size_t n = 0;
    int r = recordio_index(path, &found, &n, error);

    if (r < 0)
        return r;
    *io_chunks = xreallocarray(*io_chunks, *io_n + n, sizeof **io_chunks);
    for (size_t i = 0; i < n; i++)
        (*io_chunks)[(*io_n)++] = (struct dataset_chunk){ .path = xstrdup(path),
                                                          .offset = found[i].offset_bytes,
                                                          .records = found[i].n_records };
    free(found);
    return 0;
}

/* All chunks of the files that match, by name and offset. */
static int index_files(const char *pattern, struct dataset_chunk **ret, size_t *ret_n,
                       struct edl_error *error)
{
    struct dataset_chunk *chunks = NULL;
    size_t n = 0;
    glob_t found = { 0 };
    int r = glob(pattern, GLOB_ERR, NULL, &found);

    if (r != 0 && r != GLOB_NOMATCH)
        r = edl_error_set(error, -EIO, "cannot list %s", pattern);
    else
        r = 0;
    for (size_t i = 0; r >= 0 && i < found.gl_pathc; i++)
        r = append_file(found.gl_pathv[i], &chunks, &n, error);
    globfree(&found);
    if (r < 0) {
        dataset_chunks_free(chunks, n);
        return r;
    }
    *ret = chunks;
    *ret_n = n;
    return 0;
}

int dataset_train_chunks(const struct dataset *dataset, struct dataset_chunk **ret, size_t *ret_n,
                         struct edl_error *error)
{
    struct dataset_chunk *chunks = NULL;
    size_t n = 0;
    int r = index_files(dataset->pattern, &chunks, &n, error);

    if (r < 0)
        return r;
    if (n == 0) {
        free(chunks);
        return edl_error_set(error, -ENOMEDIUM,
                             "no valid dataset specified: no training data matches %s",
                             dataset->pattern);
    }
    *ret = chunks;
    *ret_n = n;
    return 0;
}

static int digest_of(const struct dataset_chunk *chunks, size_t n, char ret_hex[65],
                     struct edl_error *error)
{
    gnutls_hash_hd_t hash;
    uint8_t digest[32];

    if (gnutls_hash_init(&hash, GNUTLS_DIG_SHA256) < 0)
        return edl_error_set(error, -EIO, "SHA-256 is not available");
    for (size_t i = 0; i < n; i++) {
        uint64_t numbers[2] = { chunks[i].offset, chunks[i].records };

        (void)gnutls_hash(hash, chunks[i].path, strlen(chunks[i].path) + 1);
        (void)gnutls_hash(hash, numbers, sizeof numbers);
    }
    gnutls_hash_deinit(hash, digest);
    for (size_t i = 0; i < sizeof digest; i++)
        (void)snprintf(ret_hex + 2 * i, 3, "%02x", digest[i]);
    return 0;
}

static json_t *chunk_to_json(const struct dataset_chunk *chunk)
{
    return json_pack("{s:s, s:I, s:I}", "path", chunk->path, "offset", (json_int_t)chunk->offset,
                     "records", (json_int_t)chunk->records);
}

int dataset_tasks(const struct dataset *dataset, uint32_t task_records, json_t **ret,
                  struct edl_error *error)
{
    struct dataset_chunk *chunks = NULL;
    size_t n = 0;
    char digest[65];
    json_t *tasks, *current = NULL;
    uint64_t records = 0;
    int r = dataset_train_chunks(dataset, &chunks, &n, error);

    if (r < 0)
        return r;
    r = digest_of(chunks, n, digest, error);
    if (r < 0) {
        dataset_chunks_free(chunks, n);
        return r;
    }
    tasks = json_array();
    for (size_t i = 0; i < n; i++) {
        if (current == NULL || records + chunks[i].records > task_records) {
            current = json_array();
            json_array_append_new(tasks, json_pack("{s:o}", "chunks", current));
            records = 0;
        }
        json_array_append_new(current, chunk_to_json(&chunks[i]));
        records += chunks[i].records;
    }
    dataset_chunks_free(chunks, n);
    *ret = json_pack("{s:s, s:o}", "digest", digest, "tasks", tasks);
    return 0;
}

struct sample_list {
    int32_t *samples;
    size_t n, capacity;
};

static int append_sample(const struct dataset *dataset, const struct dataset_chunk *chunk,
                         const uint8_t *record, size_t size, struct sample_list *list,
                         struct edl_error *error)
{
    size_t bytes = dataset->ngram * sizeof(int32_t);
    int32_t *sample;

    if (size != bytes)
        return edl_error_set(error, EDL_ECORRUPT, "%s at %llu: a record of %zu bytes, not %zu",
                             chunk->path, (unsigned long long)chunk->offset, size, bytes);
    if (list->n == list->capacity) {
        if (list->n >= SAMPLES_MAX)
            return edl_error_set(error, -E2BIG, "%s: more than %zu samples at once", chunk->path,
                                 SAMPLES_MAX);
        list->capacity = list->capacity * 2 + 1024;
        list->samples = xreallocarray(list->samples, list->capacity, bytes);
    }
    sample = list->samples + list->n * dataset->ngram;
    memcpy(sample, record, bytes);
    for (uint32_t i = 0; i < dataset->ngram; i++)
        if (sample[i] < 0 || (uint32_t)sample[i] >= dataset->vocabulary)
            return edl_error_set(error, EDL_ECORRUPT, "%s at %llu: word %d of a vocabulary of %u",
                                 chunk->path, (unsigned long long)chunk->offset, sample[i],
                                 dataset->vocabulary);
    list->n++;
    return 0;
}

/* Every stride-th record, counted over all chunks by *io_count. */
static int read_chunk(const struct dataset *dataset, const struct dataset_chunk *chunk,
                      size_t stride, size_t *io_count, struct sample_list *list,
                      struct edl_error *error)
{
    struct recordio_records records = { 0 };
    int r = recordio_read_chunk(chunk->path, chunk->offset, &records, error);

    if (r < 0)
        return r;
    for (uint32_t i = 0; r >= 0 && i < records.n; i++)
        if ((*io_count)++ % stride == 0)
            r = append_sample(dataset, chunk, records.data + records.offsets[i], records.sizes[i],
                              list, error);
    recordio_records_clear(&records);
    return r;
}

static int read_strided(const struct dataset *dataset, const struct dataset_chunk *chunks,
                        size_t n_chunks, size_t stride, int32_t **ret_samples, size_t *ret_n,
                        struct edl_error *error)
{
    struct sample_list list = { 0 };
    size_t count = 0;
    int r = 0;

    for (size_t i = 0; r >= 0 && i < n_chunks; i++)
        r = read_chunk(dataset, &chunks[i], stride, &count, &list, error);
    if (r < 0) {
        free(list.samples);
        return r;
    }
    *ret_samples = list.samples;
    *ret_n = list.n;
    return 0;
}

int dataset_read(const struct dataset *dataset, const struct dataset_chunk *chunks, size_t n_chunks,
                 int32_t **ret_samples, size_t *ret_n, struct edl_error *error)
{
    return read_strided(dataset, chunks, n_chunks, 1, ret_samples, ret_n, error);
}

int dataset_held_out(const struct dataset *dataset, size_t max, int32_t **ret_samples,
                     size_t *ret_n, struct edl_error *error)
{
    struct dataset_chunk *chunks = NULL;
    char pattern[PATH_MAX];
    size_t n = 0, total = 0;
    int r;

    if ((size_t)snprintf(pattern, sizeof pattern, "%s/test-*.recordio", dataset->folder) >=
        sizeof pattern)
        return edl_error_set(error, -ENAMETOOLONG, "path is too long: %s", dataset->folder);
    r = index_files(pattern, &chunks, &n, error);
    if (r < 0)
        return r;
    for (size_t i = 0; i < n; i++)
        total += chunks[i].records;
    r = read_strided(dataset, chunks, n, max == 0 ? 1 : MAX_OF((total + max - 1) / max, (size_t)1),
                     ret_samples, ret_n, error);
    dataset_chunks_free(chunks, n);
    return r;
}

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

void dataset_shuffle(int32_t *samples, size_t n, uint32_t ngram, uint64_t seed)
{
    int32_t keep[NGRAM_MAX];
    size_t bytes = ngram * sizeof keep[0];

    for (size_t i = n; i > 1; i--) {
        size_t j = (size_t)(next_random(&seed) % i);

        memcpy(keep, samples + (i - 1) * ngram, bytes);
        memmove(samples + (i - 1) * ngram, samples + j * ngram, bytes);
        memcpy(samples + j * ngram, keep, bytes);
    }
}
