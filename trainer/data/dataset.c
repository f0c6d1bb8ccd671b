/* SPDX-License-Identifier: Apache-2.0 */
/* dataset.c - the training data on disk: RecordIO files, their index, the tasks' samples, the
 * held-out set */
#include "trainer/data/dataset.h"

#include <errno.h>
#include <glob.h>
#include <gnutls/crypto.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/random.h"
#include "shared/recordio.h"
#include "trainer/data/description.h"
#include "trainer/data/sample.h"
#include "trainer/data/sample_set.h"

struct dataset {
    char *pattern;
    char *folder;
    struct description description;
};

int dataset_open(const char *pattern, struct dataset **ret, struct edl_error *error)
{
    struct dataset *dataset = xcalloc(1, sizeof *dataset);
    const char *slash = strrchr(pattern, '/');
    int r;

    dataset->pattern = xstrdup(pattern);
    dataset->folder = slash != NULL ? xstrdup(pattern) : xstrdup(".");
    if (slash != NULL)
        dataset->folder[slash == pattern ? 1 : slash - pattern] = '\0';
    r = description_read(dataset->folder, &dataset->description, error);
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

const struct input_spec *dataset_inputs(const struct dataset *dataset, uint32_t *ret_n)
{
    *ret_n = dataset->description.n_inputs;
    return dataset->description.inputs;
}

uint32_t dataset_ngram(const struct dataset *dataset)
{
    return description_words(&dataset->description);
}

uint32_t dataset_vocabulary(const struct dataset *dataset)
{
    return dataset->description.inputs[0].size;
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

static int read_strided(const struct dataset *dataset, const struct dataset_chunk *chunks,
                        size_t n_chunks, size_t stride, struct sample_set **ret,
                        struct edl_error *error)
{
    const struct description *d = &dataset->description;
    struct sample_set *set = sample_set_new(d->inputs, d->n_inputs);
    size_t count = 0;
    int r = 0;

    for (size_t i = 0; r >= 0 && i < n_chunks; i++)
        r = sample_set_read(set, chunks[i].path, chunks[i].offset, stride, &count, error);
    if (r < 0) {
        (void)sample_set_free(set);
        return r;
    }
    *ret = set;
    return 0;
}

int dataset_samples(const struct dataset *dataset, const struct dataset_chunk *chunks,
                    size_t n_chunks, struct sample_set **ret, struct edl_error *error)
{
    return read_strided(dataset, chunks, n_chunks, 1, ret, error);
}

int dataset_held_out_samples(const struct dataset *dataset, size_t max, struct sample_set **ret,
                             struct edl_error *error)
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
                     ret, error);
    dataset_chunks_free(chunks, n);
    return r;
}
