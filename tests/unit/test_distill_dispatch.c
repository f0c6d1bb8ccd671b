/* SPDX-License-Identifier: Apache-2.0 */
/* test_distill_dispatch.c - which task of a student goes to which teacher: single rules, and random
 * histories with teachers that are slow, stand still, fail, die and come */
#include "libedl/distill_dispatch.h"
#include "shared/macro.h"
#include "shared/random.h"
#include "tests/unit/seeds.h"
#include "tests/unit/test.h"

static void assert_sends(struct distill_dispatch *dispatch, uint64_t now_us, uint32_t teacher,
                         uint64_t task)
{
    uint32_t sent_to;
    uint64_t sent;

    assert_true(distill_next_send(dispatch, now_us, &sent_to, &sent));
    assert_int_equal(sent_to, teacher);
    assert_int_equal(sent, task);
}

static void assert_sends_nothing(struct distill_dispatch *dispatch, uint64_t now_us)
{
    uint32_t teacher;
    uint64_t task;

    assert_false(distill_next_send(dispatch, now_us, &teacher, &task));
}

TEST(test_a_late_task_goes_to_another_teacher)
{
    struct distill_dispatch dispatch = { 0 };
    uint64_t now_us = 0;

    distill_teacher_came(&dispatch, 1, 0);
    distill_teacher_came(&dispatch, 2, 0);
    for (uint64_t task = 0; task < 30; task++) {
        distill_credited(&dispatch, 1, 1);
        distill_task_add(&dispatch, task);
        assert_sends(&dispatch, now_us, 1, task);
        now_us += 100000;
        assert_true(distill_answered(&dispatch, 1, task, now_us));
    }
    distill_credited(&dispatch, 1, 1);
    distill_task_add(&dispatch, 30);
    now_us = 100 * USEC_PER_SEC;
    assert_sends(&dispatch, now_us, 1, 30);
    distill_credited(&dispatch, 2, 1);
    assert_sends_nothing(&dispatch, now_us + 300000);
    assert_int_equal(distill_offers(&dispatch, 2, now_us + 300000), 0);
    assert_int_equal(distill_next_late_us(&dispatch, now_us), now_us + 400000);
    assert_int_equal(distill_offers(&dispatch, 2, now_us + 400000), 1);
    assert_int_equal(distill_offers(&dispatch, 1, now_us + 400000), 0); /* it has that task */
    distill_credited(&dispatch, 1, 5);
    assert_sends(&dispatch, now_us + 410000, 2, 30); /* and not to the one that has it */
    assert_sends_nothing(&dispatch, now_us + 410000);
    assert_true(distill_answered(&dispatch, 2, 30, now_us + 500000));
    assert_false(distill_answered(&dispatch, 1, 30, now_us + 600000));
    assert_int_equal(dispatch.n_repeats, 1);
    assert_int_equal(distill_n_tasks(&dispatch), 0);
    distill_dispatch_clear(&dispatch);
}

TEST(test_what_is_late_before_much_is_known)
{
    struct distill_dispatch dispatch = { 0 };
    uint64_t now_us = 5 * USEC_PER_SEC;

    distill_teacher_came(&dispatch, 1, 0);
    distill_teacher_came(&dispatch, 2, 0);
    distill_credited(&dispatch, 1, 2);
    distill_task_add(&dispatch, 0);
    distill_task_add(&dispatch, 1);
    assert_sends(&dispatch, now_us, 1, 0);
    assert_sends(&dispatch, now_us, 1, 1);
    assert_int_equal(distill_next_late_us(&dispatch, now_us), now_us + 10 * USEC_PER_SEC);
    assert_true(distill_answered(&dispatch, 1, 0, now_us + 20000));
    assert_int_equal(distill_next_late_us(&dispatch, now_us), now_us + USEC_PER_SEC);
    assert_int_equal(distill_next_late_us(&dispatch, now_us + USEC_PER_SEC), NEVER_US);
    distill_credited(&dispatch, 2, 1);
    assert_sends(&dispatch, now_us + USEC_PER_SEC, 2, 1);
    distill_dispatch_clear(&dispatch);
}

