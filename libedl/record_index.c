/* SPDX-License-Identifier: Apache-2.0 */
/* record_index.c - the files of a data set: which they are, and how they are cut into tasks */
#include "libedl/record_index.h"
#include "libedl/record_file.h"
#include "libedl/record_format.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/macro.h"
#include "shared/recordio.h"

#define TASKS_WANTED 1024 /* so many processes still share the work well */
#define TASK_BYTES_LEAST (UINT64_C(64) << 10)
#define TASK_BYTES_MOST (UINT64_C(64) << 20)
#define TASK_TEXT_BYTES                                                                            \
    200000                   /* of a task's chunks as they are sent; the scheduler takes 256 KiB */
#define CHUNK_TEXT_BYTES 140 /* of a chunk beside its path */
#define ESCAPE_BYTES 6       /* \u00e9 */
#define BLOCK_BYTES (1u << 20)
#define TELL_AFTER_US (5 * USEC_PER_SEC)
#define TELL_EACH_US (30 * USEC_PER_SEC)

/* An index in the making. Its arrays grow, so pieces hold numbers of chunks until all are there. */
struct making {
    struct record_index *index;
    size_t paths_room, chunks_room, pieces_room;
    size_t *ends;                   /* of each piece, a number of chunks */
    uint64_t task_bytes;            /* of a task, about */
    size_t task_files;              /* in a task, at most */
    uint32_t task_records;          /* likewise, but of a chunk with more; 0: any number */
    uint64_t open_bytes, open_text; /* of the piece that is not ended yet */
    uint64_t open_records;
    size_t open_files;
    enum edl_record_kind kind;
    uint64_t file_bytes, mtime_us; /* of the file that is being cut; 0: they are not told */
};

/* ---- which files ---- */

