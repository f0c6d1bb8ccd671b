/* SPDX-License-Identifier: Apache-2.0 */
/* files.c - files of processes, and whole logs, that are still on their nodes
 *
 * They are asked of the node on which the newest process of a slot runs or ran (file_reads.h). They
 * belong to the submitter of the job: only that user and admins get them. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <utlist.h>

#include "scheduler/accounts/auth.h"
#include "scheduler/api/api.h"
#include "scheduler/core/core.h"
#include "scheduler/nodes/file_reads.h"
#include "scheduler/scheduler.h"
#include "scheduler/workspaces/archive.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/file_listing.h"
#include "shared/http_server.h"
#include "shared/macro.h"
#include "shared/parse.h"
#include "shared/printable.h"
#include "shared/workspace_id.h"

static int check_owner(struct scheduler *scheduler, const struct http_request *request,
                       const struct job *job, struct caller *caller, struct edl_error *error)
{
    *caller = (struct caller){ .role = USER_NOBODY };
    (void)auth_caller(scheduler, request, caller);
    if (caller->role >= USER_ADMIN || streq(caller->user, job->user))
        return 0;
    (void)edl_error_set(error, -EACCES, "job %s belongs to %s, and you are %s", job->spec->name,
                        job->user, caller->user);
    return edl_error_remedy(error, "ask %s, or an admin", job->user);
}

/* find_process - the newest of the slot that the path names, or the one of incarnation= */
static const struct process *find_process(const struct job *job, const struct http_request *request,
                                          struct edl_error *error)
{
    const char *role_name = http_request_param(request, "role");
    const char *index_text = http_request_param(request, "index");
    int role = job_spec_role(job->spec, role_name);
    const struct process *process, *newest = NULL;
    uint64_t index, incarnation;

    if (role < 0 || parse_u64(index_text, &index) < 0) {
        (void)edl_error_set(error, -ENOENT, "job %s has no process %.40s %.20s", job->spec->name,
                            role_name, index_text);
        (void)edl_error_remedy(error, "`edl show %s` lists its processes", job->spec->name);
        return NULL;
    }
    if (http_request_query_u64(request, "incarnation", 0, &incarnation, error) < 0)
        return NULL;
    DL_FOREACH2(job->processes, process, job_next)
    {
        if (process->role == (uint32_t)role && process->index == index &&
            (incarnation == 0 || process->incarnation == incarnation) &&
            (newest == NULL || process->incarnation > newest->incarnation))
            newest = process;
    }
    if (newest == NULL) {
        (void)edl_error_set(error, -ENOENT, "%.40s %.20s of job %s has never been started",
                            role_name, index_text, job->spec->name);
        (void)edl_error_remedy(error, "`edl why %s` tells what it waits for", job->spec->name);
    }
    return newest;
}

/* check_node - whether its agent can be asked now */
static int check_node(const struct scheduler *scheduler, const char *name, struct edl_error *error)
{
    const struct node *node = cluster_node(scheduler->cluster, name);
    const struct machine *machine = machines_find(&scheduler->machines, name);

    if (node == NULL) {
        (void)edl_error_set(error, -ENOENT, "node %s, which has the files, was removed", name);
        return edl_error_remedy(error, "files on its disk have to be taken from there");
    }
    if (node->state == NODE_LOST || node->disconnected || !node->heard) {
        (void)edl_error_set(error, -ETIMEDOUT,
                            "node %s, which has the files, cannot be reached now", name);
        return edl_error_remedy(error, "`edl nodes %s` tells why; the same command goes on later",
                                name);
    }
    if (machine != NULL && machine->reads_files)
        return 0;
    (void)edl_error_set(error, EDL_EWIRE,
                        "the agent of node %s, which has the files, does not say that it can hand"
                        " them over",
                        name);
    return edl_error_remedy(error, "upgrade edl-agent on %s; its processes run on meanwhile", name);
}

/* make_order - what the agent is asked; the rest is added by the caller */
static json_t *make_order(const struct process *process, const char *what)
{
    const struct job *job = process->job;
    const struct role_spec *role = &job->spec->roles[process->role];
    const char *workspace = role->workspace != NULL ? role->workspace : "";
    bool unpacked = job->spec->workspace_folder != NULL && workspace_is_kept(workspace);
    uint64_t waited_us =
        process->assigned_wall_us - MIN_OF(job->submitted_wall_us, process->assigned_wall_us);

    return json_pack("{s:s,s:s,s:I,s:s,s:I,s:I,s:s,s:b,s:I,s:I}", "what", what, "job",
                     job->spec->name, "job_id", (json_int_t)job->id, "role", role->name, "index",
                     (json_int_t)process->index, "incarnation", (json_int_t)process->incarnation,
                     "workspace", unpacked ? job->spec->workspace_folder : workspace, "unpacked",
                     (int)unpacked, "since_us", (json_int_t)clock_shown_us(job->submitted_wall_us),
                     "waited_us", (json_int_t)waited_us);
}

static int add_folder(const struct http_request *request, json_t *order, struct edl_error *error)
{
    const char *folder = http_request_query(request, "folder");

    if (folder == NULL)
        folder = "workspace";
    if (!streq(folder, "workspace") && !streq(folder, "output"))
        return edl_error_set(error, -EINVAL, "folder=%.40s is neither workspace nor output",
                             folder);
    (void)json_object_set_new(order, "folder", json_string(folder));
    return 0;
}

