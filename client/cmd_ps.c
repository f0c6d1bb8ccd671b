/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_ps.c - `edl ps`: the jobs, one per line */
#include <errno.h>
#include <stdio.h>

#include "client/job_columns.h"
#include "client/job_states.h"
#include "client/json_read.h"
#include "client/report.h"
#include "client/server.h"
#include "client/text.h"
#include "client/verb.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

struct ps_options {
    struct common_options common;
    bool all, mine, no_header;
    const char *array, *user, *states, *format;
};

#define AT(member) OPTION_FIELD(struct ps_options, member)

static const struct option_row ps_options[] = {
    { "all", NULL, "also the jobs that have ended", option_flag, AT(all), .letter = 'a' },
    { "array", "NAME", "only the jobs of this array", option_text, AT(array) },
    { "user", "USER", "only this user's", option_text, AT(user), .letter = 'u' },
    { "me", NULL, "only your own", option_flag, AT(mine) },
    { "state", "STATE,...", "only those in one of these states", option_text, AT(states),
      .letter = 't' },
    { "format", "COLUMN,...", "these columns; a wrong one is told all", option_text, AT(format),
      .letter = 'o' },
    { "no-header", NULL, "without the line above the columns", option_flag, AT(no_header) },
};

/* What is shown of which jobs. */
struct listing {
    unsigned states;
    const char *user; /* NULL: of all users */
    struct job_columns columns;
};

static char *jobs_path(bool all, const char *array)
{
    _cleanup_free_ char *segment = array != NULL ? text_url_segment(array) : NULL;

    return text_format("/jobs?state=%s%s%s", all ? "all" : "active", array != NULL ? "&array=" : "",
                       array != NULL ? segment : "");
}

static bool is_wanted(const struct listing *listing, const json_t *job)
{
    return (listing->user == NULL || streq(json_text(job, "user"), listing->user)) &&
           (listing->states == 0 || job_states_has(listing->states, json_text(job, "state")));
}

static void filter(const struct listing *listing, json_t *answer)
{
    json_t *jobs = json_object_get(answer, "jobs");
    json_t *kept = json_array();
    size_t i;
    json_t *job;

    json_array_foreach(jobs, i, job)
    {
        if (is_wanted(listing, job))
            (void)json_array_append(kept, job);
    }
    (void)json_object_set_new(answer, "jobs", kept);
}

static int read_options(const struct ps_options *options, struct listing *ret)
{
    struct edl_error error = { 0 };
    int r = 0;

    ret->user = options->user;
    if (options->user != NULL && options->mine) {
        (void)edl_error_set(&error, -EINVAL, "ps: --me and --user both say whose jobs");
        r = edl_error_remedy(&error, "leave one of them out");
    }
    if (r == 0 && options->states != NULL)
        r = job_states_read(options->states, &ret->states, &error);
    if (r == 0)
        r = job_columns_read(options->format != NULL ? options->format : JOB_COLUMNS_USUAL,
                             &ret->columns, &error);
    return r < 0 ? report_error(&error) : STATUS_OK;
}

static int get_jobs(struct server *server, const struct ps_options *options,
                    struct listing *listing, json_t **ret)
{
    bool all = options->all || !job_states_are_active(listing->states);
    _cleanup_free_ char *path = jobs_path(all, options->array);
    _cleanup_json_ json_t *caller = NULL;
    int status = options->mine ? server_get(server, &caller, "/whoami") : STATUS_OK;

    if (status == STATUS_OK)
        status = server_list(server, path, "jobs", ret);
    if (status != STATUS_OK)
        return status;
    if (options->mine)
        listing->user = json_text(caller, "user");
    filter(listing, *ret);
    listing->user = options->user; /* the caller's goes with the answer */
    return STATUS_OK;
}

static int run(const struct invocation *invocation)
{
    const struct ps_options *options = invocation->options;
    _cleanup_json_ json_t *answer = NULL;
    struct listing listing = { 0 };
    struct server server;
    int status = read_options(options, &listing);

    if (status == STATUS_OK)
        status = server_open(&options->common, &server);
    if (status != STATUS_OK)
        return status;
    status = get_jobs(&server, options, &listing, &answer);
    server_clear(&server);
    if (status != STATUS_OK)
        return status;
    if (options->common.json)
        json_print(answer);
    else
        job_columns_print(&listing.columns, json_object_get(answer, "jobs"), !options->no_header,
                          stdout);
    return STATUS_OK;
}

const struct verb verb_ps = {
    .name = "ps",
    .usage =
        "[--all] [--array NAME] [--user USER | --me] [--state STATE,...] [--format COLUMN,...]",
    .summary = "List the jobs",
    .details = "STATE is one of queued, starting, running, resizing, stopping, succeeded, failed, "
               "killed and all;\nSlurm's words for them (PENDING, PD) are understood. One of a job "
               "that is over needs no --all.\nCOLUMN is one of id, job, name, user, state, "
               "instances, progress, time, reason, code, submitted,\nstarted, ended, cpu, memory, "
               "gpus and resizes.",
    VERB_OPTIONS(ps_options, struct ps_options),
    .run = run,
};
