/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_search.c - `edl search`: hyper-parameters, searched by trials that are elastic jobs
 *
 * All that a search is stands in its jobs (search_record.h, search_jobs.h): each verb reads them.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "client/action.h"
#include "client/fetch_job.h"
#include "client/job_build.h"
#include "client/job_input.h"
#include "client/job_place.h"
#include "client/job_view.h"
#include "client/json_read.h"
#include "client/report.h"
#include "client/search_command.h"
#include "client/search_core.h"
#include "client/search_jobs.h"
#include "client/search_picture.h"
#include "client/search_run.h"
#include "client/search_space.h"
#include "client/search_submit.h"
#include "client/search_view.h"
#include "client/server.h"
#include "client/table_print.h"
#include "client/text.h"
#include "client/verb.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/macro.h"

struct search_options {
    struct common_options common;
    struct job_options job;
    const char *upload, *checkpoint, *svg;
    uint64_t eager;
    bool no_upload, csv, replace;
};

#define AT(member) OPTION_FIELD(struct search_options, member)

static const struct option_row search_options[] = {
    { "upload", "DIR", "run: send this folder, once; each process runs in a copy of it",
      option_text, AT(upload) },
    { "no-upload", NULL, "run: in the current folder by its path, also where nodes lack it",
      option_flag, AT(no_upload) },
    { "checkpoint", "DIR", "run: a folder that all nodes see; a trial goes on from DIR/NAME/TRIAL",
      option_text, AT(checkpoint) },
    { "eager", "N", "run, resume: so many trials may wait for room (3)", option_positive,
      AT(eager) },
    { "csv", NULL, "show: as comma-separated values", option_flag, AT(csv) },
    { "svg", "FILE", "show: a picture of the trials", option_text, AT(svg) },
    { "replace", NULL, "best: also files that were there before", option_flag, AT(replace) },
#define XX(name, argument, help, kind, member, key)                                                \
    { name, argument, help, kind, AT(job.member), .letter = (key) },
    JOB_OPTION_MAP(XX)
#undef XX
};

/* ---- Ctrl-C ---- */

static char interrupt_text[160];

static void on_interrupt(int number)
{
    ssize_t n = write(STDERR_FILENO, interrupt_text, strlen(interrupt_text));

    (void)n; /* why: nobody is left to tell */
    _exit(128 + number);
}

/* leave_running - Ctrl-C ends this process and no trial */
static void leave_running(const char *name)
{
    struct sigaction action = { .sa_handler = on_interrupt };

    (void)snprintf(interrupt_text, sizeof interrupt_text,
                   "\nnote: trials go on; edl search resume %s goes on with the search\n", name);
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
}

static int go_on(struct server *server, const struct invocation *invocation,
                 struct search_jobs *jobs)
{
    const struct search_options *options = invocation->options;

    leave_running(jobs->name);
    return search_run(server, jobs, options->eager != 0 ? options->eager : SEARCH_EAGER);
}

/* ---- run ---- */

static int read_space(const struct invocation *invocation, struct search_space **ret)
{
    struct invocation file = *invocation;
    _cleanup_free_ char *text = NULL;
    struct edl_error error = { 0 };
    size_t size = 0;

    file.arguments.args++; /* the first one is the document */
    file.arguments.n_args--;
    if (job_read_document(&file, file.arguments.args[0], &text, &size, &error) < 0 ||
        search_space_parse(text, size, ret, &error) < 0)
        return report_error(&error);
    return STATUS_OK;
}

