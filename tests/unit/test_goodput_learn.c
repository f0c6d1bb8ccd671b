/* SPDX-License-Identifier: Apache-2.0 */
/* test_goodput_learn.c - speed curves from nothing but finished tasks */
#include "scheduler/core/speed/measure.h"
#include "tests/unit/goodput_curves.h"
#include "tests/unit/test.h"

#define UNITS_PER_TASK 50

/* A job whose tasks take what its curve says, a little more or less each. */
struct pretended {
    double theta[GOODPUT_THETAS]; /* seconds a unit: t0/k + t1 + t3 k */
    double now_s;
    uint64_t tasks;
    uint64_t seed;
};

static double unit_s(const struct pretended *job, uint32_t k)
{
    return job->theta[0] / MAX_OF(k, 1) + job->theta[1] + job->theta[3] * k;
}

/* So many tasks with k instances, told of after each; the number of measurements */
static int run(struct pretended *job, struct goodput_learned *learned, uint32_t k, int tasks)
{
    int measured = 0;

    for (int i = 0; i < tasks; i++) {
        struct goodput_progress progress;

        job->now_s += UNITS_PER_TASK * unit_s(job, k) * (0.8 + 0.4 * random_unit(&job->seed));
        job->tasks++;
        progress = (struct goodput_progress){ .now_s = job->now_s,
                                              .instances = k,
                                              .tasks = job->tasks,
                                              .units = (double)job->tasks * UNITS_PER_TASK };
        measured += goodput_learn_note(learned, &progress);
    }
    return measured;
}

static struct pretended pretend(void)
{
    return (struct pretended){ .theta = { 0.08, 0.004, 0, 0.0004 }, .seed = 61, .now_s = 1000 };
}

TEST(test_curve_is_optimistic_until_two_sizes_were_measured)
{
    struct pretended job = pretend();
    struct goodput_learned learned;
    struct goodput_span span = { .min = 1, .max = 100, .current = 2, .cost_per_instance = 0.5 };
    struct goodput_curve curve;

    goodput_learn_init(&learned);
    for (int known = 0; known < 2; known++) {
        goodput_learn_curve(&learned, &span, &curve);
        assert_int_equal(goodput_curve_check(&curve), 0);
        assert_int_equal(curve.n, known ? 8 : 4); /* four times what was measured */
        for (int i = 0; i < curve.n; i++) {
            double largest = known ? 2 : 1;

            assert_near(curve.points[i].speed, (i + 1) * pow(fmax((i + 1) / largest, 1), -0.1),
                        1e-6);
            assert_near(curve.points[i].cost, 0.5 * (i + 1), 1e-12);
        }
        assert_near(goodput_learn_work(&learned, 500, 1000).remaining_s,
                    known ? 1000 * 2 * unit_s(&job, 2) : -1, known ? 15 : 0);
        (void)run(&job, &learned, 2, 100);
    }
}

/* Each further instance is worth less: so of many such jobs none takes all. */
/* That takes the first measurement for granted, and does not forget it with the next of the same
 * size: one number for three unknowns says nothing of the shape. */
TEST(test_one_size_measured_again_and_again_says_nothing_of_others)
{
    for (uint32_t size = 1; size <= 64; size = 2 * size + 1) {
        const struct goodput_span span = {
            .min = 1, .max = 100, .current = size, .cost_per_instance = 1
        };
        struct goodput_learned learned;
        uint64_t seed = size;

        goodput_learn_init(&learned);
        learned.largest = size;
        for (int i = 0; i < 500; i++) {
            struct goodput_curve curve;
            struct goodput_pserver_report report = { size, 1, 0.5 / size };

            report.step_s *= 0.98 + 0.04 * random_unit(&seed);
            assert_int_equal(goodput_pserver_add(&learned.fit, &report), 0);
            learned.windows++;
            goodput_learn_curve(&learned, &span, &curve);
            for (int p = 0; p < curve.n && curve.points[p].instances <= size; p++)
                assert_near(curve.points[p].speed, curve.points[p].instances,
                            0.02 * curve.points[p].instances);
        }
    }
}

TEST(test_nothing_known_is_concave)
{
    struct goodput_span span = { .min = 1, .max = 20, .current = 5, .cost_per_instance = 1 };
    struct goodput_learned learned;
    struct goodput_curve curve;
    struct goodput_hull hull;
    double values[GOODPUT_POINTS_MAX];

    goodput_learn_init(&learned);
    goodput_learn_curve(&learned, &span, &curve);
    goodput_curve_values(&curve, 1, NULL, values);
    goodput_hull_of(&curve, values, 0, &hull);
    assert_int_equal(hull.n, curve.n - 1);
}

