/* SPDX-License-Identifier: Apache-2.0 */
/* job_logs.c - the merged output of a job's processes
 *
 * First come the bytes that were written until now, merged in time: the server has the newest of
 * each process, and its node those before. With follow the scheduler answers in pieces behind a
 * cursor, and keeps a question until there is more. A slow reader gets the bytes that it misses
 * from the node again. The reader waits for a scheduler that is away. */
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/job_view.h"
#include "client/json_read.h"
#include "client/log_lines.h"
#include "client/log_output.h"
#include "client/log_places.h"
#include "client/log_source.h"
#include "client/report.h"
#include "client/server.h"
#include "client/text.h"
#include "client/verb.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/parse.h"

#define RETRY_MS 500
#define OUTAGE_MAX_US (60 * USEC_PER_SEC)
#define FETCH_MAX_US (10 * USEC_PER_SEC) /* that a node may not be heard */

struct reader {
    struct log_reading reading;
    struct log_output *output;   /* borrowed */
    struct log_places *places;   /* owned */
    struct log_source **sources; /* owned array of owned */
    size_t n_sources;
    struct job_watch *watch; /* borrowed */
    char *cursor;            /* owned */
};

static char *logs_path(const struct log_request *request, const char *cursor, bool follow,
                       unsigned wait_s)
{
    _cleanup_free_ char *base = job_path(request->job, "/logs");
    _cleanup_free_ char *role = text_url_segment(request->role != NULL ? request->role : "");
    _cleanup_free_ char *index = text_url_segment(request->index != NULL ? request->index : "");
    _cleanup_free_ char *after = text_url_segment(cursor);

    return text_format("%s?follow=%d&wait=%u%s%s%s%s%s%s", base, follow, follow ? wait_s : 0,
                       role[0] != '\0' ? "&role=" : "", role, index[0] != '\0' ? "&index=" : "",
                       index, after[0] != '\0' ? "&after=" : "", after);
}

/* flush - STATUS_FAILED is told */
static int flush(const struct reader *reader)
{
    struct edl_error error = { 0 };

    return log_output_flush(reader->output, &error) < 0 ? report_error(&error) : STATUS_OK;
}

/* question - one of GET /jobs/{job}/logs; *ret is the caller's. STATUS_FAILED is told */
static int question(struct reader *reader, bool follow, unsigned wait_s, json_t **ret,
                    bool *ret_rest)
{
    _cleanup_free_ char *path = logs_path(reader->reading.request, reader->cursor, follow, wait_s);
    struct http_call call = { .method = "GET", .path = path };
    struct http_answer answer = { 0 };
    int status = server_call(reader->reading.server, &call, &answer);

    if (status == STATUS_FAILED) {
        status = report_answer(&answer);
    } else if (status == STATUS_OK) {
        const char *next = json_text(answer.json, "cursor");
        bool moved = next[0] != '\0' && !streq(next, reader->cursor);

        /* what is there but did not fit, as opposed to what will still be written */
        *ret_rest = moved && json_is_true(json_object_get(answer.json, "more"));
        *ret = json_incref(answer.json);
        if (moved) {
            free(reader->cursor);
            reader->cursor = xstrdup(next);
        }
    }
    http_answer_clear(&answer);
    return status;
}

/* ---- what was written until now ---- */

static bool is_wanted(const struct log_request *request, const json_t *process)
{
    uint64_t index = UINT64_MAX;

    if (request->index != NULL)
        (void)parse_u64(request->index, &index); /* which was checked */
    return (request->role == NULL || streq(json_text(process, "role"), request->role)) &&
           (index == UINT64_MAX || json_u64(process, "index") == index);
}

static bool is_of(const struct log_source *source, const json_t *entry)
{
    return source->index == json_u64(entry, "index") &&
           source->incarnation == json_u64(entry, "incarnation") &&
           streq(source->role, json_text(entry, "role"));
}

static struct log_source *add_source(struct reader *reader, json_t *process)
{
    struct log_source *source = log_source_new(process);

    source->since_us = reader->reading.request->since_us;
    reader->sources =
        xreallocarray(reader->sources, reader->n_sources + 1, sizeof(struct log_source *));
    reader->sources[reader->n_sources++] = source;
    return source;
}

static struct log_source *source_of(struct reader *reader, json_t *entry)
{
    for (size_t i = 0; i < reader->n_sources; i++)
        if (is_of(reader->sources[i], entry))
            return reader->sources[i];
    return add_source(reader, entry);
}