static void add_path(struct making *making, const char *path)
{
    struct record_index *index = making->index;

    if (index->n_paths == making->paths_room) {
        making->paths_room = making->paths_room * 2 + 16;
        index->paths = xreallocarray(index->paths, making->paths_room, sizeof *index->paths);
    }
    index->paths[index->n_paths++] = xstrdup(path);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* expand_one - by name, in the order of bytes: that of glob(3) depends on the language */
static int expand_one(struct making *making, const char *pattern, struct edl_error *error)
{
    struct stat st;
    glob_t found = { 0 };
    int r;

    if (lstat(pattern, &st) == 0 || strpbrk(pattern, "*?[") == NULL) {
        add_path(making, pattern);
        return 0;
    }
    r = glob(pattern, GLOB_NOSORT | GLOB_NOESCAPE, NULL, &found);
    if (r != 0 || found.gl_pathc == 0) {
        (void)edl_error_set(error, -EIO, "no valid dataset specified: %s %.200s",
                            r == 0 || r == GLOB_NOMATCH ? "no file matches" : "cannot list",
                            pattern);
        (void)edl_error_remedy(error, "look at: ls %.200s", pattern);
        globfree(&found);
        return -EIO;
    }
    qsort(found.gl_pathv, found.gl_pathc, sizeof *found.gl_pathv, by_name);
    for (size_t i = 0; i < found.gl_pathc; i++)
        add_path(making, found.gl_pathv[i]);
    globfree(&found);
    return 0;
}

struct named {
    const char *path;
    size_t place;
};

static int by_path(const void *a, const void *b)
{
    const struct named *one = a, *other = b;
    int r = strcmp(one->path, other->path);

    return r != 0 ? r : (one->place > other->place) - (one->place < other->place);
}

/* drop_repeats - a file that two patterns match counts once, at its first place */
static void drop_repeats(struct record_index *index)
{
    struct named *named = xcalloc(index->n_paths, sizeof *named);
    size_t n = 0;

    for (size_t i = 0; i < index->n_paths; i++)
        named[i] = (struct named){ index->paths[i], i };
    qsort(named, index->n_paths, sizeof *named, by_path);
    for (size_t i = 1; i < index->n_paths; i++)
        if (streq(named[i].path, named[i - 1].path)) {
            free(index->paths[named[i].place]);
            index->paths[named[i].place] = NULL;
            named[i].path = named[i - 1].path;
        }
    for (size_t i = 0; i < index->n_paths; i++)
        if (index->paths[i] != NULL)
            index->paths[n++] = index->paths[i];
    index->n_paths = n;
    free(named);
}

static int expand(struct making *making, const char *paths, struct edl_error *error)
{
    _cleanup_free_ char *words = xstrdup(paths);
    struct stat st;
    char *place = NULL;
    int r = 0;

    if (lstat(paths, &st) == 0) { /* its name may have a comma in it */
        add_path(making, paths);
        return 0;
    }
    for (char *word = strtok_r(words, ",", &place); r == 0 && word != NULL;
         word = strtok_r(NULL, ",", &place)) {
        char *end = word + strlen(word);

        word += strspn(word, " ");
        while (end > word && end[-1] == ' ')
            *--end = '\0';
        if (*word != '\0')
            r = expand_one(making, word, error);
    }
    if (r == 0 && making->index->n_paths == 0) {
        (void)edl_error_set(error, -EIO, "no dataset specified");
        return edl_error_remedy(error, "name files to edl_records_open, or submit with --dataset");
    }
    return r;
}

/* size_of - of a regular file */
static int size_of(const char *path, uint64_t *ret, struct edl_error *error)
{
    struct stat st;
    int r = 0;

    if (stat(path, &st) < 0) {
        (void)edl_error_set(error, -EIO, "no valid dataset specified: %.200s: %s", path,
                            strerror(errno));
        r = edl_error_remedy(error, "look at: ls -l %.200s", path);
    } else if (S_ISDIR(st.st_mode)) {
        (void)edl_error_set(error, -EIO, "%.200s is a folder, not a file of records", path);
        r = edl_error_remedy(error, "name the files in it: %.150s/*", path);
    } else if (!S_ISREG(st.st_mode)) {
        (void)edl_error_set(error, -EIO, "%.200s is not a regular file", path);
        r = edl_error_remedy(error, "name files that can be read again from any place");
    }
    if (r == 0)
        *ret = (uint64_t)st.st_size;
    return r;
}

/* ---- tasks ---- */

/* end_piece - the chunks since the last one are a task */
static void end_piece(struct making *making)
{
    struct record_index *index = making->index;

    making->open_bytes = making->open_text = making->open_records = 0;
    making->open_files = 0;
    if (index->n_chunks == (index->n_pieces > 0 ? making->ends[index->n_pieces - 1] : 0))
        return;
    if (index->n_pieces == making->pieces_room) {
        making->pieces_room = making->pieces_room * 2 + 16;
        making->ends = xreallocarray(making->ends, making->pieces_room, sizeof *making->ends);
    }
    making->ends[index->n_pieces++] = index->n_chunks;
}

/* text_bytes_of - a path as it is sent, about: other letters than ASCII may become escapes */
static uint64_t text_bytes_of(const char *path)
{
    uint64_t size = strlen(path);

    for (const char *c = path; *c != '\0'; c++)
        if (*c < ' ' || *c > '~')
            return size * ESCAPE_BYTES;
    return size;
}

/* add_chunk - to the piece, which ends with it when it is large enough */
static void add_chunk(struct making *making, const char *path, uint64_t offset_bytes,
                      uint32_t n_records, uint64_t bytes)
{
    struct record_index *index = making->index;

    if (making->task_records > 0 && making->open_records + n_records > making->task_records)
        end_piece(making);
    if (index->n_chunks == making->chunks_room) {
        making->chunks_room = making->chunks_room * 2 + 16;
        index->chunks = xreallocarray(index->chunks, making->chunks_room, sizeof *index->chunks);
    }
    index->chunks[index->n_chunks++] =
        (struct edl_chunk){ path, offset_bytes, n_records, making->file_bytes, making->mtime_us };
    making->open_bytes += bytes;
    making->open_records += n_records;
    making->open_text += text_bytes_of(path) + CHUNK_TEXT_BYTES;
    if (making->open_bytes >= making->task_bytes || making->open_text >= TASK_TEXT_BYTES ||
        making->open_records == making->task_records)
        end_piece(making);
}

static int cannot_read(const char *path, int code, struct edl_error *error)
{
    (void)edl_error_set(error, -EIO, "%.200s cannot be read: %s", path, strerror(-code));
    return edl_error_remedy(error, "look at: ls -l %.200s", path);
}

static int cut_chunks(struct making *making, const char *path, struct edl_error *error)
{
    struct recordio_survey survey = { 0 };
    struct edl_error damage = { 0 };
    int r = recordio_survey(path, &survey, error);

    if (r < 0)
        return -EIO;
    for (size_t i = 0; i < survey.n_gaps; i++) {
        (void)recordio_gap_error(path, &survey, &survey.gaps[i], &damage);
        (void)fprintf(stderr, "edl: %s\n", damage.text);
    }
    for (size_t i = 0; i < survey.n_chunks; i++) {
        const struct recordio_chunk *chunk = &survey.chunks[i];

        if (chunk->n_records > 0)
            add_chunk(making, path, chunk->offset_bytes, chunk->n_records,
                      RECORDIO_HEADER_BYTES + (uint64_t)chunk->stored_bytes);
    }
    recordio_survey_clear(&survey);
    return 0;
}

/* What of a text is in no task yet. */
struct text_cut {
    uint64_t begin, offset;
    uint32_t lines;
    bool open_line; /* bytes without a newline behind them */
};

/* end_chunk - behind a line: `end` bytes of the block */
static void end_chunk(struct making *making, const char *path, uint64_t end, struct text_cut *cut)
{
    add_chunk(making, path, cut->begin, cut->lines, cut->offset + end - cut->begin);
    cut->begin = cut->offset + end;
    cut->lines = 0;
}

static void cut_block(struct making *making, const char *path, const uint8_t *block, size_t size,
                      struct text_cut *cut)
{
    const uint8_t *last = memrchr(block, '\n', size), *at = block;
    uint64_t end = last != NULL ? (uint64_t)(last - block) + 1 : 0;

    while ((at = memchr(at, '\n', size - (size_t)(at - block))) != NULL) {
        at++;
        if (++cut->lines == making->task_records)
            end_chunk(making, path, (uint64_t)(at - block), cut);
    }
    if (last != NULL && cut->lines > 0 &&
        (making->open_bytes + cut->offset + end - cut->begin >= making->task_bytes ||
         cut->lines > UINT32_MAX / 2))
        end_chunk(making, path, end, cut);
    cut->offset += size;
    cut->open_line = block[size - 1] != '\n';
}

/* cut_lines - pieces of about task_bytes that end where a line does */
static int cut_lines(struct making *making, int fd, const char *path, struct edl_error *error)
{
    const size_t room = (size_t)MIN_OF(making->task_bytes, (uint64_t)BLOCK_BYTES);
    _cleanup_free_ uint8_t *block = xcalloc(1, room);
    struct text_cut cut = { 0 };

    for (;;) {
        ssize_t n = pread(fd, block, room, (off_t)cut.offset);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return cannot_read(path, -errno, error);
        if (n == 0)
            break;
        cut_block(making, path, block, (size_t)n, &cut);
    }
    if (cut.open_line) /* the last line may lack its end */
        cut.lines++;
    if (cut.lines > 0)
        add_chunk(making, path, cut.begin, cut.lines, cut.offset - cut.begin);
    return 0;
}

static bool has_chunks(const char *path)
{
    struct recordio_survey survey = { 0 };
    bool found = recordio_survey(path, &survey, NULL) == 0 && survey.n_chunks > 0;

    recordio_survey_clear(&survey);
    return found;
}

/* is_framed - 1: RecordIO, also of a file whose first header is damaged: it has chunks further on,
 * and no text has a zero byte where a header has some; 0: a text, or what is said to be one; -EIO:
 * neither */
static int is_framed(const struct making *making, const char *path, int fd, struct edl_error *error)
{
    _cleanup_free_ uint8_t *block = NULL;
    const struct record_format *format;
    ssize_t n;

    if (recordio_begins(fd))
        return 1;
    if (making->kind == EDL_RECORD_LINES)
        return 0;
    block = xcalloc(1, RECORD_FORMAT_BLOCK);
    n = pread(fd, block, RECORD_FORMAT_BLOCK, 0);
    if (n <= 0)
        return 0;
    format = record_format_of(block, (size_t)n, making->file_bytes);
    if (format == NULL &&
        (making->kind == EDL_RECORD_RECORDIO ||
         memchr(block, 0, MIN_OF((size_t)n, (size_t)RECORDIO_HEADER_BYTES)) != NULL) &&
        has_chunks(path))
        return 1;
    if (format == NULL && memchr(block, 0, (size_t)n) != NULL)
        format = &record_format_binary;
    if (format == NULL)
        return 0;
    (void)edl_error_set(error, -EIO, "%.200s is %s, and no RecordIO file", path, format->name);
    return edl_error_remedy(error, "%s", format->instead);
}

static int cut_file(struct making *making, const char *path, struct edl_error *error)
{
    _cleanup_close_ int fd = -1;
    struct stat st;
    int framed;

    if (making->kind == EDL_RECORD_FILES) {
        add_chunk(making, path, 0, 1, 0);
        end_piece(making);
        return 0;
    }
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) < 0)
        return cannot_read(path, -errno, error);
    making->file_bytes = (uint64_t)st.st_size;
    making->mtime_us = record_file_mtime_us(&st);
    framed = is_framed(making, path, fd, error);
    if (framed < 0)
        return framed;
    if (making->kind == EDL_RECORD_RECORDIO && framed == 0 && st.st_size > 0) {
        (void)edl_error_set(error, -EIO, "%.200s is no RecordIO file", path);
        return edl_error_remedy(
            error, "make one: edl recordio convert %.100s --lines --out PREFIX --records 5000",
            path);
    }
    return framed == 1 && making->kind != EDL_RECORD_LINES ? cut_chunks(making, path, error)
                                                           : cut_lines(making, fd, path, error);
}