static int check_run(const struct invocation *invocation)
{
    const struct search_options *options = invocation->options;
    struct edl_error error = { 0 };

    if (invocation->arguments.n_args != 2 || invocation->arguments.n_rest == 0) {
        (void)edl_error_set(&error, -EINVAL, "search run: %s",
                            invocation->arguments.n_args != 2 ? "one file with a space is expected"
                                                              : "the command is missing");
        (void)edl_error_remedy(&error, "edl search run SPACE.yaml -- COMMAND...");
    } else if (options->job.array != NULL) {
        (void)edl_error_set(&error, -EINVAL, "search run: --array does not go with a search");
        (void)edl_error_remedy(&error, "leave it out: each trial is a job by itself");
    } else if (options->upload != NULL && options->job.workspace != NULL) {
        (void)edl_error_set(&error, -EINVAL,
                            "search run: --upload and --workspace both say where it runs");
        (void)edl_error_remedy(&error, "leave one of them out");
    } else if (options->checkpoint != NULL && options->checkpoint[0] != '/') {
        (void)edl_error_set(&error, -EINVAL, "--checkpoint %.200s is no absolute path",
                            options->checkpoint);
        (void)edl_error_remedy(&error, "give the whole path of a folder that all nodes see");
    } else {
        return STATUS_OK;
    }
    return report_error(&error);
}

/* note_unused - parameters that no word of the command names: the program has to ask for them */
static int note_unused(const struct invocation *invocation, const struct search_space *space)
{
    struct edl_error error = { 0 };
    uint64_t unused = 0;

    if (search_command_check(space, invocation->arguments.rest, &unused, &error) < 0)
        return report_error(&error);
    for (unsigned i = 0; i < space->n_parameters; i++)
        if ((unused & UINT64_C(1) << i) != 0)
            report_note("the command does not use {%s}: its program has to take it from "
                        "edl.trial() or EDL_TRIAL",
                        space->parameters[i].name);
    return STATUS_OK;
}

/* note_checkpoint - whether a trial that goes on to its next rung has where to go on from */
static void note_checkpoint(const struct search_space *space, const char *checkpoint)
{
    if (search_rungs(space) > 1 && checkpoint == NULL)
        report_note("each rung of a trial begins anew; to go on from checkpoints: --checkpoint "
                    "DIR, a folder that all nodes see");
}

static int check_name(struct server *server, const char *name)
{
    struct search_jobs jobs = { .n = 0 };
    struct edl_error error = { 0 };
    int status = STATUS_OK;

    if (strlen(name) > SEARCH_NAME_OF_JOBS_MAX) {
        (void)edl_error_set(&error, -EINVAL, "--name %.80s has more than %d characters", name,
                            SEARCH_NAME_OF_JOBS_MAX);
        (void)edl_error_remedy(&error, "its jobs are named NAME-TRIAL: give a shorter one");
        return report_error(&error);
    }
    status = search_jobs_read(server, name, &jobs);
    if (status == STATUS_OK && jobs.n > 0) {
        (void)edl_error_set(&error, -EEXIST, "there is a search %s, with %zu job%s", name, jobs.n,
                            PLURAL(jobs.n));
        (void)edl_error_remedy(&error,
                               "edl search resume %s goes on with it; else give another "
                               "--name",
                               name);
        status = report_error(&error);
    }
    search_jobs_clear(&jobs);
    return status;
}

/* make_record - the document of the command is that of each trial, but for its values */
static int make_record(struct server *server, const struct invocation *invocation,
                       const struct search_space *space, const struct job_options *job,
                       struct search_record *ret)
{
    const struct search_options *options = invocation->options;
    _cleanup_free_ char *text = NULL, *workspace = NULL;
    _cleanup_json_ json_t *document = NULL;
    struct edl_error error = { 0 };
    const char *name;

    if (job_from_command(server, job, &invocation->arguments, &text, &workspace, &error) < 0)
        return report_error(&error);
    document = json_loads(text, 0, NULL);
    name = json_text(json_object_get(document, "metadata"), "name");
    return search_record_make(name, space, document, invocation->arguments.n_rest,
                              options->checkpoint, ret, &error) < 0
               ? report_error(&error)
               : STATUS_OK;
}

