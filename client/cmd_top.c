/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_top.c - `edl top`: the cluster, a line whenever something changes and at least every interval
 *
 * The scheduler wakes us (long poll on /events); a change that no event tells, such as foreign
 * load, is seen at the next interval. A scheduler that restarts is waited for. */
#include <errno.h>
#include <inttypes.h>

#include "client/json_read.h"
#include "client/report.h"
#include "client/server.h"
#include "client/text.h"
#include "client/top_line.h"
#include "client/verb.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/macro.h"

#define INTERVAL_DEFAULT_US (2 * USEC_PER_SEC)
#define INTERVAL_MIN_US (100 * USEC_PER_MSEC)
#define OUTAGE_MAX_US (60 * USEC_PER_SEC)

struct top_options {
    struct common_options common;
    uint64_t interval_us, count;
    bool until_idle;
};

static const struct option_row top_options[] = {
    { "interval", "S", "print at least so often (2s)", option_period,
      OPTION_FIELD(struct top_options, interval_us), .letter = 'i' },
    { "count", "N", "end after N lines", option_positive, OPTION_FIELD(struct top_options, count),
      .letter = 'n' },
    { "until-idle", NULL, "end when no job is left", option_flag,
      OPTION_FIELD(struct top_options, until_idle) },
};

struct monitor {
    const struct top_options *options;
    struct server server;
    uint64_t interval_us;
    uint64_t revision;
    uint64_t printed;    /* lines so far */
    uint64_t printed_us; /* boot time of the last one */
    uint64_t heard_us;   /* boot time of the last answer */
    bool away;           /* the outage has been told */
    char *last;          /* the last line, owned */
};

char *top_line(const json_t *cluster)
{
    _cleanup_free_ char *jobs = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&jobs, &size);
    size_t i;
    json_t *job;

    if (out == NULL)
        abort();
    json_array_foreach(json_object_get(cluster, "jobs"), i, job)(void)
        fprintf(out, "%s%s:%" PRIu64, i > 0 ? "|" : "", json_text(job, "name"),
                json_u64(job, "running_trainers"));
    (void)fclose(out);
    return text_format("%" PRIu64 "    %" PRIu64 "    %s    %.2f%%",
                       json_u64(cluster, "submitted_jobs"), json_u64(cluster, "pending_jobs"),
                       size > 0 ? jobs : "-",
                       100.0 * json_number_value(json_object_get(cluster, "utilisation")));
}

/* Prints when something differs or the interval has passed. */
static void print_changes(struct monitor *monitor, const json_t *cluster, uint64_t now_us)
{
    bool json = monitor->options->common.json;
    _cleanup_free_ char *line = json ? json_dumps(cluster, JSON_COMPACT) : top_line(cluster);
    bool due = now_us - monitor->printed_us >= monitor->interval_us;

    if (monitor->last != NULL && !due && streq(line, monitor->last))
        return;
    (void)puts(line);
    monitor->printed++;
    monitor->printed_us = now_us;
    free(monitor->last);
    monitor->last = TAKE_PTR(line);
}

static bool is_over(const struct monitor *monitor, const json_t *cluster)
{
    const struct top_options *options = monitor->options;

    return (options->count != 0 && monitor->printed >= options->count) ||
           (options->until_idle && json_u64(cluster, "submitted_jobs") == 0) || ferror(stdout);
}

/* One look at the cluster; *ret_over ends the monitor. An outage after the first answer is no
 * failure. */
static int look(struct monitor *monitor, bool *ret_over)
{
    struct http_call call = { .method = "GET", .path = "/cluster" };
    struct http_answer answer = { 0 };
    int status = server_call(&monitor->server, &call, &answer);
    uint64_t now_us = clock_read_us(CLOCK_BOOTTIME);

    if (status == STATUS_OK) {
        monitor->heard_us = now_us;
        monitor->away = false;
        print_changes(monitor, answer.json, now_us);
        *ret_over = is_over(monitor, answer.json);
    } else if (status == STATUS_NO_SERVER && monitor->heard_us != 0 &&
               now_us - monitor->heard_us < OUTAGE_MAX_US) {
        if (!monitor->away)
            report_note("the server does not answer; trying again for %d s",
                        (int)(OUTAGE_MAX_US / USEC_PER_SEC));
        monitor->away = true;
        status = STATUS_OK;
    } else {
        status = report_answer(&answer);
    }
    http_answer_clear(&answer);
    return status;
}

static int watch(struct monitor *monitor)
{
    int status = server_event_revision(&monitor->server, &monitor->revision);
    bool over = false;

    if (status == STATUS_OK && !monitor->options->common.json)
        (void)puts(TOP_HEADER);
    while (status == STATUS_OK) {
        status = look(monitor, &over);
        if (over || status != STATUS_OK)
            break;

        uint64_t passed_us = clock_read_us(CLOCK_BOOTTIME) - monitor->printed_us;

        (void)server_event_wait(&monitor->server, &monitor->revision,
                                passed_us < monitor->interval_us ? monitor->interval_us - passed_us
                                                                 : 0);
    }
    return status;
}

static int run(const struct invocation *invocation)
{
    const struct top_options *options = invocation->options;
    struct monitor monitor = { .options = options, .interval_us = options->interval_us };
    struct edl_error error = { 0 };

    if (monitor.interval_us == 0)
        monitor.interval_us = INTERVAL_DEFAULT_US;
    if (monitor.interval_us < INTERVAL_MIN_US) {
        (void)edl_error_set(&error, -ERANGE, "--interval is at least 100ms");
        return report_error(&error);
    }
    int status = server_open(&options->common, &monitor.server);

    if (status != STATUS_OK)
        return status;
    status = watch(&monitor);
    server_clear(&monitor.server);
    free(monitor.last);
    return status;
}

const struct verb verb_top = {
    .name = "top",
    .usage = "[--interval 2s] [--count N] [--until-idle]",
    .summary = "Watch the cluster: jobs, running trainers, CPU utilisation",
    .details = "A line whenever something changes and at least every interval. CPU utilisation is "
               "the grants\nof jobs and the load of other programs on the nodes, as a share of the "
               "nodes' offers.\n"
               "How much of it the jobs really use: edl show JOB (CPU time), edl nodes (load).",
    VERB_OPTIONS(top_options, struct top_options),
    .run = run,
};
