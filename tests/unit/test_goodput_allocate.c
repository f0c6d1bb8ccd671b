/* SPDX-License-Identifier: Apache-2.0 */
/* test_goodput_allocate.c - divisions against every other one, floors, quotas, cut parts */
#include <stdbool.h>

#include "scheduler/core/policy/allocate.h"
#include "tests/unit/goodput_curves.h"
#include "tests/unit/test.h"

#define JOBS_MAX 40

struct scene {
    struct goodput_options options;
    struct goodput_curve curves[JOBS_MAX];
    struct goodput_request requests[JOBS_MAX];
    struct goodput_target targets[JOBS_MAX];
    struct goodput_outcome outcome;
    size_t n;
    double budget;
};

static struct goodput_request *add(struct scene *scene, const struct goodput_curve *curve,
                                   double remaining_s)
{
    size_t i = scene->n++;

    scene->curves[i] = *curve;
    scene->requests[i] = (struct goodput_request){ .id = i + 1,
                                                   .curve = &scene->curves[i],
                                                   .priority_weight = 1,
                                                   .work.remaining_s = remaining_s,
                                                   .current = GOODPUT_NO_POINT,
                                                   .required = GOODPUT_NO_POINT,
                                                   .tenant = GOODPUT_NO_TENANT };
    return &scene->requests[i];
}

static void allocate(struct scene *scene, struct goodput_tenant *tenants, size_t n_tenants)
{
    double used = 0;

    scene->outcome = goodput_allocate(NULL, &scene->options, scene->requests, scene->n, tenants,
                                      n_tenants, scene->budget, scene->targets);
    for (size_t i = 0; i < scene->n; i++)
        if (scene->targets[i].point >= 0)
            used += scene->curves[i].points[scene->targets[i].point].cost;
    assert_near(scene->outcome.used, used, 1e-9);
    assert_true(used <= scene->budget + 1e-9);
}

static double held(const struct scene *scene, size_t i)
{
    int point = scene->targets[i].point;

    return point < 0 ? 0 : scene->curves[i].points[point].cost;
}

/* What a division is worth, by the jobs' own weights. */
static double worth(const struct scene *scene, size_t i, int point)
{
    double values[GOODPUT_POINTS_MAX];
    struct goodput_change change = {
        .current = scene->requests[i].current,
        .remaining_s = goodput_remaining(&scene->options.levels, &scene->requests[i].work),
        .resize_s = scene->requests[i].resize_s,
        .horizon_s = scene->options.horizon_s,
        .floor = scene->options.change_floor,
    };

    if (point < 0)
        return 0;
    goodput_curve_values(&scene->curves[i], scene->options.q, &change, values);
    return scene->targets[i].a * values[point];
}

static double total_worth(const struct scene *scene)
{
    double sum = 0;

    for (size_t i = 0; i < scene->n; i++)
        sum += worth(scene, i, scene->targets[i].point);
    return sum;
}

/* The best of all divisions; from: points below are not allowed. */
static double best_worth(const struct scene *scene, size_t i, double left)
{
    double best = -INFINITY;
    bool floors = !scene->options.no_floors;

    if (i == scene->n)
        return 0;
    if (!floors)
        best = best_worth(scene, i + 1, left);
    for (int p = 0; p < scene->curves[i].n && scene->curves[i].points[p].cost <= left; p++)
        best = fmax(best, worth(scene, i, p) +
                              best_worth(scene, i + 1, left - scene->curves[i].points[p].cost));
    return best;
}

static void draw(struct scene *scene, uint64_t *seed, size_t n, bool concave, int steps)
{
    for (size_t i = 0; i < n; i++) {
        struct goodput_curve curve = random_curve(seed, steps, concave);
        struct goodput_request *request = add(scene, &curve, 50 + 5000 * random_unit(seed));

        request->resize_s = 30;
        request->priority_weight = 1 + (double)random_below(seed, 2);
    }
}

