/* SPDX-License-Identifier: Apache-2.0 */
/* log_source.c - see log_source.h
 *
 * The server keeps the newest bytes of each process, as text. A process of which it has all needs
 * no node. Of another one the node is asked, a piece of PIECE_BYTES after the other, so that many
 * processes can be merged in time. A log's front may be gone, and more of it may go meanwhile: then
 * reading goes on at the next line, and a sentence tells the bytes before it. */
#include "client/log_source.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <utlist.h>

#include "client/job_view.h"
#include "client/json_read.h"
#include "client/log_lines.h"
#include "client/log_missing.h"
#include "client/log_places.h"
#include "client/server.h"
#include "client/text.h"
#include "client/verb.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/macro.h"

#define PIECE_BYTES (UINT64_C(1) << 20)
#define TAIL_FIRST_BYTES UINT64_C(65536)
#define STALL_US (60 * USEC_PER_SEC)
#define CALL_TIMEOUT_US (600 * USEC_PER_SEC)
#define RETRY_MS 500
#define BUSY_US (10 * USEC_PER_SEC) /* that too many others are reading */
#define OURS "[edl: "
#define REPLACED "\xef\xbf\xbd" /* stands for one byte that is no UTF-8 */

int log_reading_begin(struct log_reading *reading)
{
    _cleanup_free_ char *path = job_path(reading->request->job, "/processes?state=all");

    json_decref(TAKE_PTR(reading->processes));
    if (reading->silent == NULL)
        reading->silent = json_object();
    return server_get(reading->server, &reading->processes, "%s", path);
}

void log_reading_end(struct log_reading *reading)
{
    json_decref(TAKE_PTR(reading->processes));
    json_decref(TAKE_PTR(reading->silent));
}

struct log_source *log_source_new(json_t *process)
{
    struct log_source *source = xcalloc(1, sizeof *source);

    source->process = json_incref(process);
    source->role = json_text(process, "role");
    source->index = json_u64(process, "index");
    source->incarnation = json_u64(process, "incarnation");
    source->entries = json_array();
    source->end = source->gap_from = LOG_NO_END;
    return source;
}

struct log_source *log_source_free(struct log_source *source)
{
    if (source == NULL)
        return NULL;
    log_chunks_clear(&source->chunks);
    json_decref(source->entries);
    json_decref(source->process);
    free(source);
    return NULL;
}

/* ---- what the server has ---- */

/* source_bytes - how many bytes of the log a text is */
static uint64_t source_bytes(const char *text)
{
    uint64_t n = strlen(text);

    for (const char *at = text; (at = strstr(at, REPLACED)) != NULL; at += 3)
        n -= 2;
    return n;
}

/* skip_bytes - so many bytes of the log further on in a text */
static const char *skip_bytes(const char *text, uint64_t n)
{
    while (n > 0 && *text != '\0') {
        if (strncmp(text, REPLACED, 3) == 0)
            text += 2;
        text++;
        n--;
    }
    return text;
}

void log_source_add(struct log_source *source, json_t *entry)
{
    if (!json_is_true(json_object_get(entry, "notice")))
        (void)json_array_append(source->entries, entry);
}

/* without_ours - a kept end that is not all begins with lines of the server's */
static const char *without_ours(const char *text)
{
    for (int i = 0; i < 2 && strncmp(text, OURS, strlen(OURS)) == 0; i++) {
        const char *end = strchr(text, '\n');

        text = end != NULL ? end + 1 : text + strlen(text);
    }
    return text;
}

/* place_kept - of pieces of a kept end, from `first` on, only the end of the last one is told */
static size_t place_kept(struct log_source *source, size_t first)
{
    json_t *entry = json_array_get(source->entries, first);
    uint64_t next = json_u64(entry, "next_offset"), bytes = 0, at;
    size_t n = first;

    for (; n < json_array_size(source->entries); n++) {
        const json_t *piece = json_array_get(source->entries, n);

        if (json_object_get(piece, "offset") != NULL || json_u64(piece, "next_offset") != next)
            break;
        bytes += source_bytes(json_text(piece, "text"));
    }
    if (bytes != next) {
        _cleanup_free_ char *text = xstrdup(without_ours(json_text(entry, "text")));

        bytes -= source_bytes(json_text(entry, "text")) - source_bytes(text);
        (void)json_object_set_new(entry, "text", json_string(text));
    }
    at = next - MIN_OF(next, bytes);
    for (size_t i = first; i < n; i++) {
        json_t *piece = json_array_get(source->entries, i);

        (void)json_object_set_new(piece, "offset", json_integer((json_int_t)at));
        at += source_bytes(json_text(piece, "text"));
        (void)json_object_set_new(piece, "next_offset", json_integer((json_int_t)at));
    }
    return n;
}