static int run_new(struct server *server, const struct invocation *invocation,
                   const struct search_space *space)
{
    const struct search_options *options = invocation->options;
    const struct place_wish wish = { .upload = options->upload, .no_upload = options->no_upload };
    struct job_options job = options->job;
    struct job_placed placed = { 0 };
    struct search_jobs jobs = { .n = 0 };
    _cleanup_json_ json_t *caller = NULL;
    int status = job.name != NULL ? check_name(server, job.name) : STATUS_OK;

    if (status == STATUS_OK)
        status = server_get(server, &caller, "/whoami");
    if (status == STATUS_OK)
        status = job_place(server, &wish, &invocation->arguments, &job, &placed);
    if (status == STATUS_OK)
        status = make_record(server, invocation, space, &job, &jobs.record);
    if (status == STATUS_OK) {
        jobs.name = xstrdup(jobs.record.name);
        jobs.user = xstrdup(json_text(caller, "user"));
        report_note("search %s; Ctrl-C leaves its trials running, and edl search resume %s goes on",
                    jobs.name, jobs.name);
        status = go_on(server, invocation, &jobs);
    }
    search_jobs_clear(&jobs);
    return status;
}

static int run_search(const struct invocation *invocation, struct server *server)
{
    const struct search_options *options = invocation->options;
    struct search_space *space = NULL;
    int status = check_run(invocation);

    if (status == STATUS_OK)
        status = read_space(invocation, &space);
    if (status == STATUS_OK)
        status = note_unused(invocation, space);
    if (status == STATUS_OK) {
        note_checkpoint(space, options->checkpoint);
        status = run_new(server, invocation, space);
    }
    (void)search_space_free(space);
    return status;
}

/* ---- one that is there ---- */

/* begins_search - whether a job is the first of a search: its name; borrowed */
static const char *begins_search(const json_t *job)
{
    const json_t *trial = json_object_get(job, "trial");

    return json_integer_value(json_object_get(trial, "trial")) == 1 &&
                   json_integer_value(json_object_get(trial, "rung")) == 0 &&
                   json_integer_value(json_object_get(trial, "attempt")) == 0
               ? json_text(trial, "search")
               : "";
}

/* The searches of the caller. */
struct searches {
    json_t *jobs; /* owned: of their names' form, others too */
    size_t n;
    const char *newest; /* borrowed of jobs */
};

static int find_searches(struct server *server, struct searches *ret)
{
    _cleanup_json_ json_t *caller = NULL;
    _cleanup_free_ char *user = NULL, *path = NULL;
    struct searches searches = { .newest = "" };
    uint64_t newest_id = 0;
    int status = server_get(server, &caller, "/whoami");
    size_t i;
    json_t *job;

    user = text_url_segment(json_text(caller, "user"));
    path = text_format("/jobs?state=all&name=-1&user=%s", user);
    if (status == STATUS_OK)
        status = server_list(server, path, "jobs", &searches.jobs);
    json_array_foreach(json_object_get(searches.jobs, "jobs"), i, job)
    {
        if (*begins_search(job) == '\0')
            continue;
        searches.n++;
        if (json_u64(job, "id") >= newest_id) {
            newest_id = json_u64(job, "id");
            searches.newest = begins_search(job);
        }
    }
    *ret = searches;
    return status;
}

/* remedy_of_none - what to type where a search is not there */
static void remedy_of_none(struct edl_error *error, const struct searches *searches)
{
    if (searches->n == 0)
        (void)edl_error_remedy(error, "begin one: edl search run SPACE.yaml -- COMMAND...; "
                                      "edl-search-space(5) has spaces to copy");
    else
        (void)edl_error_remedy(error, "edl search list; the newest is %.80s", searches->newest);
}

/* name_search - as it is given, else the newest. What ends trials takes no guess among several. */
static int name_search(struct server *server, const struct invocation *invocation, bool guesses,
                       char **ret)
{
    const struct option_words *given = &invocation->arguments;
    struct searches searches = { .n = 0 };
    struct edl_error error = { 0 };
    int status;

    if (given->n_args > 1) {
        *ret = xstrdup(given->args[1]);
        return STATUS_OK;
    }
    status = find_searches(server, &searches);
    if (status == STATUS_OK && (searches.n == 0 || (searches.n > 1 && !guesses))) {
        (void)edl_error_set(&error, -ENOENT, "%s",
                            searches.n == 0 ? "you have no search"
                                            : "you have several searches: say which one");
        remedy_of_none(&error, &searches);
        status = report_error(&error);
    } else if (status == STATUS_OK) {
        if (searches.n > 1)
            report_note("search %s, the newest one", searches.newest);
        *ret = xstrdup(searches.newest);
    }
    json_decref(searches.jobs);
    return status;
}

