/* SPDX-License-Identifier: Apache-2.0 */
/* test_goodput_deadline.c - promises are kept, and none is refused that every plan would keep */
#include "scheduler/core/policy/deadline_share.h"
#include "tests/unit/goodput_curves.h"
#include "tests/unit/test.h"

#define JOBS 3
#define SLOTS 4
#define BUNDLES 4

TEST(test_share_is_the_smallest_that_is_in_time)
{
    struct goodput_curve curve = power_curve(0.5, 8);
    struct goodput_due job = { .curve = &curve, .remaining_s = 100, .deadline_s = 60 };

    assert_int_equal(goodput_due_plan(&job, 1, 8), 0);
    assert_int_equal(job.share, 2); /* sqrt(3) = 1.73 is enough for 60 s, sqrt(2) is not */
    assert_int_equal(job.point_now, 2);
    assert_near(job.end_s, 100 / sqrt(3), 1e-9);
    job.deadline_s = 10;
    assert_int_equal(goodput_due_plan(&job, 1, 8), 1);
    assert_false(job.feasible);
    assert_int_equal(job.share, GOODPUT_NO_POINT);
    assert_near(job.end_s, 100 / sqrt(8), 1e-9); /* with all that there is */
}

/* The second one gets what the first leaves, and all of it when that is over. */
TEST(test_later_deadline_fills_what_is_free)
{
    struct goodput_curve curve = power_curve(1, 4);
    struct goodput_due jobs[] = {
        { .id = 1, .curve = &curve, .remaining_s = 30, .deadline_s = 10 },
        { .id = 2, .curve = &curve, .remaining_s = 10 + 4 * 5, .deadline_s = 15 },
    };
    struct goodput_due third = { .id = 3, .curve = &curve, .remaining_s = 1, .deadline_s = 15.1 };

    assert_int_equal(goodput_due_plan(jobs, 2, 4), 0);
    assert_int_equal(jobs[0].point_now, 2);
    assert_int_equal(jobs[1].share, 3);
    assert_int_equal(jobs[1].point_now, 0);
    assert_near(jobs[1].end_s, 15, 1e-9);
    assert_false(goodput_due_admits(jobs, 2, &third, 1, 4));
    third.deadline_s = 15.3;
    assert_true(goodput_due_admits(jobs, 2, &third, 1, 4));
    assert_int_equal(third.point_now, GOODPUT_NO_POINT);
    third.deadline_s = 1; /* goes first, and then another comes too late */
    assert_false(goodput_due_admits(jobs, 2, &third, 1, 4));
    assert_true(third.feasible);
    assert_false(jobs[0].displaced);
    assert_true(jobs[1].displaced);
}

/* What a later one holds is not the earlier one's, for as long as it needs that. */
TEST(test_who_holds_his_smallest_size_keeps_it)
{
    struct goodput_curve curve = power_curve(1, 4);
    struct goodput_due jobs[] = {
        { .id = 1, .curve = &curve, .remaining_s = 38, .deadline_s = 10 },
        { .id = 2, .curve = &curve, .remaining_s = 5, .deadline_s = 20 },
    };

    assert_int_equal(goodput_due_plan(jobs, 2, 4), 0);
    jobs[1].holds = true; /* 3 for 5 s, then 4 */
    assert_int_equal(goodput_due_plan(jobs, 2, 4), 1);
    assert_near(jobs[0].end_s, 5 + (38 - 15) / 4.0, 1e-9);
    assert_true(jobs[1].feasible);
    assert_near(jobs[1].end_s, 5, 1e-9);
    jobs[0].remaining_s = 35;
    jobs[0].holds = true;
    assert_int_equal(goodput_due_plan(jobs, 2, 4), 0);
    jobs[1].remaining_s = 100; /* cannot be kept, but has that until then */
    assert_int_equal(goodput_due_plan(jobs, 2, 4), 2);
    jobs[0].remaining_s = 30;
    assert_int_equal(goodput_due_plan(jobs, 2, 4), 1);
    assert_near(jobs[0].end_s, 10, 1e-9);
    jobs[0].remaining_s =
        100; /* the earlier one cannot be kept, and has what it holds all the same */
    jobs[1] =
        (struct goodput_due){ .id = 2, .curve = &curve, .remaining_s = 31, .deadline_s = 10.5 };
    assert_int_equal(goodput_due_plan(jobs, 2, 4), 1);
    assert_near(jobs[1].end_s, 10 + 1 / 3.0, 1e-9); /* its share is 3, which is enough */
}

/* --- every plan in slots of one second, where a job has one configuration in each --- */

struct plans {
    const struct goodput_due *jobs;
    int n;
    double left[JOBS];
};