static void place_all(struct log_source *source)
{
    for (size_t i = 0; i < json_array_size(source->entries);)
        if (json_object_get(json_array_get(source->entries, i), "offset") == NULL)
            i = place_kept(source, i);
        else
            i++;
}

static uint64_t kept_from(const struct log_source *source)
{
    return json_array_size(source->entries) > 0
               ? json_u64(json_array_get(source->entries, 0), "offset")
               : LOG_NO_END;
}

static uint64_t kept_to(const struct log_source *source)
{
    size_t n = json_array_size(source->entries);

    return n > 0 ? json_u64(json_array_get(source->entries, n - 1), "next_offset") : 0;
}

/* is_kept_whole - byte for byte from source->at on */
static bool is_kept_whole(const struct log_source *source)
{
    uint64_t at = source->at;
    size_t i;
    json_t *entry;

    json_array_foreach(source->entries, i, entry)
    {
        if (json_u64(entry, "offset") != at || strstr(json_text(entry, "text"), REPLACED) != NULL)
            return false;
        at = json_u64(entry, "next_offset");
    }
    return source->end != LOG_NO_END && at >= source->end;
}

static uint64_t kept_lines(const struct log_source *source)
{
    uint64_t n = 0;
    size_t i;
    json_t *entry;

    json_array_foreach(source->entries, i, entry)
    {
        for (const char *at = json_text(entry, "text"); (at = strchr(at, '\n')) != NULL; at++)
            n++;
    }
    return n;
}

/* ---- what the node has ---- */

struct save {
    struct log_chunks *chunks;
    bool failed;
};

static ssize_t on_data(void *userdata, const char *data, size_t size)
{
    struct save *save = userdata;

    save->failed |= log_chunks_feed(save->chunks, data, size) < 0;
    return save->failed ? 0 : (ssize_t)size;
}

/* receive - one piece; *ret has what came in any case */
static int receive(const struct log_reading *reading, const struct log_source *source,
                   uint64_t offset, uint64_t bytes, struct log_chunks *chunks,
                   struct http_answer *ret)
{
    _cleanup_free_ char *role = text_url_segment(source->role);
    uint64_t since_us = source->at == 0 ? source->since_us : 0;
    _cleanup_free_ char *suffix =
        text_format("/processes/%s/%" PRIu64 "/log?times=1&incarnation=%" PRIu64 "&offset=%" PRIu64
                    "&bytes=%" PRIu64 "&since_us=%" PRIu64,
                    role, source->index, source->incarnation, offset, bytes, since_us);
    _cleanup_free_ char *path = job_path(reading->request->job, suffix);
    struct save save = { .chunks = chunks };
    FILE *stream = fopencookie(&save, "w", (cookie_io_functions_t){ .write = on_data });
    struct http_call call = { .method = "GET",
                              .path = path,
                              .timeout_us = CALL_TIMEOUT_US,
                              .stall_timeout_us = STALL_US,
                              .save = stream };
    int status;

    if (stream == NULL)
        abort();
    chunks->next = offset;
    status = server_call(reading->server, &call, ret);
    (void)fclose(stream);
    if (status == STATUS_OK && (save.failed || chunks->missing > 0)) {
        status = STATUS_FAILED;
        (void)snprintf(ret->text, sizeof ret->text, "its answer is damaged");
    }
    return status;
}

static bool is_worth_asking_again(int status, const struct http_answer *answer,
                                  uint64_t patience_us, uint64_t passed_us)
{
    if (answer->status == 429)
        return passed_us < BUSY_US;
    return (status == STATUS_NO_SERVER || answer->status >= 500) && passed_us < patience_us;
}

/* ask - a piece of the log; a failure is told in source->why, and nothing of the piece is kept */
static int ask(struct log_reading *reading, struct log_source *source, uint64_t offset,
               uint64_t bytes, struct log_chunks *chunks)
{
    uint64_t begun_us = clock_read_us(CLOCK_BOOTTIME);
    const char *known = log_missing_known(reading, source);

    if (known != NULL) {
        (void)snprintf(source->why, sizeof source->why, "%s", known);
        return STATUS_FAILED;
    }
    for (;;) {
        struct http_answer answer = { 0 };
        int status = receive(reading, source, offset, bytes, chunks, &answer);
        bool again =
            status != STATUS_OK && is_worth_asking_again(status, &answer, reading->patience_us,
                                                         clock_read_us(CLOCK_BOOTTIME) - begun_us);

        if (status != STATUS_OK)
            log_chunks_clear(chunks);
        if (status != STATUS_OK && !again)
            log_missing_why(reading, source, &answer);
        http_answer_clear(&answer);
        if (!again)
            return status;
        (void)poll(NULL, 0, RETRY_MS);
    }
}

