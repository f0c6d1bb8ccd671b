/* SPDX-License-Identifier: Apache-2.0 */
/* distill_dispatch.c - which task of a student goes to which teacher */
#include "libedl/distill_dispatch.h"

#include <uthash.h>
#include <utlist.h>

#include "shared/macro.h"

/* From an answer until the next task is there, on a machine with much to do. */
#define TURN_US 10000.0
#define AHEAD_US 250000.0 /* more than that is not sent ahead to a teacher whose speed is known */
#define TARGET_LEAST UINT64_C(2)
#define TARGET_BATCH UINT64_C(8)
#define TARGET_MOST UINT64_C(16)
#define FORGETS 0.9

struct at {
    uint32_t teacher;
    uint64_t since_us;
};

struct distill_task {
    uint64_t number;
    struct at *at; /* the teachers that have it; owned */
    size_t n_at;
    uint32_t failed_at[DISTILL_TRIES];
    unsigned n_failures;
    struct distill_task *prev, *next; /* of the queue, or of those that are out */
    UT_hash_handle hh;
};

static struct distill_task *task_find(const struct distill_dispatch *dispatch, uint64_t number)
{
    struct distill_task *task = NULL;

    HASH_FIND(hh, dispatch->tasks, &number, sizeof number, task);
    return task;
}

static struct distill_pace *teacher_find(const struct distill_dispatch *dispatch, uint32_t teacher)
{
    for (size_t i = 0; i < dispatch->n_teachers; i++)
        if (dispatch->teachers[i].teacher == teacher)
            return &dispatch->teachers[i];
    return NULL;
}

static struct at *at_find(const struct distill_task *task, uint32_t teacher)
{
    for (size_t i = 0; i < task->n_at; i++)
        if (task->at[i].teacher == teacher)
            return &task->at[i];
    return NULL;
}

static void task_forget(struct distill_dispatch *dispatch, struct distill_task *task)
{
    if (task->n_at > 0) {
        DL_DELETE(dispatch->out, task);
    } else {
        DL_DELETE(dispatch->queue, task);
        dispatch->n_waiting--;
    }
    HASH_DEL(dispatch->tasks, task);
    free(task->at);
    free(task);
}

void distill_dispatch_clear(struct distill_dispatch *dispatch)
{
    struct distill_task *task, *tmp;

    HASH_ITER(hh, dispatch->tasks, task, tmp)
    task_forget(dispatch, task);
    free(dispatch->teachers);
    *dispatch = (struct distill_dispatch){ 0 };
}

/* ---- what happens ---- */

/* task_wait - by number: a task that comes back is older than those that nobody was asked */
static void task_wait(struct distill_dispatch *dispatch, struct distill_task *task)
{
    struct distill_task *last = dispatch->queue != NULL ? dispatch->queue->prev : NULL, *next;

    dispatch->n_waiting++;
    if (last == NULL || last->number < task->number) {
        DL_APPEND(dispatch->queue, task);
        return;
    }
    next = dispatch->queue;
    while (next->number < task->number)
        next = next->next;
    DL_PREPEND_ELEM(dispatch->queue, next, task);
}

void distill_task_add(struct distill_dispatch *dispatch, uint64_t number)
{
    struct distill_task *task = xcalloc(1, sizeof *task);

    task->number = number;
    HASH_ADD(hh, dispatch->tasks, number, sizeof task->number, task);
    task_wait(dispatch, task);
}

void distill_teacher_came(struct distill_dispatch *dispatch, uint32_t teacher, uint64_t batch_tasks)
{
    dispatch->teachers =
        xreallocarray(dispatch->teachers, dispatch->n_teachers + 1, sizeof dispatch->teachers[0]);
    dispatch->teachers[dispatch->n_teachers++] =
        (struct distill_pace){ .teacher = teacher, .batch_tasks = batch_tasks };
}

/* task_leave - this teacher has it no longer */
static void task_leave(struct distill_dispatch *dispatch, struct distill_task *task, struct at *at)
{
    *at = task->at[--task->n_at];
    if (task->n_at > 0)
        return;
    DL_DELETE(dispatch->out, task);
    task_wait(dispatch, task);
}

void distill_teacher_went(struct distill_dispatch *dispatch, uint32_t teacher)
{
    struct distill_pace *gone = teacher_find(dispatch, teacher);
    struct distill_task *task, *tmp;

    if (gone == NULL)
        return;
    *gone = dispatch->teachers[--dispatch->n_teachers];
    DL_FOREACH_SAFE(dispatch->out, task, tmp)
    {
        struct at *at = at_find(task, teacher);

        if (at != NULL)
            task_leave(dispatch, task, at);
    }
}

void distill_credited(struct distill_dispatch *dispatch, uint32_t teacher, uint64_t n)
{
    struct distill_pace *found = teacher_find(dispatch, teacher);

    if (found != NULL)
        found->credit += n;
}

bool distill_asked(const struct distill_dispatch *dispatch, uint32_t teacher, uint64_t number)
{
    const struct distill_task *task = task_find(dispatch, number);

    return task != NULL && at_find(task, teacher) != NULL;
}

