/* SPDX-License-Identifier: Apache-2.0 */
/* test_goodput_prior.c - what the speeds of other jobs of a family say of a new one */
#include "scheduler/core/speed/prior.h"
#include "tests/unit/goodput_curves.h"
#include "tests/unit/test.h"

/* Seconds a unit: scale (t0/k + t1 + t3 k) */
struct program {
    double scale, t0, t1, t3;
};

static const struct program saturating = { 1, 0.08, 0.004, 0.0004 };

static double unit_s(const struct program *program, uint32_t k)
{
    return program->scale * (program->t0 / k + program->t1 + program->t3 * k);
}

/* One measurement, as goodput_learn_note makes it, told to the family. */
static void measure(struct goodput_learned *learned, struct goodput_prior *prior,
                    const struct program *program, uint32_t k)
{
    struct goodput_progress progress = { .instances = k,
                                         .now_s = learned->from_s,
                                         .tasks = learned->from_tasks,
                                         .units = learned->from_units };
    uint32_t before = learned->windows;

    while (learned->windows == before) {
        progress.tasks++;
        progress.units += 10;
        progress.now_s += 10 * unit_s(program, k);
        if (goodput_learn_note(learned, &progress) && prior != NULL)
            goodput_prior_note(prior, learned);
    }
}

static void teach(struct goodput_prior *prior, const struct program *program, int times)
{
    static const uint32_t sizes[] = { 1, 4, 16 };
    struct goodput_learned learned;

    goodput_prior_begin(prior, &learned);
    for (int i = 0; i < times; i++)
        for (size_t s = 0; s < ELEMENTS(sizes); s++)
            measure(&learned, prior, program, sizes[s]);
}

/* The speeds at the sizes up to 16 relative to that of one instance */
static double worst_shape(const struct goodput_learned *learned, const struct program *program)
{
    double worst = 0;

    for (uint32_t k = 2; k <= 16; k++) {
        double got = goodput_learn_unit_s(learned, 1) / goodput_learn_unit_s(learned, k);

        worst = fmax(worst, fabs(got * unit_s(program, k) / unit_s(program, 1) - 1));
    }
    return worst;
}

TEST(test_family_of_which_nothing_is_known_says_nothing)
{
    const struct goodput_prior prior = { 0 };
    struct goodput_learned learned;

    goodput_prior_begin(&prior, &learned);
    assert_int_equal(learned.largest, 0);
    assert_false(learned.borrowed);
    assert_near(learned.resize_s, GOODPUT_RESIZE_S, 0);
    assert_near(goodput_learn_unit_s(&learned, 1), 0, 0);
}

TEST(test_new_job_begins_with_the_curve_of_its_family)
{
    struct goodput_prior prior = { 0 };
    struct goodput_learned learned;

    teach(&prior, &saturating, 5);
    goodput_prior_begin(&prior, &learned);
    assert_true(worst_shape(&learned, &saturating) < 0.05);
    assert_near(goodput_learn_unit_s(&learned, 4), unit_s(&saturating, 4),
                0.05 * unit_s(&saturating, 4));
    assert_int_equal(learned.largest, 16);
    assert_int_equal(learned.windows, 0);
    /* what it is to work off is known from its first task on */
    assert_near(goodput_learn_work(&learned, 0, 1000).remaining_s, 1000 * unit_s(&saturating, 1),
                0.05 * 1000 * unit_s(&saturating, 1));
}

/* Its records are longer: the first measurement tells, and the shape stays. */
TEST(test_unit_is_its_own_after_one_measurement)
{
    struct program longer = saturating;
    struct goodput_prior prior = { 0 };
    struct goodput_learned learned;

    longer.scale = 30;
    teach(&prior, &saturating, 5);
    goodput_prior_begin(&prior, &learned);
    measure(&learned, NULL, &longer, 4);
    assert_near(goodput_learn_unit_s(&learned, 4), unit_s(&longer, 4), 0.02 * unit_s(&longer, 4));
    assert_true(worst_shape(&learned, &longer) < 0.05);
}

