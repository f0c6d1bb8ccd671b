/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_logs.c - `edl logs`: the merged output of a job's processes
 *
 * The scheduler answers in pieces behind a cursor; following is asking again with the cursor, and
 * the scheduler keeps the question until there is more. An outage of the scheduler is waited out.
 * What a slow reader misses comes from the log on the node (log_places.h). */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <unistd.h>

#include "client/job_array.h"
#include "client/job_view.h"
#include "client/json_read.h"
#include "client/log_lines.h"
#include "client/log_places.h"
#include "client/report.h"
#include "client/server.h"
#include "client/text.h"
#include "client/verb.h"
#include "client/whole_logs.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/parse.h"

#define RETRY_MS 500
#define OUTAGE_MAX_US (60 * USEC_PER_SEC)
#define FETCH_MAX_US (10 * USEC_PER_SEC) /* that a node may not be heard */

struct logs_options {
    struct common_options common;
    bool follow;
    bool raw;
    bool all;
    const char *role;
    const char *index;
};

static const struct option_row logs_options[] = {
    { "follow", NULL, "go on until the job has ended", option_flag,
      OPTION_FIELD(struct logs_options, follow), .letter = 'f' },
    { "role", "ROLE", "only this role", option_text, OPTION_FIELD(struct logs_options, role),
      .letter = 'r' },
    { "index", "I", "only this process of each role", option_text,
      OPTION_FIELD(struct logs_options, index), .letter = 'i' },
    { "all", NULL, "whole logs from the nodes, instead of the ends kept here", option_flag,
      OPTION_FIELD(struct logs_options, all), .letter = 'a' },
    { "raw", NULL, "as it was written, to a terminal too", option_flag,
      OPTION_FIELD(struct logs_options, raw) },
};

static char *logs_path(const struct log_request *request, const char *cursor, unsigned wait_s)
{
    _cleanup_free_ char *base = job_path(request->job, "/logs");
    _cleanup_free_ char *role = text_url_segment(request->role != NULL ? request->role : "");
    _cleanup_free_ char *index = text_url_segment(request->index != NULL ? request->index : "");
    _cleanup_free_ char *after = text_url_segment(cursor);

    return text_format("%s?follow=%d&wait=%u%s%s%s%s%s%s", base, request->follow,
                       request->follow ? wait_s : 0, role[0] != '\0' ? "&role=" : "", role,
                       index[0] != '\0' ? "&index=" : "", index, after[0] != '\0' ? "&after=" : "",
                       after);
}

struct reader {
    struct server *server;
    const struct log_request *request;
    struct log_lines *lines;
    struct log_places *places;
    struct job_watch *watch;
};

static const char *node_of(const struct log_request *request, uint64_t index)
{
    return index < request->n_nodes ? request->nodes[index] : "";
}

/* shown_of - in front of each line of a process; new string */
static char *shown_of(const struct log_request *request, const json_t *entry)
{
    const char *shown =
        request->shown != NULL ? request->shown : node_of(request, json_u64(entry, "index"));

    return text_format("%s%s%s", shown, *shown != '\0' ? " " : "", json_text(entry, "role"));
}

static void print_entry(const struct reader *reader, json_t *entry)
{
    const struct log_request *request = reader->request;
    uint64_t index = json_u64(entry, "index");
    const char *node = node_of(request, index);
    _cleanup_free_ char *shown = shown_of(request, entry);

    if (request->json && request->shown != NULL)
        (void)json_object_set_new(entry, "job", json_string(request->shown));
    if (request->json && *node != '\0')
        (void)json_object_set_new(entry, "node", json_string(node));
    if (request->json)
        json_print_line(entry);
    else
        log_lines_add(reader->lines, shown, index, json_u64(entry, "incarnation"),
                      json_text(entry, "text"));
}

static void print_all(const struct reader *reader, json_t *take_entries)
{
    size_t i;
    json_t *entry;

    json_array_foreach(take_entries, i, entry) print_entry(reader, entry);
    json_decref(take_entries);
}

/* print_missing - as the server says it of those that it keeps itself */
static void print_missing(const struct reader *reader, const json_t *of, uint64_t bytes)
{
    json_t *entry;

    if (bytes == 0)
        return;
    entry = json_pack("{s:s,s:I,s:I,s:o,s:b}", "role", json_text(of, "role"), "index",
                      (json_int_t)json_u64(of, "index"), "incarnation",
                      (json_int_t)json_u64(of, "incarnation"), "text",
                      json_sprintf("[edl: %" PRIu64
                                   " bytes of output are missing here: the node keeps the newest,"
                                   " see log-max]\n",
                                   bytes),
                      "notice", 1);
    print_entry(reader, entry);
    json_decref(entry);
}