/* read_search - it must be there */
static int read_search(struct server *server, const char *name, struct search_jobs *ret)
{
    struct searches searches = { .n = 0 };
    struct edl_error error = { 0 };
    int status = search_jobs_read(server, name, ret);

    if (status != STATUS_OK || ret->n > 0)
        return status;
    search_jobs_clear(ret);
    status = find_searches(server, &searches);
    if (status == STATUS_OK) {
        (void)edl_error_set(&error, -ENOENT, "you have no search %.80s", name);
        remedy_of_none(&error, &searches);
        status = report_error(&error);
    }
    json_decref(searches.jobs);
    return status;
}

/* read_named - what the words name, as above */
static int read_named(struct server *server, const struct invocation *invocation,
                      struct search_jobs *ret)
{
    _cleanup_free_ char *name = NULL;
    int status = name_search(server, invocation, true, &name);

    return status == STATUS_OK ? read_search(server, name, ret) : status;
}

static int resume(const struct invocation *invocation, struct server *server)
{
    struct search_jobs jobs = { .n = 0 };
    int status = read_named(server, invocation, &jobs);

    if (status == STATUS_OK)
        status = go_on(server, invocation, &jobs);
    search_jobs_clear(&jobs);
    return status;
}

static int write_picture(const struct search_jobs *jobs, const struct search_trials *trials,
                         const char *path)
{
    bool is_stdout = streq(path, "-");
    FILE *file = is_stdout ? stdout : fopen(path, "we");
    struct edl_error error = { 0 };
    bool failed;

    if (file == NULL) {
        (void)edl_error_errno(&error, -errno, "cannot write %.200s", path);
        return report_error(&error);
    }
    search_picture(jobs, trials, file);
    failed = fflush(file) != 0 || ferror(file) != 0;
    if (failed)
        (void)edl_error_errno(&error, -errno, "cannot write %.200s", path);
    if (!is_stdout)
        (void)fclose(file);
    return failed ? report_error(&error) : STATUS_OK;
}

static void print_search(const struct invocation *invocation, const struct search_jobs *jobs,
                         const struct search_trials *trials)
{
    const struct search_options *options = invocation->options;

    if (options->common.json) {
        json_t *json = search_view_json(jobs, trials);

        json_print(json);
        json_decref(json);
    } else if (options->csv) {
        search_view_csv(jobs, trials, stdout);
    } else {
        search_view_table(jobs, trials, stdout);
    }
}

static int show(const struct invocation *invocation, struct server *server)
{
    const struct search_options *options = invocation->options;
    struct search_jobs jobs = { .n = 0 };
    struct search_trials trials;
    int status = read_named(server, invocation, &jobs);

    if (status != STATUS_OK)
        return status;
    search_trials_make(&jobs, &trials);
    if (options->svg != NULL)
        status = write_picture(&jobs, &trials, options->svg);
    else
        print_search(invocation, &jobs, &trials);
    search_trials_clear(&trials);
    search_jobs_clear(&jobs);
    return status;
}

/* stop_round - one look at the jobs: those that go on are ended. *ret_left: so many are not over */
static int stop_round(struct server *server, const struct search_jobs *jobs, size_t *ret_ended,
                      size_t *ret_left)
{
    int status = STATUS_OK;

    *ret_left = 0;
    for (size_t i = 0; i < jobs->n && status == STATUS_OK; i++) {
        const json_t *job = jobs->jobs[i].json;

        if (job_is_final(job))
            continue;
        ++*ret_left;
        if (streq(json_text(job, "state"), "stopping"))
            continue;
        ++*ret_ended;
        status = search_end_job(server, jobs->jobs[i].id, SEARCH_STOPPED);
    }
    return status;
}