static bool some_plan_works(struct plans *plans, int slot, int job, double room)
{
    if (job == plans->n) {
        bool all = true;

        for (int i = 0; i < plans->n; i++) {
            if (plans->left[i] > 1e-9 && slot + 1 >= plans->jobs[i].deadline_s)
                return false;
            all = all && plans->left[i] <= 1e-9;
        }
        return all || some_plan_works(plans, slot + 1, 0, BUNDLES);
    }
    if (some_plan_works(plans, slot, job + 1, room))
        return true;
    for (int p = 0; p < plans->jobs[job].curve->n && plans->left[job] > 1e-9; p++) {
        const struct goodput_point *point = &plans->jobs[job].curve->points[p];
        double before = plans->left[job];
        bool works;

        if (point->cost > room || slot >= plans->jobs[job].deadline_s)
            continue;
        plans->left[job] -= point->speed;
        works = some_plan_works(plans, slot, job + 1, room - point->cost);
        plans->left[job] = before;
        if (works)
            return true;
    }
    return false;
}

static bool is_feasible(const struct goodput_due *jobs, int n)
{
    struct plans plans = { .jobs = jobs, .n = n };

    for (int i = 0; i < n; i++)
        plans.left[i] = jobs[i].remaining_s;
    return some_plan_works(&plans, 0, 0, BUNDLES);
}

static void draw(uint64_t *seed, struct goodput_due *jobs, const struct goodput_curve *curves,
                 double scale)
{
    for (int i = 0; i < JOBS; i++)
        jobs[i] = (struct goodput_due){ .id = (uint64_t)i,
                                        .curve = &curves[i],
                                        .remaining_s = (double)(1 + random_below(seed, 8)) * scale,
                                        .deadline_s = (double)(1 + random_below(seed, SLOTS)) };
}

/* Linear speeds: the answer is that of all plans (work in whole bundle-seconds, so that slots of a
 * second lose nothing). */
TEST(test_answer_is_exact_for_linear_speeds)
{
    struct goodput_curve curves[JOBS];
    struct goodput_due jobs[JOBS];
    uint64_t seed = 31;
    int feasible = 0;
    enum { ROUNDS = 400 };

    for (int i = 0; i < JOBS; i++)
        curves[i] = power_curve(1, BUNDLES);
    for (int round = 0; round < ROUNDS; round++) {
        bool expected;

        draw(&seed, jobs, curves, 1);
        expected = is_feasible(jobs, JOBS);
        feasible += expected;
        assert_int_equal(goodput_due_plan(jobs, JOBS, BUNDLES) == 0, expected);
    }
    assert_in_range(feasible, ROUNDS / 10, ROUNDS * 9 / 10);
}

/* What a promise rests on, played: at no time are more bundles held than there are. */
static void play(const struct goodput_due *jobs, int n)
{
    double now_s = 0, left[JOBS];

    for (int i = 0; i < n; i++)
        left[i] = jobs[i].remaining_s;
    for (int turn = 0; turn < 100; turn++) {
        struct goodput_due rest[JOBS];
        double dt = INFINITY, used = 0;
        int m = 0, of[JOBS];

        for (int i = 0; i < n; i++)
            if (left[i] > 1e-9) {
                of[m] = i;
                rest[m] = jobs[i];
                rest[m].remaining_s = left[i];
                rest[m].deadline_s -= now_s - 1e-9;
                m++;
            }
        if (m == 0)
            return;
        assert_int_equal(goodput_due_plan(rest, (size_t)m, BUNDLES), 0);
        for (int i = 0; i < m; i++)
            if (rest[i].point_now >= 0) {
                const struct goodput_point *point = &rest[i].curve->points[rest[i].point_now];

                used += point->cost;
                dt = fmin(dt, rest[i].remaining_s / point->speed);
            }
        assert_true(used > 0 && used <= BUNDLES);
        for (int i = 0; i < m; i++)
            if (rest[i].point_now >= 0)
                left[of[i]] -= dt * rest[i].curve->points[rest[i].point_now].speed;
        now_s += dt;
        for (int i = 0; i < m; i++)
            assert_true(left[of[i]] > 1e-9 || now_s <= jobs[of[i]].deadline_s + 1e-6);
    }
    fail_msg("the jobs do not end");
}

/* Curves that bend: what is promised is kept, though each turn decides anew; what is refused by
 * mistake is counted. */
TEST(test_promises_are_kept_for_any_curve)
{
    struct goodput_curve curves[JOBS];
    struct goodput_due jobs[JOBS];
    uint64_t seed = 32;
    int admitted = 0, refused_wrongly = 0;
    enum { ROUNDS = 300 };

    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < JOBS; i++)
            curves[i] = random_curve(&seed, BUNDLES, true);
        draw(&seed, jobs, curves, 0.7);
        if (goodput_due_plan(jobs, JOBS, BUNDLES) == 0) {
            admitted++;
            play(jobs, JOBS);
        } else {
            refused_wrongly += is_feasible(jobs, JOBS);
        }
    }
    print_message("%d sets: %d admitted, %d refused that some plan of whole seconds would serve\n",
                  ROUNDS, admitted, refused_wrongly);
    assert_true(admitted > ROUNDS / 10);
    assert_true(refused_wrongly <= ROUNDS / 20);
}
