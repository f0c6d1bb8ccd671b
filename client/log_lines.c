/* SPDX-License-Identifier: Apache-2.0 */
/* log_lines.c - pieces of many processes' output to whole lines, each behind its process' name
 *
 * The output of a program is not its reader's: for a terminal each line is written out, with
 * escapes for characters that would steer it, as less(1) and `cat -v` show a file. journalctl(1)
 * hides such a line ("[57B blob data]"), and kubectl escapes events and passes logs on as they are.
 * The first tells too little, and the other trusts every job. A progress bar writes each of its
 * states behind a carriage return, over the one before: its last one is shown, where a terminal
 * would end up. */
#include "client/log_lines.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "client/same_lines.h"
#include "shared/macro.h"
#include "shared/printable.h"

#define LINE_MAX_BYTES                                                                             \
    65536 /* a longer line (progress bars without line ends) is printed in parts */
#define KEY_MAX 128
#define NAMED_MAX 3 /* processes that are named; of more the number is told */

struct stream {
    char key[KEY_MAX]; /* "trainer-0" or "sweep-1 trainer-0", printed in front */
    uint64_t number, incarnation;
    struct same_block same;
    char *pending; /* owned, the unfinished line, n_pending bytes */
    size_t n_pending;
    UT_hash_handle hh;
};

struct log_lines {
    FILE *out;
    bool terminal, folds;
    struct same_lines same;
    size_t n_untold;        /* streams with a block */
    struct stream *streams; /* k: "role-index" -> v: owned */
};

static void keep(struct stream *stream, const char *text, size_t size)
{
    if (size == 0)
        return;
    stream->pending = xreallocarray(stream->pending, stream->n_pending + size, 1);
    memcpy(stream->pending + stream->n_pending, text, size);
    stream->n_pending += size;
}

/* last_state - from where on a line is shown: behind its last carriage return that is not its end
 */
static const char *last_state(const char *line, size_t *size)
{
    const char *at;

    while (*size > 0 && line[*size - 1] == '\r')
        (*size)--;
    at = memrchr(line, '\r', *size);
    if (at == NULL)
        return line;
    *size -= (size_t)(at + 1 - line);
    return at + 1;
}

static void print_text(struct log_lines *lines, const char *text, size_t size)
{
    if (lines->terminal && size > 0) {
        text = last_state(text, &size);
        printable_write(lines->out, text, size, "\t");
    } else if (size > 0) {
        (void)fwrite(text, 1, size, lines->out);
    }
    (void)fputc('\n', lines->out);
}

/* The names of all that repeat the same block, of which the first is given; those have none then.
 */
static void print_names(struct log_lines *lines, struct stream *first)
{
    const struct same_block block = first->same;
    size_t n = 0;

    for (struct stream *stream = first; stream != NULL; stream = stream->hh.next) {
        if (stream->same.n != block.n || stream->same.first != block.first ||
            stream->same.last != block.last)
            continue;
        stream->same.n = 0;
        lines->n_untold--;
        if (n++ < NAMED_MAX)
            (void)fprintf(lines->out, "%s%s", n > 1 ? ", " : "[", stream->key);
    }
    if (n > NAMED_MAX)
        (void)fprintf(lines->out, " and %zu more", n - NAMED_MAX);
    (void)fputs("] ", lines->out);
}

void log_lines_tell(struct log_lines *lines)
{
    for (struct stream *stream = lines->streams; lines->n_untold > 0 && stream != NULL;
         stream = stream->hh.next) {
        const struct same_line *last = same_lines_of(&lines->same, stream->same.last);
        size_t n = stream->same.n;

        if (n == 0)
            continue;
        print_names(lines, stream);
        if (n > 1)
            (void)fputs("the same, up to: ", lines->out);
        print_text(lines, last->text, last->size);
    }
}