TEST(test_tasks_of_a_lost_teacher_go_before_younger_ones)
{
    struct distill_dispatch dispatch = { 0 };

    distill_teacher_came(&dispatch, 1, 0);
    distill_credited(&dispatch, 1, 3);
    for (uint64_t task = 0; task < 6; task++)
        distill_task_add(&dispatch, task);
    for (uint64_t task = 0; task < 3; task++)
        assert_sends(&dispatch, 0, 1, task);
    assert_true(distill_answered(&dispatch, 1, 1, 10));
    distill_teacher_went(&dispatch, 1);
    distill_teacher_came(&dispatch, 2, 0);
    distill_credited(&dispatch, 2, 5);
    assert_false(distill_answered(&dispatch, 1, 0, 20)); /* of one that is gone */
    for (size_t i = 0; i < 5; i++)
        assert_sends(&dispatch, 20, 2, (const uint64_t[]){ 0, 2, 3, 4, 5 }[i]);
    assert_sends_nothing(&dispatch, 20);
    distill_dispatch_clear(&dispatch);
}

TEST(test_a_task_that_failed_goes_to_another_until_three_have)
{
    struct distill_dispatch dispatch = { 0 };

    distill_teacher_came(&dispatch, 1, 0);
    distill_teacher_came(&dispatch, 2, 0);
    distill_credited(&dispatch, 1, 9);
    distill_credited(&dispatch, 2, 1);
    distill_task_add(&dispatch, 7);
    assert_sends(&dispatch, 0, 1, 7);
    assert_true(distill_failed(&dispatch, 1, 7));
    assert_true(distill_failed(&dispatch, 1, 7)); /* said twice counts once */
    distill_task_add(&dispatch, 8);
    assert_sends(&dispatch, 0, 2, 7);
    assert_sends(&dispatch, 0, 1, 8);
    assert_true(distill_failed(&dispatch, 1, 8));
    distill_task_add(&dispatch, 9);
    assert_sends(&dispatch, 0, 1, 9); /* 8 waits for the other, and holds nobody up */
    assert_sends_nothing(&dispatch, 0);
    assert_int_equal(distill_offers(&dispatch, 1, 0), 0);
    assert_int_equal(distill_offers(&dispatch, 2, 0), 1);
    assert_true(distill_answered(&dispatch, 1, 9, 1));
    distill_credited(&dispatch, 2, 1);
    assert_sends(&dispatch, 0, 2, 8);
    assert_true(distill_answered(&dispatch, 2, 8, 1));
    assert_true(distill_failed(&dispatch, 2, 7));
    assert_sends(&dispatch, 0, 1, 7); /* no other is left */
    assert_false(distill_failed(&dispatch, 1, 7));
    distill_dispatch_clear(&dispatch);
}

TEST(test_credit_that_nothing_needs_is_given_back)
{
    struct distill_dispatch dispatch = { 0 };
    struct distill_credit spare;

    distill_teacher_came(&dispatch, 4, 0);
    distill_credited(&dispatch, 4, 3);
    distill_task_add(&dispatch, 1);
    assert_sends(&dispatch, 0, 4, 1);
    assert_true(distill_next_spare(&dispatch, &spare));
    assert_int_equal(spare.teacher, 4);
    assert_int_equal(spare.n, 2);
    assert_false(distill_next_spare(&dispatch, &spare));
    distill_dispatch_clear(&dispatch);
}

/* give - a task to the only teacher with credit, which answers after each_us */
static void give(struct distill_dispatch *dispatch, uint32_t teacher, uint64_t task,
                 uint64_t *now_us, uint64_t each_us)
{
    distill_task_add(dispatch, task);
    distill_credited(dispatch, teacher, 1);
    assert_sends(dispatch, *now_us, teacher, task);
    *now_us += each_us;
    assert_true(distill_answered(dispatch, teacher, task, *now_us));
}

