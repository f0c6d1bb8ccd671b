/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_plan.c - `edl plan`: the effect of submitting a job, other bounds or a drain; nothing is done
 *
 * The server answers with the code that decides (?dry_run=1). */
#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

#include "client/job_folder.h"
#include "client/job_input.h"
#include "client/job_view.h"
#include "client/job_words.h"
#include "client/json_read.h"
#include "client/plan_print.h"
#include "client/report.h"
#include "client/script_call.h"
#include "client/server.h"
#include "client/text.h"
#include "client/verb.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

struct plan_options {
    struct common_options common;
    struct job_options job;
    const char *drain, *scale, *role;
    const char *upload; /* as of edl submit: no plan looks at a folder or a reader */
    bool no_upload, follow, kill_on_interrupt;
};

#define AT(member) OPTION_FIELD(struct plan_options, member)

static const struct option_row plan_options[] = {
    { "drain", "NODE", "instead of a submission: empty this node", option_text, AT(drain) },
    { "scale", "JOB", "instead of a submission: other bounds, MIN:MAX follows", option_text,
      AT(scale) },
    { "role", "ROLE", "with --scale: which role (default: trainer)", option_text, AT(role),
      .letter = 'r' },
    { "upload", "DIR", NULL, option_text, AT(upload) },
    { "no-upload", NULL, NULL, option_flag, AT(no_upload) },
    { "follow", NULL, NULL, option_flag, AT(follow), .letter = 'f' },
    { "kill-on-interrupt", NULL, NULL, option_flag, AT(kill_on_interrupt) },
#define XX(name, argument, help, kind, member, key)                                                \
    { name, argument, help, kind, AT(job.member), .letter = (key) },
    JOB_OPTION_MAP(XX)
#undef XX
};

static const struct {
    const char *verdict;
    int status;
} outcomes[] = {
    { "now", STATUS_OK },          { "after-shrinking", STATUS_OK }, { "later", STATUS_OK },
    { "after-end", STATUS_WAITS }, { "unknown", STATUS_WAITS },      { "never", STATUS_NEVER },
};

static int outcome(const json_t *plan)
{
    for (size_t i = 0; i < ELEMENTS(outcomes); i++)
        if (streq(json_text(plan, "verdict"), outcomes[i].verdict))
            return outcomes[i].status;
    return STATUS_FAILED;
}

static int tell(const struct plan_options *options, const struct plan_question *question,
                const json_t *plan)
{
    /* a server that does not know the question has done it: say what it said */
    if (options->common.json || json_object_get(plan, "verdict") == NULL)
        json_print(plan);
    else
        plan_print(stdout, question, plan);
    if (!options->common.json)
        job_note_ignored(plan);
    return outcome(plan);
}

/* place - a folder that edl submit sends is in no node's way: where it lies changes no plan */
static void place(struct server *server, const struct plan_options *options,
                  struct job_options *job)
{
    _cleanup_free_ char *here = getcwd(NULL, 0);
    struct folder_facts facts;

    if (here == NULL || job->workspace != NULL || options->no_upload)
        return;
    job_folder_look(server, here, &facts);
    if (job_folder_use(&facts) != FOLDER_THERE)
        job->workspace = "private";
}

static int plan_submit(struct server *server, const struct invocation *invocation)
{
    const struct plan_options *options = invocation->options;
    const struct option_words *arguments = &invocation->arguments;
    static const struct plan_question question = { .does = "start", .about = "" };
    _cleanup_free_ char *text = NULL, *workspace = NULL;
    _cleanup_json_ json_t *plan = NULL;
    struct edl_error error = { 0 };
    struct job_options job = options->job;
    size_t size = 0;
    int r;

    if (arguments->n_rest > 0)
        place(server, options, &job);
    r = arguments->n_rest > 0
            ? job_from_command(server, &job, arguments, &text, &workspace, &error)
            : job_read_document(invocation, arguments->args[0], &text, &size, &error);
    int status;

    if (r < 0)
        return report_error(&error);
    status = job_send(server, "/jobs?dry_run=1", arguments->n_rest > 0 ? NULL : arguments->args[0],
                      text, arguments->n_rest > 0 ? strlen(text) : size, &plan);
    if (status != STATUS_OK)
        return status;
    job_note_workspace(server, &options->job, workspace);
    return tell(options, &question, plan);
}

static int plan_patch(struct server *server, const struct plan_options *options, const char *path,
                      const json_t *body, const struct plan_question *question)
{
    _cleanup_json_ json_t *plan = NULL;
    int status = server_request(server, "PATCH", path, body, &plan);

    return status == STATUS_OK ? tell(options, question, plan) : status;
}

