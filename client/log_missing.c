/* SPDX-License-Identifier: Apache-2.0 */
/* log_missing.c - see log_missing.h */
#include "client/log_missing.h"

#include <inttypes.h>
#include <stdio.h>

#include "client/json_read.h"
#include "client/log_source.h"
#include "client/server.h"
#include "client/text.h"
#include "client/verb.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

#define COUNT_MAX 32

static const char *node_of(const struct log_source *source)
{
    const char *node = json_text(source->process, "node");

    return *node != '\0' ? node : "?";
}

const char *log_missing_known(const struct log_reading *reading, const struct log_source *source)
{
    return json_string_value(json_object_get(reading->silent, node_of(source)));
}

/* say_node - asks how the node is; "": as it should be */
static void say_node(const struct log_reading *reading, const char *name, char *text, size_t size)
{
    _cleanup_free_ char *segment = text_url_segment(name);
    _cleanup_free_ char *path = text_format("/nodes/%s", segment);
    struct http_call call = { .method = "GET", .path = path };
    struct http_answer answer = { 0 };
    int status = server_call(reading->server, &call, &answer);

    text[0] = '\0';
    if (answer.status == 404)
        (void)snprintf(text, size, "which was removed");
    else if (status == STATUS_OK && streq(json_text(answer.json, "state"), "lost"))
        (void)snprintf(text, size, "which is lost");
    http_answer_clear(&answer);
}

static const struct {
    unsigned status;
    const char *words;
} refusals[] = {
    { 403, "where only the job's owner and admins read them" },
    { 504, "which cannot be reached now" },
};

void log_missing_why(struct log_reading *reading, struct log_source *source,
                     const struct http_answer *answer)
{
    struct edl_error error = { 0 };
    const char *node = node_of(source);
    char of_node[64] = "";

    source->why[0] = '\0';
    if (answer->status != 403)
        say_node(reading, node, of_node, sizeof of_node);
    for (size_t i = 0; i < ELEMENTS(refusals) && of_node[0] == '\0'; i++)
        if (refusals[i].status == answer->status)
            (void)snprintf(of_node, sizeof of_node, "%s", refusals[i].words);
    if (of_node[0] != '\0') {
        (void)snprintf(source->why, sizeof source->why, "on node %.60s, %s", node, of_node);
        (void)json_object_set_new(reading->silent, node, json_string(source->why));
    } else if (answer->status != 404) {
        (void)http_answer_error(answer, &error);
        (void)snprintf(source->why, sizeof source->why, "on node %.60s: %.150s", node,
                       answer->failure == 0 && answer->status < 300 ? answer->text : error.text);
    }
}

/* say_count - with a comma between each three digits */
static const char *say_count(uint64_t count, char text[COUNT_MAX])
{
    char digits[24];
    int n = snprintf(digits, sizeof digits, "%" PRIu64, count), used = 0;

    for (int i = 0; i < n; i++) {
        if (i > 0 && (n - i) % 3 == 0)
            text[used++] = ',';
        text[used++] = digits[i];
    }
    text[used] = '\0';
    return text;
}

void log_missing_say(const struct log_source *source, uint64_t from, uint64_t to, char *text,
                     size_t size)
{
    char first[COUNT_MAX], last[COUNT_MAX], where[320];
    bool one = to == from + 1;

    (void)snprintf(where, sizeof where, "%s", source->why);
    if (where[0] == '\0')
        (void)snprintf(where, sizeof where, "gone: node %.60s keeps the newest (log-max)",
                       node_of(source));
    (void)say_count(from, first);
    if (to == LOG_NO_END)
        (void)snprintf(text, size,
                       "bytes from %s on of %.60s-%" PRIu64 ", if it wrote more, are %s", first,
                       source->role, source->index, where);
    else if (one)
        (void)snprintf(text, size, "byte %s of %.60s-%" PRIu64 " is %s", first, source->role,
                       source->index, where);
    else
        (void)snprintf(text, size, "bytes %s to %s of %.60s-%" PRIu64 " are %s", first,
                       say_count(to - 1, last), source->role, source->index, where);
}
