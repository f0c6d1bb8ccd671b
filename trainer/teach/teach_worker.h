/* SPDX-License-Identifier: Apache-2.0 */
/* teach_worker.h - the thread that computes: a batch of tasks in, their answers out
 *
 * The model is opened, run and closed in that thread alone, so the event loop goes on granting and
 * hanging up while a batch is computed. One batch at a time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trainer/teach/teach_model.h"

struct edl_error;
struct teach_worker;

/* A task of a student, in lists of them. */
struct teach_task {
    struct teach_task *next;
    void *student; /* whoever has sent it; the worker does not look */
    uint64_t id, samples, arrived_us;
    uint8_t *body; /* owned; of TASK */
    size_t size;
    uint8_t *frame; /* owned; the answer, a whole RESULT or FAILED */
    size_t frame_bytes;
    bool failed;
};

struct teach_task *teach_task_free(struct teach_task *task);

/* teach_worker_new - starts the thread and waits until its model is open; fails as
 * teach_model_open */
int teach_worker_new(const struct teach_model_config *config, struct teach_worker **ret,
                     struct edl_error *error);
/* teach_worker_free - waits for a batch that is computed */
struct teach_worker *teach_worker_free(struct teach_worker *worker);

/* teach_worker_model - for what any thread may ask of it */
struct teach_model *teach_worker_model(struct teach_worker *worker);

/* teach_worker_fd - readable when a batch is done */
int teach_worker_fd(const struct teach_worker *worker);

/* teach_worker_begin - the list is the worker's until teach_worker_done gives it back with answers;
 * only while none is computed
 * teach_worker_done - NULL: it is not done. *ret_compute_us: how long it took. A failure of the
 * device is *ret_error's, code 0: none. */
void teach_worker_begin(struct teach_worker *worker, struct teach_task *tasks);
struct teach_task *teach_worker_done(struct teach_worker *worker, uint64_t *ret_compute_us,
                                     struct edl_error *ret_error);

/* teach_frame_failed - a whole FAILED, the caller's */
uint8_t *teach_frame_failed(uint64_t id, const char *why, size_t *ret_size);
