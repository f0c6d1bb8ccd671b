/* SPDX-License-Identifier: Apache-2.0 */
/* test_goodput_index.c - kept up to date event by event, and decided afresh: the same */
#include <stdlib.h>
#include <time.h>

#include "scheduler/core/goodput_buckets.h"
#include "scheduler/core/goodput_index.h"
#include "scheduler/core/goodput_ranks.h"
#include "tests/unit/goodput_curves.h"

#define JOBS 60

struct scene {
    struct goodput_options options;
    struct goodput_index *index;
    struct goodput_curve curves[JOBS];
    struct goodput_request requests[JOBS];
    bool there[JOBS];
    int told[JOBS]; /* what the changes that were named add up to */
    double budget;
    uint64_t seed;
};

static const struct goodput_index_tuning exact = { .drift = 0, .sweep = JOBS, .looks = 100000 };

static void note(uint64_t id, int point, void *userdata)
{
    struct scene *scene = userdata;

    assert_true(scene->there[id]);
    assert_true(scene->told[id] != point); /* only who changed is named */
    scene->told[id] = point;
}

static void put(struct scene *scene, size_t i)
{
    struct goodput_curve curve = random_curve(&scene->seed, 1 + (int)random_below(&scene->seed, 12),
                                              random_below(&scene->seed, 2) == 0);

    if (!scene->there[i])
        scene->told[i] = -7;
    scene->there[i] = true;
    for (int p = 0; p < curve.n; p++)
        curve.points[p].cost *= 0.75;
    scene->curves[i] = curve;
    scene->requests[i] = (struct goodput_request){
        .id = i,
        .curve = &scene->curves[i],
        .priority_weight = 1 + (double)random_below(&scene->seed, 3),
        .work = { .remaining_s =
                      random_below(&scene->seed, 3) == 0 ? -1 : exp(9 * random_unit(&scene->seed)),
                  .attained_s = exp(9 * random_unit(&scene->seed)) },
        .resize_s = 30,
        .rho = 2 * random_unit(&scene->seed),
        .current = (int)random_below(&scene->seed, (uint64_t)curve.n + 1) - 1,
        .required = random_below(&scene->seed, 8) == 0
                        ? (int)random_below(&scene->seed, (uint64_t)curve.n)
                        : GOODPUT_NO_POINT,
        .tenant = GOODPUT_NO_TENANT,
    };
    goodput_index_put(scene->index, &scene->requests[i]);
}

/* Twins: equal in everything but the id. */
static void put_twin(struct scene *scene, size_t i, size_t of)
{
    if (!scene->there[of])
        return;
    if (!scene->there[i])
        scene->told[i] = -7;
    scene->there[i] = true;
    scene->curves[i] = scene->curves[of];
    scene->requests[i] = scene->requests[of];
    scene->requests[i].id = i;
    scene->requests[i].curve = &scene->curves[i];
    goodput_index_put(scene->index, &scene->requests[i]);
}

static size_t afresh(const struct scene *scene, struct goodput_request *requests,
                     struct goodput_target *targets, struct goodput_outcome *outcome)
{
    size_t n = 0;

    for (size_t i = 0; i < JOBS; i++)
        if (scene->there[i])
            requests[n++] = scene->requests[i];
    *outcome = goodput_allocate(&scene->options, requests, n, NULL, 0, scene->budget, targets);
    return n;
}

static void compare(struct scene *scene)
{
    struct goodput_request requests[JOBS];
    struct goodput_target targets[JOBS], target;
    struct goodput_outcome outcome;
    struct goodput_settled settled = goodput_index_settle(scene->index, note, scene);
    size_t n = afresh(scene, requests, targets, &outcome);

    assert_int_equal(settled.short_of_floors, outcome.short_of_floors);
    if (settled.short_of_floors)
        return;
    assert_near(settled.price, outcome.price, 1e-12 * outcome.price);
    assert_near(settled.left, scene->budget - outcome.used,
                n > 0 && settled.price > 0 ? 1e-6 : 1e9);
    for (size_t i = 0; i < n; i++) {
        assert_true(goodput_index_target(scene->index, requests[i].id, &target));
        assert_int_equal(target.point, targets[i].point);
        assert_int_equal(scene->told[requests[i].id], targets[i].point);
        assert_near(target.a, targets[i].a, 1e-9 * target.a);
    }
}

static void test_index_is_what_is_decided_afresh(void **state)
{
    (void)state;
    for (int round = 0; round < 40; round++) {
        struct scene *scene = calloc(1, sizeof *scene);

        assert_non_null(scene);
        scene->options = goodput_defaults;
        scene->options.weights = GOODPUT_WEIGHTS_RANK;
        scene->options.no_floors = round % 2;
        scene->options.beta = round % 3 == 0   ? 0.5
                              : round % 3 == 1 ? 0
                                               : 1; /* 0: twins bid the same */
        scene->options.fairness_gain = round % 5 == 0 ? 0.3 : 0;
        scene->seed = (uint64_t)round;
        scene->budget = 0.75 * (double)(1 + random_below(&scene->seed, 4 * JOBS));
        scene->index = goodput_index_new(&scene->options, &exact, scene->budget);
        for (int event = 0; event < 150; event++) {
            size_t i = random_below(&scene->seed, JOBS);

            switch (random_below(&scene->seed, 6)) {
            case 0:
                goodput_index_drop(scene->index, i);
                scene->there[i] = false;
                break;
            case 1:
                put_twin(scene, i, random_below(&scene->seed, JOBS));
                break;
            case 2:
                scene->budget = 0.75 * (double)(1 + random_below(&scene->seed, 4 * JOBS));
                goodput_index_set_budget(scene->index, scene->budget);
                break;
            default:
                put(scene, i);
            }
            if (random_below(&scene->seed, 3) > 0)
                compare(scene);
        }
        compare(scene);
        (void)goodput_index_free(scene->index);
        free(scene);
    }
}