/* Concave curves in steps of one bundle, and nobody changes: the division is the best there is. */
TEST(test_division_is_the_best_of_all_for_concave_curves)
{
    uint64_t seed = 21;

    for (int round = 0; round < 300; round++) {
        struct scene scene = { .options = goodput_defaults, .budget = 8 };

        scene.options.no_floors = round % 2 == 0;
        scene.options.beta = round % 3 == 0 ? 0.5 : 1;
        scene.options.q = round % 5 == 0 ? 0.75 : 1;
        scene.options.weights = round % 7 == 0 ? GOODPUT_WEIGHTS_RANK : GOODPUT_WEIGHTS_RECURSION;
        draw(&scene, &seed, 1 + random_below(&seed, 4), true, 8);
        allocate(&scene, NULL, 0);
        assert_near(total_worth(&scene), best_worth(&scene, 0, scene.budget), 1e-9);
    }
}

/* Whatever the curves: the optimum is at most what was bought plus the price of what was not
 * spent on whole segments. */
TEST(test_division_is_within_the_cut_of_the_best)
{
    uint64_t seed = 22;
    double sum = 0;
    enum { ROUNDS = 300 };

    for (int round = 0; round < ROUNDS; round++) {
        struct scene scene = { .options = goodput_defaults, .budget = 8 };
        double best, got;

        scene.options.no_floors = round % 2 == 0;
        draw(&scene, &seed, 1 + random_below(&seed, 4), false, 8);
        for (size_t i = 0; i < scene.n; i++)
            scene.requests[i].current = (int)random_below(&seed, 9) - 1;
        allocate(&scene, NULL, 0);
        best = best_worth(&scene, 0, scene.budget);
        got = total_worth(&scene);
        assert_true(got <= best + 1e-9);
        assert_true(best <= got + scene.outcome.price * scene.budget + 1e-9);
        sum += got / best;
    }
    print_message("worth / best of all divisions, any curves: mean %.4f\n", sum / ROUNDS);
    assert_true(sum / ROUNDS > 0.98);
}

TEST(test_order_of_requests_does_not_matter)
{
    uint64_t seed = 23;

    for (int round = 0; round < 50; round++) {
        struct scene scene = { .options = goodput_defaults, .budget = 30 };
        struct scene turned;

        scene.options.beta = round % 3 == 0 ? 0 : 1; /* 0: twins bid the same */
        draw(&scene, &seed, JOBS_MAX / 2, round % 2 == 0, 8);
        for (size_t i = 0; i + 1 < scene.n; i += 2) { /* twins: only the id tells them apart */
            scene.curves[i + 1] = scene.curves[i];
            scene.requests[i + 1].work = scene.requests[i].work;
            scene.requests[i + 1].priority_weight = scene.requests[i].priority_weight;
        }
        turned = scene;
        for (size_t i = 0; i < scene.n; i++)
            turned.requests[i] = scene.requests[scene.n - 1 - i];
        allocate(&scene, NULL, 0);
        turned.outcome = goodput_allocate(NULL, &turned.options, turned.requests, turned.n, NULL, 0,
                                          turned.budget, turned.targets);
        for (size_t i = 0; i < scene.n; i++)
            assert_int_equal(scene.targets[i].point, turned.targets[scene.n - 1 - i].point);
        assert_near(scene.outcome.price, turned.outcome.price, 1e-12);
    }
}

TEST(test_floors_go_to_the_shortest_when_they_do_not_all_fit)
{
    struct scene scene = { .options = goodput_defaults, .budget = 5 };
    struct goodput_curve curve = { .n = 0 };

    add_point(&curve, 2, 2);
    add_point(&curve, 3, 3);
    (void)add(&scene, &curve, 1000);
    (void)add(&scene, &curve, 10);
    (void)add(&scene, &curve, 100);
    allocate(&scene, NULL, 0);
    assert_true(scene.outcome.short_of_floors);
    assert_near(held(&scene, 0), 0, 0);
    assert_near(held(&scene, 1), 3, 0); /* and the fifth bundle is of use to it */
    assert_near(held(&scene, 2), 2, 0);
    scene.requests[0].required = 1; /* a deadline goes first */
    allocate(&scene, NULL, 0);
    assert_near(held(&scene, 0), 3, 0);
    assert_near(held(&scene, 1), 2, 0);
    assert_near(held(&scene, 2), 0, 0);
    scene.requests[0].required = GOODPUT_NO_POINT;
    scene.requests[0].priority_weight = 200; /* as two hundred jobs that are as long each */
    allocate(&scene, NULL, 0);
    assert_true(held(&scene, 0) > 0);
}