TEST(test_curve_is_that_of_the_job_after_three_sizes)
{
    struct pretended job = pretend();
    struct goodput_learned learned;
    struct goodput_span span = { .min = 1, .max = 24, .current = 8, .cost_per_instance = 1 };
    struct goodput_curve curve;
    struct goodput_work work;

    goodput_learn_init(&learned);
    assert_true(run(&job, &learned, 1, 200) > 5);
    (void)run(&job, &learned, 4, 200);
    (void)run(&job, &learned, 8, 400);
    goodput_learn_curve(&learned, &span, &curve);
    assert_int_equal(goodput_curve_check(&curve), 0);
    for (int i = 0; i < curve.n; i++) {
        uint32_t k = curve.points[i].instances;

        /* what was tried is believed, 8 the largest of it */
        assert_near(curve.points[i].speed * unit_s(&job, k) / unit_s(&job, 1),
                    k > 8 ? pow(k / 8.0, -0.1) : 1, k > 8 ? 0.1 : 0.05);
    }
    work = goodput_learn_work(&learned, 300, 1000);
    assert_near(work.remaining_s, 1000 * unit_s(&job, 1), 0.05 * work.remaining_s);
    assert_near(work.attained_s, 300 * unit_s(&job, 1), 0.05 * work.attained_s);
}

TEST(test_nothing_is_learnt_while_it_is_resized)
{
    struct pretended job = pretend();
    struct goodput_learned learned, before;

    goodput_learn_init(&learned);
    (void)run(&job, &learned, 4, 100);
    before = learned;
    assert_int_equal(run(&job, &learned, 0, 100), 0);
    assert_memory_equal(&before.fit, &learned.fit, sizeof before.fit);
    /* slow ones at the beginning of a size do not count */
    job.now_s += 100000;
    assert_int_equal(run(&job, &learned, 8, 1 + 8), 0);
    assert_int_equal(run(&job, &learned, 8, 3 * 8 - 1), 0);
    assert_int_equal(run(&job, &learned, 8, 1), 1);
    assert_near(goodput_learn_unit_s(&learned, 8), unit_s(&job, 8), 0.1 * unit_s(&job, 8));
    /* nor does what went back to the queue */
    job.tasks -= 20;
    assert_int_equal(run(&job, &learned, 8, 1), 0);
    assert_false(learned.warm);
}

static bool has(const struct goodput_curve *curve, uint32_t instances)
{
    return goodput_curve_at(curve, instances) != GOODPUT_NO_POINT;
}

/* Whatever the bounds: ascending sizes from the smallest to the largest in reach, no two far from
 * each other, with the held one and its neighbours. */
static void check_span(const struct goodput_learned *learned, const struct goodput_span *span)
{
    uint32_t reach =
        MIN_OF(MAX_OF(4 * MAX_OF(learned->largest, span->min), span->current), span->max);
    struct goodput_curve curve;

    goodput_learn_curve(learned, span, &curve);
    assert_int_equal(goodput_curve_check(&curve), 0);
    assert_int_equal(curve.points[0].instances, span->min);
    assert_int_equal(curve.points[curve.n - 1].instances, reach);
    for (uint32_t k = MAX_OF(span->current, 1) - 1; span->current > 0 && k <= span->current + 1;
         k++)
        assert_true(k < span->min || k > reach || has(&curve, k));
    for (int i = 1; i < curve.n; i++) {
        uint32_t a = curve.points[i - 1].instances, b = curve.points[i].instances;

        /* 1250^(1/21): from 8 to 10,000 in 21 steps */
        assert_true(b == a + 1 || b <= ceil(a * 1.41));
        assert_true(b == a + 1 || (a >= 8 && reach - span->min >= GOODPUT_POINTS_MAX));
    }
}

TEST(test_curve_spans_what_it_is_to)
{
    struct pretended job = pretend();
    struct goodput_learned learned;
    uint64_t seed = 62;

    goodput_learn_init(&learned);
    (void)run(&job, &learned, 1, 100);
    (void)run(&job, &learned, 4, 100);
    for (int round = 0; round < 20000; round++) {
        struct goodput_span span = { .cost_per_instance = 0.25 };

        span.min = 1 + (uint32_t)random_below(&seed, 40);
        span.max = span.min + (uint32_t)random_below(&seed, round % 2 ? 40 : 10000 - 40);
        span.current =
            round % 5 == 0 ? 0 : span.min + (uint32_t)random_below(&seed, span.max - span.min + 1);
        check_span(&learned, &span);
    }
    check_span(&learned, &(struct goodput_span){ 1, 10000, 2500, 1 });
    check_span(&learned, &(struct goodput_span){ 1, 10000, 10000, 1 });
    check_span(&learned, &(struct goodput_span){ 10000, 10000, 10000, 1 });
}

