/* SPDX-License-Identifier: Apache-2.0 */
/* own_job.c - see own_job.h */
#include "client/own_job.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "client/interrupt.h"
#include "client/job_build.h"
#include "client/job_folder.h"
#include "client/job_input.h"
#include "client/job_view.h"
#include "client/json_read.h"
#include "client/report.h"
#include "client/server.h"
#include "client/text.h"
#include "client/verb.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/json_text.h"
#include "shared/macro.h"

/* choose_folder - nothing is sent for a shell: the folder is where nodes have it, or it is empty */
static const char *choose_folder(struct server *server, const struct own_job *job)
{
    _cleanup_free_ char *here = NULL;
    struct folder_facts facts;

    if (job->workspace != NULL)
        return job->workspace;
    here = getcwd(NULL, 0);
    if (here == NULL)
        return "private";
    job_folder_look(server, here, &facts);
    if (job_folder_use(&facts) == FOLDER_THERE)
        return NULL;
    report_note("nodes lack %s: it begins in an empty folder (--workspace DIR names one that nodes "
                "have)",
                here);
    return "private";
}

/* make_name - "shell-x7k2q"; new string, NULL: told */
static char *make_name(const char *beginning)
{
    char *words[] = { (char *)beginning };
    unsigned char random[5];
    struct edl_error error = { 0 };

    if (getrandom(random, sizeof random, 0) == (ssize_t)sizeof random)
        return job_build_name(words, 1, random);
    (void)edl_error_errno(&error, -errno, "reading random bytes");
    (void)report_error(&error);
    return NULL;
}

/* document_of - as the command line of `edl submit` would make it, once, and on that node */
static int document_of(struct server *server, const struct own_job *job, const char *name,
                       char **ret, struct edl_error *error)
{
    struct job_options options = { .name = name,
                                   .workspace = choose_folder(server, job),
                                   .time_limit = job->time_limit,
                                   .cpu_millicores = job->cpu_millicores,
                                   .memory_bytes = job->memory_bytes,
                                   .gpus = job->gpus };
    struct option_words words = { .rest = (char **)job->command, .has_rest = true };
    _cleanup_free_ char *text = NULL, *workspace = NULL;
    _cleanup_json_ json_t *document = NULL;
    json_t *spec, *role;
    int r;

    while (job->command[words.n_rest] != NULL)
        words.n_rest++;
    r = job_from_command(server, &options, &words, &text, &workspace, error);
    if (r < 0)
        return r;
    document = json_loads(text, 0, NULL);
    spec = json_object_get(document, "spec");
    role = json_array_get(json_object_get(spec, "roles"), 0);
    (void)json_object_set_new(spec, "restart", json_pack("{s:i}", "max", 0));
    if (job->node != NULL)
        (void)json_object_set_new(role, "nodes", json_pack("[s]", job->node));
    *ret = json_to_text(document, NULL);
    return 0;
}

static int tell_end(const json_t *job)
{
    const char *reason = json_text(job, "reason"), *name = json_text(job, "name");
    struct edl_error error = { 0 };

    (void)edl_error_set(&error, -ECANCELED, "job %s has %s%s%s", name,
                        streq(json_text(job, "state"), "killed") ? "been killed" : "ended",
                        *reason != '\0' ? ": " : "", reason);
    (void)edl_error_remedy(&error, "edl logs %s, edl why %s", name, name);
    return report_error(&error);
}

/* wait_running - STATUS_OK: it runs */
static int wait_running(struct server *server, const char *id)
{
    uint64_t revision = 0;
    struct job_watch watch;
    int status = server_event_revision(server, &revision);

    job_watch_begin(&watch, id, NULL);
    while (status == STATUS_OK) {
        _cleanup_json_ json_t *job = NULL;

        status = job_watch_look(server, &watch);
        if (status == STATUS_OK)
            status = server_request(server, "GET", watch.path, NULL, &job);
        if (status != STATUS_OK || streq(json_text(job, "state"), "running"))
            break;
        if (job_is_final(job))
            status = tell_end(job);
        else
            (void)server_event_wait(server, &revision, watch.wait_s * USEC_PER_SEC);
    }
    job_watch_end(&watch);
    return status;
}

static int wait_or_kill(struct server *server, const struct common_options *common,
                        const json_t *accepted, const char *id)
{
    struct interrupt interrupt = { 0 };
    struct edl_error error = { 0 };
    int status;

    if (interrupt_start(&interrupt, common, json_u64(accepted, "id"), json_text(accepted, "job"),
                        &error) < 0) {
        own_job_kill(server, id);
        return report_error(&error);
    }
    status = wait_running(server, id);
    return interrupt_end(&interrupt) ? STATUS_FAILED : status;
}

int own_job_start(struct server *server, const struct common_options *common,
                  const struct own_job *job, char **ret_id, char **ret_name)
{
    _cleanup_free_ char *name = make_name(job->name), *text = NULL, *id = NULL;
    _cleanup_json_ json_t *accepted = NULL;
    struct edl_error error = { 0 };
    int status;

    if (name == NULL)
        return STATUS_FAILED;
    if (document_of(server, job, name, &text, &error) < 0)
        return report_error(&error);
    interrupt_hold();
    status = job_send(server, "/jobs", NULL, text, strlen(text), &accepted);
    if (status != STATUS_OK) {
        interrupt_release();
        return status;
    }
    id = text_format("%" PRIu64, json_u64(accepted, "id"));
    report_note("job %s (%s): it waits for its place; Ctrl-C kills it", name, id);
    status = wait_or_kill(server, common, accepted, id);
    if (status != STATUS_OK)
        return status;
    *ret_id = TAKE_PTR(id);
    *ret_name = TAKE_PTR(name);
    return STATUS_OK;
}

void own_job_kill(struct server *server, const char *id)
{
    _cleanup_free_ char *path = job_path(id, "");

    (void)server_request(server, "DELETE", path, NULL, NULL);
}
