/* SPDX-License-Identifier: Apache-2.0 */
/* datasets.c - datasets on their way
 *
 *   waiting -> taking <-> reading (each 256 KiB, in the worker's thread)
 *              taking  -> reading the last of it -> storing (a slice a turn) [-> dropped] -> over
 *
 * waiting: another of the same job is on its way. */
#include "scheduler/workspaces/datasets.h"

#include <errno.h>
#include <stdio.h>
#include <utlist.h>

#include "scheduler/api/process_ref.h"
#include "scheduler/core/base/queue_rules.h"
#include "scheduler/core/core.h"
#include "scheduler/scheduler.h"
#include "scheduler/store/store.h"
#include "scheduler/worker.h"
#include "scheduler/workspaces/dataset_reader.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/http_server.h"
#include "shared/macro.h"

#define PIECE_BYTES (256 * 1024)
/* From one slice to the next: other turns come meanwhile, without a slice. */
#define PAUSE_US (2 * USEC_PER_MSEC)

enum upload_state {
    UPLOAD_WAITING,
    UPLOAD_TAKING,
    UPLOAD_READING,
    UPLOAD_STORING,
    UPLOAD_DROPPED, /* its job is over: its stored rows are to go */
    UPLOAD_OVER,
};

struct dataset_upload {
    struct worker_job job; /* first */
    struct scheduler *scheduler;
    struct http_request *request; /* borrowed; NULL once it is over */
    struct held *held;            /* owned from the end of the body to the answer */
    uint64_t job_id;
    char user[sizeof((struct job *)NULL)->user];
    struct process_ref sender;
    enum upload_state state;
    struct dataset_reader *reader; /* owned; the thread's while it reads */
    char *piece;                   /* owned: came and is not read; the same */
    size_t piece_size, piece_room;
    uint64_t n_bytes;
    bool whole;
    struct edl_error error;       /* why it is refused; code 0: it is not */
    char **rows;                  /* owned: of each task that was read, as it is stored */
    uint32_t n_rows, n_room;      /* the thread's while it reads */
    uint64_t n_tasks, task_bytes; /* that were read and are not the job's yet */
    uint32_t n_stored;
    uint32_t slice; /* of them, those in this turn */
    struct dataset_upload *prev, *next;
};

static void upload_free(struct dataset_upload *upload)
{
    struct datasets *datasets = &upload->scheduler->datasets;

    DL_DELETE(datasets->uploads, upload);
    if (datasets->wake != NULL)
        (void)sd_event_source_set_enabled(datasets->wake, SD_EVENT_ONESHOT);
    for (uint32_t i = 0; i < upload->n_rows; i++)
        free(upload->rows[i]);
    free(upload->rows);
    free(upload->piece);
    (void)dataset_reader_free(upload->reader);
    free(upload);
}

/* want_slice - some time from now, unless one is to come anyway */
static void want_slice(struct scheduler *scheduler, uint64_t pause_us)
{
    sd_event_source *next = scheduler->datasets.next_slice;
    int enabled = SD_EVENT_OFF;

    (void)sd_event_source_get_enabled(next, &enabled);
    if (enabled != SD_EVENT_OFF || scheduler->datasets.slice_due)
        return;
    (void)sd_event_source_set_time_relative(next, pause_us);
    (void)sd_event_source_set_enabled(next, SD_EVENT_ONESHOT);
}

static bool is_another_under_way(const struct dataset_upload *upload)
{
    const struct dataset_upload *other;

    DL_FOREACH(upload->scheduler->datasets.uploads, other)
    {
        if (other != upload && other->job_id == upload->job_id && other->state != UPLOAD_WAITING &&
            other->state != UPLOAD_OVER)
            return true;
    }
    return false;
}

/* A job that has its dataset is told of its digest, and nothing more is read. */
static void begin(struct dataset_upload *upload)
{
    const struct scheduler *scheduler = upload->scheduler;
    const struct job *job = cluster_job(scheduler->cluster, upload->job_id);
    bool is_new = job != NULL && job->queue == NULL;
    struct task_queue_config config =
        is_new ? queue_rules(job->spec) : (struct task_queue_config){ 0 };

    upload->reader =
        dataset_reader_new(is_new ? &config : NULL, is_new ? scheduler->options.dataset.tasks : 0);
    upload->state = UPLOAD_TAKING;
}