/* A node that stands still for an hour in the middle of it. */
TEST(test_one_slow_window_teaches_nothing)
{
    struct pretended job = pretend();
    struct goodput_learned learned;

    goodput_learn_init(&learned);
    for (int i = 0; i < 20; i++) {
        (void)run(&job, &learned, 4, 60);
        job.now_s += 3600;
        (void)run(&job, &learned, 4, 60);
    }
    assert_near(goodput_learn_unit_s(&learned, 4), unit_s(&job, 4), 0.1 * unit_s(&job, 4));
}

/* --- what a change of size costs
 * --------------------------------------------------------------------- */

/* A job of four, of which so much was measured that its speed at each size is known. */
struct resized {
    struct pretended job;
    struct goodput_learned learned;
};

static void is_size(struct resized *r, double after_s, uint32_t working, uint32_t wanted)
{
    struct goodput_size size = { .wanted = wanted, .working = working };

    r->job.now_s += after_s;
    size.now_s = r->job.now_s;
    goodput_learn_size(&r->learned, &size);
}

static void is_other(struct resized *r, double after_s, const struct goodput_size *size)
{
    struct goodput_size now = *size;

    r->job.now_s += after_s;
    now.now_s = r->job.now_s;
    goodput_learn_size(&r->learned, &now);
}

static void begin_resized(struct resized *r)
{
    *r = (struct resized){ .job = pretend() };
    goodput_learn_init(&r->learned);
    (void)run(&r->job, &r->learned, 1, 400);
    (void)run(&r->job, &r->learned, 4, 400);
    (void)run(&r->job, &r->learned, 16, 800);
    is_size(r, 0, 4, 4);
    r->learned.resize_s = 0; /* so that half of what was measured is what it becomes */
}

#define assert_cost(r, cost_s)                                                                     \
    assert_near((r)->learned.resize_s, (cost_s) / 2, 0.02 + (cost_s)*0.05)

static double speed_of(const struct resized *r, uint32_t instances)
{
    return 1 / unit_s(&r->job, instances);
}

TEST(test_growth_costs_the_start_of_the_new_ones_only)
{
    struct resized r;

    begin_resized(&r);
    is_size(&r, 0, 4, 6);
    is_size(&r, 20, 5, 6); /* one of them is quicker */
    is_size(&r, 10, 6, 6);
    assert_cost(&r, 20 * (1 - speed_of(&r, 4) / speed_of(&r, 6)) +
                        10 * (1 - speed_of(&r, 5) / speed_of(&r, 6)));
}

/* Its tasks take an hour: that is no part of it, whenever they end. */
TEST(test_rare_ends_of_tasks_do_not_prolong_a_resize)
{
    struct resized r;

    begin_resized(&r);
    is_size(&r, 0, 4, 5);
    is_size(&r, 10, 5, 5);
    r.job.now_s += 3600;
    (void)run(&r.job, &r.learned, 5, 1);
    assert_cost(&r, 10 * (1 - speed_of(&r, 4) / speed_of(&r, 5)));
}

TEST(test_shrinking_costs_what_is_done_again)
{
    struct goodput_size leaving = { .wanted = 3, .working = 3, .stopping = true };
    struct resized r;

    begin_resized(&r);
    is_other(&r, 0, &leaving);
    is_size(&r, 30, 3, 3); /* it ended its task */
    assert_cost(&r, 0);
    is_size(&r, 100, 3, 4);
    is_size(&r, 0, 4, 4);
    begin_resized(&r);
    is_other(&r, 0, &leaving);
    goodput_learn_lost(&r.learned, 60); /* it gave it back */
    is_size(&r, 30, 3, 3);
    assert_cost(&r, 60 * (speed_of(&r, 4) / 4) / speed_of(&r, 3));
    goodput_learn_lost(&r.learned, 60); /* of no change */
    assert_cost(&r, 60 * (speed_of(&r, 4) / 4) / speed_of(&r, 3));
}

/* One of sixteen does much less in a minute than one of four. */
TEST(test_what_is_done_again_is_done_at_the_new_size)
{
    const struct goodput_size leaving = { .wanted = 4, .working = 4, .stopping = true };
    struct resized r;

    begin_resized(&r);
    is_size(&r, 0, 4, 16);
    is_size(&r, 0, 16, 16);
    r.learned.resize_s = 0;
    is_other(&r, 100, &leaving);
    goodput_learn_lost(&r.learned, 60);
    is_size(&r, 1, 4, 4);
    assert_cost(&r, 60 * (speed_of(&r, 16) / 16) / speed_of(&r, 4));
}

/* As with all-reduce: whoever is there waits for the new generation. */
TEST(test_change_that_stops_all_costs_all_of_it)
{
    struct resized r;

    begin_resized(&r);
    is_size(&r, 0, 4, 5);
    is_size(&r, 10, 0, 5);
    is_size(&r, 15, 5, 5);
    assert_cost(&r, 10 * (1 - speed_of(&r, 4) / speed_of(&r, 5)) + 15);
}