/* Those that it repeats are told of before another line is printed. */
static bool is_folded(struct log_lines *lines, struct stream *stream, const char *text, size_t size)
{
    struct same_block *block = &stream->same;
    bool untold = block->n > 0;

    if (!lines->folds)
        return false;
    if (!same_lines_take(&lines->same, block, stream->number, stream->incarnation, text, size)) {
        log_lines_tell(lines);
        untold = false;
        if (!same_lines_take(&lines->same, block, stream->number, stream->incarnation, text,
                             size)) {
            same_lines_add(&lines->same, stream->number, stream->incarnation, text, size);
            return false;
        }
    }
    lines->n_untold += !untold;
    return true;
}

static void print_line(struct log_lines *lines, struct stream *stream, const char *text,
                       size_t size)
{
    keep(stream, text, size);
    if (!is_folded(lines, stream, stream->pending, stream->n_pending)) {
        (void)fprintf(lines->out, "[%s] ", stream->key);
        print_text(lines, stream->pending, stream->n_pending);
    }
    stream->n_pending = 0;
}

static struct stream *stream_get(struct log_lines *lines, const char *role, uint64_t index)
{
    char key[KEY_MAX] = { 0 };
    struct stream *stream = NULL;

    (void)snprintf(key, sizeof(key), "%.100s-%" PRIu64, role, index);
    HASH_FIND_STR(lines->streams, key, stream);
    if (stream == NULL) {
        stream = xcalloc(1, sizeof(*stream));
        memcpy(stream->key, key, sizeof(key));
        stream->number = HASH_COUNT(lines->streams);
        HASH_ADD_STR(lines->streams, key, stream);
    }
    return stream;
}

struct log_lines *log_lines_new(FILE *out, bool terminal)
{
    struct log_lines *lines = xcalloc(1, sizeof(*lines));

    lines->out = out;
    lines->terminal = terminal;
    return lines;
}

struct log_lines *log_lines_free(struct log_lines *lines)
{
    struct stream *stream;
    struct stream *next;

    if (lines == NULL)
        return NULL;
    HASH_ITER(hh, lines->streams, stream, next)
    {
        if (stream->n_pending > 0)
            print_line(lines, stream, "", 0);
    }
    log_lines_tell(lines);
    same_lines_clear(&lines->same);
    HASH_ITER(hh, lines->streams, stream, next)
    {
        HASH_DEL(lines->streams, stream);
        free(stream->pending);
        free(stream);
    }
    free(lines);
    return NULL;
}

void log_lines_fold(struct log_lines *lines)
{
    lines->folds = true;
}

bool log_lines_untold(const struct log_lines *lines)
{
    return lines->n_untold > 0;
}

static void add(struct log_lines *lines, struct stream *stream, const char *text, size_t size)
{
    const char *end;

    while ((end = memchr(text, '\n', size)) != NULL) {
        print_line(lines, stream, text, (size_t)(end - text));
        size -= (size_t)(end + 1 - text);
        text = end + 1;
    }
    if (stream->n_pending + size > LINE_MAX_BYTES)
        print_line(lines, stream, text, size);
    else
        keep(stream, text, size);
}

void log_lines_add_bytes(struct log_lines *lines, const char *role, uint64_t index,
                         uint64_t incarnation, const char *data, size_t size)
{
    struct stream *stream = stream_get(lines, role, index);

    if (stream->incarnation != incarnation && stream->n_pending > 0)
        print_line(lines, stream, "", 0);
    if (stream->incarnation != incarnation && stream->same.n > 0)
        log_lines_tell(lines);
    if (stream->incarnation != incarnation)
        stream->same = (struct same_block){ 0 };
    stream->incarnation = incarnation;
    add(lines, stream, data, size);
}

void log_lines_add(struct log_lines *lines, const char *role, uint64_t index, uint64_t incarnation,
                   const char *text)
{
    log_lines_add_bytes(lines, role, index, incarnation, text, strlen(text));
}
