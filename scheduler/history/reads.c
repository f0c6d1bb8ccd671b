/* SPDX-License-Identifier: Apache-2.0 */
/* reads.c - see reads.h */
#include "scheduler/history/reads.h"

#include <errno.h>
#include <stdio.h>
#include <utlist.h>

#include "scheduler/core/core.h"
#include "scheduler/history/history_json.h"
#include "scheduler/scheduler.h"
#include "scheduler/store/reader_source.h"
#include "scheduler/worker.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/http_server.h"
#include "shared/macro.h"

struct history_read {
    struct worker_job job; /* first */
    struct scheduler *scheduler;
    struct held *held;
    struct history_question question;
    struct reader_source source; /* of the database */
    json_t *answer;              /* owned; NULL: not yet, or */
    struct edl_error error;
    struct history_read *next, *prev;
};

/* In the thread: it looks at its own read alone. */
static void run(struct worker_job *job)
{
    struct history_read *read = (struct history_read *)job;
    struct store_reader *reader;

    if (store_reader_open(&read->source, &reader, &read->error) < 0)
        return;
    read->answer = history_answer(reader, &read->question, &read->error);
    (void)store_reader_close(reader);
}

static void reply(struct history_read *read)
{
    if (read->answer != NULL) {
        history_show_times(read->answer);
        held_reply_json(read->held, 200, read->answer);
    } else {
        held_reply_error(read->held, &read->error);
    }
}

static void read_free(struct history_read *read)
{
    history_question_done(&read->question);
    free(read);
}

static void start_next(struct history_reads *reads)
{
    while (!reads->ends && reads->waiting != NULL) {
        struct history_read *read = reads->waiting;

        if (read->held->request != NULL) {
            worker_start(reads->worker, &read->job);
            return;
        }
        DL_DELETE(reads->waiting, read); /* its caller has left */
        reads->n--;
        held_reply_json(read->held, 200, NULL);
        read_free(read);
    }
}

static void on_read(struct worker_job *job)
{
    struct history_read *read = (struct history_read *)job;
    struct history_reads *reads = &read->scheduler->history_reads;

    DL_DELETE(reads->waiting, read);
    reads->n--;
    reply(read);
    read_free(read);
    start_next(reads);
}

static void refuse(struct http_request *request)
{
    struct edl_error error = { 0 };

    (void)edl_error_set(&error, -EAGAIN,
                        "answers about the history that are being made already: %d",
                        HISTORY_READS_MAX);
    (void)edl_error_remedy(&error, "ask again in some seconds");
    http_reply_error(request, &error);
}

static void begin(struct scheduler *scheduler, struct http_request *request,
                  struct history_question *take_question)
{
    struct history_reads *reads = &scheduler->history_reads;
    struct history_read *read;

    if (reads->n >= HISTORY_READS_MAX) {
        refuse(request);
        history_question_done(take_question);
        return;
    }
    read = xcalloc(1, sizeof *read);
    read->job = (struct worker_job){ .run = run, .done = on_read };
    read->scheduler = scheduler;
    read->held = held_new(request);
    read->question = *take_question;
    read->source = *store_reader_source(scheduler->store);
    DL_APPEND(reads->waiting, read);
    if (reads->n++ == 0)
        start_next(reads);
}

void history_read_allocation(struct scheduler *scheduler, struct http_request *request,
                             const struct held_query *query, uint32_t bins)
{
    struct history_question question = { .query = *query, .bins = bins };

    begin(scheduler, request, &question);
}

void history_read_job(struct scheduler *scheduler, struct http_request *request,
                      const struct job *job, const struct held_query *query, uint32_t bins)
{
    struct history_question question = { .query = *query, .bins = bins };

    question.progress = job_series_json(&scheduler->series, job->id);
    for (uint32_t r = 0; r < job->spec->n_roles; r++)
        (void)snprintf(question.roles[question.n_roles++], ROLE_NAME_MAX + 1, "%s",
                       job->spec->roles[r].name);
    begin(scheduler, request, &question);
}

int history_reads_init(struct scheduler *scheduler, struct edl_error *error)
{
    return worker_new(scheduler->event, "history", &scheduler->history_reads.worker, error);
}

/* The server is gone, and with it the requests. */
void history_reads_done(struct scheduler *scheduler)
{
    struct history_reads *reads = &scheduler->history_reads;
    struct history_read *read, *next;

    reads->ends = true;
    reads->worker = worker_free(reads->worker);
    DL_FOREACH_SAFE(reads->waiting, read, next)
    {
        DL_DELETE(reads->waiting, read);
        held_reply_json(read->held, 200, NULL);
        read_free(read);
    }
}