/* is_refused - asking again changes nothing */
static bool is_refused(int status, unsigned http)
{
    return status != STATUS_OK && http >= 400 && http < 500 && http != 429;
}

/* fetch - what a reader misses, from the node; where that does not give it, what the server has */
static void fetch(const struct reader *reader, const struct log_verdict *verdict, json_t *entry)
{
    _cleanup_free_ char *shown = shown_of(reader->request, entry);
    struct log_part part = { .role = json_text(entry, "role"),
                             .index = json_u64(entry, "index"),
                             .incarnation = json_u64(entry, "incarnation"),
                             .node = node_of(reader->request, json_u64(entry, "index")),
                             .shown = shown,
                             .offset = verdict->offset,
                             .bytes = verdict->bytes };
    uint64_t by_us = clock_read_us(CLOCK_BOOTTIME) + FETCH_MAX_US, got = 0;
    unsigned http = 0;
    int status = STATUS_OK;

    print_missing(reader, entry, verdict->dropped);
    while (part.bytes > 0) {
        status = job_log_part(reader->server, reader->request, &part, reader->lines, &got, &http);
        part.offset += got;
        part.bytes -= MIN_OF(got, part.bytes);
        if (status == STATUS_OK || is_refused(status, http) ||
            clock_read_us(CLOCK_BOOTTIME) >= by_us)
            break;
        (void)poll(NULL, 0, RETRY_MS);
    }
    if (status == STATUS_OK) {
        print_missing(reader, entry, part.bytes); /* from its front: it went meanwhile */
        log_places_fetched(verdict);
        return;
    }
    print_all(reader, log_places_held(verdict));
    print_entry(reader, entry);
    log_places_not_fetched(verdict, is_refused(status, http));
}

static void print_entries(const struct reader *reader, const json_t *answer)
{
    const json_t *entries = json_object_get(answer, "entries");
    size_t i;
    json_t *entry;

    json_array_foreach(entries, i, entry)
    {
        struct log_verdict verdict;

        if (reader->places == NULL) {
            print_entry(reader, entry);
            continue;
        }
        verdict = log_places_take(reader->places, entry);
        if (verdict.step == LOG_FETCH)
            fetch(reader, &verdict, entry);
        if (verdict.step != LOG_PRINT)
            continue;
        print_all(reader, log_places_held(&verdict));
        print_entry(reader, entry);
    }
}

/* One question; *ret_more tells whether there is another to ask. */
static int logs_step(const struct reader *reader, char **cursor, bool *ret_more)
{
    const struct log_request *request = reader->request;
    unsigned wait_s = log_lines_untold(reader->lines) ? 1 : reader->watch->wait_s;
    _cleanup_free_ char *path = logs_path(request, *cursor, wait_s);
    struct http_call call = { .method = "GET", .path = path };
    struct http_answer answer = { 0 };
    int status = server_call(reader->server, &call, &answer);

    if (status == STATUS_FAILED) {
        status = report_answer(&answer);
    } else if (status == STATUS_OK) {
        const char *next = json_text(answer.json, "cursor");
        bool moved = next[0] != '\0' && !streq(next, *cursor);
        /* what is there but did not fit, as opposed to what will still be written */
        bool rest = moved && json_is_true(json_object_get(answer.json, "more"));

        print_entries(reader, answer.json);
        if (json_array_size(json_object_get(answer.json, "entries")) == 0)
            log_lines_tell(reader->lines);
        *ret_more = !json_is_true(json_object_get(answer.json, "end")) && (request->follow || rest);
        if (moved) {
            free(*cursor);
            *cursor = xstrdup(next);
        }
    }
    http_answer_clear(&answer);
    return status;
}

/* Whoever follows is told why the job waits, now and when it is queued again. */
static int follow_step(const struct reader *reader, char **cursor, bool *ret_more)
{
    int status =
        reader->request->follow ? job_watch_look(reader->server, reader->watch) : STATUS_OK;

    return status == STATUS_OK ? logs_step(reader, cursor, ret_more) : status;
}