TEST(test_what_is_disturbed_is_no_resize)
{
    struct goodput_size lacking = { .wanted = 3, .working = 3, .disturbed = true };
    struct goodput_size starting = { .wanted = 4, .working = 3, .disturbed = true };
    struct resized r;

    begin_resized(&r);
    for (int i = 0; i < 5; i++) {
        is_other(&r, 10, &lacking); /* one failed, and waits for its back-off */
        is_other(&r, 60, &starting);
        is_size(&r, 5, 3, 4);
        is_size(&r, 5, 4, 4);
        is_size(&r, 100, 4, 6);
        is_other(&r, 10, &starting); /* while it grows */
        is_size(&r, 10, 4, 5);
        is_size(&r, 10, 5, 5);
    }
    assert_near(r.learned.resize_s, 0, 0);
}

TEST(test_what_lasts_too_long_is_no_resize)
{
    struct resized r;

    begin_resized(&r);
    is_size(&r, 0, 4, 5);
    is_size(&r, GOODPUT_RESIZE_MAX_S + 1, 5, 5); /* its node was frozen */
    assert_near(r.learned.resize_s, 0, 0);
    is_size(&r, 100, 5, 6); /* the next one counts again */
    is_size(&r, 10, 6, 6);
    assert_true(r.learned.resize_s > 0);
}

TEST(test_steps_of_one_change_share_its_cost)
{
    struct resized one, many;

    begin_resized(&one);
    is_size(&one, 0, 4, 12); /* at once: it is one change */
    is_size(&one, 20, 12, 12);
    begin_resized(&many);
    for (uint32_t k = 5; k <= 12; k++)
        is_size(&many, 5, 4, k);
    is_size(&many, 5, 12, 12);
    assert_cost(&one, 20 * (1 - speed_of(&one, 4) / speed_of(&one, 12)));
    assert_true(many.learned.resize_s < one.learned.resize_s);
    assert_true(many.learned.resize_s > 0);
}

/* Who has just begun makes others no faster: that is not the speed of the new size. */
TEST(test_no_window_begins_before_all_work)
{
    struct resized r;

    begin_resized(&r);
    is_size(&r, 0, 4, 8);
    assert_int_equal(run(&r.job, &r.learned, 8, 100), 0);
    is_size(&r, 0, 8, 8);
    assert_true(run(&r.job, &r.learned, 8, 200) > 0);
    /* but one that never takes a task is not waited for for ever */
    is_size(&r, 0, 8, 9);
    assert_int_equal(run(&r.job, &r.learned, 9, 50), 0);
    r.job.now_s += GOODPUT_RESIZE_MAX_S + 1;
    assert_true(run(&r.job, &r.learned, 9, 200) > 0);
}

/* --- the length by which it is ranked
 * --------------------------------------------------------------------- */

static double rank_as(struct goodput_learned *learned, double remaining_s, bool guessed)
{
    const struct goodput_span span = { .min = 1, .max = 8 };

    goodput_learn_rank(learned, &span, remaining_s, guessed);
    return learned->length;
}

static double rank_of(struct goodput_learned *learned, double remaining_s)
{
    return rank_as(learned, remaining_s, false);
}

/* A guess that is off by less than twice is as good as another one; one that is off by more is
 * corrected, and is the one that stays from then on. */
TEST(test_rank_moves_when_it_is_off_by_more_than_twice)
{
    struct goodput_learned learned;
    double first;

    goodput_learn_init(&learned);
    first = rank_of(&learned, 1000);
    assert_true(first > 0 && first <= 1000);
    assert_near(rank_of(&learned, 1990), first, 0);
    assert_near(rank_of(&learned, 510), first, 0);
    assert_near(rank_of(&learned, 2100), 2.1 * first, 1e-9 * first);
    assert_near(rank_of(&learned, 1060), 2.1 * first, 1e-9 * first);
    assert_near(rank_of(&learned, 1040), 1.04 * first, 1e-9 * first);
    assert_near(rank_of(&learned, 530), 1.04 * first, 1e-9 * first);
    assert_near(rank_of(&learned, 500), 0.5 * first, 1e-9 * first);
}

/* A guess that follows jobs that run still is off by twice every few minutes. */
TEST(test_rank_of_a_guess_stays_for_longer)
{
    struct goodput_learned learned;
    double first;

    goodput_learn_init(&learned);
    first = rank_as(&learned, 1000, true);
    assert_near(rank_as(&learned, 15000, true), first, 0);
    assert_near(rank_as(&learned, 70, true), first, 0);
    assert_near(rank_as(&learned, 17000, true), 17 * first, 1e-9 * first);
    assert_near(rank_as(&learned, 8000, false), 8 * first, 1e-9 * first);
}
