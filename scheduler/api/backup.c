/* SPDX-License-Identifier: Apache-2.0 */
/* backup.c - GET /backup: a copy of the database, made while it is used
 *
 * It is sent to the caller, and not left in the state directory: a copy on the same disk is lost
 * with it, and a name that comes over the network need not become a path here. In between it lies
 * beside the database, in a file that nobody else can open. It has no name any more once it is
 * sent. A pass of the loop copies a quarter of a mebibyte and then serves everybody else. */
#include "scheduler/api/backup.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scheduler/api/api.h"
#include "scheduler/api/backup_copy.h"
#include "scheduler/accounts/auth.h"
#include "scheduler/scheduler.h"
#include "scheduler/state.h"
#include "scheduler/store/store.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/http_server.h"
#include "shared/log.h"
#include "shared/macro.h"

#define STEP_PAGES 64

struct backup_job {
    struct scheduler *scheduler; /* borrowed */
    struct held *held;           /* owned: who asked */
    struct store_backup *copy;   /* owned */
    struct backup_copy *shared;  /* owned: the same of a database that schedulers share */
    sd_event_source *step;       /* owned */
    char path[STATE_PATH_MAX];
};

static void job_free(struct backup_job *job)
{
    job->scheduler->backup = NULL;
    (void)backup_copy_free(job->shared); /* which may call on_copied */
    (void)sd_event_source_disable_unref(job->step);
    (void)store_backup_free(job->copy);
    (void)unlink(job->path);
    free(job);
}

void backup_done(struct scheduler *scheduler)
{
    struct backup_job *job = scheduler->backup;

    if (job == NULL)
        return;
    held_reply_json(job->held, 0, NULL); /* its request has been answered: only frees */
    job_free(job);
}

/* A caller who was lowered or removed since gets no more of it, like a reader of events. */
static bool may_read_on(struct http_request *request, void *userdata)
{
    struct edl_error error = { 0 };
    bool may = auth_recheck(userdata, request, &error) == 0;

    if (!may)
        log_warning("a backup was cut off: %s", error.text);
    return may;
}

/* The whole copy, to whoever still listens. */
static int send_copy(const struct backup_job *job, struct edl_error *error)
{
    _cleanup_close_ int fd = open(job->path, O_RDONLY | O_CLOEXEC);
    struct stat st;

    if (fd == -1 || fstat(fd, &st) == -1)
        return edl_error_errno(error, -errno, "opening %s", job->path);
    if (job->held->request != NULL) {
        http_reply_file_while(job->held->request, 200, "application/vnd.sqlite3", TAKE_FD(fd),
                              (uint64_t)st.st_size, may_read_on, job->scheduler);
        log_info("a backup of %lld bytes was made", (long long)st.st_size);
    }
    job->held->request = NULL;
    held_reply_json(job->held, 0, NULL);
    return 0;
}

static int on_step(sd_event_source *source, void *userdata)
{
    struct backup_job *job = userdata;
    struct http_request *request = job->held->request;
    struct edl_error error = { 0 };
    int r = request != NULL ? auth_recheck(job->scheduler, request, &error) : 0;

    (void)source;
    if (request != NULL && r == 0)
        r = job->shared != NULL ? backup_copy_result(job->shared, &error)
                                : store_backup_step(job->copy, STEP_PAGES, &error);
    if (r > 0)
        return 0;
    job->copy = store_backup_free(job->copy);
    if (r == 0)
        r = send_copy(job, &error);
    if (r < 0) {
        (void)log_failure(&error, "no backup");
        held_reply_error(job->held, &error);
    }
    job_free(job);
    return 0;
}

/* It is sent from the loop, as one of the state directory is. */
static void on_copied(void *userdata)
{
    const struct backup_job *job = userdata;

    (void)sd_event_source_set_enabled(job->step, SD_EVENT_ON);
}

/* begin_copy - until it has a copy, of either kind, nothing of it is sent */
static int begin_copy(struct backup_job *job, struct edl_error *error)
{
    struct scheduler *scheduler = job->scheduler;

    if (scheduler->options.store[0] == '\0')
        return store_backup_new(scheduler->store, job->path, &job->copy, error);
    return backup_copy_new(scheduler->event, scheduler->options.store, job->path, on_copied, job,
                           &job->shared, error);
}

static int begin(struct scheduler *scheduler, struct http_request *request, struct edl_error *error)
{
    struct backup_job *job = xcalloc(1, sizeof *job);
    int r;

    job->scheduler = scheduler;
    state_path(&scheduler->options, "backup.new", job->path);
    (void)unlink(job->path); /* of a run that was killed */
    r = sd_event_add_defer(scheduler->event, &job->step, on_step, job);
    if (r >= 0)
        r = sd_event_source_set_enabled(job->step, SD_EVENT_OFF);
    if (r >= 0)
        r = begin_copy(job, error);
    if (r >= 0 && job->copy != NULL)
        r = sd_event_source_set_enabled(job->step, SD_EVENT_ON);
    if (r < 0) {
        if (error->code == 0)
            (void)edl_error_errno(error, r, "the event loop");
        job_free(job);
        return error->code;
    }
    job->held = held_new(request);
    scheduler->backup = job;
    return 0;
}

void api_backup(struct http_request *request, void *userdata)
{
    struct scheduler *scheduler = userdata;
    struct edl_error error = { 0 };

    if (scheduler->degraded.on) { /* there is no room for the copy */
        degraded_refuse(scheduler, request);
        return;
    }
    if (scheduler->backup != NULL) {
        (void)edl_error_set(&error, -EEXIST, "another backup is being made");
        (void)edl_error_remedy(&error, "ask again when it is done");
    } else if (begin(scheduler, request, &error) == 0) {
        return;
    }
    http_reply_error(request, &error);
}
