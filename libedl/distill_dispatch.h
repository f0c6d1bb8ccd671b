/* SPDX-License-Identifier: Apache-2.0 */
/* distill_dispatch.h - which task of a student goes to which teacher; pure
 *
 * A teacher gives credit for as many tasks as it has room for, and a task goes to a teacher with
 * credit. Each teacher is to have so many tasks that it computes one while the next ones wait there
 * or are on their way: its target, by its own speed. It is offered what it lacks. Of several with
 * credit one without a task comes first, then the one that will answer soonest.
 *
 * A task without an answer after four times the 95th percentile goes to another teacher as well,
 * before all that wait, and the first answer counts. Before any answer is known it is late after
 * ten seconds. Tasks of a teacher that is gone go to others, before all younger ones.
 *
 * The caller says what happened and when, and names tasks by rising numbers.
 * python/edl/distill/_dispatch.py is the same for Python. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    DISTILL_LATE_TIMES = 4,
    DISTILL_KNOWN_LEAST = 20, /* answers, before they tell when a task is late */
    DISTILL_KNOWN_MOST = 400,
    DISTILL_TRIES = 3 /* teachers that could not answer a task */
};
#define DISTILL_LATE_LEAST_US UINT64_C(200000)
/* while no answer is known; and four times the longest, but this at least, while there are few */
#define DISTILL_LATE_UNKNOWN_US UINT64_C(10000000)
#define DISTILL_LATE_FEW_US UINT64_C(1000000)

struct distill_task;

struct distill_credit {
    uint32_t teacher;
    uint64_t n;
};

/* A teacher as a student sees it. */
struct distill_pace {
    uint32_t teacher;
    uint64_t credit;
    uint64_t n_tasks;        /* that it has not answered, though another may have */
    uint64_t batch_tasks;    /* of one computation; 0: unknown */
    double busy_us, answers; /* of the last answers, older ones weigh less */
    uint64_t last_us;        /* when it answered last */
};

struct distill_dispatch {
    struct distill_task *tasks; /* all, by number; owned; uthash */
    struct distill_task *queue,
        *out; /* the two lists of them: with no teacher, with some; utlist */
    size_t n_waiting;
    struct distill_pace *teachers; /* owned */
    size_t n_teachers;
    uint64_t known_us[DISTILL_KNOWN_MOST]; /* how long answers took; a ring */
    size_t n_known, next_known;
    uint64_t late_us;   /* of the known ones; 0: to be computed again */
    uint64_t n_repeats; /* tasks that went to another teacher because they were late */
};

void distill_dispatch_clear(struct distill_dispatch *dispatch);

/* ---- what happens ---- */

void distill_task_add(struct distill_dispatch *dispatch, uint64_t task);

/* distill_teacher_came - batch_tasks: of one computation of it, as far as it says; 0: unknown */
void distill_teacher_came(struct distill_dispatch *dispatch, uint32_t teacher,
                          uint64_t batch_tasks);
void distill_teacher_went(struct distill_dispatch *dispatch, uint32_t teacher);
void distill_credited(struct distill_dispatch *dispatch, uint32_t teacher, uint64_t n);

/* distill_answered - whether it is the first answer, and one that this teacher was asked for */
bool distill_answered(struct distill_dispatch *dispatch, uint32_t teacher, uint64_t task,
                      uint64_t now_us);

/* distill_failed - others try; false: so many have tried that nobody can */
bool distill_failed(struct distill_dispatch *dispatch, uint32_t teacher, uint64_t task);

/* distill_asked - the teacher has that task of this student */
bool distill_asked(const struct distill_dispatch *dispatch, uint32_t teacher, uint64_t task);

/* ---- what to do ---- */

/* distill_next_send - true: this task is sent to this teacher now; until it is false */
bool distill_next_send(struct distill_dispatch *dispatch, uint64_t now_us, uint32_t *ret_teacher,
                       uint64_t *ret_task);

/* distill_next_spare - when nothing more is to be sent, true: so much credit is given back, as no
 * task has a use for it; until it is false */
bool distill_next_spare(struct distill_dispatch *dispatch, struct distill_credit *ret);

/* distill_next_late_us - when a task is late that is not yet; NEVER_US: none will be */
uint64_t distill_next_late_us(struct distill_dispatch *dispatch, uint64_t now_us);

/* distill_offers - tasks that want credit of this teacher: of those that wait, and of the late
 * ones, that it can have, as many as it lacks. For others it would give credit again and again, in
 * vain.
 */
uint64_t distill_offers(struct distill_dispatch *dispatch, uint32_t teacher, uint64_t now_us);

/* distill_room - tasks without an answer that keep all teachers busy */
uint64_t distill_room(const struct distill_dispatch *dispatch);

size_t distill_n_tasks(const struct distill_dispatch *dispatch);
