/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_logs.c - the command line of `edl logs`: a part of the output, and a place for it */
#include <errno.h>
#include <inttypes.h>
#include <regex.h>
#include <stdio.h>
#include <string.h>

#include "client/job_array.h"
#include "client/job_view.h"
#include "client/json_read.h"
#include "client/log_output.h"
#include "client/log_rank.h"
#include "client/report.h"
#include "client/server.h"
#include "client/text.h"
#include "client/verb.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/parse.h"
#include "shared/rfc3339.h"

struct logs_options {
    struct common_options common;
    bool follow;
    bool raw;
    bool times;
    const char *role;
    const char *index;
    const char *rank;
    const char *tail;
    const char *since;
    const char *grep;
    const char *output;
};

static const struct option_row logs_options[] = {
    { "follow", NULL, "go on until the job has ended", option_flag,
      OPTION_FIELD(struct logs_options, follow), .letter = 'f' },
    { "tail", "N", "the last N lines only, and with -f what follows", option_text,
      OPTION_FIELD(struct logs_options, tail), .letter = 'n' },
    { "since", "TIME", "what was written since, such as 10m, 2h or 2026-12-01T18:00:00Z",
      option_text, OPTION_FIELD(struct logs_options, since) },
    { "grep", "REGEX", "only lines that match this extended regular expression", option_text,
      OPTION_FIELD(struct logs_options, grep) },
    { "rank", "N", "only the process whose RANK is N", option_text,
      OPTION_FIELD(struct logs_options, rank) },
    { "role", "ROLE", "only this role", option_text, OPTION_FIELD(struct logs_options, role),
      .letter = 'r' },
    { "index", "I", "only this process of each role", option_text,
      OPTION_FIELD(struct logs_options, index), .letter = 'i' },
    { "timestamps", NULL, "when each line was written, in front of it", option_flag,
      OPTION_FIELD(struct logs_options, times), .letter = 't' },
    { "output", "FILE", "into this file instead", option_text,
      OPTION_FIELD(struct logs_options, output), .letter = 'o' },
    { "raw", NULL, "as it was written, to a terminal too", option_flag,
      OPTION_FIELD(struct logs_options, raw) },
};

/* logs_of_job - a rank is one of each job's own */
static int logs_of_job(struct server *server, const struct log_request *request, const char *rank)
{
    struct log_request one = *request;
    struct log_rank found = { 0 };
    int status = rank != NULL ? log_rank_find(server, request, rank, &found) : STATUS_OK;

    if (rank != NULL && status == STATUS_OK) {
        one.role = found.role;
        one.index = found.index;
    }
    if (status == STATUS_OK)
        status = job_logs(server, &one, NULL);
    log_rank_clear(&found);
    return status;
}

/* One job after the other: each output is whole, and the last one ends when the array has. */
static int logs_of_array(struct server *server, const struct log_request *request, const char *rank,
                         const json_t *jobs)
{
    int status = STATUS_OK;

    for (size_t i = 0; i < json_array_size(jobs) && status == STATUS_OK; i++) {
        const json_t *job = json_array_get(jobs, i);
        _cleanup_free_ char *id = text_format("%" PRIu64, json_u64(job, "id"));
        struct log_request one = *request;

        one.job = id;
        one.shown = json_text(job, "name");
        status = logs_of_job(server, &one, rank);
    }
    return status;
}

/* ---- the command line ---- */

/* Two options of which one would change nothing. */
static const struct pair {
    size_t first, second; /* offsets of flags or texts */
    const char *words;
} pairs[] = {
#define PAIR(a, b, text)                                                                           \
    {                                                                                              \
        offsetof(struct logs_options, a), offsetof(struct logs_options, b), text                   \
    }
    PAIR(rank, index, "--rank names one process, so --index says nothing"),
    PAIR(output, raw, "a file has the output as it was written, so --raw says nothing"),
    PAIR(common.json, raw, "JSON has the output as it was written, so --raw says nothing"),
    PAIR(common.json, times, "JSON has the time of each line, so --timestamps says nothing"),
#undef PAIR
};

static bool is_given(const struct logs_options *options, size_t offset)
{
    const char *at = (const char *)options + offset;
    bool is_flag = offset == offsetof(struct logs_options, raw) ||
                   offset == offsetof(struct logs_options, times) ||
                   offset == offsetof(struct logs_options, common.json);

    return is_flag ? *(const bool *)at : *(const char *const *)(const void *)at != NULL;
}

static int check_pairs(const struct logs_options *options, struct edl_error *error)
{
    for (size_t i = 0; i < ELEMENTS(pairs); i++)
        if (is_given(options, pairs[i].first) && is_given(options, pairs[i].second)) {
            (void)edl_error_set(error, -EINVAL, "%s", pairs[i].words);
            return edl_error_remedy(error, "leave it out");
        }
    return 0;
}

static int read_number(const char *name, const char *text, uint64_t *ret, struct edl_error *error)
{
    if (text == NULL || parse_u64(text, ret) == 0)
        return 0;
    (void)edl_error_set(error, -EINVAL, "--%s: \"%s\" is no whole number", name, text);
    return edl_error_remedy(error, "a number from 0 on");
}