static int gather(struct reader *reader)
{
    bool rest = true;
    int status = STATUS_OK;
    size_t i;
    json_t *process, *entry;

    while (status == STATUS_OK && rest) {
        _cleanup_json_ json_t *answer = NULL;

        status = question(reader, false, 0, &answer, &rest);
        reader->reading.ended = json_is_true(json_object_get(answer, "end"));
        json_array_foreach(json_object_get(answer, "entries"), i, entry)
            log_source_add(source_of(reader, entry), entry);
    }
    if (status == STATUS_OK)
        status = log_reading_begin(&reader->reading);
    json_array_foreach(json_object_get(reader->reading.processes, "processes"), i, process)
    {
        struct log_source *source;

        if (!is_wanted(reader->reading.request, process))
            continue;
        source = source_of(reader, process);
        json_decref(source->process);
        source->process = json_incref(process);
        source->role = json_text(process, "role");
    }
    return status;
}

/* earliest - whose next piece was written first; *ret_second: when the next of another was */
static struct log_source *earliest(struct reader *reader, uint64_t *ret_second)
{
    struct log_source *best = NULL;
    uint64_t best_us = UINT64_MAX;

    *ret_second = UINT64_MAX;
    for (size_t i = 0; i < reader->n_sources; i++) {
        const struct log_chunk *chunk = log_source_peek(&reader->reading, reader->sources[i]);

        if (chunk == NULL)
            continue;
        if (best == NULL || chunk->time_us < best_us) {
            *ret_second = best != NULL ? best_us : *ret_second;
            best = reader->sources[i];
            best_us = chunk->time_us;
        } else {
            *ret_second = MIN_OF(*ret_second, chunk->time_us);
        }
    }
    return best;
}

static int print_merged(struct reader *reader)
{
    const struct log_chunk *chunk;
    struct log_source *source;
    uint64_t second_us;
    int status = STATUS_OK;

    while (status == STATUS_OK && (source = earliest(reader, &second_us)) != NULL) {
        do
            log_source_print(&reader->reading, source);
        while (!log_output_is_due(reader->output) &&
               (chunk = log_source_peek(&reader->reading, source)) != NULL &&
               chunk->time_us <= second_us);
        if (log_output_is_due(reader->output))
            status = flush(reader);
    }
    return status;
}

static int print_written(struct reader *reader)
{
    int status = gather(reader);

    for (size_t i = 0; i < reader->n_sources && status == STATUS_OK; i++)
        log_source_begin(&reader->reading, reader->sources[i]);
    if (status == STATUS_OK)
        status = print_merged(reader);
    for (size_t i = 0; i < reader->n_sources; i++) {
        struct log_source *source = reader->sources[i];

        log_places_set(reader->places, source->role, source->index, source->incarnation,
                       source->at);
        (void)log_source_free(source);
    }
    reader->n_sources = 0;
    if (reader->reading.request->follow) /* else the last ones are those that are not finished */
        log_lines_release(reader->reading.lines);
    return status == STATUS_OK ? flush(reader) : status;
}

/* ---- what comes ---- */

/* process_of - as the job's list has it; an entry of a new one stands for it */
static json_t *process_of(struct reader *reader, json_t *entry)
{
    const struct log_source of = { .role = json_text(entry, "role"),
                                   .index = json_u64(entry, "index"),
                                   .incarnation = json_u64(entry, "incarnation") };
    size_t i;
    json_t *process;

    for (int tries = 0; tries < 2; tries++) {
        json_array_foreach(json_object_get(reader->reading.processes, "processes"), i, process)
        {
            if (is_of(&of, process))
                return process;
        }
        if (tries > 0 || log_reading_begin(&reader->reading) != STATUS_OK)
            break;
    }
    return entry;
}

/* add_pieces - entry i, and of a kept end those behind it; they have no places of their own */
static void add_pieces(struct log_source *source, const json_t *entries, size_t i)
{
    json_t *first = json_array_get(entries, i);
    json_t *piece = first;

    log_source_add(source, first);
    while (json_object_get(first, "offset") == NULL &&
           (piece = json_array_get(entries, ++i)) != NULL)
        if (is_of(source, piece) && json_object_get(piece, "offset") == NULL &&
            json_u64(piece, "next_offset") == json_u64(first, "next_offset"))
            log_source_add(source, piece);
}