/* --- the rights of the job --- */

int datasets_check_bytes(const struct scheduler *scheduler, uint64_t bytes, struct edl_error *error)
{
    uint64_t most = scheduler->options.dataset.bytes;

    if (most == 0 || bytes <= most)
        return 0;
    (void)edl_error_set(error, -E2BIG, "the dataset is longer than %llu bytes (max-job-dataset)",
                        (unsigned long long)most);
    return edl_error_remedy(error, "let chunks be larger pieces of files (offset and records), or "
                                   "name the files in an index file of the workspace");
}

/* All that the user has under way counts as if it were there. A 422, as a 409 tells programs that
 * another dataset is in force. */
static int check_room(struct dataset_upload *upload, struct edl_error *error)
{
    struct scheduler *scheduler = upload->scheduler;
    const struct dataset_upload *other;
    uint64_t tasks = 0, bytes = 0;
    int r;

    DL_FOREACH(scheduler->datasets.uploads, other)
    {
        if (streq(other->user, upload->user) && other->error.code == 0) {
            tasks += other->n_tasks;
            bytes += other->task_bytes;
        }
    }
    r = cluster_check_dataset(scheduler->cluster, upload->user, tasks, bytes,
                              &scheduler->options.limits, error);
    scheduler->metrics.over_limit += r == -EDQUOT;
    if (r == -EDQUOT)
        error->code = r = EDL_EBADSPEC;
    return r;
}

/* --- reading --- */

static void keep_row(struct dataset_upload *upload, const struct task *task)
{
    char *row = store_chunks_text(task);

    if (upload->n_rows == upload->n_room) {
        upload->n_room = MAX_OF(upload->n_room * 2, 1024u);
        upload->rows = xreallocarray(upload->rows, upload->n_room, sizeof *upload->rows);
    }
    /* it was made with room to grow */
    upload->rows[upload->n_rows++] = xreallocarray(row, strlen(row) + 1, 1);
}

/* The worker's. */
static void run_read(struct worker_job *job)
{
    struct dataset_upload *upload = (struct dataset_upload *)job;
    const struct task_queue *queue = dataset_reader_queue(upload->reader);
    int r = dataset_reader_add(upload->reader, upload->piece, upload->piece_size, &upload->error);

    if (r == 0 && upload->whole)
        r = dataset_reader_end(upload->reader, &upload->error);
    upload->piece_size = 0;
    if (r == 0 && queue != NULL)
        while (upload->n_rows < task_queue_n_tasks(queue))
            keep_row(upload, task_queue_task(queue, upload->n_rows));
}

static void refuse(struct dataset_upload *upload)
{
    struct held *held = TAKE_PTR(upload->held);

    upload->state = upload->n_stored > 0 ? UPLOAD_DROPPED : UPLOAD_OVER;
    held_reply_error(held, &upload->error);
    if (upload->state == UPLOAD_DROPPED)
        want_slice(upload->scheduler, 0);
    else if (upload->request == NULL)
        upload_free(upload);
}

/* It is the job's now, or was before. */
static void set(struct dataset_upload *upload)
{
    struct scheduler *scheduler = upload->scheduler;
    struct job *job = cluster_job(scheduler->cluster, upload->job_id);
    struct task_queue *queue = dataset_reader_take_queue(upload->reader);
    int r;

    if (queue != NULL)
        task_queue_set_stored(queue, upload->n_stored);
    r = job == NULL ? edl_error_set(&upload->error, -ENOENT, "the job is not there any more")
                    : cluster_set_dataset(scheduler->cluster, job, queue,
                                          dataset_reader_digest(upload->reader), clock_instant(),
                                          &upload->error);
    if (r < 0) {
        (void)task_queue_free(queue);
        refuse(upload);
        return;
    }
    upload->state = UPLOAD_OVER;
    upload->n_tasks = upload->task_bytes = 0;
    held_after_commit(scheduler, TAKE_PTR(upload->held), 200,
                      json_pack("{s:I,s:I}", "tasks", (json_int_t)task_queue_n_tasks(job->queue),
                                "passes", (json_int_t)task_queue_passes(job->queue)));
    if (upload->request == NULL)
        upload_free(upload);
}