/* parse_age - parse_seconds, and days */
static int parse_age(const char *text, uint64_t *ret_us)
{
    size_t n = strlen(text);
    char digits[16];
    uint64_t days;

    if (n < 2 || n > sizeof digits || text[n - 1] != 'd')
        return parse_seconds(text, ret_us);
    (void)snprintf(digits, sizeof digits, "%.*s", (int)(n - 1), text);
    if (parse_u64(digits, &days) < 0 || days > 100000)
        return -EINVAL;
    *ret_us = days * 86400 * USEC_PER_SEC;
    return 0;
}

/* read_since - "10m", or the moment itself */
static int read_since(const char *text, uint64_t *ret_us, struct edl_error *error)
{
    uint64_t now_us = clock_read_us(CLOCK_REALTIME), ago_us;

    if (text == NULL || rfc3339_parse(text, ret_us) == 0)
        return 0;
    if (parse_age(text, &ago_us) == 0) {
        *ret_us = MAX_OF(now_us - MIN_OF(ago_us, now_us), 1);
        return 0;
    }
    (void)edl_error_set(error, -EINVAL, "--since: \"%s\" is no time", text);
    return edl_error_remedy(error, "how long ago, such as 30s, 10m, 2h or 1d, or a moment such as"
                                   " 2026-12-01T18:00:00Z");
}

static int read_grep(const char *text, regex_t *ret, struct edl_error *error)
{
    char words[128];
    int r = regcomp(ret, text, REG_EXTENDED);

    if (r == 0)
        return 0;
    (void)regerror(r, ret, words, sizeof words);
    (void)edl_error_set(error, -EINVAL, "--grep: \"%.100s\" is no regular expression: %s", text,
                        words);
    return edl_error_remedy(error, "an extended one as of grep -E, such as 'loss|error'");
}

static int read_options(const struct logs_options *options, struct log_request *request,
                        regex_t *grep, struct edl_error *error)
{
    uint64_t number;
    int r = check_pairs(options, error);

    if (r == 0)
        r = read_number("index", options->index, &number, error);
    if (r == 0)
        r = read_number("rank", options->rank, &number, error);
    if (r == 0)
        r = read_number("tail", options->tail, &request->tail, error);
    if (r == 0)
        r = read_since(options->since, &request->since_us, error);
    if (r == 0 && options->grep != NULL) {
        r = read_grep(options->grep, grep, error);
        request->grep = r == 0 ? grep : NULL;
    }
    request->has_tail = options->tail != NULL;
    return r;
}

static int run_with(const struct logs_options *options, struct log_request *request)
{
    _cleanup_json_ json_t *jobs = NULL;
    struct edl_error error = { 0 };
    struct server server;
    int status = server_open(&options->common, &server);

    if (status != STATUS_OK)
        return status;
    status = array_find(&server, request->job, &jobs);
    if (status == STATUS_OK && options->output != NULL &&
        log_output_open(options->output, options->follow, &request->output, &error) < 0)
        status = report_error(&error);
    if (status == STATUS_OK)
        status = jobs != NULL ? logs_of_array(&server, request, options->rank, jobs)
                              : logs_of_job(&server, request, options->rank);
    if (log_output_close(request->output, status == STATUS_OK, &error) < 0 && status == STATUS_OK)
        status = report_error(&error);
    server_clear(&server);
    return status;
}

static int run(const struct invocation *invocation)
{
    const struct logs_options *options = invocation->options;
    struct log_request request = { .job = invocation->arguments.args[0],
                                   .role = options->role,
                                   .index = options->index,
                                   .follow = options->follow,
                                   .times = options->times,
                                   .raw = options->raw,
                                   .json = options->common.json };
    struct edl_error error = { 0 };
    regex_t grep;
    int status = read_options(options, &request, &grep, &error) < 0 ? report_error(&error)
                                                                    : run_with(options, &request);

    if (request.grep != NULL)
        regfree(&grep);
    return status;
}

const struct verb verb_logs = {
    .name = "logs",
    .usage = "JOB [-f] [--tail N] [--since TIME] [--grep REGEX] [--rank N] [-t] [-o FILE]",
    .summary = "Print the output of a job's processes, each line behind its process",
    .details =
        "All that the processes wrote, merged in time, as far as their nodes keep it; also of a\n"
        "job that has ended. Of a node that cannot be reached the end of the output is kept here;\n"
        "a line tells which bytes are missing, and where they are. With --json a line is an "
        "object.\n"
        "JOB may name an array: the output of its jobs, one after the other.\n"
        "On a terminal control characters are shown as escapes (\\x1b, \\u202e), and of a "
        "progress\n"
        "bar the last state. With --raw, in a file or a pipe the output is as it was written.\n"
        "A file of -o is there when all is in it; with -f it grows by whole lines. One of that "
        "name\n"
        "is replaced.",
    VERB_OPTIONS(logs_options, struct logs_options),
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