/* stop - until nothing of it goes on: an edl search that runs may have submitted one more
 * meanwhile, and ends when it sees that one was stopped */
static int stop(const struct invocation *invocation, struct server *server)
{
    struct search_jobs jobs = { .n = 0 };
    size_t ended = 0, left = 1;
    uint64_t revision = 0;
    _cleanup_free_ char *name = NULL;
    int status = server_event_revision(server, &revision);

    if (status == STATUS_OK)
        status = name_search(server, invocation, false, &name);
    while (status == STATUS_OK && left > 0) {
        search_jobs_clear(&jobs);
        status = read_search(server, name, &jobs);
        if (status == STATUS_OK)
            status = stop_round(server, &jobs, &ended, &left);
        if (status == STATUS_OK && left > 0)
            (void)server_event_wait(server, &revision, NEVER_US);
    }
    if (status == STATUS_OK)
        (void)printf("search %s is stopped, %zu trial%s ended; edl search resume %s goes on\n",
                     jobs.name, ended, PLURAL(ended), jobs.name);
    search_jobs_clear(&jobs);
    return status;
}

static int fetch_best(struct server *server, const struct invocation *invocation,
                      const struct search_jobs *jobs, const struct search_job *job)
{
    const struct search_options *options = invocation->options;
    _cleanup_free_ char *id = text_format("%" PRIu64, job->id), *command = NULL;
    _cleanup_json_ json_t *whole = NULL;
    struct fetch_wish wish = { .server = server,
                               .pattern = "",
                               .index = UINT64_MAX,
                               .replace = options->replace,
                               .named = true };
    uint64_t found = 0;
    int status = server_get(server, &whole, "/jobs/%s", id);

    if (status != STATUS_OK)
        return status;
    command = search_view_command(whole);
    (void)printf("command: %s\n", command);
    if (jobs->record.checkpoint != NULL)
        (void)printf("checkpoint: %s/%s/%u\n", jobs->record.checkpoint, jobs->name, job->trial);
    return options->job.output != NULL
               ? fetch_job(&wish, id, options->job.output, NULL, NULL, &found)
               : STATUS_OK;
}

/* best_job - of the best trial the newest job that told something */
static const struct search_job *best_job(const struct search_jobs *jobs, unsigned best)
{
    const struct search_job *found = NULL;

    for (size_t i = 0; i < jobs->n; i++)
        if (jobs->jobs[i].trial == best &&
            streq(json_text(jobs->jobs[i].json, "state"), "succeeded") &&
            (found == NULL || jobs->jobs[i].rung >= found->rung))
            found = &jobs->jobs[i];
    for (size_t i = 0; found == NULL && i < jobs->n; i++)
        if (jobs->jobs[i].trial == best)
            found = &jobs->jobs[i];
    return found;
}

static int best(const struct invocation *invocation, struct server *server)
{
    struct search_jobs jobs = { .n = 0 };
    struct search_trials trials;
    struct search_history history;
    struct edl_error error = { 0 };
    unsigned number;
    int status = read_named(server, invocation, &jobs);

    if (status != STATUS_OK)
        return status;
    search_trials_make(&jobs, &trials);
    history = search_trials_history(&trials, 0);
    number = search_best(jobs.record.space, &history);
    if (number == 0) {
        (void)edl_error_set(&error, -ENOENT, "no trial of search %s has a result yet", jobs.name);
        (void)edl_error_remedy(&error, "edl search show %s", jobs.name);
        status = report_error(&error);
    } else {
        search_view_best(&jobs, &trials, number, stdout);
        status = fetch_best(server, invocation, &jobs, best_job(&jobs, number));
    }
    search_trials_clear(&trials);
    search_jobs_clear(&jobs);
    return status;
}

/* ---- all of them ---- */