TEST(test_cut_segment_is_given_in_part_and_the_rest_goes_on)
{
    struct scene scene = { .options = goodput_defaults, .budget = 8 };
    struct goodput_curve steep = { .n = 0 }, flat = { .n = 0 };

    add_point(&steep, 1, 1);
    add_point(&steep, 4, 2.5); /* under the line from 1 to 8 */
    add_point(&steep, 8, 8);
    add_point(&flat, 1, 1);
    add_point(&flat, 2, 1.05);
    add_point(&flat, 3, 1.06);
    (void)add(&scene, &steep, 500);
    (void)add(&scene, &flat, 500);
    allocate(&scene, NULL, 0);
    assert_near(held(&scene, 0), 4, 0);
    assert_near(held(&scene, 1), 3, 0);
    assert_true(scene.outcome.price > 0);
    scene.budget = 2.5; /* no part of it fits: the other gets none of what is cut, nor a half */
    allocate(&scene, NULL, 0);
    assert_near(scene.outcome.used, 2, 0);
    /* a part that helps by less than the gain is not taken */
    scene.curves[0].points[1].speed = 1.01;
    scene.budget = 8;
    allocate(&scene, NULL, 0);
    assert_near(held(&scene, 0), 1, 0);
}

/* A change that costs more than it brings is not made; one that brings more is. */
TEST(test_current_size_is_kept_until_a_change_pays)
{
    struct scene scene = { .options = goodput_defaults, .budget = 8 };
    struct goodput_curve curve = power_curve(0.5, 8);

    for (int i = 0; i < 2; i++) {
        struct goodput_request *request = add(&scene, &curve, i == 0 ? 4000 : 4400);

        request->resize_s = 60;
        request->current = 3; /* 4 bundles each */
    }
    allocate(&scene, NULL, 0);
    assert_near(held(&scene, 0), 4, 0);
    assert_near(held(&scene, 1), 4, 0);
    scene.requests[0].resize_s = scene.requests[1].resize_s = 0;
    allocate(&scene, NULL, 0);
    assert_true(held(&scene, 0) > 4); /* the shorter one goes first when that costs nothing */
}

TEST(test_quotas_lend_what_is_idle_and_give_it_back)
{
    struct scene scene = { .options = goodput_defaults, .budget = 12 };
    struct goodput_tenant tenants[2] = { { .quota = 6, .limit = INFINITY },
                                         { .quota = 6, .limit = INFINITY } };
    struct goodput_curve curve = power_curve(0.8, 12);

    for (int i = 0; i < 3; i++)
        add(&scene, &curve, 100 + i)->tenant = 0;
    allocate(&scene, tenants, 2);
    assert_near(tenants[0].used, 12, 1e-9); /* all of it: nobody else wants it */
    assert_near(scene.targets[0].borrowed + scene.targets[1].borrowed + scene.targets[2].borrowed,
                6, 1e-9);
    assert_near(tenants[1].used, 0, 0);
    add(&scene, &curve, 1e6)->tenant = 1; /* as long as it may be, its quota is its own */
    allocate(&scene, tenants, 2);
    assert_near(tenants[0].used, 6, 1e-9);
    assert_near(tenants[1].used, 6, 1e-9);
    assert_near(held(&scene, 3), 6, 0);
    assert_true(tenants[0].price > tenants[1].price); /* the shorter jobs would pay more */
    tenants[0].limit = 4;
    allocate(&scene, tenants, 2);
    assert_near(tenants[0].used, 4, 1e-9);
    assert_near(tenants[1].used, 8, 1e-9);
}

TEST(test_fairness_boost_moves_bundles)
{
    struct scene scene = { .options = goodput_defaults, .budget = 12 };
    struct goodput_curve curve = power_curve(0.8, 12);
    double before;

    (void)add(&scene, &curve, 100);
    add(&scene, &curve, 10000)->rho = 2;
    allocate(&scene, NULL, 0);
    before = held(&scene, 1);
    scene.options.fairness_gain = 0.3;
    allocate(&scene, NULL, 0);
    assert_true(held(&scene, 1) > before);
}
