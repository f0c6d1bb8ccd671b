/* SPDX-License-Identifier: Apache-2.0 */
/* teach_students.c - a teacher's students: greeted, heard, dropped */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "trainer/teach/teach_inputs.h"
#include "trainer/teach/teach_server_internal.h"

#define GREETING_US (10 * USEC_PER_SEC)
#define LEAVING_TIMES 5  /* its patience: then a teacher that leaves waits for nobody */
#define STRANGERS_MAX 64 /* connections that have proved nothing yet */

static struct teach_student *student_of(struct teach_grant *grant)
{
    return (struct teach_student *)(void *)((char *)grant - offsetof(struct teach_student, grant));
}

/* ---- patience ---- */

/* due_us - when this student has taken too long; NEVER_US: it may take its time
 *
 * A student of this protocol gives back at once what it has no task for. So one that keeps credit
 * and sends nothing stands still. crowded: others wait for its places. */
static uint64_t due_us(const struct teach_student *s, bool crowded, const char **ret_why)
{
    const struct teach_server *t = s->server;
    const bool leaving = t->grants.leaving;
    uint64_t moved_us = teach_link_moved_us(s->link);

    if (leaving)
        moved_us = MIN_OF(MAX_OF(moved_us, t->leaving_since_us),
                          t->leaving_since_us + LEAVING_TIMES * t->config.patience_us);
    if (s->stage != STUDENT_READY) {
        *ret_why = "it does not greet";
        return s->came_us + GREETING_US;
    }
    if (s->grant.credit > 0 && (leaving || crowded)) {
        *ret_why = "it has credit and sends no task";
        return moved_us + t->config.patience_us;
    }
    if (leaving && teach_link_sends(s->link)) {
        *ret_why = "it does not read its answers";
        return moved_us + t->config.patience_us;
    }
    return NEVER_US;
}

static bool is_crowded(const struct teach_server *t)
{
    return teach_grants_free(&t->grants) == 0 && teach_grants_offered(&t->grants) > 0;
}

void teach_students_set_patience(struct teach_server *t)
{
    const bool crowded = is_crowded(t);
    uint64_t first_us = NEVER_US;
    const char *why;

    for (struct teach_student *s = t->students; s != NULL; s = s->next)
        first_us = MIN_OF(first_us, due_us(s, crowded, &why));
    (void)sd_event_source_set_time(t->patience_timer, first_us);
    (void)sd_event_source_set_enabled(t->patience_timer,
                                      first_us == NEVER_US ? SD_EVENT_OFF : SD_EVENT_ONESHOT);
}

int teach_students_on_patience(sd_event_source *source, uint64_t time_us, void *userdata)
{
    struct teach_server *t = userdata;
    const uint64_t now = clock_read_us(CLOCK_BOOTTIME);
    const bool crowded = is_crowded(t);
    struct teach_student *next;

    (void)source;
    (void)time_us;
    for (struct teach_student *s = t->students; s != NULL; s = next) {
        const char *why = NULL;

        next = s->next;
        if (due_us(s, crowded, &why) <= now)
            teach_student_drop(s, why);
    }
    teach_server_give(t);
    teach_server_compute(t);
    teach_students_set_patience(t);
    teach_server_look_at_end(t);
    return 0;
}

/* ---- the end of one ---- */

static void forget_tasks(struct teach_server *t, const struct teach_student *s)
{
    struct teach_task **at = &t->queue;

    while (*at != NULL) {
        struct teach_task *task = *at;

        if (task->student != s) {
            at = &task->next;
            continue;
        }
        *at = task->next;
        t->n_queue--;
        t->queue_samples -= task->samples;
        (void)teach_task_free(task);
    }
    t->queue_end = at;
}