static void add_search(struct table *table, json_t *list, const struct search_jobs *jobs)
{
    const struct search_space *space = jobs->record.space;
    struct search_trials trials;
    struct search_history history;
    size_t under_way = 0;
    unsigned number;
    char when[32];

    search_trials_make(jobs, &trials);
    history = search_trials_history(&trials, 0);
    number = search_best(space, &history);
    table_add(table, "%s", jobs->name);
    for (size_t i = 0; i < trials.n; i++)
        under_way += trials.trials[i].state <= SEARCH_TRIAL_RUNS && !trials.jobs[i].is_stopped;
    table_add(table, "%zu", trials.n);
    table_add(table, "%zu", under_way);
    table_add(table, "%s", search_method_name(space->method));
    if (number == 0)
        table_add(table, "-");
    for (size_t i = 0; i < trials.n; i++)
        if (trials.trials[i].number == number)
            table_add(table, "%s %.6g", space->metric, search_result(space, &trials.trials[i]));
    table_add(table, "%s", text_time(trials.first_us, when, sizeof when));
    (void)json_array_append_new(list, search_view_json(jobs, &trials));
    search_trials_clear(&trials);
}

static int list(const struct invocation *invocation, struct server *server)
{
    static const char *const headers[] = { "SEARCH", "TRIALS", "UNDER-WAY", "METHOD",
                                           "BEST",   "BEGUN",  NULL };
    struct table *table = table_new(headers, 1U << 1 | 1U << 2);
    _cleanup_json_ json_t *all = json_array();
    struct searches searches = { .n = 0 };
    int status = find_searches(server, &searches);
    size_t i;
    json_t *job;

    json_array_foreach(json_object_get(searches.jobs, "jobs"), i, job)
    {
        const char *name = begins_search(job);
        struct search_jobs jobs = { .n = 0 };

        if (status != STATUS_OK || *name == '\0')
            continue;
        status = search_jobs_read(server, name, &jobs);
        if (status != STATUS_NO_SERVER) /* told; the others are listed */
            status = STATUS_OK;
        if (status == STATUS_OK && jobs.n > 0)
            add_search(table, all, &jobs);
        search_jobs_clear(&jobs);
    }
    if (status == STATUS_OK && invocation->common->json)
        json_print(all);
    else if (status == STATUS_OK)
        table_print(table, stdout);
    if (status == STATUS_OK && searches.n == 0)
        report_note("you have no search; to begin one: edl search run SPACE.yaml -- COMMAND...");
    json_decref(searches.jobs);
    (void)table_free(table);
    return status;
}

static const struct action actions[] = {
    { .name = "run", .n_args = 1, .run = run_search, .takes_command = true },
    { .name = "show", .run = show, .more_args = 1 },
    { .name = "resume", .run = resume, .more_args = 1 },
    { .name = "stop", .run = stop, .more_args = 1 },
    { .name = "best", .run = best, .more_args = 1 },
    { .name = "list", .run = list },
};

static int run(const struct invocation *invocation)
{
    return action_run(invocation, actions, ELEMENTS(actions));
}

const struct verb verb_search = {
    .name = "search",
    .usage =
        "run SPACE.yaml [--name N] [--upload DIR] [OPTION...] -- COMMAND... | show [NAME] "
        "[--json|--csv|--svg FILE] | resume [NAME] | stop [NAME] | best [NAME] [-o DIR] | list",
    .summary = "Search hyper-parameters: trials are elastic jobs, chosen by what was found",
    .details =
        "SPACE.yaml names parameters, the metric, a budget and a method. In COMMAND {lr} stands "
        "for the value\nof the parameter lr. Each trial is a job NAME-TRIAL; its program finds its "
        "values in EDL_TRIAL and by\nedl.trial(), and tells its metric by edl.progress().\n\n"
        "All that a search is stands in its jobs. When this program ends, by Ctrl-C or a closed "
        "laptop, its trials go\non; `edl search resume NAME`, on any machine, goes on with the "
        "search. stop ends its trials as well.\nshow: the trials, the best first, of\nthe newest "
        "search where no NAME is given. best: the "
        "command of the best trial; with -o DIR its files are fetched.",
    VERB_OPTIONS_BESIDE(search_options, struct search_options, job_words_ours),
    .min_args = 1,
    .max_args = 2,
    .takes_command = true,
    .run = run,
};