/* ---- all of it ---- */

static int measure(struct making *making, struct edl_error *error)
{
    uint64_t total = 0;

    for (size_t i = 0; making->kind != EDL_RECORD_FILES && i < making->index->n_paths; i++) {
        uint64_t size = 0;
        int r = size_of(making->index->paths[i], &size, error);

        if (r < 0)
            return r;
        total += size;
    }
    making->task_files = (making->index->n_paths + TASKS_WANTED - 1) / TASKS_WANTED;
    making->task_bytes = MIN_OF(MAX_OF(total / TASKS_WANTED, TASK_BYTES_LEAST), TASK_BYTES_MOST);
    return 0;
}

static int cut_files(struct making *making, struct edl_error *error)
{
    const struct record_index *index = making->index;
    const uint64_t began_us = clock_read_us(CLOCK_BOOTTIME);
    uint64_t tell_us = began_us + TELL_AFTER_US;

    for (size_t i = 0; i < index->n_paths; i++) {
        int r = cut_file(making, index->paths[i], error);
        uint64_t now_us = clock_read_us(CLOCK_BOOTTIME);

        if (r < 0)
            return r;
        if (++making->open_files >= making->task_files)
            end_piece(making);
        if (now_us < tell_us)
            continue;
        (void)fprintf(stderr, "edl: finding the records: %zu of %zu file%s after %" PRIu64 " s\n",
                      i + 1, index->n_paths, PLURAL(index->n_paths),
                      (now_us - began_us) / USEC_PER_SEC);
        tell_us = now_us + TELL_EACH_US;
    }
    end_piece(making);
    return 0;
}