void teach_student_drop(struct teach_student *s, const char *why)
{
    struct teach_server *t = s->server;

    if (why != NULL)
        log_warning("student %s: %s", s->hello.name[0] != '\0' ? s->hello.name : "without a name",
                    why);
    if (s->stage == STUDENT_READY)
        teach_grants_went(&t->grants, &s->grant);
    forget_tasks(t, s);
    if (s->previous != NULL)
        s->previous->next = s->next;
    else
        t->students = s->next;
    if (s->next != NULL)
        s->next->previous = s->previous;
    t->n_students--;
    if (t->listening != NULL)
        (void)sd_event_source_set_enabled(t->listening, SD_EVENT_ON);
    s->link = teach_link_free(s->link);
    if (s->computed == 0) {
        free(s);
        return;
    }
    s->next = t->gone; /* the worker has tasks of it */
    t->gone = s;
}

static void forget_gone(struct teach_student *s)
{
    struct teach_student **at = &s->server->gone;

    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    free(s);
}

void teach_student_computed(struct teach_student *s, uint8_t *take_frame, size_t size)
{
    s->computed--;
    if (s->link != NULL) {
        teach_student_answer(s, take_frame, size);
        return;
    }
    free(take_frame);
    if (s->computed == 0)
        forget_gone(s);
}

static void on_closed(void *userdata, const struct edl_error *error)
{
    struct teach_student *s = userdata;
    struct teach_server *t = s->server;

    if (error->code == -EPROTO || error->code == -EACCES)
        teach_link_last_word(s->link, error->text);
    teach_student_drop(s, error->code != 0 ? error->text : NULL);
    teach_server_give(t);
    teach_server_compute(t);
    teach_students_set_patience(t);
    teach_server_look_at_end(t);
}

/* ---- what is sent ---- */

void teach_student_tell(struct teach_grant *grant, enum teacher_frame type, const void *body,
                        size_t size)
{
    struct teach_student *s = student_of(grant);

    teach_link_put(s->link, type, body, size);
    grant->blocked = teach_link_sends(s->link);
}

void teach_student_answer(struct teach_student *s, uint8_t *take_frame, size_t size)
{
    teach_grants_answered(&s->server->grants, &s->grant);
    teach_link_send(s->link, take_frame, size);
    s->grant.blocked = teach_link_sends(s->link);
}

static void on_sent(void *userdata)
{
    struct teach_student *s = userdata;

    s->grant.blocked = false;
    teach_server_give(s->server);
    teach_students_set_patience(s->server);
    teach_server_look_at_end(s->server);
}

/* ---- greetings ---- */

static int make_proof(const struct teach_student *s, bool of_teacher,
                      uint8_t ret[TEACHER_PROOF_BYTES], struct edl_error *error)
{
    uint8_t message[TEACHER_PROOF_MESSAGE_MAX];
    const size_t n = teacher_proof_message(of_teacher, s->hello.nonce, s->nonce, message);

    return job_hmac(s->server->config.secret, message, n, ret, error);
}

static int take_hello(struct teach_student *s, const uint8_t *body, size_t size,
                      struct edl_error *error)
{
    uint8_t bytes[TEACHER_CHALLENGE_BYTES];
    struct teacher_challenge challenge;
    int r = teacher_hello_decode(body, size, &s->hello, error);

    if (r >= 0)
        r = job_nonce_make(s->nonce, error);
    if (r >= 0)
        r = make_proof(s, true, challenge.proof, error);
    if (r < 0)
        return r;
    memcpy(challenge.nonce, s->nonce, sizeof challenge.nonce);
    teach_link_put(s->link, TEACHER_CHALLENGE, bytes, teacher_challenge_encode(&challenge, bytes));
    s->stage = STUDENT_PROOF;
    return 0;
}

