/* SPDX-License-Identifier: Apache-2.0 */
/* teach_server_internal.h - what teach_server.c and teach_students.c share */
#pragma once

#include "shared/error.h"
#include "shared/teacher_wire.h"
#include "trainer/teach/teach_grants.h"
#include "trainer/teach/teach_link.h"
#include "trainer/teach/teach_server.h"
#include "trainer/teach/teach_worker.h"

enum student_stage { STUDENT_HELLO, STUDENT_PROOF, STUDENT_READY };

struct teach_student {
    struct teach_student *next, *previous;
    struct teach_server *server;
    struct teach_link *link;
    enum student_stage stage;
    struct teacher_hello hello;
    uint8_t nonce[TEACHER_NONCE_BYTES]; /* the teacher's */
    uint64_t came_us;
    uint32_t computed; /* tasks that the worker has */
    struct teach_grant grant;
};

struct teach_server {
    struct teach_server_config config;
    sd_event *event;
    sd_event_source *listening, *done, *batch_timer, *patience_timer;
    struct teach_inputs *inputs;
    uint64_t task_samples_max;
    struct teacher_welcome welcome;  /* its feeds and fetches are the model's */
    struct teacher_tensors *tensors; /* of the frame at hand */

    struct teach_student *students;
    struct teach_student *gone; /* those whose tasks the worker has, without a link */
    uint32_t n_students;        /* also those that have not proved anything */
    struct teach_grants grants;

    struct teach_task *queue, **queue_end;
    uint64_t n_queue, queue_samples;
    bool running; /* the worker has a batch */
    uint64_t idle_since_us, leaving_since_us;
    struct teach_figures figures;
    struct edl_error failure;
};

/* ---- teach_server.c ---- */

/* teach_server_compute - begins a batch, if one is due; teach_server_give - free places;
 * teach_server_look_at_end - whether a teacher that leaves has done all */
void teach_server_compute(struct teach_server *server);
void teach_server_give(struct teach_server *server);
void teach_server_look_at_end(struct teach_server *server);

/* ---- teach_students.c ---- */

int teach_students_on_connect(sd_event_source *source, int fd, uint32_t revents, void *userdata);

/* teach_students_on_patience - drops those that have taken too long; teach_students_set_patience -
 * when it is to look next */
int teach_students_on_patience(sd_event_source *source, uint64_t time_us, void *userdata);
void teach_students_set_patience(struct teach_server *server);

/* teach_student_drop - its tasks and places with it; why: for the log, NULL: nothing to say */
void teach_student_drop(struct teach_student *student, const char *why);
void teach_student_tell(struct teach_grant *grant, enum teacher_frame type, const void *body,
                        size_t size);
void teach_student_answer(struct teach_student *student, uint8_t *take_frame, size_t size);

/* teach_student_computed - as teach_student_answer, of a task that the worker had */
void teach_student_computed(struct teach_student *student, uint8_t *take_frame, size_t size);