/* said - a teacher has one task less, whatever it says of it */
static struct distill_pace *said(struct distill_dispatch *dispatch, uint32_t teacher)
{
    struct distill_pace *pace = teacher_find(dispatch, teacher);

    if (pace != NULL && pace->n_tasks > 0)
        pace->n_tasks--;
    return pace;
}

bool distill_answered(struct distill_dispatch *dispatch, uint32_t teacher, uint64_t number,
                      uint64_t now_us)
{
    struct distill_task *task = task_find(dispatch, number);
    const struct at *at = task != NULL ? at_find(task, teacher) : NULL;
    struct distill_pace *pace = said(dispatch, teacher);

    if (at == NULL)
        return false;
    pace->busy_us =
        FORGETS * pace->busy_us + (double)(now_us - MAX_OF(at->since_us, pace->last_us));
    pace->answers = FORGETS * pace->answers + 1;
    pace->last_us = now_us;
    dispatch->known_us[dispatch->next_known] = now_us - at->since_us;
    dispatch->next_known = (dispatch->next_known + 1) % DISTILL_KNOWN_MOST;
    dispatch->n_known = MIN_OF(dispatch->n_known + 1, (size_t)DISTILL_KNOWN_MOST);
    dispatch->late_us = 0;
    task_forget(dispatch, task);
    return true;
}

bool distill_failed(struct distill_dispatch *dispatch, uint32_t teacher, uint64_t number)
{
    struct distill_task *task = task_find(dispatch, number);
    struct at *at = task != NULL ? at_find(task, teacher) : NULL;

    (void)said(dispatch, teacher);
    if (at == NULL)
        return true;
    if (task->n_failures < DISTILL_TRIES)
        task->failed_at[task->n_failures++] = teacher;
    task_leave(dispatch, task, at);
    return task->n_failures < DISTILL_TRIES;
}

/* ---- the pace of a teacher ---- */

/* each_us - between two answers while it has tasks; 0: unknown */
static double each_us(const struct distill_pace *pace)
{
    return pace->answers > 0 ? pace->busy_us / pace->answers : 0;
}

static uint64_t target_of(const struct distill_pace *pace)
{
    uint64_t least = MAX_OF(TARGET_LEAST, MIN_OF(TARGET_BATCH, 2 * pace->batch_tasks));
    double each = each_us(pace), wanted, ahead;

    if (each <= 0)
        return least;
    wanted = MAX_OF((double)least, 1 + TURN_US / each);
    ahead = MAX_OF((double)TARGET_LEAST, AHEAD_US / each);
    return (uint64_t)MIN_OF(MIN_OF(wanted, ahead), (double)TARGET_MOST);
}

static uint64_t lack_of(const struct distill_pace *pace)
{
    uint64_t target = target_of(pace), has = pace->n_tasks + pace->credit;

    return target - MIN_OF(target, has);
}

static double answers_in_us(const struct distill_pace *pace)
{
    return (double)(pace->n_tasks + 1) * each_us(pace);
}

/* is_sooner - one without a task first, then the one that answers soonest */
static bool is_sooner(const struct distill_pace *a, const struct distill_pace *b)
{
    if ((a->n_tasks > 0) != (b->n_tasks > 0))
        return a->n_tasks == 0;
    return answers_in_us(a) < answers_in_us(b);
}

uint64_t distill_room(const struct distill_dispatch *dispatch)
{
    uint64_t n = 2;

    for (size_t i = 0; i < dispatch->n_teachers; i++)
        n += target_of(&dispatch->teachers[i]);
    return n;
}

/* ---- what to do ---- */

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static uint64_t late_after_us(struct distill_dispatch *dispatch)
{
    uint64_t sorted_us[DISTILL_KNOWN_MOST];
    size_t n = dispatch->n_known;
    bool few = n < DISTILL_KNOWN_LEAST;

    if (n == 0)
        return DISTILL_LATE_UNKNOWN_US;
    if (dispatch->late_us == 0) {
        memcpy(sorted_us, dispatch->known_us, n * sizeof sorted_us[0]);
        qsort(sorted_us, n, sizeof sorted_us[0], by_size);
        dispatch->late_us = MAX_OF(DISTILL_LATE_TIMES * sorted_us[few ? n - 1 : 95 * (n - 1) / 100],
                                   few ? DISTILL_LATE_FEW_US : DISTILL_LATE_LEAST_US);
    }
    return dispatch->late_us;
}

/* asked_last_us - since when the newest of its teachers has it */
static uint64_t asked_last_us(const struct distill_task *task)
{
    uint64_t last_us = 0;

    for (size_t i = 0; i < task->n_at; i++)
        last_us = MAX_OF(last_us, task->at[i].since_us);
    return last_us;
}

static bool is_late(const struct distill_task *task, uint64_t now_us, uint64_t late_us)
{
    return now_us - asked_last_us(task) >= late_us;
}

static bool has_failed_it(const struct distill_task *task, uint32_t teacher)
{
    for (unsigned i = 0; i < task->n_failures; i++)
        if (task->failed_at[i] == teacher)
            return true;
    return false;
}