/* Places are free only of a teacher that has nothing to do: a student that waits looks for such. */
static int put_welcome(struct teach_student *s, struct edl_error *error)
{
    struct teach_server *t = s->server;
    struct teacher_welcome welcome = t->welcome;
    _cleanup_free_ char *text = NULL;
    size_t size;
    int r;

    if (t->grants.taken == 0 && !t->grants.leaving)
        welcome.free = teach_grants_free(&t->grants);
    r = teacher_welcome_encode(&welcome, &text, &size, error);
    if (r >= 0)
        teach_link_put(s->link, TEACHER_WELCOME, text, size);
    return r;
}

static int take_proof(struct teach_student *s, const uint8_t *body, size_t size,
                      struct edl_error *error)
{
    uint8_t said[TEACHER_PROOF_BYTES], proof[TEACHER_PROOF_BYTES];
    struct teach_server *t = s->server;
    int r = teacher_proof_decode(body, size, said, error);

    if (r >= 0)
        r = make_proof(s, false, proof, error);
    if (r < 0)
        return r;
    if (!teacher_proof_equal(said, proof))
        return edl_error_set(error, -EACCES, "the student does not know the secret");
    if (!teach_grants_came(&t->grants, &s->grant))
        return edl_error_set(error, -EACCES, "this teacher has all students that it takes: %d",
                             TEACH_STUDENTS_MAX);
    r = put_welcome(s, error);
    if (r < 0)
        return r;
    if (t->grants.leaving)
        teach_link_put(s->link, TEACHER_LEAVING, NULL, 0);
    s->stage = STUDENT_READY;
    return 0;
}

/* ---- tasks ---- */

static int take_count(struct teach_student *s, enum teacher_frame type, const uint8_t *body,
                      size_t size, struct edl_error *error)
{
    uint32_t n;
    int r = teacher_count_decode(body, size, &n, error);

    if (r < 0)
        return r;
    if (type == TEACHER_RETURN)
        return teach_grants_returned(&s->server->grants, &s->grant, n, error);
    s->grant.offered = n;
    return 0;
}

/* fits - 0: samples is set; -EINVAL: it cannot be answered; -EPROTO: it is no task */
static int fits(struct teach_server *t, const uint8_t *body, size_t size, uint64_t *ret_samples,
                struct edl_error *error)
{
    int r =
        teacher_tensors_decode(body + TEACHER_ID_BYTES, size - TEACHER_ID_BYTES, t->tensors, error);

    if (r >= 0)
        r = teach_inputs_fit(t->inputs, t->tensors, ret_samples, error);
    if (r >= 0 && *ret_samples > t->task_samples_max)
        r = edl_error_set(error, -EINVAL,
                          "samples of a task: %llu; this teacher answers at most %llu",
                          (unsigned long long)*ret_samples,
                          (unsigned long long)t->task_samples_max);
    return r;
}

static int take_task(struct teach_student *s, const uint8_t *body, size_t size,
                     struct edl_error *error)
{
    struct teach_server *t = s->server;
    struct edl_error why = { 0 };
    struct teach_task *task;
    uint64_t id, samples;
    int r = teacher_id_decode(body, size, &id, error);

    if (r < 0)
        return r;
    r = fits(t, body, size, &samples, &why);
    if (r == -EPROTO) {
        *error = why;
        return r;
    }
    teach_grants_took(&t->grants, &s->grant);
    if (r < 0) {
        size_t n;
        uint8_t *frame = teach_frame_failed(id, why.text, &n);

        t->figures.failed++;
        t->figures.tasks++;
        teach_student_answer(s, frame, n);
        return 0;
    }
    task = xcalloc(1, sizeof *task);
    *task = (struct teach_task){ .student = s,
                                 .id = id,
                                 .samples = samples,
                                 .arrived_us = clock_read_us(CLOCK_BOOTTIME),
                                 .body = teach_link_take_body(s->link),
                                 .size = size };
    *t->queue_end = task;
    t->queue_end = &task->next;
    t->n_queue++;
    t->queue_samples += samples;
    teach_grants_size(&t->grants, samples, t->config.max_batch);
    return 0;
}

/* ---- frames ---- */

