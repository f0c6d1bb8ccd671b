/* SPDX-License-Identifier: Apache-2.0 */
/* teach_worker.c - the thread that computes */
#include "trainer/teach/teach_worker.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "trainer/teach/teach_inputs.h"

enum stage { OPENING, IDLE, BEGUN, DONE, OVER };

struct teach_worker {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    enum stage stage;
    int done_fd;

    const struct teach_model_config *config; /* while it opens */
    struct teach_model *model;
    struct teacher_tensors *tensors; /* of the task at hand */

    struct teach_task *tasks;
    uint64_t compute_us;
    struct edl_error error;
    int open_result;
};

struct teach_task *teach_task_free(struct teach_task *task)
{
    if (task != NULL) {
        free(task->body);
        free(task->frame);
        free(task);
    }
    return NULL;
}

/* ---- answers ---- */

uint8_t *teach_frame_failed(uint64_t id, const char *why, size_t *ret_size)
{
    const size_t n = MIN_OF(strlen(why), (size_t)TEACHER_TEXT_MAX);
    const size_t body = TEACHER_ID_BYTES + n;
    uint8_t *frame = xcalloc(1, TEACHER_HEADER_BYTES + body), *end = frame;

    end += teacher_header_encode(TEACHER_FAILED, body, end);
    end += teacher_id_encode(id, end);
    memcpy(end, why, n);
    *ret_size = TEACHER_HEADER_BYTES + body;
    return frame;
}

static void fail(struct teach_task *task, const struct edl_error *error)
{
    task->failed = true;
    task->frame = teach_frame_failed(task->id, error->text, &task->frame_bytes);
}

/* answer - RESULT with the samples from first on */
static void answer(const struct teach_worker *w, struct teach_task *task, uint64_t first,
                   const float *const *values)
{
    const struct teacher_welcome *welcome = teach_model_welcome(w->model);
    struct teacher_tensor *tensors = xcalloc(welcome->n_fetches, sizeof *tensors);
    size_t body;
    uint8_t *end;

    for (uint32_t i = 0; i < welcome->n_fetches; i++) {
        const uint32_t columns = teach_model_columns(w->model, i);

        tensors[i] = (struct teacher_tensor){ .type = TEACHER_FLOAT32,
                                              .n_dimensions = 2,
                                              .dimensions = { task->samples, columns },
                                              .values = values[i] + first * columns,
                                              .n_values = task->samples * columns };
        memcpy(tensors[i].name, welcome->fetches[i].name, sizeof tensors[i].name);
    }
    body = TEACHER_ID_BYTES + (size_t)teacher_tensors_bytes(tensors, welcome->n_fetches);
    task->frame_bytes = TEACHER_HEADER_BYTES + body;
    task->frame = xcalloc(1, task->frame_bytes);
    end = task->frame + teacher_header_encode(TEACHER_RESULT, body, task->frame);
    end += teacher_id_encode(task->id, end);
    (void)teacher_tensors_encode(tensors, welcome->n_fetches, end);
    free(tensors);
}

static int add(struct teach_worker *w, const struct teach_task *task, struct edl_error *error)
{
    int r = teacher_tensors_decode(task->body + TEACHER_ID_BYTES, task->size - TEACHER_ID_BYTES,
                                   w->tensors, error);

    return r < 0 ? r : teach_inputs_add(teach_model_inputs(w->model), w->tensors, error);
}

static int answer_alone(struct teach_worker *w, struct teach_task *task);

/* answer_all - each task that can be computed; one that cannot fails alone. Returns -EIO when the
 * device has failed. */
static int answer_all(struct teach_worker *w, struct teach_task *tasks)
{
    struct teach_inputs *inputs = teach_model_inputs(w->model);
    struct edl_error error = { 0 };
    const float *const *values;
    uint64_t first = 0;
    int r;

    teach_inputs_clear(inputs);
    for (struct teach_task *task = tasks; task != NULL; task = task->next)
        if (add(w, task, &error) < 0)
            fail(task, &error);
    r = teach_inputs_n(inputs) > 0 ? teach_model_run(w->model, &values, &error) : 0;
    if (r == -EIO)
        w->error = error;
    for (struct teach_task *task = tasks; task != NULL; task = task->next) {
        if (task->failed)
            continue;
        if (r < 0 && r != -EIO && tasks->next != NULL)
            r = answer_alone(w, task) == -EIO ? -EIO : r; /* one of them is to blame */
        else if (r < 0 || teach_model_check(w->model, first, task->samples, &error) < 0)
            fail(task, &error);
        else
            answer(w, task, first, values);
        first += task->samples;
    }
    return r == -EIO ? r : 0;
}

