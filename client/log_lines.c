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

#include "shared/macro.h"
#include "shared/printable.h"

#define LINE_MAX_BYTES                                                                             \
    65536 /* a longer line (progress bars without line ends) is printed in parts */
#define KEY_MAX 128

struct stream {
    char key[KEY_MAX]; /* "trainer-0" or "sweep-1 trainer-0", printed in front */
    uint64_t incarnation;
    char *pending; /* owned, the unfinished line, n_pending bytes */
    size_t n_pending;
    UT_hash_handle hh;
};

struct log_lines {
    FILE *out;
    bool terminal;
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

static void print_line(struct log_lines *lines, struct stream *stream, const char *text,
                       size_t size)
{
    const char *shown;

    keep(stream, text, size);
    size = stream->n_pending;
    shown = stream->pending;
    (void)fprintf(lines->out, "[%s] ", stream->key);
    if (lines->terminal && size > 0) {
        shown = last_state(shown, &size);
        printable_write(lines->out, shown, size, "\t");
    } else if (size > 0) {
        (void)fwrite(shown, 1, size, lines->out);
    }
    (void)fputc('\n', lines->out);
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
        HASH_DEL(lines->streams, stream);
        free(stream->pending);
        free(stream);
    }
    free(lines);
    return NULL;
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
    stream->incarnation = incarnation;
    add(lines, stream, data, size);
}

void log_lines_add(struct log_lines *lines, const char *role, uint64_t index, uint64_t incarnation,
                   const char *text)
{
    log_lines_add_bytes(lines, role, index, incarnation, text, strlen(text));
}
