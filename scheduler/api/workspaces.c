/* SPDX-License-Identifier: Apache-2.0 */
/* workspaces.c - archives of workspaces over HTTP, and which of them jobs need
 *
 * An archive is needed by a job that is not over. Nobody counts: a look walks the jobs, every hour
 * and when there is no room. So no restart and no lost event can make a count wrong. A node gets
 * what a process needs that lives on it, and nothing else; people get what is theirs. A refused
 * caller hears the same of an archive that is another's as of one that is not there. */
#include "scheduler/api/workspaces.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "scheduler/accounts/auth.h"
#include "scheduler/api/api.h"
#include "scheduler/core/core.h"
#include "scheduler/scheduler.h"
#include "scheduler/state.h"
#include "scheduler/workspaces/workspace_rows.h"
#include "scheduler/workspaces/workspaces.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/http_server.h"
#include "shared/log.h"
#include "shared/macro.h"

#define LOOK_US (3600 * USEC_PER_SEC)
#define LOOK_ACCURACY_US (60 * USEC_PER_SEC)
#define MEDIA "application/octet-stream"

/* ---- which are needed ---- */

/* user: whose job it is */
static void mark_job(struct scheduler *scheduler, const struct job_spec *spec, const char *user,
                     uint64_t wall_us)
{
    for (uint32_t i = 0; i < spec->n_roles; i++) {
        const char *hex = workspace_hash(spec->roles[i].workspace);
        struct workspace *workspace =
            hex != NULL ? workspaces_find(&scheduler->workspaces, hex) : NULL;

        if (workspace != NULL)
            workspace_give(workspace, user);
        if (workspace == NULL || workspace->needed)
            continue;
        workspace->needed = true;
        workspaces_use(&scheduler->workspaces, workspace, wall_us);
    }
}

static void mark_all(struct scheduler *scheduler, uint64_t wall_us)
{
    for (struct workspace *at = scheduler->workspaces.all; at != NULL; at = at->hh.next)
        at->needed = false;
    for (const struct job *job = cluster_active_jobs(scheduler->cluster); job != NULL;
         job = job->active_next)
        mark_job(scheduler, job->spec, job->user, wall_us);
}

/* sender: whose archives may go; NULL: anybody's */
static void look(struct scheduler *scheduler, const char *sender, uint64_t keep_us)
{
    uint64_t wall_us = clock_instant().wall_us;
    size_t n;

    if (scheduler->workspaces.all == NULL)
        return;
    mark_all(scheduler, wall_us);
    n = workspaces_sweep(&scheduler->workspaces, sender, wall_us - MIN_OF(wall_us, keep_us));
    if (n > 0)
        log_info("workspaces that no job needs were removed: %zu", n);
}

