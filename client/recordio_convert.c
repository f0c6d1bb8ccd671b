/* SPDX-License-Identifier: Apache-2.0 */
/* recordio_convert.c - `edl recordio convert|split`: numbered files of records */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/json_read.h"
#include "client/numbered_files.h"
#include "client/recordio_verb.h"
#include "client/report.h"
#include "client/stop_signals.h"
#include "client/verb.h"
#include "client/work_told.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/line_reader.h"
#include "shared/macro.h"

#define CHUNK_BYTES_DEFAULT (1024 * 1024)

/* Numbered files that are being written. */
struct output {
    const char *prefix;
    enum recordio_compressor compressor;
    uint64_t chunk_bytes;
    uint64_t n_files;      /* the one under way as well */
    uint64_t file_records; /* of a file; with parts: of the one under way */
    uint64_t parts, total; /* parts 0: files of file_records */
    uint64_t n_records, n_in_file;
    struct recordio_writer *writer; /* NULL: none is under way */
    struct work_told told;
};

/* ---- the files ---- */

/* Part i of n ends here: their sizes differ by one record at most. */
static uint64_t part_end(const struct output *out, uint64_t i)
{
    return (uint64_t)((unsigned __int128)out->total * (i + 1) / out->parts);
}

static int close_file(struct output *out, struct edl_error *error)
{
    struct recordio_writer *writer = TAKE_PTR(out->writer);

    return writer != NULL ? recordio_writer_close(writer, error) : 0;
}

static int open_next(struct output *out, struct edl_error *error)
{
    _cleanup_free_ char *path = NULL;
    int r = close_file(out, error);

    if (r == 0)
        r = stop_signals_check(error);
    if (r < 0)
        return r;
    if (out->n_files == NUMBERED_FILES_MAX) {
        (void)edl_error_set(error, -EINVAL, "more than %d files would be made", NUMBERED_FILES_MAX);
        return edl_error_remedy(error, "put more records into a file: --records %" PRIu64,
                                out->file_records * 10);
    }
    path = numbered_path(out->prefix, out->n_files);
    r = recordio_writer_open(path, out->compressor, out->chunk_bytes, &out->writer, error);
    if (r < 0)
        return r;
    if (out->parts > 0)
        out->file_records = part_end(out, out->n_files) - out->n_records;
    out->n_files++;
    out->n_in_file = 0;
    return 0;
}

static int put(struct output *out, const uint8_t *record, size_t size, struct edl_error *error)
{
    int r = stop_signals_check(error);

    while (r == 0 && (out->writer == NULL || out->n_in_file == out->file_records))
        r = open_next(out, error);
    if (r == 0)
        r = recordio_write(out->writer, record, size, error);
    if (r < 0)
        return r;
    out->n_in_file++;
    out->n_records++;
    if (work_told_due(&out->told))
        report_note("%" PRIu64 " record%s so far, in %" PRIu64 " file%s", out->n_records,
                    PLURAL(out->n_records), out->n_files, PLURAL(out->n_files));
    return 0;
}

/* A part without a record is a file all the same, and so is the only one of an empty input. */
static int finish(struct output *out, struct edl_error *error)
{
    const uint64_t n_files = MAX_OF(out->parts, (uint64_t)1);
    int r = 0;

    while (r == 0 && out->n_files < n_files)
        r = open_next(out, error);
    return r == 0 ? close_file(out, error) : r;
}

static void give_up(struct output *out)
{
    recordio_writer_abort(out->writer);
    out->writer = NULL;
    numbered_remove(out->prefix, out->n_files);
}