int job_logs(struct server *server, const struct log_request *request, const json_t *told)
{
    struct job_watch watch;
    _cleanup_free_ char *cursor = xstrdup("");
    struct reader reader = { .server = server,
                             .request = request,
                             .lines =
                                 log_lines_new(stdout, !request->raw && isatty(STDOUT_FILENO) == 1),
                             .places = request->follow ? log_places_new(request->from_start) : NULL,
                             .watch = &watch };
    bool verbatim = server->verbatim;
    uint64_t heard_us = 0;
    bool more = true;
    int status = STATUS_OK;

    if (request->folds)
        log_lines_fold(reader.lines);
    server->verbatim = true;
    job_watch_begin(&watch, request->job, told);
    watch.gives_up_at = request->gives_up_at;
    while (more) {
        status = follow_step(&reader, &cursor, &more);

        uint64_t now_us = clock_read_us(CLOCK_BOOTTIME);

        if (status == STATUS_OK) {
            heard_us = now_us;
            continue;
        }
        if (status != STATUS_NO_SERVER || !request->follow || heard_us == 0 ||
            now_us - heard_us > OUTAGE_MAX_US)
            break;
        (void)poll(NULL, 0, RETRY_MS);
    }
    server->verbatim = verbatim;
    if (request->gave_up != NULL)
        *request->gave_up = watch.gave_up;
    job_watch_end(&watch);
    (void)log_lines_free(reader.lines);
    (void)log_places_free(reader.places);
    if (status == STATUS_NO_SERVER) {
        struct edl_error error = { 0 };

        (void)edl_error_set(&error, EDL_EUNREACHABLE, "the server at %s cannot be reached",
                            server->base);
        return report_error(&error);
    }
    return status;
}

static int logs_of_job(struct server *server, const struct log_request *request)
{
    return request->all ? job_whole_logs(server, request) : job_logs(server, request, NULL);
}

/* One job after the other: each output is whole, and the last one ends when the array has. */
static int logs_of_array(struct server *server, const struct log_request *request,
                         const json_t *jobs)
{
    int status = STATUS_OK;

    for (size_t i = 0; i < json_array_size(jobs) && status == STATUS_OK; i++) {
        const json_t *job = json_array_get(jobs, i);
        _cleanup_free_ char *id = text_format("%" PRIu64, json_u64(job, "id"));
        struct log_request one = *request;

        one.job = id;
        one.shown = json_text(job, "name");
        status = logs_of_job(server, &one);
    }
    return status;
}

static int run(const struct invocation *invocation)
{
    const struct logs_options *options = invocation->options;
    _cleanup_json_ json_t *jobs = NULL;
    struct log_request request = { .job = invocation->arguments.args[0],
                                   .role = options->role,
                                   .index = options->index,
                                   .follow = options->follow,
                                   .all = options->all,
                                   .raw = options->raw,
                                   .json = options->common.json };
    struct server server;
    struct edl_error error = { 0 };
    uint64_t index;

    if (options->index != NULL && parse_u64(options->index, &index) < 0) {
        (void)edl_error_set(&error, -EINVAL, "--index: \"%s\" is no process number",
                            options->index);
        return report_error(&error);
    }
    if (options->all && options->follow) {
        (void)edl_error_set(&error, -EINVAL,
                            "--all gets what was written until now, -f what follows");
        (void)edl_error_remedy(&error, "edl logs --all %.80s, and then edl logs -f %.80s",
                               request.job, request.job);
        return report_error(&error);
    }
    int status = server_open(&options->common, &server);

    if (status != STATUS_OK)
        return status;
    status = array_find(&server, request.job, &jobs);
    if (status == STATUS_OK)
        status =
            jobs != NULL ? logs_of_array(&server, &request, jobs) : logs_of_job(&server, &request);
    server_clear(&server);
    return status;
}

const struct verb verb_logs = {
    .name = "logs",
    .usage = "JOB [-f | --all] [--role ROLE] [--index I] [--raw]",
    .summary = "Print the output of a job's processes, each line behind its process",
    .details =
        "Works for jobs that have ended and for nodes that have gone: the end of every output is\n"
        "kept, and a line says how much is before it, and where. With --json one piece of output "
        "per line.\n"
        "--all gets all that a process wrote from its node, as far as that keeps it, also of a "
        "job\n"
        "that has ended. Only its owner and admins may.\n"
        "JOB may name an array: the output of its jobs, one after the other.\n"
        "On a terminal control characters are shown as escapes (\\x1b, \\u202e), and of a "
        "progress\n"
        "bar the last state. With --raw, in a file or a pipe the output is as it was written.",
    VERB_OPTIONS(logs_options, struct logs_options),
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