TEST(test_a_late_task_goes_before_all_that_wait)
{
    struct distill_dispatch dispatch = { 0 };
    uint64_t now_us = 0;

    distill_teacher_came(&dispatch, 1, 0);
    distill_teacher_came(&dispatch, 2, 0);
    for (uint64_t task = 0; task < 30; task++)
        give(&dispatch, 1, task, &now_us, 100000);
    for (uint64_t task = 30; task < 33; task++)
        distill_task_add(&dispatch, task);
    distill_credited(&dispatch, 1, 1);
    assert_sends(&dispatch, now_us, 1, 30);
    distill_credited(&dispatch, 2, 2);
    now_us += 500000;
    assert_sends(&dispatch, now_us, 2, 30);
    assert_sends(&dispatch, now_us, 2, 31);
    assert_true(distill_answered(&dispatch, 2, 30, now_us + 1000));
    assert_true(distill_answered(&dispatch, 2, 31, now_us + 2000));
    distill_credited(&dispatch, 1, 1); /* it has a task still: so it is no better than the other */
    distill_credited(&dispatch, 2, 1);
    assert_sends(&dispatch, now_us + 2000, 2, 32);
    distill_dispatch_clear(&dispatch);
}

TEST(test_an_idle_teacher_gets_the_next_task_though_it_is_slow)
{
    struct distill_dispatch dispatch = { 0 };
    uint64_t now_us = 0;

    distill_teacher_came(&dispatch, 1, 0);
    distill_teacher_came(&dispatch, 2, 0);
    for (uint64_t task = 0; task < 10; task++)
        give(&dispatch, 1 + task % 2, task, &now_us, task % 2 == 0 ? 1000000 : 10000);
    for (uint64_t task = 10; task < 13; task++)
        distill_task_add(&dispatch, task);
    distill_credited(&dispatch, 1, 3);
    distill_credited(&dispatch, 2, 3);
    assert_sends(&dispatch, now_us, 2, 10);
    assert_sends(&dispatch, now_us, 1, 11);
    assert_sends(&dispatch, now_us, 2, 12);
    distill_dispatch_clear(&dispatch);
}

TEST(test_a_teacher_has_tasks_by_its_speed)
{
    static const struct {
        uint64_t each_us, batch_tasks, target;
    } cases[] = { { 1000, 0, 11 }, { 20000, 0, 2 },  { 1000000, 0, 2 }, { 200, 0, 16 },
                  { 20000, 4, 8 }, { 100000, 4, 2 }, { 1000000, 4, 2 } };

    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        struct distill_dispatch dispatch = { 0 };
        uint64_t now_us = 0;

        distill_teacher_came(&dispatch, 1, cases[i].batch_tasks);
        assert_int_equal(distill_room(&dispatch), 2 + MAX_OF(2, 2 * cases[i].batch_tasks));
        for (uint64_t task = 0; task < 9; task++)
            give(&dispatch, 1, task, &now_us, cases[i].each_us);
        assert_int_equal(distill_room(&dispatch), 2 + cases[i].target);
        for (uint64_t task = 9; task < 40; task++)
            distill_task_add(&dispatch, task);
        assert_int_equal(distill_offers(&dispatch, 1, now_us), cases[i].target);
        distill_dispatch_clear(&dispatch);
    }
}

/* ---- histories ---- */

#define TASKS 120
#define IN_FLIGHT 8
#define TEACHERS 3
#define PLACES 2
#define TICK_US UINT64_C(10000)

/* A teacher as the test plays it: what it was sent, and how much more it has promised to take. */
struct played {
    uint32_t name; /* 0: nobody */
    uint64_t speed_us, still_us, credit;
    uint64_t tasks[PLACES], since_us[PLACES];
    size_t n_tasks;
};

struct history {
    struct distill_dispatch dispatch;
    struct played teachers[TEACHERS];
    uint64_t random, now_us, made;
    unsigned answers[TASKS];
    size_t n_answered;
    uint32_t born;
    bool given_up;
};

static bool happens(struct history *history, uint64_t in_1000)
{
    return random_below(&history->random, 1000) < in_1000;
}

static struct played *named(struct history *history, uint32_t name)
{
    for (size_t i = 0; i < TEACHERS; i++)
        if (history->teachers[i].name == name)
            return &history->teachers[i];
    fail_msg("a task for teacher %u, who is gone", name);
    return NULL;
}

