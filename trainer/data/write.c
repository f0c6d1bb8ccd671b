/* SPDX-License-Identifier: Apache-2.0 */
/* write.c - a source as a folder: train and test files, and data.json that describes them */
#include "trainer/data/write.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/recordio.h"
#include "shared/whole_file.h"
#include "trainer/data/source.h"

#define CHUNK_BYTES_MAX (RECORDIO_CHUNK_BYTES_MAX / 4)

static int check_folder(const char *out, struct edl_error *error)
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
            return edl_error_remedy(error, "remove it, or name another folder: --out DIR");
        }
    return 0;
}

int write_check(const struct write_options *options, struct edl_error *error)
{
    if (options->out == NULL || options->out[0] == '\0') {
        (void)edl_error_set(error, -EINVAL, "--out is missing");
        return edl_error_remedy(error, "--out DIR names the folder to make");
    }
    if (options->shards < 1 || options->shards > WRITE_SHARDS_MAX)
        return edl_error_set(error, -EINVAL, "--shards %" PRIu64 " is outside 1 to %d",
                             options->shards, WRITE_SHARDS_MAX);
    if (options->chunk_records < 1 || options->chunk_records > WRITE_CHUNK_RECORDS_MAX)
        return edl_error_set(error, -EINVAL, "--chunk-records %" PRIu64 " is outside 1 to %d",
                             options->chunk_records, WRITE_CHUNK_RECORDS_MAX);
    return check_folder(options->out, error);
}

/* Samples first..end-1 of a set into an open file. */
static int write_samples(struct source *source, bool test, uint64_t first, uint64_t end,
                         struct sample_record *record, struct recordio_writer *writer,
                         struct edl_error *error)
{
    struct sample_value values[INPUTS_MAX];
    int r = 0;

    for (uint64_t i = first; r == 0 && i < end; i++) {
        source->sample(source->state, test, i, values);
        r = sample_encode(source->inputs, source->n_inputs, values, record, error);
        if (r == 0)
            r = recordio_write(writer, record->bytes, record->size, error);
    }
    return r;
}

/* Bytes of a chunk: its number of records, each as large as the set's first sample. */
static int chunk_bytes(const struct write_options *options, struct source *source,
                       struct sample_record *record, size_t *ret, struct edl_error *error)
{
    struct sample_value values[INPUTS_MAX];
    int r;

    source->sample(source->state, false, 0, values);
    r = sample_encode(source->inputs, source->n_inputs, values, record, error);
    if (r == 0)
        *ret = (size_t)MIN_OF(options->chunk_records * record->size, (uint64_t)CHUNK_BYTES_MAX);
    return r;
}

static int write_set(const struct write_options *options, const char *folder, struct source *source,
                     bool test, struct edl_error *error)
{
    const uint64_t n = test ? source->n_test : source->n_train;
    const uint64_t shards = test ? 1 : options->shards;
    _cleanup_free_ uint8_t *bytes = NULL;
    struct sample_record record = { 0 };
    size_t chunk = 0;
    int r = chunk_bytes(options, source, &record, &chunk, error);

    for (uint64_t i = 0; r == 0 && i < shards; i++) {
        _cleanup_free_ char *path = NULL;
        struct recordio_writer *writer = NULL;

        if (asprintf(&path, "%s/%s-%05" PRIu64 "-of-%05" PRIu64 ".recordio", folder,
                     test ? "test" : "train", i, shards) < 0)
            abort();
        r = recordio_writer_open(path, RECORDIO_NONE, chunk, &writer, error);
        if (r < 0)
            break;
        r = write_samples(source, test, n * i / shards, n * (i + 1) / shards, &record, writer,
                          error);
        if (r < 0)
            recordio_writer_abort(writer);
        else
            r = recordio_writer_close(writer, error);
    }
    bytes = record.bytes;
    return r;
}

static json_t *describe(const struct write_options *options, struct source *source)
{
    json_t *inputs = json_array(), *floor = source->floor(source->state), *json;

    for (uint32_t i = 0; i < source->n_inputs; i++)
        (void)json_array_append_new(inputs,
                                    json_pack("{s:s, s:s, s:I}", "name", source->inputs[i].name,
                                              "kind", input_kind_to_string(source->inputs[i].kind),
                                              "size", (json_int_t)source->inputs[i].size));
    json = json_pack("{s:o, s:I, s:I, s:s, s:I}", "inputs", inputs, "train_samples",
                     (json_int_t)source->n_train, "test_samples", (json_int_t)source->n_test,
                     "source", options->name, "seed", (json_int_t)options->seed);
    if (floor != NULL)
        (void)json_object_set_new(json, "floor", floor);
    return json;
}

static int write_description(const char *folder, const json_t *json, struct edl_error *error)
{
    _cleanup_free_ char *path = NULL;
    _cleanup_fclose_ FILE *file = NULL;

    if (asprintf(&path, "%s/data.json", folder) < 0)
        abort();
    file = fopen(path, "wxe");
    if (file == NULL)
        return edl_error_errno(error, -errno, "cannot create %s", path);
    if (json_dumpf(json, file, JSON_INDENT(4)) < 0 || fputc('\n', file) == EOF ||
        fflush(file) != 0 || fsync(fileno(file)) < 0)
        return edl_error_errno(error, errno != 0 ? -errno : -EIO, "cannot write %s", path);
    return name_sync(path, error);
}

/* The half-written folder; only files are ever put there. */
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

static int write_all(const struct write_options *options, const char *folder, struct source *source,
                     json_t **ret, struct edl_error *error)
{
    int r = write_set(options, folder, source, false, error);
    json_t *json;

    if (r == 0)
        r = write_set(options, folder, source, true, error);
    if (r < 0)
        return r;
    json = describe(options, source);
    r = write_description(folder, json, error);
    if (r == 0 && rename(folder, options->out) < 0)
        r = edl_error_errno(error, -errno, "cannot rename %s to %s", folder, options->out);
    if (r == 0)
        r = name_sync(options->out, error);
    if (r < 0)
        json_decref(json);
    else
        *ret = json;
    return r;
}

int data_write(const struct write_options *options, struct source *source, json_t **ret,
               struct edl_error *error)
{
    _cleanup_free_ char *folder = NULL;
    size_t length;
    int r = write_check(options, error);

    if (r < 0)
        return r;
    for (length = strlen(options->out); length > 1 && options->out[length - 1] == '/';)
        length--;
    if (asprintf(&folder, "%.*s.%d.partial", (int)length, options->out, (int)getpid()) < 0)
        abort();
    if (mkdir(folder, 0777) < 0)
        return edl_error_errno(error, -errno, "cannot create %s", folder);
    r = write_all(options, folder, source, ret, error);
    if (r < 0)
        remove_folder(folder);
    return r;
}