/* All of it was read. */
static void store(struct dataset_upload *upload)
{
    struct scheduler *scheduler = upload->scheduler;
    struct process *sender = process_ref_find(scheduler, &upload->sender, &upload->error);

    if (sender == NULL) {
        refuse(upload);
        return;
    }
    if (dataset_reader_queue(upload->reader) == NULL && sender->job->queue == NULL)
        (void)edl_error_set(&upload->error, -EAGAIN, "the job's dataset was lost in this moment");
    if (upload->error.code != 0) {
        refuse(upload);
    } else if (sender->job->queue != NULL) {
        set(upload);
    } else {
        upload->state = UPLOAD_STORING;
        want_slice(scheduler, 0);
    }
}

static void on_read(struct worker_job *job)
{
    struct dataset_upload *upload = (struct dataset_upload *)job;
    const struct task_queue *queue = dataset_reader_queue(upload->reader);

    upload->state = UPLOAD_TAKING;
    if (queue != NULL) {
        upload->n_tasks = task_queue_n_tasks(queue);
        upload->task_bytes = task_queue_bytes(queue);
    }
    if (upload->error.code == 0)
        (void)check_room(upload, &upload->error);
    if (upload->whole && upload->error.code != 0)
        refuse(upload);
    else if (upload->whole)
        store(upload);
    else if (upload->request == NULL)
        upload_free(upload);
    else
        http_request_go_on(upload->request);
}

static void read_piece(struct dataset_upload *upload)
{
    upload->state = UPLOAD_READING;
    upload->job = (struct worker_job){ .run = run_read, .done = on_read };
    worker_start(upload->scheduler->datasets.worker, &upload->job);
}

/* --- the request --- */

struct dataset_upload *dataset_upload_new(struct scheduler *scheduler, struct http_request *request,
                                          const struct job *job)
{
    struct dataset_upload *upload = xcalloc(1, sizeof *upload);

    upload->scheduler = scheduler;
    upload->request = request;
    upload->job_id = job->id;
    (void)snprintf(upload->user, sizeof upload->user, "%s", job->user);
    DL_APPEND(scheduler->datasets.uploads, upload);
    if (!is_another_under_way(upload))
        begin(upload);
    return upload;
}

/* A waiting upload keeps its bytes, and is not read from. */
int dataset_upload_add(struct dataset_upload *upload, const void *data, size_t size,
                       struct edl_error *error)
{
    if (upload->error.code == 0)
        (void)datasets_check_bytes(upload->scheduler, upload->n_bytes + size, &upload->error);
    if (upload->error.code != 0) {
        *error = upload->error;
        return error->code;
    }
    upload->n_bytes += size;
    if (upload->piece_size + size > upload->piece_room) {
        upload->piece_room = MAX_OF(upload->piece_size + size, (size_t)PIECE_BYTES);
        upload->piece = xreallocarray(upload->piece, upload->piece_room, 1);
    }
    memcpy(upload->piece + upload->piece_size, data, size);
    upload->piece_size += size;
    if (upload->state == UPLOAD_WAITING)
        return 1;
    if (upload->piece_size < PIECE_BYTES)
        return 0;
    read_piece(upload);
    return 1;
}

void dataset_upload_finish(struct dataset_upload *upload, const struct process *sender)
{
    upload->held = held_new(upload->request);
    upload->sender = process_ref_of(sender);
    upload->whole = true;
    if (upload->state == UPLOAD_WAITING) /* there is no body at all */
        begin(upload);
    read_piece(upload);
}

void dataset_upload_leave(struct dataset_upload *upload)
{
    upload->request = NULL;
    if (upload->state != UPLOAD_READING && upload->state != UPLOAD_STORING &&
        upload->state != UPLOAD_DROPPED)
        upload_free(upload);
}

/* --- turns --- */

static struct dataset_upload *next_of(const struct scheduler *scheduler)
{
    struct dataset_upload *upload = scheduler->datasets.uploads;

    while (upload != NULL && upload->state != UPLOAD_STORING && upload->state != UPLOAD_DROPPED)
        upload = upload->next;
    return upload;
}

