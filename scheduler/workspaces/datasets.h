/* SPDX-License-Identifier: Apache-2.0 */
/* datasets.h - datasets on their way: taken piece by piece, read beside the loop, stored bit by bit
 *
 * A dataset has up to --max-job-tasks tasks. The loop does a bounded piece of every upload at a
 * time: it copies the bytes that came (a worker's thread reads them), and a turn stores
 * DATASET_SLICE_TASKS of it. It is the job's when all of it is stored, and answered then. A job has
 * one under way: a process that sends another waits, and hears that the job has it.
 *
 * Used by: api/datasets.c, turn.c. Tests: tests/unit/test_datasets.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-event.h>

struct dataset_upload;
struct edl_error;
struct http_request;
struct job;
struct process;
struct scheduler;
struct turn_records;
struct worker;

/* The most that a turn stores of one dataset: some 10 ms of its work. */
#define DATASET_SLICE_TASKS 2048
#define DATASET_SLICE_BYTES (512 * 1024)

/* Of one dataset; 0: any. */
struct dataset_limits {
    uint64_t tasks;
    uint64_t bytes; /* as it is sent */
};

struct datasets {
    struct worker *worker;          /* owned */
    struct dataset_upload *uploads; /* owned list, whose turn it is first */
    sd_event_source *wake;          /* owned; those who wait for another of their job */
    sd_event_source *next_slice;    /* owned */
    bool slice_due;                 /* the next turn stores one */
};

int datasets_init(struct scheduler *scheduler, struct edl_error *error);
/* datasets_done - behind the listeners: no request is left */
void datasets_done(struct scheduler *scheduler);

/* datasets_check_bytes - whether a body may be so long: -E2BIG */
int datasets_check_bytes(const struct scheduler *scheduler, uint64_t bytes,
                         struct edl_error *error);

/* dataset_upload_new - of a process of the job; the request's until dataset_upload_leave */
struct dataset_upload *dataset_upload_new(struct scheduler *scheduler, struct http_request *request,
                                          const struct job *job);

/* dataset_upload_add - as http_sink.take */
int dataset_upload_add(struct dataset_upload *upload, const void *data, size_t size,
                       struct edl_error *error);

/* dataset_upload_finish - the body is whole: defers the request, and answers it when the dataset is
 * stored, or refused */
void dataset_upload_finish(struct dataset_upload *upload, const struct process *sender);

/* dataset_upload_leave - the request is over; a whole one is stored all the same */
void dataset_upload_leave(struct dataset_upload *upload);

/* datasets_slice - what the turn is to store of them; borrowed until datasets_stored.
 * datasets_stored - it is on disk; may ask for another turn */
void datasets_slice(struct scheduler *scheduler, struct turn_records *records);
void datasets_stored(struct scheduler *scheduler);

/* datasets_refuse - what is being stored is not: the commit failed, and everything was loaded anew
 */
void datasets_refuse(struct scheduler *scheduler, const struct edl_error *error);
