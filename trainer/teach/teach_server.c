/* SPDX-License-Identifier: Apache-2.0 */
/* teach_server.c - a teacher on an event loop: batches, credit, the end */
#include "trainer/teach/teach_server.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "trainer/teach/teach_inputs.h"
#include "trainer/teach/teach_server_internal.h"

static uint64_t now_us(void)
{
    return clock_read_us(CLOCK_BOOTTIME);
}

/* ---- batches ---- */

/* more_can_come - whether waiting could make the batch larger */
static bool more_can_come(const struct teach_server *t)
{
    return teach_grants_credit(&t->grants) > 0 ||
           (teach_grants_offered(&t->grants) > 0 && teach_grants_free(&t->grants) > 0);
}

static struct teach_task *take_batch(struct teach_server *t)
{
    struct teach_task *first = t->queue, **end = &t->queue;
    uint64_t samples = 0;

    while (*end != NULL && (samples == 0 || samples + (*end)->samples <= t->config.max_batch)) {
        struct teach_student *student = (*end)->student;

        student->computed++;
        samples += (*end)->samples;
        end = &(*end)->next;
        t->n_queue--;
    }
    t->queue = *end;
    *end = NULL;
    t->queue_samples -= samples;
    if (t->queue == NULL)
        t->queue_end = &t->queue;
    return first;
}

void teach_server_compute(struct teach_server *t)
{
    const uint64_t now = now_us();

    if (t->running || t->queue == NULL)
        return;
    if (t->queue_samples < t->config.max_batch && more_can_come(t) &&
        now < t->queue->arrived_us + t->config.batch_wait_us) {
        (void)sd_event_source_set_time(t->batch_timer,
                                       t->queue->arrived_us + t->config.batch_wait_us);
        (void)sd_event_source_set_enabled(t->batch_timer, SD_EVENT_ONESHOT);
        return;
    }
    (void)sd_event_source_set_enabled(t->batch_timer, SD_EVENT_OFF);
    t->running = true;
    t->figures.wait_us += now - t->idle_since_us;
    teach_worker_begin(t->config.worker, take_batch(t));
}

static int on_batch_due(sd_event_source *source, uint64_t time_us, void *userdata)
{
    (void)source;
    (void)time_us;
    teach_server_compute(userdata);
    return 0;
}

/* ---- credit ---- */

void teach_server_give(struct teach_server *t)
{
    if (!teach_grants_give(&t->grants))
        return;
    for (uint32_t i = 0; i < t->grants.n; i++) {
        struct teach_grant *grant = t->grants.students[i];
        uint8_t count[TEACHER_COUNT_BYTES];

        if (grant->given == 0)
            continue;
        (void)teacher_count_encode(grant->given, count);
        grant->given = 0;
        teach_student_tell(grant, TEACHER_CREDIT, count, sizeof count);
    }
}

/* ---- answers ---- */

static void answer(struct teach_server *t, struct teach_task *task)
{
    t->figures.failed += task->failed;
    t->figures.samples += task->failed ? 0 : task->samples;
    t->figures.tasks++;
    teach_student_computed(task->student, TAKE_PTR(task->frame), task->frame_bytes);
    (void)teach_task_free(task);
}

static int on_done(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    struct teach_server *t = userdata;
    uint64_t compute_us;
    struct teach_task *tasks = teach_worker_done(t->config.worker, &compute_us, &t->failure);

    (void)source;
    (void)fd;
    (void)revents;
    if (tasks == NULL)
        return 0;
    t->running = false;
    t->idle_since_us = now_us();
    t->figures.batches++;
    t->figures.compute_us += compute_us;
    while (tasks != NULL) {
        struct teach_task *task = tasks;

        tasks = task->next;
        answer(t, task);
    }
    if (t->failure.code < 0)
        return sd_event_exit(t->event, t->failure.code);
    teach_server_give(t);
    teach_server_compute(t);
    teach_students_set_patience(t); /* one that is answered may not read */
    teach_server_look_at_end(t);
    return 0;
}

const struct edl_error *teach_server_failure(const struct teach_server *t)
{
    return &t->failure;
}

void teach_server_figures(const struct teach_server *t, struct teach_figures *ret)
{
    *ret = t->figures;
    ret->queue = t->n_queue + teach_grants_offered(&t->grants);
    ret->students = t->grants.n;
    ret->leaving = t->grants.leaving;
}

/* ---- the end ---- */