static int wrong_time(const struct teacher_header *header, struct edl_error *error)
{
    return edl_error_set(error, -EPROTO, "%s comes at the wrong time",
                         teacher_frame_to_string(header->type));
}

/* Which frame may come when. */
static bool may_come(enum student_stage stage, enum teacher_frame type)
{
    static const unsigned may[] = {
        [STUDENT_HELLO] = 1U << TEACHER_HELLO,
        [STUDENT_PROOF] = 1U << TEACHER_PROOF,
        [STUDENT_READY] = 1U << TEACHER_OFFER | 1U << TEACHER_RETURN | 1U << TEACHER_TASK,
    };

    return (may[stage] & 1U << type) != 0;
}

/* Before its body is read: a stranger has no gigabyte stored, nor has a student without credit. */
static int on_header(void *userdata, const struct teacher_header *header, struct edl_error *error)
{
    const struct teach_student *s = userdata;

    if (!may_come(s->stage, header->type))
        return wrong_time(header, error);
    return header->type == TEACHER_TASK ? teach_grants_may_take(&s->grant, error) : 0;
}

static int take(struct teach_student *s, const struct teacher_header *header, const uint8_t *body,
                struct edl_error *error)
{
    const size_t size = (size_t)header->body_bytes;

    switch (header->type) {
    case TEACHER_HELLO:
        return take_hello(s, body, size, error);
    case TEACHER_PROOF:
        return take_proof(s, body, size, error);
    case TEACHER_OFFER:
    case TEACHER_RETURN:
        return take_count(s, header->type, body, size, error);
    case TEACHER_TASK:
        return take_task(s, body, size, error);
    default:
        return wrong_time(header, error);
    }
}

static int on_frame(void *userdata, const struct teacher_header *header, const uint8_t *body,
                    struct edl_error *error)
{
    struct teach_student *s = userdata;
    struct teach_server *t = s->server;
    int r = take(s, header, body, error);

    if (r < 0)
        return r;
    teach_server_give(t);
    teach_server_compute(t);
    teach_students_set_patience(t);
    teach_server_look_at_end(t);
    return 0;
}

/* drop_oldest_stranger - whether there was one */
static bool drop_oldest_stranger(struct teach_server *t)
{
    struct teach_student *oldest = NULL;

    for (struct teach_student *s = t->students; s != NULL; s = s->next)
        if (s->stage != STUDENT_READY) /* the newest come first */
            oldest = s;
    if (oldest != NULL)
        teach_student_drop(oldest, "others have come that do not greet either");
    return oldest != NULL;
}

/* no_descriptor - room is made, or nobody is accepted until somebody goes */
static void no_descriptor(struct teach_server *t)
{
    if (!drop_oldest_stranger(t))
        (void)sd_event_source_set_enabled(t->listening, SD_EVENT_OFF);
}

static uint32_t strangers(const struct teach_server *t)
{
    return t->n_students - t->grants.n;
}

int teach_students_on_connect(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    static const struct teach_link_events events = { on_header, on_frame, on_sent, on_closed };
    struct teach_server *t = userdata;
    int connected = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct edl_error error = { 0 };
    struct teach_student *s;

    (void)source;
    (void)revents;
    if (connected < 0) {
        if (errno == EMFILE || errno == ENFILE)
            no_descriptor(t);
        return 0;
    }
    if (strangers(t) >= STRANGERS_MAX)
        (void)drop_oldest_stranger(t);
    s = xcalloc(1, sizeof *s);
    s->server = t;
    s->came_us = clock_read_us(CLOCK_BOOTTIME);
    if (teach_link_new(t->event, connected, &events, s, &s->link, &error) < 0) {
        (void)log_failure(&error, "a student");
        free(s);
        return 0;
    }
    s->next = t->students;
    if (s->next != NULL)
        s->next->previous = s;
    t->students = s;
    t->n_students++;
    teach_students_set_patience(t);
    return 0;
}