/* Jobs with units of their own do not blur the shape. */
TEST(test_family_of_unlike_units_has_one_shape)
{
    struct goodput_prior prior = { 0 };
    struct goodput_learned learned;
    struct program other = saturating;

    for (int i = 0; i < 6; i++) {
        other.scale = i % 2 == 0 ? 1 : 50;
        teach(&prior, &other, 2);
    }
    goodput_prior_begin(&prior, &learned);
    assert_true(worst_shape(&learned, &saturating) < 0.1);
}

/* However much its family has seen: a few measurements at each size, and it is believed. */
TEST(test_own_measurements_outweigh_the_family)
{
    static const struct program linear = { 1, 0.1, 0, 0 };
    static const uint32_t sizes[] = { 1, 4, 16 };
    struct goodput_prior prior = { 0 };
    struct goodput_learned learned;

    teach(&prior, &saturating, 100);
    goodput_prior_begin(&prior, &learned);
    assert_true(worst_shape(&learned, &linear) > 0.5);
    for (int i = 0; i < 8; i++)
        for (size_t s = 0; s < ELEMENTS(sizes); s++)
            measure(&learned, NULL, &linear, sizes[s]);
    assert_true(worst_shape(&learned, &linear) < 0.1);
}

/* It runs already when others of its family are measured: what is tried with it is what they have
 * shown, not what was known when it began. */
TEST(test_running_job_takes_what_its_family_learns)
{
    struct goodput_prior prior = { 0 };
    struct goodput_learned learned;

    goodput_prior_begin(&prior, &learned);
    learned.resize_s = 77; /* that it has seen of itself */
    goodput_prior_renew(&prior, &learned);
    assert_int_equal(learned.largest, 0);
    assert_false(learned.borrowed);
    teach(&prior, &saturating, 5);
    goodput_prior_renew(&prior, &learned);
    assert_int_equal(learned.largest, 16);
    assert_true(learned.borrowed);
    assert_int_equal(learned.windows, 0);
    assert_true(worst_shape(&learned, &saturating) < 0.05);
    assert_near(goodput_learn_unit_s(&learned, 4), unit_s(&saturating, 4),
                0.05 * unit_s(&saturating, 4));
    assert_near(learned.resize_s, 77, 0);
}

/* Others of its family are measured after it was: it takes their shape in its own unit. */
TEST(test_measured_job_takes_the_shape_in_its_own_unit)
{
    struct program longer = saturating;
    struct goodput_prior prior = { 0 };
    struct goodput_learned learned;
    struct goodput_learned again;

    longer.scale = 30;
    goodput_prior_begin(&prior, &learned);
    measure(&learned, NULL, &longer, 4);
    teach(&prior, &saturating, 5);
    goodput_prior_renew(&prior, &learned);
    assert_false(learned.borrowed);
    assert_int_equal(learned.windows, 1);
    assert_int_equal(learned.largest, 16);
    assert_near(goodput_learn_unit_s(&learned, 4), unit_s(&longer, 4), 0.02 * unit_s(&longer, 4));
    assert_true(worst_shape(&learned, &longer) < 0.05);
    /* the same again is no news: nothing counts twice */
    again = learned;
    goodput_prior_renew(&prior, &again);
    assert_memory_equal(&again.fit, &learned.fit, sizeof again.fit);
}

/* Its own measurements are not lost, whenever it renews what it has of its family. */
TEST(test_own_measurements_outweigh_what_is_renewed)
{
    static const struct program linear = { 1, 0.1, 0, 0 };
    static const uint32_t sizes[] = { 16, 4, 1 };
    struct goodput_prior prior = { 0 };
    struct goodput_learned learned;

    goodput_prior_begin(&prior, &learned);
    for (int i = 0; i < 8; i++)
        for (size_t s = 0; s < ELEMENTS(sizes); s++) {
            teach(&prior, &saturating, 5);
            goodput_prior_renew(&prior, &learned);
            measure(&learned, NULL, &linear, sizes[s]);
        }
    goodput_prior_renew(&prior, &learned);
    assert_true(worst_shape(&learned, &linear) < 0.1);
}