void teach_server_look_at_end(struct teach_server *t)
{
    if (!t->grants.leaving || t->running || t->queue != NULL || t->grants.taken > 0)
        return;
    for (struct teach_student *s = t->students; s != NULL; s = s->next)
        if (s->stage == STUDENT_READY && teach_link_sends(s->link))
            return;
    (void)sd_event_exit(t->event, 0);
}

void teach_server_leave(struct teach_server *t)
{
    if (t->grants.leaving)
        return;
    t->grants.leaving = true;
    t->leaving_since_us = now_us();
    t->listening = sd_event_source_disable_unref(t->listening);
    t->config.listen_fd = safe_close(t->config.listen_fd);
    for (struct teach_student *s = t->students; s != NULL; s = s->next)
        if (s->stage == STUDENT_READY)
            teach_link_put(s->link, TEACHER_LEAVING, NULL, 0);
    teach_students_set_patience(t);
    teach_server_compute(t);
    teach_server_look_at_end(t);
}

/* ---- begin and end ---- */

static int add_timer(struct teach_server *t, sd_event_time_handler_t handler, sd_event_source **ret)
{
    int r = sd_event_add_time(t->event, ret, CLOCK_BOOTTIME, UINT64_MAX, 100, handler, t);

    return r < 0 ? r : sd_event_source_set_enabled(*ret, SD_EVENT_OFF);
}

/* A task of so many samples has a body, and an answer, that a frame takes. */
static uint64_t task_samples_max(struct teach_model *model)
{
    const uint64_t bytes = 4 * teach_model_row_values(model);

    return MAX_OF((TEACHER_BULK_MAX - TEACHER_CONTROL_MAX) / MAX_OF(bytes, UINT64_C(4)),
                  UINT64_C(1));
}

/* What is said later is no longer than this. */
static int check_welcome(struct teacher_welcome welcome, struct edl_error *error)
{
    _cleanup_free_ char *text = NULL;
    size_t size;

    welcome.free = UINT32_MAX;
    return teacher_welcome_encode(&welcome, &text, &size, error);
}

int teach_server_new(sd_event *event, const struct teach_server_config *config,
                     struct teach_server **ret, struct edl_error *error)
{
    struct teach_server *t = xcalloc(1, sizeof *t);
    struct teach_model *model = teach_worker_model(config->worker);
    int r;

    t->config = *config;
    t->event = sd_event_ref(event);
    t->inputs = teach_model_inputs(model);
    t->task_samples_max = task_samples_max(model);
    t->queue_end = &t->queue;
    t->idle_since_us = now_us();
    t->tensors = xcalloc(1, sizeof *t->tensors);
    teach_grants_init(&t->grants);
    t->welcome = *teach_model_welcome(model);
    t->welcome.batch = config->max_batch;
    r = check_welcome(t->welcome, error);
    if (r < 0)
        goto fail;
    r = add_timer(t, on_batch_due, &t->batch_timer);
    if (r >= 0)
        r = add_timer(t, teach_students_on_patience, &t->patience_timer);
    if (r >= 0) /* behind what has come: after a standstill of this process that is heard first */
        r = sd_event_source_set_priority(t->patience_timer, SD_EVENT_PRIORITY_IDLE);
    if (r >= 0)
        r = sd_event_add_io(event, &t->done, teach_worker_fd(config->worker), EPOLLIN, on_done, t);
    if (r >= 0)
        r = sd_event_add_io(event, &t->listening, config->listen_fd, EPOLLIN,
                            teach_students_on_connect, t);
    if (r < 0) {
        (void)edl_error_errno(error, r, "cannot set up the event loop");
        goto fail;
    }
    *ret = t;
    return 0;
fail:
    t->config.listen_fd = -1; /* the caller's still */
    (void)teach_server_free(t);
    return r;
}

struct teach_server *teach_server_free(struct teach_server *t)
{
    if (t == NULL)
        return NULL;
    while (t->students != NULL)
        teach_student_drop(t->students, NULL);
    while (t->gone != NULL) {
        struct teach_student *gone = t->gone;

        t->gone = gone->next;
        free(gone);
    }
    t->listening = sd_event_source_disable_unref(t->listening);
    t->done = sd_event_source_disable_unref(t->done);
    t->batch_timer = sd_event_source_disable_unref(t->batch_timer);
    t->patience_timer = sd_event_source_disable_unref(t->patience_timer);
    (void)safe_close(t->config.listen_fd);
    (void)sd_event_unref(t->event);
    free(t->tensors);
    free(t);
    return NULL;
}
