/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_events.c - `edl events`: the history, and its news
 *
 * Pages behind a revision; following is a long poll behind the last one. Revisions are consecutive,
 * so an outage of the scheduler is waited out and nothing is missed. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>

#include "client/json_read.h"
#include "client/report.h"
#include "client/server.h"
#include "client/text.h"
#include "client/verb.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/parse.h"

#define WAIT_S 20
#define RETRY_MS 500
#define OUTAGE_MAX_US (60 * USEC_PER_SEC)

struct events_options {
    struct common_options common;
    bool follow;
    const char *after;
};

static const struct option_row events_options[] = {
    { "follow", NULL, "go on with new events", option_flag,
      OPTION_FIELD(struct events_options, follow), .letter = 'f' },
    { "after", "REVISION", "only events behind it", option_text,
      OPTION_FIELD(struct events_options, after), .letter = 'a' },
};

struct events_reader {
    struct server server;
    bool json, follow;
    bool begun; /* after is known; until then what is asked for is the oldest */
    uint64_t after;
};

static void print_event(const json_t *event, bool json)
{
    char when[32];
    const char *node = json_text(event, "node");
    uint64_t job_id = json_u64(event, "job_id");

    if (json) {
        json_print_line(event);
        return;
    }
    (void)printf("%" PRIu64 "  %s  %s", json_u64(event, "revision"),
                 text_time(json_u64(event, "time_us"), when, sizeof when),
                 json_text(event, "event"));
    if (job_id != 0)
        (void)printf("  job %" PRIu64, job_id);
    if (node[0] != '\0')
        (void)printf("  node %s", node);
    (void)printf("  %s\n", json_text(event, "text"));
}

/* One page; *ret_more: there is another to ask for. */
static int events_step(struct events_reader *reader, bool *ret_more)
{
    _cleanup_free_ char *after =
        reader->begun ? text_format("&after=%" PRIu64, reader->after) : xstrdup("");
    _cleanup_free_ char *path =
        text_format("/events?wait=%d%s", reader->follow ? WAIT_S : 0, after);
    struct http_call call = { .method = "GET", .path = path };
    struct http_answer answer = { 0 };
    int status = server_call(&reader->server, &call, &answer);

    if (status == STATUS_FAILED) {
        status = report_answer(&answer);
    } else if (status == STATUS_OK) {
        const json_t *events = json_object_get(answer.json, "events");
        size_t i;
        json_t *event;

        json_array_foreach(events, i, event)
        {
            print_event(event, reader->json);
            reader->after = json_u64(event, "revision");
        }
        reader->begun |= json_array_size(events) > 0;
        *ret_more = reader->follow || reader->after < json_u64(answer.json, "newest");
        (void)fflush(stdout);
    }
    http_answer_clear(&answer);
    return status;
}

static int read_events(struct events_reader *reader)
{
    uint64_t heard_us = 0;
    bool more = true;

    while (more) {
        int status = events_step(reader, &more);
        uint64_t now_us = clock_read_us(CLOCK_BOOTTIME);

        if (status == STATUS_OK) {
            heard_us = now_us;
            continue;
        }
        if (status != STATUS_NO_SERVER)
            return status;
        if (!reader->follow || heard_us == 0 || now_us - heard_us > OUTAGE_MAX_US)
            return server_report_away(&reader->server);
        (void)poll(NULL, 0, RETRY_MS);
    }
    return STATUS_OK;
}

static int run(const struct invocation *invocation)
{
    const struct events_options *options = invocation->options;
    struct events_reader reader = { .json = options->common.json,
                                    .follow = options->follow,
                                    .begun = options->after != NULL };
    struct edl_error error = { 0 };
    int status;

    if (options->after != NULL && parse_u64(options->after, &reader.after) < 0) {
        (void)edl_error_set(&error, -EINVAL, "--after: \"%s\" is no revision", options->after);
        return report_error(&error);
    }
    status = server_open(&options->common, &reader.server);
    if (status != STATUS_OK)
        return status;
    status = read_events(&reader);
    server_clear(&reader.server);
    return status;
}

const struct verb verb_events = {
    .name = "events",
    .usage = "[-f] [--after REVISION]",
    .summary = "Print what happened in the cluster, oldest first",
    .details =
        "Each event has a revision, and revisions are consecutive. Old events are compacted: a\n"
        "--after that is no longer there is an error that names where to go on.\n"
        "With --json one event per line.",
    VERB_OPTIONS(events_options, struct events_options),
    .min_args = 0,
    .max_args = 0,
    .run = run,
};