static void tell(const struct output *out, const struct recordio_call *call)
{
    if (call->options->common.json) {
        _cleanup_json_ json_t *json =
            json_pack("{s:s, s:I, s:I}", "prefix", out->prefix, "files", (json_int_t)out->n_files,
                      "records", (json_int_t)out->n_records);

        json_print(json);
        return;
    }
    (void)printf("%" PRIu64 " record%s in %" PRIu64 " file%s: %s-00000%s\n", out->n_records,
                 PLURAL(out->n_records), out->n_files, out->n_files == 1 ? "" : "s", out->prefix,
                 out->n_files == 1 ? "" : " ...");
    (void)printf("dataset: %s-*\n", out->prefix);
}

/* ---- what is put into them ---- */

/* open_input - "-": standard input */
static int open_input(const char *path, int *ret_fd, struct edl_error *error)
{
    struct stat st;

    *ret_fd = streq(path, "-") ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                               : open(path, O_RDONLY | O_CLOEXEC);
    if (*ret_fd < 0 || fstat(*ret_fd, &st) < 0)
        return edl_error_errno(error, -errno, "cannot open %s", path);
    if (!S_ISDIR(st.st_mode))
        return 0;
    (void)edl_error_set(error, -EISDIR, "%s is a folder", path);
    return edl_error_remedy(error, "name the files in it: %s/*", path);
}

static int put_lines(struct output *out, const char *path, struct edl_error *error)
{
    _cleanup_close_ int fd = -1;
    struct line_reader reader;
    const uint8_t *line = NULL;
    size_t size = 0;
    int r = open_input(path, &fd, error), got = 0;

    if (r < 0)
        return r;
    line_reader_init(&reader, fd);
    stop_signals_input(fd);
    while (r == 0 && (got = line_reader_next(&reader, &line, &size)) > 0)
        r = put(out, line, size, error);
    if (r == 0 && got < 0)
        r = edl_error_errno(error, got, "cannot read the line at byte %" PRIu64 " of %s",
                            reader.offset_bytes, path);
    stop_signals_input(-1);
    line_reader_clear(&reader);
    return r;
}

/* read_all - *ret_bytes: owned */
static int read_all(int fd, const char *path, uint8_t **ret_bytes, size_t *ret_size,
                    struct edl_error *error)
{
    size_t room = 0;
    ssize_t n = 1;