static void print_entry(struct reader *reader, const json_t *entries, size_t i)
{
    json_t *entry = json_array_get(entries, i);
    struct log_verdict verdict = log_places_take(reader->places, entry);
    struct log_source *source;

    if (verdict.step == LOG_SKIP)
        return;
    source = log_source_new(process_of(reader, entry));
    if (verdict.step == LOG_PRINT)
        log_source_add(source, entry);
    else
        add_pieces(source, entries, i);
    log_source_go_on(source, &verdict);
    while (log_source_peek(&reader->reading, source) != NULL)
        log_source_print(&reader->reading, source);
    (void)log_source_free(source);
}

static int print_entries(struct reader *reader, const json_t *entries)
{
    int status = STATUS_OK;

    for (size_t i = 0; i < json_array_size(entries) && status == STATUS_OK; i++) {
        print_entry(reader, entries, i);
        if (log_output_is_due(reader->output))
            status = flush(reader);
    }
    if (json_array_size(entries) == 0)
        log_lines_tell(reader->reading.lines);
    return status == STATUS_OK ? flush(reader) : status;
}

/* follow_step - whoever follows is told why the job waits, now and when it is queued again */
static int follow_step(struct reader *reader, bool *ret_more)
{
    _cleanup_json_ json_t *answer = NULL;
    bool rest = false;
    int status = job_watch_look(reader->reading.server, reader->watch);

    (void)json_object_clear(reader->reading.silent);
    if (status == STATUS_OK)
        status = question(reader, true,
                          log_lines_untold(reader->reading.lines) ? 1 : reader->watch->wait_s,
                          &answer, &rest);
    if (status != STATUS_OK)
        return status;
    *ret_more = !json_is_true(json_object_get(answer, "end"));
    return print_entries(reader, json_object_get(answer, "entries"));
}

static int follow(struct reader *reader)
{
    uint64_t heard_us = clock_read_us(CLOCK_BOOTTIME);
    bool more = true;
    int status = STATUS_OK;

    reader->reading.patience_us = FETCH_MAX_US;
    while (more) {
        status = follow_step(reader, &more);

        uint64_t now_us = clock_read_us(CLOCK_BOOTTIME);

        if (status == STATUS_OK) {
            heard_us = now_us;
            continue;
        }
        if (status != STATUS_NO_SERVER || now_us - heard_us > OUTAGE_MAX_US)
            break;
        (void)poll(NULL, 0, RETRY_MS);
    }
    return status;
}

static int read_all(struct reader *reader, const json_t *told)
{
    const struct log_request *request = reader->reading.request;
    struct job_watch watch;
    int status = STATUS_OK;

    job_watch_begin(&watch, request->job, told);
    watch.gives_up_at = request->gives_up_at;
    reader->watch = &watch;
    if (request->follow)
        status = job_watch_look(reader->reading.server, &watch);
    if (status == STATUS_OK)
        status = print_written(reader);
    if (status == STATUS_OK && request->follow)
        status = follow(reader);
    if (request->gave_up != NULL)
        *request->gave_up = watch.gave_up;
    job_watch_end(&watch);
    return status;
}

static int read_into(struct server *server, const struct log_request *request,
                     struct log_output *output, const json_t *told)
{
    const struct log_look look = { .terminal = !request->raw && request->output == NULL &&
                                               isatty(STDOUT_FILENO) == 1,
                                   .json = request->json,
                                   .times = request->times,
                                   .grep = request->grep,
                                   .has_tail = request->has_tail,
                                   .tail = request->tail };
    struct reader reader = {
        .reading = { .server = server,
                     .request = request,
                     .lines = log_lines_new(log_output_stream(output), &look) },
        .output = output,
        .places = log_places_new(),
        .cursor = xstrdup(""),
    };
    bool verbatim = server->verbatim;
    int status, last;

    if (request->folds)
        log_lines_fold(reader.reading.lines);
    server->verbatim = true;
    status = read_all(&reader, told);
    server->verbatim = verbatim;
    (void)log_lines_free(reader.reading.lines);
    last = flush(&reader);
    (void)log_places_free(reader.places);
    log_reading_end(&reader.reading);
    free(reader.sources);
    free(reader.cursor);
    if (status == STATUS_NO_SERVER)
        return server_report_away(server);
    return status == STATUS_OK ? last : status;
}

int job_logs(struct server *server, const struct log_request *request, const json_t *told)
{
    struct log_output *output = request->output;
    int status;

    if (output == NULL && log_output_open(NULL, true, &output, NULL) < 0)
        abort();
    (void)fflush(stdout);
    status = read_into(server, request, output, told);
    if (request->output == NULL)
        (void)log_output_close(output, false, NULL);
    return status;
}
