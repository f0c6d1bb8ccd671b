/* SPDX-License-Identifier: Apache-2.0 */
/* record_reader.c - the records of a chunk, one after the other */
#include "libedl/record_reader.h"
#include "libedl/record_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uthash.h>

#include "shared/cleanup.h"
#include "shared/macro.h"

/* A file as it was when it was read first. */
struct known_file {
    char *path;
    ino_t inode;
    off_t size;
    struct timespec changed;
    UT_hash_handle hh;
};

void record_reader_init(struct record_reader *reader, enum edl_record_kind kind)
{
    *reader = (struct record_reader){ .kind = kind, .fd = -1, .lines = { .fd = -1 } };
}

void record_reader_end(struct record_reader *reader)
{
    recordio_records_clear(&reader->records);
    line_reader_clear(&reader->lines);
    reader->fd = safe_close(reader->fd);
    reader->at = NULL;
}

void record_reader_begin_task(struct record_reader *reader)
{
    record_reader_end(reader);
    reader->lost_in_task = 0;
    reader->lost_chunks = 0;
}

void record_reader_clear(struct record_reader *reader)
{
    struct known_file *known, *next;

    record_reader_end(reader);
    HASH_ITER(hh, reader->known, known, next)
    {
        HASH_DEL(reader->known, known);
        free(known->path);
        free(known);
    }
}

static int changed(const char *path, const char *what, struct edl_error *error)
{
    (void)edl_error_set(error, -EIO, "%.200s has changed: %s", path, what);
    return edl_error_remedy(error, "end the job and submit it again");
}

/* check_file - the same as when it was cut into tasks, and when it was read first */
static int check_file(struct record_reader *reader, const struct edl_chunk *chunk,
                      struct edl_error *error)
{
    const char *path = chunk->path;
    struct known_file *known = NULL;
    struct stat st;
    int r;

    if (fstat(reader->fd, &st) < 0)
        return edl_error_errno(error, -EIO, "%.200s", path);
    if (S_ISDIR(st.st_mode))
        return changed(path, "it is a folder now", error);
    r = record_file_check(chunk, &st, error);
    if (r < 0)
        return r;
    HASH_FIND_STR(reader->known, path, known);
    if (known == NULL) {
        known = xcalloc(1, sizeof *known);
        *known = (struct known_file){
            .path = xstrdup(path), .inode = st.st_ino, .size = st.st_size, .changed = st.st_mtim
        };
        HASH_ADD_KEYPTR(hh, reader->known, known->path, strlen(known->path), known);
        return 0;
    }
    if (known->inode != st.st_ino || known->size != st.st_size ||
        known->changed.tv_sec != st.st_mtim.tv_sec || known->changed.tv_nsec != st.st_mtim.tv_nsec)
        return changed(path, "it is not as this process read it first", error);
    return 0;
}

static int begin_framed(struct record_reader *reader, const struct edl_chunk *chunk,
                        struct edl_error *error)
{
    int r;

    /* of a file that is known to be the same, that is damage like any other of a header */
    if (chunk->mtime_us == 0 && !recordio_chunk_begins(reader->fd, chunk->offset_bytes))
        return changed(chunk->path, "no chunk begins where one did", error);
    r = recordio_read_chunk(chunk->path, chunk->offset_bytes, &reader->records, error);
    if (r == EDL_ECORRUPT) {
        reader->lost += chunk->n_records;
        reader->lost_in_task += chunk->n_records;
        reader->lost_chunks += chunk->n_records > 0;
        (void)fprintf(stderr, "edl: %s; %" PRIu32 " record%s lost\n", error->text, chunk->n_records,
                      PLURAL(chunk->n_records));
        *error = (struct edl_error){ 0 };
        return 0;
    }
    if (r < 0) {
        error->code = -EIO;
        return -EIO;
    }
    if (reader->records.n != chunk->n_records)
        return changed(chunk->path, "the chunk has another number of records", error);
    return 0;
}

static int begin_lines(struct record_reader *reader, const struct edl_chunk *chunk,
                       struct edl_error *error)
{
    char before = '\n';

    if (chunk->offset_bytes > INT64_MAX ||
        (chunk->offset_bytes > 0 &&
         (pread(reader->fd, &before, 1, (off_t)chunk->offset_bytes - 1) != 1 || before != '\n')) ||
        lseek(reader->fd, (off_t)chunk->offset_bytes, SEEK_SET) < 0)
        return changed(chunk->path, "no line begins where one did", error);
    line_reader_init(&reader->lines, reader->fd);
    return 0;
}

int record_reader_begin(struct record_reader *reader, const struct edl_chunk *chunk,
                        struct edl_error *error)
{
    int r;

    record_reader_end(reader);
    reader->n_given = 0;
    reader->at = chunk;
    if (reader->kind == EDL_RECORD_FILES)
        return 0;
    reader->fd = open(chunk->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (reader->fd < 0) {
        (void)edl_error_set(error, -EIO, "%.200s cannot be read: %s", chunk->path, strerror(errno));
        return edl_error_remedy(error, "look at: ls -l %.200s", chunk->path);
    }
    r = check_file(reader, chunk, error);
    if (r < 0)
        return r;
    reader->framed =
        reader->kind == EDL_RECORD_RECORDIO ||
        (reader->kind == EDL_RECORD_AUTO &&
         (recordio_begins(reader->fd) || recordio_chunk_begins(reader->fd, chunk->offset_bytes)));
    return reader->framed ? begin_framed(reader, chunk, error) : begin_lines(reader, chunk, error);
}

static int next_line(struct record_reader *reader, const void **ret_data, size_t *ret_size,
                     struct edl_error *error)
{
    const uint8_t *line = NULL;
    int r = line_reader_next(&reader->lines, &line, ret_size);

    if (r == 0)
        return changed(reader->at->path, "it has fewer lines than it had", error);
    if (r < 0)
        return edl_error_set(error, -EIO, "%.200s cannot be read: %s", reader->at->path,
                             r == -E2BIG ? "a line is longer than 63 MiB" : strerror(-r));
    *ret_data = line;
    return 1;
}

int record_reader_next(struct record_reader *reader, const void **ret_data, size_t *ret_size,
                       struct edl_error *error)
{
    const struct edl_chunk *chunk = reader->at;
    const uint32_t i = reader->n_given;
    int r = 1;

    if (chunk == NULL || i == chunk->n_records)
        return 0;
    if (reader->kind == EDL_RECORD_FILES) {
        *ret_data = chunk->path;
        *ret_size = strlen(chunk->path);
    } else if (!reader->framed) {
        r = next_line(reader, ret_data, ret_size, error);
    } else if (i == reader->records.n) { /* it was damaged */
        return 0;
    } else {
        *ret_data = reader->records.data + reader->records.offsets[i];
        *ret_size = reader->records.sizes[i];
    }
    reader->n_given += r == 1;
    return r;
}