void datasets_slice(struct scheduler *scheduler, struct turn_records *records)
{
    struct dataset_upload *upload = next_of(scheduler);
    const uint32_t first = upload != NULL ? upload->n_stored : 0;
    uint32_t n = 0;
    size_t bytes = 0;

    if (upload == NULL || !scheduler->datasets.slice_due)
        return;
    while (upload->state == UPLOAD_STORING && first + n < upload->n_rows &&
           n < DATASET_SLICE_TASKS && bytes < DATASET_SLICE_BYTES)
        bytes += strlen(upload->rows[first + n++]);
    upload->slice = n;
    records->tasks = (struct stored_tasks){ .job_id = upload->job_id,
                                            .queue = dataset_reader_queue(upload->reader),
                                            .first = first,
                                            .n = n,
                                            .chunks = (const char *const *)upload->rows + first,
                                            .dropped = upload->state == UPLOAD_DROPPED };
}

static void end_slice(struct dataset_upload *upload)
{
    struct dataset_upload **uploads = &upload->scheduler->datasets.uploads;

    for (; upload->slice > 0; upload->slice--) {
        free(upload->rows[upload->n_stored]);
        upload->rows[upload->n_stored++] = NULL;
    }
    DL_DELETE(*uploads, upload); /* others are next */
    DL_APPEND(*uploads, upload);
    if (upload->state == UPLOAD_STORING && upload->n_stored == upload->n_rows) {
        set(upload);
    } else if (upload->state == UPLOAD_DROPPED) {
        upload->state = UPLOAD_OVER;
        if (upload->request == NULL)
            upload_free(upload);
    }
}

void datasets_stored(struct scheduler *scheduler)
{
    struct dataset_upload *upload = next_of(scheduler);

    if (!scheduler->datasets.slice_due)
        return;
    scheduler->datasets.slice_due = false;
    if (upload != NULL)
        end_slice(upload);
    if (next_of(scheduler) != NULL)
        want_slice(scheduler, PAUSE_US);
}

static int on_slice(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct scheduler *scheduler = userdata;

    (void)source;
    (void)usec;
    scheduler->datasets.slice_due = true;
    scheduler_touch(scheduler);
    return 0;
}

void datasets_refuse(struct scheduler *scheduler, const struct edl_error *error)
{
    struct dataset_upload *upload, *next;

    scheduler->datasets.slice_due = false;
    DL_FOREACH_SAFE(scheduler->datasets.uploads, upload, next)
    {
        if (upload->state == UPLOAD_STORING) {
            upload->slice = 0;
            upload->error = *error;
            upload->n_stored = 0; /* the next one of the job replaces it */
            refuse(upload);
        }
    }
}

/* --- all of them --- */

static int on_wake(sd_event_source *source, void *userdata)
{
    struct scheduler *scheduler = userdata;
    struct dataset_upload *upload, *next;

    (void)source;
    DL_FOREACH_SAFE(scheduler->datasets.uploads, upload, next)
    {
        if (upload->state == UPLOAD_WAITING && !is_another_under_way(upload)) {
            begin(upload);
            if (upload->piece_size > 0)
                http_request_go_on(upload->request);
        }
    }
    return 0;
}

int datasets_init(struct scheduler *scheduler, struct edl_error *error)
{
    struct datasets *datasets = &scheduler->datasets;
    int r = worker_new(scheduler->event, "datasets", &datasets->worker, error);

    if (r < 0)
        return r;
    r = sd_event_add_defer(scheduler->event, &datasets->wake, on_wake, scheduler);
    if (r >= 0)
        r = sd_event_source_set_enabled(datasets->wake, SD_EVENT_OFF);
    if (r >= 0)
        r = sd_event_add_time(scheduler->event, &datasets->next_slice, CLOCK_MONOTONIC, 0, 1,
                              on_slice, scheduler);
    if (r >= 0)
        r = sd_event_source_set_enabled(datasets->next_slice, SD_EVENT_OFF);
    return r < 0 ? edl_error_errno(error, r, "the event loop") : 0;
}

void datasets_done(struct scheduler *scheduler)
{
    struct datasets *datasets = &scheduler->datasets;
    struct dataset_upload *upload, *next;

    datasets->wake = sd_event_source_disable_unref(datasets->wake);
    datasets->worker = worker_free(datasets->worker);
    datasets->next_slice = sd_event_source_disable_unref(datasets->next_slice);
    DL_FOREACH_SAFE(datasets->uploads, upload, next)
    {
        if (upload->held != NULL)
            held_reply_json(upload->held, 0, NULL);
        upload_free(upload);
    }
}