static int answer_alone(struct teach_worker *w, struct teach_task *task)
{
    struct teach_task *next = task->next;
    int r;

    task->next = NULL;
    r = answer_all(w, task);
    task->next = next;
    return r;
}

/* ---- the thread ---- */

static void set_stage(struct teach_worker *w, enum stage stage)
{
    (void)pthread_mutex_lock(&w->lock);
    if (w->stage != OVER)
        w->stage = stage;
    (void)pthread_cond_broadcast(&w->changed);
    (void)pthread_mutex_unlock(&w->lock);
}

static enum stage wait_while(struct teach_worker *w, enum stage a, enum stage b)
{
    enum stage now;

    (void)pthread_mutex_lock(&w->lock);
    while (w->stage == a || w->stage == b)
        (void)pthread_cond_wait(&w->changed, &w->lock);
    now = w->stage;
    (void)pthread_mutex_unlock(&w->lock);
    return now;
}

static void *work(void *userdata)
{
    struct teach_worker *w = userdata;
    const uint64_t one = 1;

    w->open_result = teach_model_open(w->config, &w->model, &w->error);
    set_stage(w, IDLE);
    while (w->open_result >= 0 && wait_while(w, IDLE, DONE) == BEGUN) {
        const uint64_t began_us = clock_read_us(CLOCK_MONOTONIC);

        (void)answer_all(w, w->tasks);
        w->compute_us = clock_read_us(CLOCK_MONOTONIC) - began_us;
        set_stage(w, DONE);
        (void)!write(w->done_fd, &one, sizeof one);
    }
    w->model = teach_model_close(w->model);
    return NULL;
}

static int start(struct teach_worker *w, struct edl_error *error)
{
    sigset_t all, before;
    int r;

    w->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (w->done_fd < 0)
        return edl_error_errno(error, -errno, "cannot make an eventfd");
    sigfillset(&all); /* signals are the loop's */
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    r = pthread_create(&w->thread, NULL, work, w);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (r == 0)
        return 0;
    w->done_fd = safe_close(w->done_fd);
    return edl_error_errno(error, -r, "cannot start a thread");
}

int teach_worker_new(const struct teach_model_config *config, struct teach_worker **ret,
                     struct edl_error *error)
{
    struct teach_worker *w = xcalloc(1, sizeof *w);
    int r;

    w->config = config;
    w->tensors = xcalloc(1, sizeof *w->tensors);
    (void)pthread_mutex_init(&w->lock, NULL);
    (void)pthread_cond_init(&w->changed, NULL);
    r = start(w, error);
    if (r < 0) {
        free(w->tensors);
        free(w);
        return r;
    }
    (void)wait_while(w, OPENING, OPENING);
    w->config = NULL;
    r = w->open_result;
    if (r < 0) {
        if (error != NULL)
            *error = w->error;
        (void)teach_worker_free(w);
        return r;
    }
    *ret = w;
    return 0;
}

struct teach_worker *teach_worker_free(struct teach_worker *w)
{
    if (w == NULL)
        return NULL;
    (void)wait_while(w, BEGUN, BEGUN);
    set_stage(w, OVER);
    (void)pthread_join(w->thread, NULL);
    while (w->tasks != NULL) {
        struct teach_task *task = w->tasks;

        w->tasks = task->next;
        (void)teach_task_free(task);
    }
    (void)pthread_cond_destroy(&w->changed);
    (void)pthread_mutex_destroy(&w->lock);
    (void)safe_close(w->done_fd);
    free(w->tensors);
    free(w);
    return NULL;
}

struct teach_model *teach_worker_model(struct teach_worker *w)
{
    return w->model;
}

int teach_worker_fd(const struct teach_worker *w)
{
    return w->done_fd;
}

void teach_worker_begin(struct teach_worker *w, struct teach_task *tasks)
{
    w->tasks = tasks;
    set_stage(w, BEGUN);
}

struct teach_task *teach_worker_done(struct teach_worker *w, uint64_t *ret_compute_us,
                                     struct edl_error *ret_error)
{
    struct teach_task *tasks = NULL;
    uint64_t count;

    (void)!read(w->done_fd, &count, sizeof count);
    (void)pthread_mutex_lock(&w->lock);
    if (w->stage == DONE) {
        w->stage = IDLE;
        tasks = w->tasks;
        w->tasks = NULL;
        *ret_compute_us = w->compute_us;
        *ret_error = w->error;
    }
    (void)pthread_mutex_unlock(&w->lock);
    return tasks;
}