static void number_pieces(struct making *making)
{
    struct record_index *index = making->index;
    size_t begin = 0;

    index->pieces = xcalloc(index->n_pieces, sizeof *index->pieces);
    for (size_t i = 0; i < index->n_pieces; i++) {
        index->pieces[i] = (struct edl_piece){ index->chunks + begin, making->ends[i] - begin };
        begin = making->ends[i];
    }
}

int record_index_make(const char *paths, enum edl_record_kind kind, uint32_t task_records,
                      struct record_index *ret, struct edl_error *error)
{
    struct record_index index = { 0 };
    struct making making = { .index = &index, .kind = kind, .task_records = task_records };
    int r = expand(&making, paths, error);

    if (r == 0) {
        drop_repeats(&index);
        r = measure(&making, error);
    }
    if (r == 0)
        r = cut_files(&making, error);
    if (r == 0 && index.n_pieces == 0)
        r = edl_error_set(error, -EIO, "no valid dataset specified: there is no record in %.200s",
                          index.paths[0]);
    if (r == 0) {
        number_pieces(&making);
        record_digest(index.chunks, index.n_chunks, index.digest);
    }
    free(making.ends);
    if (r < 0) {
        record_index_clear(&index);
        return r;
    }
    *ret = index;
    return 0;
}

void record_index_clear(struct record_index *index)
{
    for (size_t i = 0; i < index->n_paths; i++)
        free(index->paths[i]);
    free(index->paths);
    free(index->chunks);
    free(index->pieces);
    *index = (struct record_index){ 0 };
}