/* count_lines - those that end in front of `end` */
static uint64_t count_lines(const struct log_chunks *chunks, uint64_t end)
{
    const struct log_chunk *chunk;
    uint64_t n = 0;

    for (chunk = chunks->list; chunk != NULL; chunk = chunk->next)
        for (size_t i = 0; i < chunk->size && chunk->offset + i < end; i++)
            n += chunk->data[i] == '\n';
    return n;
}

/* behind_lines - where the line begins that follows the first n */
static uint64_t behind_lines(const struct log_chunks *chunks, uint64_t n)
{
    const struct log_chunk *chunk;

    for (chunk = chunks->list; chunk != NULL; chunk = chunk->next)
        for (size_t i = 0; i < chunk->size; i++)
            if (chunk->data[i] == '\n' && --n == 0)
                return chunk->offset + i + 1;
    return chunks->next;
}

/* seek_tail - to the last lines in front of source->end, from the end back */
static void seek_tail(struct log_reading *reading, struct log_source *source, uint64_t lines)
{
    for (uint64_t bytes = TAIL_FIRST_BYTES; source->end > 0; bytes *= 8) {
        uint64_t from = source->end - MIN_OF(source->end, bytes);
        struct log_chunks chunks = { 0 };
        bool is_front;
        uint64_t n;

        if (ask(reading, source, from, source->end - from, &chunks) != STATUS_OK)
            break;
        n = count_lines(&chunks, source->end);
        if (n > lines)
            source->at = behind_lines(&chunks, n - lines);
        is_front = from == 0 || (chunks.list != NULL && chunks.list->offset > from);
        log_chunks_clear(&chunks);
        if (is_front || source->at > 0)
            break; /* what there is of it is less, and begins at its first byte */
    }
}

/* find_end - how far the log goes that is to be read; of a live process the ring of the server
 * goes on where that is */
static uint64_t find_end(const struct log_reading *reading, const struct log_source *source,
                         bool is_ring)
{
    const char *state = json_text(source->process, "state");

    if (json_u64(source->process, "started_us") == 0 && json_array_size(source->entries) == 0)
        return 0;
    if (streq(state, "exited")) /* the word of it may come before its end does */
        return reading->ended ? kept_to(source) : LOG_NO_END;
    return is_ring && !streq(state, "lost") ? kept_to(source) : LOG_NO_END;
}

void log_source_begin(struct log_reading *reading, struct log_source *source)
{
    const struct log_request *request = reading->request;
    bool is_ring = json_object_get(json_array_get(source->entries, 0), "offset") != NULL;

    place_all(source);
    source->end = find_end(reading, source, is_ring);
    source->by_server = is_kept_whole(source);
    if (!request->has_tail || request->grep != NULL || source->by_server ||
        source->end == LOG_NO_END)
        return;
    source->by_server = kept_lines(source) >= request->tail;
    if (source->by_server)
        source->at = MIN_OF(kept_from(source), source->end);
    else
        seek_tail(reading, source, request->tail);
}

void log_source_go_on(struct log_source *source, const struct log_verdict *verdict)
{
    place_all(source);
    source->by_server = verdict->step == LOG_PRINT;
    source->at = source->by_server ? kept_from(source) : verdict->offset;
    source->end = source->by_server ? kept_to(source) : verdict->end;
}

/* ---- one after the other ---- */

static void say(struct log_source *source, uint64_t from, uint64_t to)
{
    char text[640];

    log_missing_say(source, from, to, text, sizeof text);
    log_chunks_add(&source->chunks, from, 0, text, strlen(text))->is_ours = true;
}

/* gap_from - of what ends here */
static uint64_t gap_from(struct log_source *source)
{
    uint64_t from = MIN_OF(source->gap_from, source->at);

    source->gap_from = LOG_NO_END;
    return from;
}

static void take_entry(struct log_source *source)
{
    const json_t *entry = json_array_get(source->entries, source->next_entry++);
    const char *text = json_text(entry, "text");
    uint64_t offset = json_u64(entry, "offset"), next = json_u64(entry, "next_offset");
    uint64_t time_us = json_u64(entry, "time_us");
    struct log_chunk *chunk;

    if (entry == NULL) {
        source->over = true;
        if (source->end == LOG_NO_END && source->why[0] != '\0')
            say(source, gap_from(source), LOG_NO_END);
        return;
    }
    if (next <= source->at && next > 0)
        return;
    if (offset > source->at)
        say(source, gap_from(source), offset);
    else
        text = skip_bytes(text, source->at - offset);
    chunk =
        log_chunks_add(&source->chunks, MAX_OF(offset, source->at), time_us, text, strlen(text));
    chunk->is_old = time_us > 0 && time_us < source->since_us;
    source->at = next;
}