static void come_and_go(struct history *history, struct played *teacher)
{
    static const uint64_t speeds_us[] = { 20000, 100000, 500000 };

    if (teacher->name == 0 && happens(history, 50)) {
        *teacher = (struct played){ .name = ++history->born,
                                    .speed_us = speeds_us[random_below(&history->random, 3)] };
        distill_teacher_came(&history->dispatch, teacher->name, 0);
    } else if (teacher->name != 0 && happens(history, 3)) {
        distill_teacher_went(&history->dispatch, teacher->name);
        teacher->name = 0;
    } else if (teacher->name != 0 && happens(history, 3)) {
        teacher->still_us =
            history->now_us + (1 + 4 * random_below(&history->random, 2)) * USEC_PER_SEC;
    }
}

static void send_all(struct history *history)
{
    struct distill_credit spare;
    uint32_t name;
    uint64_t task;

    while (distill_next_send(&history->dispatch, history->now_us, &name, &task)) {
        struct played *teacher = named(history, name);

        assert_in_range(teacher->credit, 1, PLACES);
        assert_in_range(teacher->n_tasks, 0, PLACES - 1);
        assert_int_equal(history->answers[task], 0);
        teacher->credit--;
        teacher->since_us[teacher->n_tasks] = history->now_us;
        teacher->tasks[teacher->n_tasks++] = task;
    }
    while (distill_next_spare(&history->dispatch, &spare)) {
        assert_int_equal(named(history, spare.teacher)->credit, spare.n);
        named(history, spare.teacher)->credit = 0;
    }
}

static void answer(struct history *history, struct played *teacher)
{
    uint64_t task = teacher->tasks[0];

    teacher->n_tasks--;
    memmove(teacher->tasks, teacher->tasks + 1, teacher->n_tasks * sizeof task);
    memmove(teacher->since_us, teacher->since_us + 1, teacher->n_tasks * sizeof task);
    if (happens(history, 10)) {
        history->given_up = !distill_failed(&history->dispatch, teacher->name, task);
    } else if (distill_answered(&history->dispatch, teacher->name, task, history->now_us)) {
        assert_int_equal(history->answers[task]++, 0); /* two answers reach nobody */
        history->n_answered++;
    }
}

static void teach(struct history *history, struct played *teacher)
{
    uint64_t wanted = distill_offers(&history->dispatch, teacher->name, history->now_us);

    if (teacher->name == 0 || history->now_us < teacher->still_us)
        return;
    while (wanted-- > 0 && teacher->credit + teacher->n_tasks < PLACES) {
        teacher->credit++;
        distill_credited(&history->dispatch, teacher->name, 1);
    }
    if (teacher->n_tasks > 0 && history->now_us - teacher->since_us[0] >= teacher->speed_us)
        answer(history, teacher);
}

/* play - whether all tasks were answered, and not given up by three teachers */
static bool play(uint64_t seed)
{
    struct history history = { .random = seed };

    for (int tick = 0; tick < 200000 && history.n_answered < TASKS && !history.given_up; tick++) {
        history.now_us += TICK_US;
        for (size_t i = 0; i < TEACHERS; i++)
            come_and_go(&history, &history.teachers[i]);
        while (history.made < TASKS && distill_n_tasks(&history.dispatch) < IN_FLIGHT)
            distill_task_add(&history.dispatch, history.made++);
        send_all(&history);
        for (size_t i = 0; i < TEACHERS && !history.given_up; i++)
            teach(&history, &history.teachers[i]);
    }
    if (!history.given_up) {
        if (history.n_answered != TASKS)
            fail_msg("%zu tasks were answered", history.n_answered);
        assert_int_equal(distill_n_tasks(&history.dispatch), 0);
    }
    distill_dispatch_clear(&history.dispatch);
    return !history.given_up;
}

TEST(test_each_task_of_a_history_is_answered_once)
{
    uint64_t first = first_seed(1), n = number_from_environment("EDL_HISTORIES", 300), whole = 0;

    for (uint64_t seed = first; seed < first + n; seed++)
        whole += play(seed);
    assert_true(whole > n / 2);
}
