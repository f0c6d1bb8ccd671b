/* SPDX-License-Identifier: Apache-2.0 */
/* body_reads.c - see body_reads.h */
#include "scheduler/calls/body_reads.h"

#include <stdlib.h>

#include "scheduler/accounts/auth.h"
#include "scheduler/scheduler.h"
#include "scheduler/worker.h"
#include "shared/cleanup.h"
#include "shared/document_bounds.h"
#include "shared/error.h"
#include "shared/http_server.h"
#include "shared/job_document.h"
#include "shared/macro.h"

#define KIB ((size_t)1024)

/* A smaller one is read in the loop, which takes some 1 ms at most. Reports of up to a hundred
 * processes are such: a thread that has to be woken would make them wait. */
static const size_t inline_bytes[DISPATCH_TIERS] = {
    [DISPATCH_NODES] = 64 * KIB,
    [DISPATCH_PROCESSES] = 16 * KIB,
    [DISPATCH_PEOPLE] = 16 * KIB,
    [DISPATCH_FORECASTS] = 16 * KIB,
};

/* So many that were read may wait behind a turn in flight, of all tiers but nodes': one takes up to
 * 3 MiB. */
#define READ_AHEAD 16

/* Of each tier but nodes', whose connections are few. */
static const struct fair_limits bounded = { .each = 64, .all = 1024 };
static const struct fair_limits unbounded = { 0 };

struct body_read {
    struct fair_item item; /* first */
    struct worker_job job;
    struct scheduler *scheduler;
    struct http_request *request; /* borrowed; NULL: its caller has left */
    enum dispatch_tier tier;
    uint64_t since_us; /* its request waits */
    bool is_document;  /* JSON or YAML */
    char *body;        /* owned, while it is read */
    size_t size;
    struct document_bounds bounds;
    json_t *json; /* owned: the result; NULL: error says why not */
    struct edl_error error;
};

static void read_next(struct scheduler *scheduler);

static struct body_read *read_of(struct worker_job *job)
{
    return (struct body_read *)(void *)((char *)job - offsetof(struct body_read, job));
}

static void read_free(struct body_read *read)
{
    json_decref(read->json);
    free(read->body);
    free(read);
}

static void run_read(struct worker_job *job)
{
    struct body_read *read = read_of(job);

    if (read->is_document)
        (void)job_document_parse(read->body, read->size, &read->bounds, &read->json, &read->error);
    else
        (void)http_body_read(read->body, read->size, &read->bounds, &read->json, &read->error);
}

static void on_read(struct worker_job *job)
{
    struct body_read *read = read_of(job);
    struct scheduler *scheduler = read->scheduler;
    struct http_request *request = read->request;

    scheduler->body_reads.running = NULL;
    scheduler->body_reads.n_read++;
    if (request != NULL) {
        http_request_return_body(request, TAKE_PTR(read->body));
        http_request_set_read(request, TAKE_PTR(read->json), &read->error);
        http_request_defer(request, NULL, NULL);
        dispatch_read(scheduler, request, read->since_us);
    }
    read_free(read);
    read_next(scheduler);
}

/* A caller that left has a connection no more, and its request was nothing else. */
static void on_left(struct http_request *request, void *userdata)
{
    struct body_read *read = userdata;
    struct body_reads *reads = &read->scheduler->body_reads;

    (void)request;
    reads->n_left++;
    read->request = NULL;
    if (reads->running == read) /* it is freed when it was read */
        return;
    fair_remove(reads->waiting[read->tier], &read->item);
    read_free(read);
}

/* take - nodes first, the others in turn */
static struct body_read *take(struct body_reads *reads, bool nodes_only)
{
    struct fair_item *item = fair_take(reads->waiting[DISPATCH_NODES], FAIR_ALL);

    for (size_t i = 1; item == NULL && !nodes_only && i <= DISPATCH_TIERS; i++) {
        enum dispatch_tier tier = (enum dispatch_tier)((reads->last + i) % DISPATCH_TIERS);

        item = fair_take(reads->waiting[tier], FAIR_ALL);
        if (item != NULL)
            reads->last = tier;
    }
    return (struct body_read *)item;
}

static void read_next(struct scheduler *scheduler)
{
    struct body_reads *reads = &scheduler->body_reads;
    struct body_read *read;

    if (reads->running != NULL)
        return;
    read = take(reads, scheduler->dispatch.opening || scheduler->dispatch.n_read >= READ_AHEAD);
    if (read == NULL)
        return;
    reads->running = read;
    (void)http_request_body(read->request, &read->size);
    read->body = http_request_lend_body(read->request);
    worker_start(reads->worker, &read->job);
}

void body_reads_wake(struct scheduler *scheduler)
{
    read_next(scheduler);
}

bool body_reads_wants(const struct http_request *request, enum dispatch_tier tier)
{
    const struct http_route *route = http_request_route(request);
    size_t size;

    (void)http_request_body(request, &size);
    return size > inline_bytes[tier] && route->sink == NULL && route->takes != NULL &&
           strchr(route->takes, '/') == NULL && !http_request_was_read(request);
}

enum fair_answer body_reads_add(struct scheduler *scheduler, struct http_request *request,
                                enum dispatch_tier tier, const char *caller, uint64_t since_us)
{
    struct body_read *read = xcalloc(1, sizeof *read);
    enum fair_answer answer;

    *read = (struct body_read){
        .scheduler = scheduler,
        .request = request,
        .tier = tier,
        .since_us = since_us,
        .job = { .run = run_read, .done = on_read },
        .is_document = (http_request_route(request)->flags & ROUTE_DOCUMENT) != 0,
    };
    read->bounds = read->is_document ? job_document_bounds : *http_request_bounds(request);
    answer = fair_add(scheduler->body_reads.waiting[tier], caller, FAIR_ANYTIME, &read->item);
    if (answer != FAIR_TAKEN) {
        free(read);
        return answer;
    }
    http_request_defer(request, on_left, read);
    http_request_watch(request);
    read_next(scheduler);
    return FAIR_TAKEN;
}

size_t body_reads_most(enum fair_answer why)
{
    return why == FAIR_CALLER_FULL ? bounded.each : bounded.all;
}

int body_reads_init(struct scheduler *scheduler, struct edl_error *error)
{
    struct body_reads *reads = &scheduler->body_reads;

    for (enum dispatch_tier tier = 0; tier < DISPATCH_TIERS; tier++)
        reads->waiting[tier] = fair_new(tier == DISPATCH_NODES ? &unbounded : &bounded);
    return worker_new(scheduler->event, "bodies", &reads->worker, error);
}

void body_reads_done(struct scheduler *scheduler)
{
    struct body_reads *reads = &scheduler->body_reads;

    reads->worker = worker_free(reads->worker);
    for (size_t i = 0; i < DISPATCH_TIERS; i++)
        reads->waiting[i] = fair_free(reads->waiting[i]);
}