/* ask_on - the next piece from the node */
static void ask_on(struct log_reading *reading, struct log_source *source)
{
    bool begins = source->at == 0 && source->since_us > 0;
    uint64_t bytes =
        source->end == LOG_NO_END ? PIECE_BYTES : MIN_OF(source->end - source->at, PIECE_BYTES);
    int status = ask(reading, source, source->at, bytes, &source->chunks);

    if (status != STATUS_OK) {
        source->by_server = true;
        return;
    }
    if (begins && source->chunks.list != NULL) {
        source->at = source->chunks.list->offset;
        log_chunks_drop(&source->chunks);
        source->since_us = source->at == 0 ? 0 : source->since_us;
    }
    if (source->chunks.list != NULL)
        return;
    source->over = true;
    if (source->end != LOG_NO_END && source->at < source->end)
        say(source, gap_from(source), source->end);
}

/* cut_to_end - what is behind it comes by another way; false: all of the chunk is */
static bool cut_to_end(const struct log_source *source, struct log_chunk *chunk)
{
    if (chunk->is_ours || chunk->offset + chunk->size <= source->end)
        return true;
    if (chunk->offset >= source->end)
        return false;
    chunk->size = (size_t)(source->end - chunk->offset);
    return true;
}

/* end_gap - the part of a chunk behind the line that a gap cut; false: all of it is of that line */
static bool end_gap(struct log_source *source, struct log_chunk *chunk)
{
    const char *end = memchr(chunk->data, '\n', chunk->size);
    size_t n = end != NULL ? (size_t)(end + 1 - chunk->data) : chunk->size;

    chunk->offset += n;
    chunk->size -= n;
    memmove(chunk->data, chunk->data + n, chunk->size);
    source->at = chunk->offset;
    return end != NULL;
}

/* settle - whether the first chunk is to be printed as it stands; else it was dealt with */
static bool settle(struct log_source *source)
{
    struct log_chunk *chunk = source->chunks.list;

    if (chunk->is_ours || source->by_server)
        return true;
    if (!cut_to_end(source, chunk)) {
        log_chunks_drop(&source->chunks);
        if (source->at < source->end) { /* all of it is gone: to ask again would give the same */
            say(source, gap_from(source), source->end);
            source->at = source->end;
        }
        return false;
    }
    if (chunk->offset > source->at && source->gap_from == LOG_NO_END)
        source->gap_from = source->at;
    source->at = MAX_OF(source->at, chunk->offset);
    if (source->gap_from == LOG_NO_END)
        return true;
    if (end_gap(source, chunk)) {
        struct log_chunk *ours;

        say(source, gap_from(source), source->at);
        ours = source->chunks.list->prev;
        DL_DELETE(source->chunks.list, ours);
        DL_PREPEND(source->chunks.list, ours);
        return true;
    }
    log_chunks_drop(&source->chunks);
    return false;
}

const struct log_chunk *log_source_peek(struct log_reading *reading, struct log_source *source)
{
    for (;;) {
        if (source->chunks.list != NULL) {
            if (settle(source))
                return source->chunks.list;
        } else if (source->over) {
            return NULL;
        } else if (source->at >= source->end) {
            source->over = true;
        } else if (source->by_server) {
            take_entry(source);
        } else {
            ask_on(reading, source);
        }
    }
}

void log_source_print(struct log_reading *reading, struct log_source *source)
{
    const struct log_request *request = reading->request;
    const struct log_chunk *chunk = source->chunks.list;
    const char *node = source->index < request->n_nodes ? request->nodes[source->index] : "";
    const char *before = request->shown != NULL ? request->shown : node;
    _cleanup_free_ char *shown =
        text_format("%s%s%s", before, *before != '\0' ? " " : "", source->role);
    const struct log_who who = { .shown = shown,
                                 .role = source->role,
                                 .index = source->index,
                                 .incarnation = source->incarnation,
                                 .node = *node != '\0' ? node : json_text(source->process, "node"),
                                 .job = request->shown };

    if (chunk->is_ours) {
        _cleanup_free_ char *text = strndup(chunk->data, chunk->size);

        log_lines_say(reading->lines, &who, text != NULL ? text : "");
    } else {
        log_lines_add(reading->lines, &who,
                      &(struct log_piece){ .data = chunk->data,
                                           .size = chunk->size,
                                           .time_us = chunk->time_us,
                                           .is_old = chunk->is_old });
        if (!source->by_server)
            source->at = chunk->offset + chunk->size;
    }
    log_chunks_drop(&source->chunks);
}