static double worth_of(const struct scene *scene, const struct goodput_request *requests,
                       const struct goodput_target *weights, size_t n, bool by_index)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++) {
        struct goodput_target target = weights[i];

        if (by_index)
            assert_true(goodput_index_target(scene->index, requests[i].id, &target));
        if (target.point >= 0)
            sum += weights[i].a * requests[i].curve->points[target.point].speed;
    }
    return sum;
}

/* With ranks that drift, as it is used: what the division is worth falls by little. */
static void test_drift_of_ranks_costs_little(void **state)
{
    struct scene *scene = calloc(1, sizeof *scene);
    double ratio = 0;
    int n_compared = 0;

    (void)state;
    assert_non_null(scene);
    scene->options = goodput_defaults;
    scene->options.weights = GOODPUT_WEIGHTS_RANK;
    scene->budget = 2.25 * JOBS;
    scene->index =
        goodput_index_new(&scene->options,
                          &(struct goodput_index_tuning){ .drift = 0.05, .sweep = 2, .looks = 256 },
                          scene->budget);
    for (int event = 0; event < 3000; event++) {
        struct goodput_request requests[JOBS];
        struct goodput_target targets[JOBS];
        struct goodput_outcome outcome;
        size_t i = random_below(&scene->seed, JOBS), n;

        if (random_below(&scene->seed, 3) == 0) {
            goodput_index_drop(scene->index, i);
            scene->there[i] = false;
        } else {
            put(scene, i);
            scene->requests[i].resize_s = 0;
            goodput_index_put(scene->index, &scene->requests[i]);
        }
        (void)goodput_index_settle(scene->index, note, scene);
        n = afresh(scene, requests, targets, &outcome);
        if (n == 0)
            continue;
        ratio += worth_of(scene, requests, targets, n, true) /
                 worth_of(scene, requests, targets, n, false);
        n_compared++;
    }
    print_message("worth with drifting ranks by that with exact ones: %.5f\n", ratio / n_compared);
    assert_true(ratio / n_compared > 0.99);
    (void)goodput_index_free(scene->index);
    free(scene);
}

static void test_value_of_a_budget_is_that_of_its_segments(void **state)
{
    static struct goodput_buckets buckets;
    enum { LOTS = 500 };
    static struct goodput_lot lots[LOTS];
    uint64_t seed = 9;
    double last = 0, all = 0;

    (void)state;
    for (size_t i = 0; i < LOTS; i++) {
        lots[i] = (struct goodput_lot){
            .id = i, .worth = exp(6 * random_unit(&seed)), .units = goodput_units(1), .bucket = -1
        };
        goodput_buckets_add(&buckets, &lots[i]);
        all += lots[i].worth;
    }
    for (int budget = 0; budget <= LOTS; budget++) {
        double expected = 0, value = goodput_buckets_value(&buckets, goodput_units(budget));
        int64_t left;
        struct goodput_line line = goodput_buckets_cut(&buckets, goodput_units(budget), &left);

        for (size_t i = 0; i < LOTS; i++)
            expected += goodput_is_above(&lots[i], &line) ? lots[i].worth : 0;
        assert_int_equal(left, 0);
        assert_near(value, expected, 0.006 * expected); /* a bucket's width */
        assert_true(value >= last);
        last = value;
    }
    assert_near(last, all, 1e-6 * all);
    for (size_t i = 0; i < LOTS; i++)
        goodput_buckets_remove(&buckets, &lots[i]);
    assert_near(goodput_buckets_value(&buckets, goodput_units(LOTS)), 0, 1e-6);
    goodput_buckets_done(&buckets);
}

static void test_ranks_tell_what_is_before(void **state)
{
    enum { RANKS = 200 };
    static struct goodput_rank ranks[RANKS];
    struct goodput_ranks set;
    uint64_t seed = 10;

    (void)state;
    goodput_ranks_init(&set);
    for (int event = 0; event < 2000; event++) {
        size_t i = random_below(&seed, RANKS);
        struct goodput_before before, expected = { 0 };

        if (tree_holds(&ranks[i].tree)) {
            goodput_ranks_remove(&set, &ranks[i]);
            continue;
        }
        ranks[i] = (struct goodput_rank){ .length = (double)random_below(&seed, 50),
                                          .id = i,
                                          .weight = 1 + (double)random_below(&seed, 4) };
        goodput_ranks_add(&set, &ranks[i]);
        for (size_t j = 0; j < RANKS; j++)
            if (tree_holds(&ranks[j].tree) && (ranks[j].length > ranks[i].length ||
                                               (ranks[j].length == ranks[i].length && j < i))) {
                expected.weight += ranks[j].weight;
                expected.count++;
            }
        before = goodput_ranks_before(&set, &ranks[i]);
        assert_near(before.weight, expected.weight, 1e-9);
        assert_int_equal(before.count, expected.count);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_index_is_what_is_decided_afresh),
        cmocka_unit_test(test_drift_of_ranks_costs_little),
        cmocka_unit_test(test_value_of_a_budget_is_that_of_its_segments),
        cmocka_unit_test(test_ranks_tell_what_is_before),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