static int add_pattern(const struct http_request *request, json_t *order, struct edl_error *error)
{
    const char *pattern = http_request_query(request, "pattern");
    uint64_t sums_bytes;
    int r = http_request_query_u64(request, "sums", INT64_MAX, &sums_bytes, error);

    if (r < 0)
        return r;
    if (pattern == NULL)
        pattern = "";
    if (strlen(pattern) > FILE_PATH_MAX || !printable_is(pattern))
        return edl_error_set(error, -EINVAL,
                             "pattern= is longer than %d bytes or has control characters",
                             FILE_PATH_MAX);
    (void)json_object_set_new(order, "name", json_string(pattern));
    (void)json_object_set_new(order, "sums_bytes",
                              json_integer((json_int_t)MIN_OF(sums_bytes, (uint64_t)INT64_MAX)));
    return add_folder(request, order, error);
}

static int add_range(const struct http_request *request, json_t *order, struct edl_error *error)
{
    uint64_t offset = 0, bytes = INT64_MAX;
    int r = http_request_query_u64(request, "offset", 0, &offset, error);

    if (r == 0)
        r = http_request_query_u64(request, "bytes", INT64_MAX, &bytes, error);
    if (r == 0 && (offset > INT64_MAX || bytes > INT64_MAX))
        r = edl_error_set(error, -EINVAL, "offset= or bytes= is too large");
    if (r < 0)
        return r;
    (void)json_object_set_new(order, "offset", json_integer((json_int_t)offset));
    (void)json_object_set_new(order, "bytes", json_integer((json_int_t)bytes));
    return 0;
}

/* add_chunks - since_us in the place of the time that files count from */
static int add_chunks(const struct http_request *request, json_t *order, struct edl_error *error)
{
    uint64_t since_us = 0;
    int r = add_range(request, order, error);

    if (r == 0)
        r = http_request_query_u64(request, "since_us", 0, &since_us, error);
    if (r == 0 && since_us > INT64_MAX)
        r = edl_error_set(error, -EINVAL, "since_us= is too large");
    if (r < 0)
        return r;
    (void)json_object_set_new(order, "since_us", json_integer((json_int_t)since_us));
    return 0;
}

static int add_path(const struct http_request *request, json_t *order, struct edl_error *error)
{
    const char *path = http_request_query(request, "path");
    int r;

    if (path == NULL || !file_path_allowed(path)) {
        (void)edl_error_set(error, -EINVAL, "path= is no path below the folder of a process");
        return edl_error_remedy(error, "give one that the list of its files has");
    }
    r = add_range(request, order, error);
    if (r < 0)
        return r;
    (void)json_object_set_new(order, "name", json_string(path));
    return add_folder(request, order, error);
}

static int add_nothing(const struct http_request *request, json_t *order, struct edl_error *error)
{
    (void)request;
    (void)order;
    (void)error;
    return 0;
}

struct read_kind {
    const char *what; /* in the order */
    const char *type; /* media type of the answer */
    int (*add)(const struct http_request *request, json_t *order, struct edl_error *error);
};

static int ask(struct scheduler *scheduler, struct http_request *request, const struct job *job,
               const struct read_kind *kind, struct edl_error *error)
{
    const struct process *process;
    struct caller caller;
    json_t *order;
    int r = check_owner(scheduler, request, job, &caller, error);

    if (r < 0)
        return r;
    process = find_process(job, request, error);
    if (process == NULL)
        return error->code;
    r = check_node(scheduler, process->node_name, error);
    if (r < 0)
        return r;
    order = make_order(process, kind->what);
    r = kind->add(request, order, error);
    if (r < 0) {
        json_decref(order);
        return r;
    }
    return file_read_begin(scheduler, request,
                           &(struct file_ask){ .node = process->node_name,
                                               .user = caller.user,
                                               .owner = job->user,
                                               .type = kind->type,
                                               .order = order },
                           error);
}

static void handle(struct scheduler *scheduler, struct http_request *request,
                   const struct read_kind *kind)
{
    const struct job *job = api_job(scheduler, request);
    struct edl_error error = { 0 };

    if (job != NULL && ask(scheduler, request, job, kind, &error) < 0)
        refuse_after_commit(scheduler, request, &error);
}

void api_process_files(struct http_request *request, void *userdata)
{
    static const struct read_kind kind = { "list", "application/jsonl", add_pattern };

    handle(userdata, request, &kind);
}

void api_process_file(struct http_request *request, void *userdata)
{
    static const struct read_kind kind = { "send", "application/octet-stream", add_path };

    handle(userdata, request, &kind);
}

void api_process_log(struct http_request *request, void *userdata)
{
    /* of names of their own: agents before them send the whole log */
    static const struct read_kind whole = { "log", "application/octet-stream", add_nothing };
    static const struct read_kind part = { "log-part", "application/octet-stream", add_range };
    static const struct read_kind chunks = { "log-chunks", "application/octet-stream", add_chunks };
    const struct read_kind *kind = &whole;
    struct edl_error error = { 0 };
    uint64_t times;

    if (http_request_query_u64(request, "times", 0, &times, &error) < 0) {
        http_reply_error(request, &error);
        return;
    }
    if (times != 0)
        kind = &chunks;
    else if (http_request_query(request, "offset") != NULL ||
             http_request_query(request, "bytes") != NULL)
        kind = &part;
    handle(userdata, request, kind);
}

void api_node_read(struct http_request *request, void *userdata)
{
    struct scheduler *scheduler = userdata;
    const struct node *node = api_node(scheduler, request);
    struct edl_error error = { 0 };
    uint64_t id;

    if (node == NULL)
        return;
    if (parse_u64(http_request_param(request, "read"), &id) < 0) {
        (void)edl_error_set(&error, -ENOENT, "that is no number of a read");
        http_reply_error(request, &error);
        return;
    }
    file_read_take(scheduler, request, node->name, id);
}