static int plan_drain(struct server *server, const struct plan_options *options)
{
    _cleanup_free_ char *node = text_url_segment(options->drain);
    _cleanup_free_ char *path = text_format("/nodes/%s?dry_run=1", node);
    _cleanup_free_ char *about = text_format("node %s", options->drain);
    _cleanup_json_ json_t *body = json_pack("{s:s}", "state", "draining");
    const struct plan_question question = { .does = "be empty", .about = about };

    return plan_patch(server, options, path, body, &question);
}

static int plan_scale(struct server *server, const struct plan_options *options, const char *range)
{
    _cleanup_free_ char *path = job_path(options->scale, "?dry_run=1");
    _cleanup_free_ char *about = text_format("job %s", options->scale);
    const struct plan_question question = { .does = "be within its new bounds", .about = about };
    struct edl_error error = { 0 };
    uint64_t min;
    uint64_t max;

    if (text_range(range, &min, &max) < 0) {
        (void)edl_error_set(&error, -EINVAL, "\"%s\" is no range of instances", range);
        (void)edl_error_remedy(&error, "edl plan --scale %s 2:6", options->scale);
        return report_error(&error);
    }
    _cleanup_json_ json_t *body =
        json_pack("{s:s, s:I, s:I}", "role", options->role != NULL ? options->role : "trainer",
                  "min", (json_int_t)min, "max", (json_int_t)max);

    return plan_patch(server, options, path, body, &question);
}

/* One question: a document, a command, a node, or a job and its bounds. */
static int check(const struct plan_options *options, const struct option_words *arguments)
{
    bool asks_other = options->drain != NULL || options->scale != NULL;
    size_t wanted = options->drain != NULL || arguments->n_rest > 0 ? 0 : 1;
    struct edl_error error = { 0 };

    if ((options->drain != NULL && options->scale != NULL) || arguments->n_args != wanted ||
        (asks_other && arguments->n_rest > 0))
        (void)edl_error_set(&error, -EINVAL, "plan: one question at a time");
    else if (arguments->n_rest == 0 && job_options_given(&options->job))
        (void)edl_error_set(&error, -EINVAL,
                            "plan: these options describe a command, and there is none");
    else if (options->role != NULL && options->scale == NULL)
        (void)edl_error_set(&error, -EINVAL, "plan: --role goes with --scale");
    else
        return STATUS_OK;
    (void)edl_error_remedy(&error, "edl plan FILE, edl plan [OPTION]... -- COMMAND..., edl plan "
                                   "--drain NODE, or edl plan --scale JOB MIN:MAX");
    return report_error(&error);
}

static int run_call(const struct invocation *invocation)
{
    const struct plan_options *options = invocation->options;
    const struct option_words *arguments = &invocation->arguments;
    struct server server;
    int status = check(options, arguments);

    if (status == STATUS_OK)
        status = server_open(&options->common, &server);
    if (status != STATUS_OK)
        return status;
    if (options->drain != NULL)
        status = plan_drain(&server, options);
    else if (options->scale != NULL)
        status = plan_scale(&server, options, arguments->args[0]);
    else
        status = plan_submit(&server, invocation);
    server_clear(&server);
    return status;
}

static int run(const struct invocation *invocation)
{
    const struct invocation *call;
    struct script_call script;
    int status = script_call_read(invocation, offsetof(struct plan_options, job), &script, &call);

    if (status == STATUS_OK)
        status = run_call(call);
    script_call_clear(&script);
    return status;
}

const struct verb verb_plan = {
    .name = "plan",
    .usage = "FILE | - | [OPTION]... -- COMMAND... | --drain NODE | --scale JOB MIN:MAX",
    .summary = "Tell the effects of submitting a job: places, time, jobs that shrink, the cost",
    .details =
        "Nothing is stored and nothing changes. The job is given as to `edl submit`. With --drain "
        "and\n"
        "--scale the question is about a node or the bounds of a running job. When a job's end is "
        "waited\n"
        "for, the time is an estimate from the records that it has counted so far.\n\n"
        "Exit status: 0 it would be done now or within the time that processes take to stop. 4 it "
        "would\n"
        "wait, for a job's end or for an event that nobody can foresee. 5 it never fits these "
        "nodes. Else\n"
        "as for every verb (1 when it would be refused).",
    VERB_OPTIONS_BESIDE(plan_options, struct plan_options, job_words_ours),
    .max_args = 1,
    .takes_command = true,
    .run = run,
};