static int on_look(sd_event_source *source, uint64_t time_us, void *userdata)
{
    const struct scheduler *scheduler = userdata;

    (void)time_us;
    if (scheduler->store != NULL) /* a standby does not know which are needed */
        look(userdata, NULL, WORKSPACE_KEEP_US);
    (void)sd_event_source_set_time_relative(source, LOOK_US);
    return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

int api_workspaces_init(struct scheduler *scheduler, struct edl_error *error)
{
    char path[STATE_PATH_MAX];
    int r;

    state_path(&scheduler->options, "workspaces", path);
    r = workspaces_open(scheduler->event, path, &scheduler->options.workspaces,
                        &scheduler->workspaces, error);
    if (r < 0)
        return r;
    mark_all(scheduler, clock_instant().wall_us);
    r = sd_event_add_time_relative(scheduler->event, &scheduler->workspaces_timer, CLOCK_MONOTONIC,
                                   LOOK_US, LOOK_ACCURACY_US, on_look, scheduler);
    return r < 0 ? edl_error_errno(error, r, "the event loop") : 0;
}

int api_workspaces_begin_term(struct scheduler *scheduler, struct store *store, uint64_t term,
                              struct edl_error *error)
{
    const struct shared_database *database = scheduler->leadership.database;
    struct workspaces *workspaces = &scheduler->workspaces;
    uint64_t wall_us = clock_instant().wall_us;
    int r = 0;

    if (database == NULL || database->open_bytes == NULL)
        return 0;
    if (workspaces->rows == NULL)
        r = workspace_rows_new(scheduler->event, workspaces,
                               &(struct workspace_source){ database->open_bytes,
                                                           scheduler->options.store },
                               &workspaces->rows, error);
    if (r == 0)
        r = workspace_rows_load(workspaces->rows, store, term, wall_us, error);
    if (r < 0)
        return r;
    mark_all(scheduler, wall_us);
    workspace_rows_settle(workspaces->rows);
    return 0;
}

void api_workspaces_done(struct scheduler *scheduler)
{
    scheduler->workspaces_timer = sd_event_source_disable_unref(scheduler->workspaces_timer);
    workspaces_close(&scheduler->workspaces);
}

/* NULL: it is not there, or is none of the caller's business. */
static struct workspace *find_for(const struct scheduler *scheduler, const char *hex,
                                  const struct caller *caller)
{
    struct workspace *workspace = workspaces_find(&scheduler->workspaces, hex);
    bool may = workspace != NULL &&
               (caller->role >= USER_OPERATOR || workspace_is_of(workspace, caller->user));

    return may ? workspace : NULL;
}

int api_workspaces_check(struct scheduler *scheduler, const struct job_spec *spec,
                         const struct caller *caller, struct edl_error *error)
{
    for (uint32_t i = 0; i < spec->n_roles; i++) {
        const char *hex = workspace_hash(spec->roles[i].workspace);

        if (hex == NULL || find_for(scheduler, hex, caller) != NULL)
            continue;
        (void)edl_error_set(error, EDL_EBADSPEC, "role %s: there is no workspace %s of yours",
                            spec->roles[i].name, spec->roles[i].workspace);
        return edl_error_remedy(error,
                                "send it first, PUT /workspaces/%.8s..., or submit with"
                                " edl submit --upload FOLDER",
                                hex);
    }
    mark_job(scheduler, spec, caller->user, clock_instant().wall_us);
    return 0;
}

/* ---- calls ---- */

static json_t *workspace_json(const struct workspace *workspace)
{
    return json_pack("{s:s+, s:I, s:I, s:b}", "workspace", WORKSPACE_PREFIX, workspace->sha256,
                     "bytes", (json_int_t)workspace->bytes, "used_us",
                     (json_int_t)clock_shown_us(workspace->used_wall_us), "needed",
                     workspace->needed);
}

static int check_name(const struct http_request *request, const char **ret, struct edl_error *error)
{
    const char *hex = http_request_param(request, "sha256");

    if (hex == NULL || !workspace_hex_valid(hex)) {
        (void)edl_error_set(error, -ENOENT, "there is no workspace %.80s", hex != NULL ? hex : "");
        return edl_error_remedy(error, "it is named by the SHA-256 of its archive, 64 digits 0-9"
                                       " and a-f");
    }
    *ret = hex;
    return 0;
}

/* Archives that nobody needs make room for a new one: of everybody when the room is short, of the
 * sender when only its quota is. */
static void make_room(struct scheduler *scheduler, const char *sender, uint64_t bytes)
{
    struct workspaces *workspaces = &scheduler->workspaces;

    if (workspaces->bytes > workspaces->limits.max_bytes / 2 ||
        workspaces_check_disk(workspaces, bytes, NULL) < 0)
        look(scheduler, NULL, WORKSPACE_KEEP_LEAST_US);
    else if (workspaces_check_sender(workspaces, sender, bytes, NULL) < 0)
        look(scheduler, sender, WORKSPACE_KEEP_LEAST_US);
}

static void on_ready(void *userdata)
{
    http_request_go_on(userdata);
}

static int on_begin(struct http_request *request, void *userdata, struct edl_error *error)
{
    struct scheduler *scheduler = userdata;
    struct workspace_upload *upload = NULL;
    struct workspace *workspace;
    struct caller caller = { .role = USER_NOBODY };
    uint64_t bytes = http_request_announced_bytes(request);
    const char *sender, *hex;
    int r = check_name(request, &hex, error);

    if (r < 0)
        return r;
    if (scheduler->degraded.on)
        return degraded_error(scheduler, error);
    (void)auth_caller(scheduler, request, &caller);
    workspace = find_for(scheduler, hex, &caller);
    if (workspace != NULL) { /* a client that asks before sending sends nothing */
        workspaces_use(&scheduler->workspaces, workspace, clock_instant().wall_us);
        http_reply_json(request, 200, workspace_json(workspace));
        return 0;
    }
    /* whose quota counts: an admin, who sets it, has none */
    sender = caller.role < USER_ADMIN ? caller.user : "";
    make_room(scheduler, sender, bytes);
    r = workspace_upload_new(&scheduler->workspaces, hex, caller.user, sender, bytes, on_ready,
                             request, &upload, error);
    if (r == 0)
        http_request_set_data(request, upload);
    return r;
}

static int on_take(struct http_request *request, const void *data, size_t size, void *userdata,
                   struct edl_error *error)
{
    int r = auth_recheck(userdata, request, error); /* gigabytes take their time */

    if (r < 0)
        return r;
    return workspace_upload_add(http_request_data(request), data, size, error);
}

static void on_end(struct http_request *request, void *userdata)
{
    (void)userdata;
    (void)workspace_upload_free(http_request_data(request));
}

const struct http_sink api_workspace_sink = { .begin = on_begin, .take = on_take, .end = on_end };

/* The sender of an archive, while it is brought to the disk. */
struct sent {
    struct scheduler *scheduler; /* borrowed */
    struct held *held;           /* owned */
};

static void on_stored(struct workspace *workspace, const struct edl_error *error, void *userdata)
{
    struct sent *sent = userdata;
    struct scheduler *scheduler = sent->scheduler;
    struct held *held = sent->held;
    struct edl_error refusal = *error;

    free(sent);
    if (workspace != NULL)
        log_info("workspace %s: %" PRIu64 " bytes; %u are kept", workspace->sha256,
                 workspace->bytes, HASH_COUNT(scheduler->workspaces.all));
    if (workspace != NULL && scheduler->degraded.on)
        (void)degraded_error(scheduler, &refusal);
    else if (workspace != NULL && held->request != NULL)
        (void)auth_recheck(scheduler, held->request, &refusal);
    if (refusal.code != 0) /* what is there nevertheless nobody needs: it goes */
        held_reply_error(held, &refusal);
    else /* nothing of it is in the database but who sent it */
        held_after_commit(scheduler, held, 200, workspace_json(workspace));
}

void api_workspace_put(struct http_request *request, void *userdata)
{
    struct edl_error error = { 0 };
    struct sent *sent = xcalloc(1, sizeof *sent);

    sent->scheduler = userdata;
    if (workspace_upload_finish(http_request_data(request), clock_instant().wall_us, on_stored,
                                sent, &error) < 0) {
        free(sent);
        http_reply_error(request, &error);
        return;
    }
    sent->held = held_new(request);
}

static int refuse_name(const char *hex, struct edl_error *error)
{
    (void)edl_error_set(error, -ENOENT, "there is no workspace %s of yours", hex);
    return edl_error_remedy(error, "a workspace that no job needs is removed: send it again; one"
                                   " that others sent is theirs");
}

/* People may what is theirs; a node for a process of the role that names it. */
static int check_caller(struct scheduler *scheduler, const struct http_request *request,
                        const char *hex, struct edl_error *error)
{
    struct process *process = NULL;
    const char *needed;
    struct caller caller;
    int r;

    if (auth_caller(scheduler, request, &caller) == 1)
        return find_for(scheduler, hex, &caller) != NULL ? 0 : refuse_name(hex, error);
    r = auth_process(scheduler, request, &process, error);
    if (r < 0)
        return r;
    needed = workspace_hash(process->job->spec->roles[process->role].workspace);
    if (needed != NULL && streq(needed, hex))
        return 0;
    return edl_error_set(error, -EACCES, "process %s does not need that workspace",
                         http_request_header(request, "X-EDL-Process"));
}

/* A user who was lowered or removed since gets no more of it, nor a node whose process is over. */
static bool may_read_on(struct http_request *request, void *userdata)
{
    struct edl_error error = { 0 };
    const char *hex;
    bool may = auth_recheck(userdata, request, &error) == 0 &&
               check_name(request, &hex, &error) == 0 &&
               check_caller(userdata, request, hex, &error) == 0;

    if (!may)
        log_warning("the answer with a workspace was cut off: %s", error.text);
    return may;
}

static void send_archive(struct scheduler *scheduler, struct http_request *request);

/* A request whose archive is brought from the database. */
struct fetching {
    struct scheduler *scheduler;  /* borrowed */
    struct http_request *request; /* borrowed; NULL: its client has left */
};

static void on_fetching_gone(struct http_request *request, void *userdata)
{
    struct fetching *fetching = userdata;

    (void)request;
    fetching->request = NULL;
}

/* The caller may have lost its right, and the scheduler its term, meanwhile. */
static void on_fetched(const struct edl_error *error, void *userdata)
{
    struct fetching *fetching = userdata;
    struct scheduler *scheduler = fetching->scheduler;
    struct http_request *request = fetching->request;
    struct edl_error refusal = { 0 };

    free(fetching);
    if (request == NULL)
        return;
    if (error != NULL)
        refusal = *error;
    else if (scheduler->degraded.away)
        (void)degraded_error(scheduler, &refusal);
    else
        (void)auth_recheck(scheduler, request, &refusal);
    if (refusal.code != 0)
        http_reply_error(request, &refusal);
    else
        send_archive(scheduler, request);
}

static void fetch(struct scheduler *scheduler, struct http_request *request,
                  const struct workspace *workspace)
{
    struct fetching *fetching = xcalloc(1, sizeof *fetching);

    *fetching = (struct fetching){ scheduler, request };
    http_request_defer(request, on_fetching_gone, fetching);
    workspace_rows_fetch(scheduler->workspaces.rows, workspace, on_fetched, fetching);
}

/* find_named - what the path names, if the caller may have it */
static int find_named(struct scheduler *scheduler, const struct http_request *request,
                      struct workspace **ret, struct edl_error *error)
{
    const char *hex;
    int r = check_name(request, &hex, error);

    if (r == 0)
        r = check_caller(scheduler, request, hex, error);
    if (r < 0)
        return r;
    *ret = workspaces_find(&scheduler->workspaces, hex);
    if (*ret != NULL)
        return 0;
    /* a node asks */
    (void)edl_error_set(error, -ENOENT, "there is no workspace %s", hex);
    return edl_error_remedy(error, "a workspace that no job needs is removed: send it again");
}

static void send_archive(struct scheduler *scheduler, struct http_request *request)
{
    struct workspaces *workspaces = &scheduler->workspaces;
    struct workspace *workspace;
    struct edl_error error = { 0 };
    struct stat st;
    int fd = find_named(scheduler, request, &workspace, &error);

    if (fd == 0)
        fd = workspaces_file(workspaces, workspace, &error);
    if (fd >= 0 && fstat(fd, &st) == -1) {
        (void)edl_error_errno(&error, -errno, "the archive %s", workspace->sha256);
        fd = safe_close(fd);
    }
    if (fd >= 0)
        http_reply_file_while(request, 200, MEDIA, fd, (uint64_t)st.st_size, may_read_on,
                              scheduler);
    else
        http_reply_error(request, &error);
}

/* whether the database has an archive that the folder lacks */
static bool is_elsewhere(const struct workspaces *workspaces, struct workspace *workspace)
{
    int fd = workspace->far ? -ENOENT : workspaces_file(workspaces, workspace, NULL);

    if (fd >= 0)
        (void)safe_close(fd);
    else
        workspace->far = workspaces->rows != NULL && workspace->kept;
    return workspace->far;
}

void api_workspace_get(struct http_request *request, void *userdata)
{
    struct scheduler *scheduler = userdata;
    struct workspace *workspace;
    struct edl_error error = { 0 };

    if (find_named(scheduler, request, &workspace, &error) < 0)
        http_reply_error(request, &error);
    else if (is_elsewhere(&scheduler->workspaces, workspace))
        fetch(scheduler, request, workspace);
    else
        send_archive(scheduler, request);
}

void api_workspaces_list(struct http_request *request, void *userdata)
{
    struct scheduler *scheduler = userdata;
    struct caller caller = { .role = USER_NOBODY };
    json_t *list = json_array();

    (void)auth_caller(scheduler, request, &caller);
    look(scheduler, NULL, WORKSPACE_KEEP_US);
    for (const struct workspace *workspace = scheduler->workspaces.all; workspace != NULL;
         workspace = workspace->hh.next)
        if (find_for(scheduler, workspace->sha256, &caller) != NULL)
            (void)json_array_append_new(list, workspace_json(workspace));
    http_reply_json(request, 200,
                    json_pack("{s:o, s:I, s:I}", "workspaces", list, "bytes",
                              (json_int_t)scheduler->workspaces.bytes, "max_bytes",
                              (json_int_t)scheduler->workspaces.limits.max_bytes));
}
