/* SPDX-License-Identifier: Apache-2.0 */
/* whole_logs.c - see whole_logs.h
 *
 * The input is bytes as the program wrote them; a line is one here as anywhere else. */
#include "client/whole_logs.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "client/fetch_plan.h"
#include "client/job_view.h"
#include "client/json_read.h"
#include "client/log_lines.h"
#include "client/report.h"
#include "client/server.h"
#include "client/text.h"
#include "client/verb.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/parse.h"

#define STALL_US (60 * USEC_PER_SEC)
#define CALL_TIMEOUT_US (7 * 86400 * USEC_PER_SEC)
#define PIECE_BYTES 32768 /* of a line of JSON */

struct whole_log {
    const struct log_request *request;
    const struct log_part *part;
    struct log_lines *lines;
    char *piece; /* borrowed; for --json */
    size_t size;
    uint64_t got;
};

/* print_piece - as an object; bytes that are no UTF-8 become '?' */
static void print_piece(struct whole_log *log)
{
    json_t *text = json_stringn(log->piece, log->size);
    json_t *object;

    for (size_t i = 0; text == NULL && i < log->size; i++)
        log->piece[i] = (char)(log->piece[i] < 0 ? '?' : log->piece[i]);
    if (text == NULL)
        text = json_stringn(log->piece, log->size);
    object = json_pack("{s:s,s:I,s:s,s:o}", "role", log->part->role, "index",
                       (json_int_t)log->part->index, "node", log->part->node, "text", text);
    if (log->part->incarnation > 0)
        (void)json_object_set_new(object, "incarnation",
                                  json_integer((json_int_t)log->part->incarnation));
    if (log->request->shown != NULL)
        (void)json_object_set_new(object, "job", json_string(log->request->shown));
    json_print_line(object);
    json_decref(object);
    log->size = 0;
}

static void add_json(struct whole_log *log, const char *data, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        log->piece[log->size++] = data[i];
        if (data[i] == '\n' || log->size == PIECE_BYTES)
            print_piece(log);
    }
}

static ssize_t on_data(void *userdata, const char *data, size_t size)
{
    struct whole_log *log = userdata;

    if (log->request->json)
        add_json(log, data, size);
    else
        log_lines_add_bytes(log->lines, log->part->shown, log->part->index, log->part->incarnation,
                            data, size);
    log->got += size;
    return (ssize_t)size;
}

/* receive - query: "" all of it */
static int receive(struct server *server, struct whole_log *log, const char *query,
                   struct http_answer *ret)
{
    _cleanup_free_ char *role = text_url_segment(log->part->role);
    _cleanup_free_ char *suffix =
        text_format("/processes/%s/%" PRIu64 "/log%s", role, log->part->index, query);
    _cleanup_free_ char *path = job_path(log->request->job, suffix);
    FILE *stream = fopencookie(log, "w", (cookie_io_functions_t){ .write = on_data });
    struct http_call call = { .method = "GET",
                              .path = path,
                              .timeout_us = CALL_TIMEOUT_US,
                              .stall_timeout_us = STALL_US,
                              .save = stream };
    int status;

    if (stream == NULL)
        abort();
    status = server_call(server, &call, ret);
    (void)fclose(stream);
    if (log->size > 0)
        print_piece(log);
    (void)fflush(stdout);
    return status;
}

static int receive_whole(struct server *server, struct whole_log *log)
{
    struct http_answer answer = { 0 };
    int status = receive(server, log, "", &answer);

    if (answer.failure != 0 && answer.sent)
        report_note("%s-%" PRIu64 ": its log was cut off", log->part->role, log->part->index);
    if (status != STATUS_OK)
        status = report_answer(&answer);
    http_answer_clear(&answer);
    return status;
}

int job_log_part(struct server *server, const struct log_request *request,
                 const struct log_part *part, struct log_lines *lines, uint64_t *ret_got,
                 unsigned *ret_http)
{
    _cleanup_free_ char *piece = xcalloc(1, PIECE_BYTES);
    _cleanup_free_ char *query =
        text_format("?offset=%" PRIu64 "&bytes=%" PRIu64 "&incarnation=%" PRIu64, part->offset,
                    part->bytes, part->incarnation);
    struct whole_log log = { .request = request, .part = part, .lines = lines, .piece = piece };
    struct http_answer answer = { 0 };
    int status = receive(server, &log, query, &answer);

    *ret_got = log.got;
    *ret_http = (unsigned)answer.status;
    http_answer_clear(&answer);
    return status;
}

static int receive_all(struct server *server, const struct log_request *request,
                       const struct fetch_plan *plan)
{
    bool terminal = !request->raw && isatty(STDOUT_FILENO) == 1;
    _cleanup_free_ char *piece = xcalloc(1, PIECE_BYTES);
    const char *shown = request->shown != NULL ? request->shown : "";
    int worst = STATUS_OK;

    for (size_t i = 0; i < plan->n_sources; i++) {
        const struct fetch_source *source = &plan->sources[i];
        _cleanup_free_ char *name =
            text_format("%s%s%s", shown, *shown != '\0' ? " " : "", source->role);
        const struct log_part part = {
            .role = source->role, .index = source->index, .node = source->node, .shown = name
        };
        struct whole_log log = { .request = request, .part = &part, .piece = piece };
        int status;

        if (source->output)
            continue;
        log.lines = log_lines_new(stdout, terminal);
        status = receive_whole(server, &log);
        worst = status != STATUS_OK ? status : worst;
        (void)log_lines_free(log.lines);
    }
    return worst;
}

int job_whole_logs(struct server *server, const struct log_request *request)
{
    _cleanup_free_ char *path = job_path(request->job, "/processes?state=all");
    _cleanup_json_ json_t *processes = NULL;
    struct fetch_plan plan;
    uint64_t index = UINT64_MAX;
    int status = server_get(server, &processes, "%s", path);

    if (status != STATUS_OK)
        return status;
    if (request->index != NULL)
        (void)parse_u64(request->index, &index); /* which was checked */
    /* without the job: folders that are shared have a log for each process */
    fetch_plan_make(NULL, json_object_get(processes, "processes"), request->role, index, &plan);
    status = receive_all(server, request, &plan);
    fetch_plan_clear(&plan);
    return status;
}