/* others_left - a teacher is there that has not failed it */
static bool others_left(const struct distill_dispatch *dispatch, const struct distill_task *task)
{
    for (size_t i = 0; i < dispatch->n_teachers; i++)
        if (!has_failed_it(task, dispatch->teachers[i].teacher))
            return true;
    return false;
}

/* can_have - a teacher that has failed a task gets it again only where no other is left: who fails
 * is quick, and would fail it three times */
static bool can_have(const struct distill_dispatch *dispatch, const struct distill_task *task,
                     uint32_t teacher)
{
    if (at_find(task, teacher) != NULL)
        return false;
    return task->n_failures == 0 || !has_failed_it(task, teacher) || !others_left(dispatch, task);
}

/* best_for - of the teachers with credit */
static struct distill_pace *best_for(const struct distill_dispatch *dispatch,
                                     const struct distill_task *task)
{
    struct distill_pace *best = NULL;

    for (size_t i = 0; i < dispatch->n_teachers; i++) {
        struct distill_pace *one = &dispatch->teachers[i];

        if (one->credit > 0 && can_have(dispatch, task, one->teacher) &&
            (best == NULL || is_sooner(one, best)))
            best = one;
    }
    return best;
}

static void task_send(struct distill_task *task, struct distill_pace *teacher, uint64_t now_us)
{
    teacher->credit--;
    teacher->n_tasks++;
    task->at = xreallocarray(task->at, task->n_at + 1, sizeof task->at[0]);
    task->at[task->n_at++] = (struct at){ .teacher = teacher->teacher, .since_us = now_us };
}

/* next_late - a late task with a teacher that can have it as well; NULL: none */
static struct distill_task *next_late(struct distill_dispatch *dispatch, uint64_t now_us,
                                      struct distill_pace **ret_teacher)
{
    uint64_t late_us = late_after_us(dispatch);
    struct distill_task *task;

    DL_FOREACH(dispatch->out, task)
    {
        if (!is_late(task, now_us, late_us))
            continue;
        *ret_teacher = best_for(dispatch, task);
        if (*ret_teacher != NULL)
            return task;
    }
    return NULL;
}

/* next_waiting - the first of the queue that a teacher can have; NULL: none */
static struct distill_task *next_waiting(struct distill_dispatch *dispatch,
                                         struct distill_pace **ret_teacher)
{
    struct distill_task *task;

    DL_FOREACH(dispatch->queue, task)
    {
        *ret_teacher = best_for(dispatch, task);
        if (*ret_teacher != NULL || task->n_failures == 0)
            return *ret_teacher != NULL ? task : NULL; /* no other can have less of a choice */
    }
    return NULL;
}

bool distill_next_send(struct distill_dispatch *dispatch, uint64_t now_us, uint32_t *ret_teacher,
                       uint64_t *ret_task)
{
    struct distill_pace *teacher = NULL;
    struct distill_task *task = next_late(dispatch, now_us, &teacher);

    if (task != NULL) {
        dispatch->n_repeats++;
    } else {
        task = next_waiting(dispatch, &teacher);
        if (task == NULL)
            return false;
        DL_DELETE(dispatch->queue, task);
        dispatch->n_waiting--;
        DL_APPEND(dispatch->out, task);
    }
    task_send(task, teacher, now_us);
    *ret_teacher = teacher->teacher;
    *ret_task = task->number;
    return true;
}

bool distill_next_spare(struct distill_dispatch *dispatch, struct distill_credit *ret)
{
    for (size_t i = 0; i < dispatch->n_teachers; i++)
        if (dispatch->teachers[i].credit > 0) {
            *ret = (struct distill_credit){ .teacher = dispatch->teachers[i].teacher,
                                            .n = dispatch->teachers[i].credit };
            dispatch->teachers[i].credit = 0;
            return true;
        }
    return false;
}

uint64_t distill_next_late_us(struct distill_dispatch *dispatch, uint64_t now_us)
{
    uint64_t late_us = late_after_us(dispatch), first_us = NEVER_US;
    const struct distill_task *task;

    DL_FOREACH(dispatch->out, task)
    if (dispatch->n_teachers > 1 && !is_late(task, now_us, late_us))
        first_us = MIN_OF(first_us, asked_last_us(task) + late_us);
    return first_us;
}

uint64_t distill_offers(struct distill_dispatch *dispatch, uint32_t teacher, uint64_t now_us)
{
    const struct distill_pace *pace = teacher_find(dispatch, teacher);
    uint64_t late_us = late_after_us(dispatch), lack = pace != NULL ? lack_of(pace) : 0, n = 0;
    const struct distill_task *task;

    for (task = dispatch->queue; task != NULL && n < lack; task = task->next)
        n += can_have(dispatch, task, teacher);
    for (task = dispatch->out; task != NULL && n < lack; task = task->next)
        n += is_late(task, now_us, late_us) && can_have(dispatch, task, teacher);
    return n;
}

size_t distill_n_tasks(const struct distill_dispatch *dispatch)
{
    return HASH_COUNT(dispatch->tasks);
}
