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
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>
#include <utlist.h>

#include "client/same_lines.h"
#include "shared/macro.h"
#include "shared/printable.h"
#include "shared/rfc3339.h"

#define KEY_MAX 128
#define NAMED_MAX 3 /* processes that are named; of more the number is told */

struct stream {
    char key[KEY_MAX];       /* "trainer-0" or "sweep-1 trainer-0", printed in front */
    char *role, *node, *job; /* owned; node, job: NULL: not told */
    uint64_t index, number, incarnation;
    struct same_block same;
    char *pending; /* owned, the unfinished line, n_pending bytes */
    size_t n_pending;
    uint64_t time_us; /* of its first byte */
    UT_hash_handle hh;
};

/* A line that waits for it to be known whether it is one of the last. */
struct held_line {
    char *text; /* owned, from open_memstream(3) */
    size_t size;
    struct held_line *next, *prev;
};

struct log_lines {
    FILE *out;
    struct log_look look;
    bool folds, released;
    struct held_line *held; /* owned */
    size_t n_held;
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

static void print_text(const struct log_lines *lines, FILE *out, const char *text, size_t size)
{
    if (lines->look.terminal && size > 0) {
        text = last_state(text, &size);
        printable_write(out, text, size, "\t");
    } else if (size > 0) {
        (void)fwrite(text, 1, size, out);
    }
    (void)fputc('\n', out);
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
        print_text(lines, lines->out, last->text, last->size);
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

/* A line that is to be shown. */
struct line {
    const char *text;
    size_t size;
    bool is_whole; /* it had an end */
    bool is_ours;
};

/* text_json - bytes that are no UTF-8 become '?' */
static json_t *text_json(const struct line *line)
{
    char *text = xcalloc(line->size + 2, 1);
    json_t *json;

    if (line->size > 0)
        memcpy(text, line->text, line->size);
    text[line->size] = '\n';
    json = json_stringn(text, line->size + line->is_whole);
    for (size_t i = 0; json == NULL && i < line->size; i++)
        text[i] = (char)(text[i] < 0 ? '?' : text[i]);
    if (json == NULL)
        json = json_stringn(text, line->size + line->is_whole);
    free(text);
    return json;
}

static void write_json(FILE *out, const struct stream *stream, const struct line *line)
{
    json_t *object =
        json_pack("{s:s,s:I,s:I,s:I,s:o}", "role", stream->role, "index", (json_int_t)stream->index,
                  "incarnation", (json_int_t)stream->incarnation, "time_us",
                  (json_int_t)stream->time_us, "text", text_json(line));

    if (line->is_ours)
        (void)json_object_set_new(object, "notice", json_true());
    if (stream->node != NULL)
        (void)json_object_set_new(object, "node", json_string(stream->node));
    if (stream->job != NULL)
        (void)json_object_set_new(object, "job", json_string(stream->job));
    (void)json_dumpf(object, out, JSON_COMPACT);
    (void)fputc('\n', out);
    json_decref(object);
}

static void write_line(const struct log_lines *lines, FILE *out, const struct stream *stream,
                       const struct line *line)
{
    char when[RFC3339_MAX] = "-";

    if (lines->look.json) {
        write_json(out, stream, line);
        return;
    }
    (void)fprintf(out, "[%s] ", stream->key);
    if (lines->look.times)
        (void)fprintf(out, "%s ",
                      stream->time_us > 0 ? rfc3339_format(stream->time_us, when) : when);
    print_text(lines, out, line->text, line->size);
}

static void drop_first(struct log_lines *lines)
{
    struct held_line *first = lines->held;

    DL_DELETE(lines->held, first);
    lines->n_held--;
    free(first->text);
    free(first);
}

static void hold(struct log_lines *lines, const struct stream *stream, const struct line *line)
{
    struct held_line *held = xcalloc(1, sizeof *held);
    FILE *out = open_memstream(&held->text, &held->size);

    if (out == NULL)
        abort();
    write_line(lines, out, stream, line);
    (void)fclose(out);
    DL_APPEND(lines->held, held);
    lines->n_held++;
    while (lines->n_held > lines->look.tail)
        drop_first(lines);
}

static void show(struct log_lines *lines, struct stream *stream, const struct line *line)
{
    if (lines->look.has_tail && !lines->released)
        hold(lines, stream, line);
    else if (lines->look.json || !is_folded(lines, stream, line->text, line->size))
        write_line(lines, lines->out, stream, line);
}

static bool matches(const struct log_lines *lines, const char *text, size_t size)
{
    regmatch_t range = { .rm_so = 0, .rm_eo = (regoff_t)size };

    return lines->look.grep == NULL ||
           regexec(lines->look.grep, text != NULL ? text : "", 1, &range, REG_STARTEND) == 0;
}

/* end_line - rest: the rest of the line */
static void end_line(struct log_lines *lines, struct stream *stream, const struct log_piece *rest,
                     bool is_whole)
{
    keep(stream, rest->data, rest->size);
    if (!rest->is_old && matches(lines, stream->pending, stream->n_pending))
        show(lines, stream,
             &(struct line){
                 .text = stream->pending, .size = stream->n_pending, .is_whole = is_whole });
    stream->n_pending = 0;
    stream->time_us = 0;
}

/* finish - the line that goes on no more */
static void finish(struct log_lines *lines, struct stream *stream)
{
    if (stream->n_pending > 0)
        end_line(lines, stream, &(struct log_piece){ 0 }, false);
}

static char *copy_of(const char *text)
{
    return text != NULL && *text != '\0' ? xstrdup(text) : NULL;
}

static struct stream *stream_get(struct log_lines *lines, const struct log_who *who)
{
    char key[KEY_MAX] = { 0 };
    struct stream *stream = NULL;

    (void)snprintf(key, sizeof(key), "%.100s-%" PRIu64, who->shown != NULL ? who->shown : who->role,
                   who->index);
    HASH_FIND_STR(lines->streams, key, stream);
    if (stream == NULL) {
        stream = xcalloc(1, sizeof(*stream));
        memcpy(stream->key, key, sizeof(key));
        stream->role = xstrdup(who->role);
        stream->job = copy_of(who->job);
        stream->index = who->index;
        stream->number = HASH_COUNT(lines->streams);
        HASH_ADD_STR(lines->streams, key, stream);
    }
    if (stream->incarnation == who->incarnation)
        return stream;
    finish(lines, stream);
    if (stream->same.n > 0)
        log_lines_tell(lines);
    stream->same = (struct same_block){ 0 };
    stream->incarnation = who->incarnation;
    free(stream->node);
    stream->node = copy_of(who->node);
    return stream;
}

struct log_lines *log_lines_new(FILE *out, const struct log_look *look)
{
    struct log_lines *lines = xcalloc(1, sizeof(*lines));

    lines->out = out;
    lines->look = *look;
    return lines;
}

struct log_lines *log_lines_free(struct log_lines *lines)
{
    struct stream *stream, *next;

    if (lines == NULL)
        return NULL;
    HASH_ITER(hh, lines->streams, stream, next)
    finish(lines, stream);
    log_lines_release(lines);
    log_lines_tell(lines);
    same_lines_clear(&lines->same);
    HASH_ITER(hh, lines->streams, stream, next)
    {
        HASH_DEL(lines->streams, stream);
        free(stream->pending);
        free(stream->role);
        free(stream->node);
        free(stream->job);
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

void log_lines_release(struct log_lines *lines)
{
    for (; lines->held != NULL; drop_first(lines))
        (void)fwrite(lines->held->text, 1, lines->held->size, lines->out);
    lines->released = true;
}

void log_lines_add(struct log_lines *lines, const struct log_who *who,
                   const struct log_piece *piece)
{
    struct stream *stream = stream_get(lines, who);
    struct log_piece rest = *piece;
    const char *end;

    while (rest.size > 0 && (end = memchr(rest.data, '\n', rest.size)) != NULL) {
        struct log_piece line = rest;

        line.size = (size_t)(end - rest.data);
        if (stream->n_pending == 0)
            stream->time_us = piece->time_us;
        end_line(lines, stream, &line, true);
        rest.size -= line.size + 1;
        rest.data = end + 1;
    }
    if (rest.size > 0 && stream->n_pending == 0)
        stream->time_us = piece->time_us;
    keep(stream, rest.data, rest.size);
    if (stream->n_pending <= LOG_LINE_MAX_BYTES)
        return;
    end_line(lines, stream, &(struct log_piece){ .is_old = piece->is_old }, false);
    if (!piece->is_old)
        log_lines_say(lines, who, "the line before is longer than 1 MiB and goes on in the next");
}

void log_lines_say(struct log_lines *lines, const struct log_who *who, const char *text)
{
    struct stream *stream = stream_get(lines, who);
    char line[1024];

    finish(lines, stream);
    (void)snprintf(line, sizeof line, "[edl: %s]", text);
    show(lines, stream,
         &(struct line){ .text = line, .size = strlen(line), .is_whole = true, .is_ours = true });
}