    *ret_size = 0;
    while (n != 0 && *ret_size <= RECORDIO_CHUNK_BYTES_MAX) {
        if (*ret_size == room) {
            room = MAX_OF(room * 2, (size_t)64 * 1024);
            *ret_bytes = xreallocarray(*ret_bytes, room, 1);
        }
        n = read(fd, *ret_bytes + *ret_size, room - *ret_size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return edl_error_errno(error, -errno, "cannot read %s", path);
        *ret_size += (size_t)n;
    }
    if (n == 0)
        return 0;
    (void)edl_error_set(error, -E2BIG, "%s is too large for a record: 64 MiB at most", path);
    return edl_error_remedy(error, "let the program read it: a job with one file a task");
}

static int put_file(struct output *out, const char *path, struct edl_error *error)
{
    _cleanup_free_ uint8_t *bytes = NULL;
    _cleanup_close_ int fd = -1;
    size_t size = 0;
    int r = open_input(path, &fd, error);

    if (r < 0)
        return r;
    stop_signals_input(fd);
    r = read_all(fd, path, &bytes, &size, error);
    stop_signals_input(-1);
    return r < 0 ? r : put(out, bytes, size, error);
}

static int put_records(struct output *out, const char *path, struct edl_error *error)
{
    struct recordio_chunk *chunks = NULL;
    size_t n = 0;
    int r = recordio_index(path, &chunks, &n, error);

    for (size_t i = 0; r == 0 && i < n; i++) {
        struct recordio_records records = { 0 };

        r = recordio_read_chunk(path, chunks[i].offset_bytes, &records, error);
        for (uint32_t j = 0; r == 0 && j < records.n; j++)
            r = put(out, records.data + records.offsets[j], records.sizes[j], error);
        recordio_records_clear(&records);
    }
    free(chunks);
    return r;
}

/* ---- the actions ---- */

static int fill(const struct recordio_call *call, struct output *ret, struct edl_error *error)
{
    const struct recordio_options *o = call->options;

    *ret =
        (struct output){ .prefix = o->out,
                         .compressor = RECORDIO_SNAPPY,
                         .chunk_bytes = o->chunk_bytes > 0 ? o->chunk_bytes : CHUNK_BYTES_DEFAULT,
                         .file_records = o->records,
                         .parts = o->parts,
                         .told = { .quiet = o->common.json } };
    if (o->out == NULL || o->out[0] == '\0') {
        (void)edl_error_set(error, -EINVAL, "--out PREFIX is missing");
        return edl_error_remedy(error, "--out data/train makes data/train-00000 and so on");
    }
    if ((o->records == 0) == (o->parts == 0)) {
        (void)edl_error_set(error, -EINVAL, "how many records a file has is %s",
                            o->records == 0 ? "missing" : "told twice");
        return edl_error_remedy(error, "--records N, or of split --parts N");
    }
    if (o->parts > NUMBERED_FILES_MAX)
        return edl_error_set(error, -EINVAL, "--parts %" PRIu64 " is more than %d", o->parts,
                             NUMBERED_FILES_MAX);
    if (ret->chunk_bytes > RECORDIO_CHUNK_BYTES_MAX / 2) {
        (void)edl_error_set(error, -EINVAL, "--chunk is %" PRIu64 " bytes", ret->chunk_bytes);
        return edl_error_remedy(error, "--chunk 32Mi at most");
    }
    return o->compress != NULL ? recordio_compressor_find(o->compress, &ret->compressor, error) : 0;
}

typedef int (*put_fn)(struct output *out, const char *path, struct edl_error *error);

static int write_out(const struct recordio_call *call, struct output *out, put_fn put_one)
{
    struct edl_error error = { 0 };
    int r = numbered_begin(out->prefix, &error);

    if (r < 0)
        return report_error(&error);
    stop_signals_catch();
    for (size_t i = 0; r == 0 && i < call->n_paths; i++)
        r = put_one(out, call->paths[i], &error);
    if (r == 0)
        r = finish(out, &error);
    if (r == 0)
        r = stop_signals_check(&error);
    if (r < 0) {
        int status = report_error(&error);

        give_up(out);
        stop_signals_end();
        return status;
    }
    tell(out, call);
    return STATUS_OK;
}

int recordio_convert(const struct recordio_call *call)
{
    const struct recordio_options *o = call->options;
    struct edl_error error = { 0 };
    struct output out = { 0 };

    if (o->lines == o->files) {
        (void)edl_error_set(&error, -EINVAL, "the shape of a record is %s",
                            o->lines ? "told twice" : "not told");
        (void)edl_error_remedy(&error, "--lines: each line is one; --files: each file is one");
        return report_error(&error);
    }
    if (fill(call, &out, &error) < 0)
        return report_error(&error);
    return write_out(call, &out, o->lines ? put_lines : put_file);
}

/* Of all files; the compressor of the first chunk there is, unless one is given. */
static int count_records(const struct recordio_call *call, struct output *out,
                         struct edl_error *error)
{
    bool known = call->options->compress != NULL;
    int r = 0;

    for (size_t i = 0; r == 0 && i < call->n_paths; i++) {
        struct recordio_chunk *chunks = NULL;
        size_t n = 0;

        r = recordio_index(call->paths[i], &chunks, &n, error);
        for (size_t j = 0; r == 0 && j < n; j++) {
            out->total += chunks[j].n_records;
            if (!known)
                out->compressor = chunks[j].compressor;
            known = true;
        }
        free(chunks);
    }
    return r;
}

int recordio_split(const struct recordio_call *call)
{
    struct edl_error error = { 0 };
    struct output out = { 0 };

    if (fill(call, &out, &error) < 0 || count_records(call, &out, &error) < 0)
        return report_error(&error);
    return write_out(call, &out, put_records);
}
