/* SPDX-License-Identifier: Apache-2.0 */
/* test_search_core.c - what a search does next, over histories that chance makes */
#include <math.h>

#include "client/search_core.h"
#include "shared/macro.h"
#include "shared/random.h"
#include "tests/unit/search_world.h"
#include "tests/unit/seeds.h"
#include "tests/unit/test.h"

static const char *const spaces[] = {
    "parameters: {x: {kind: float, min: 0.001, max: 1, log: true}, y: {kind: int, min: 1, max: "
    "9}}\n"
    "metric: {name: m, goal: minimise}\nbudget: {trials: 40}\nmethod: random\n",
    "parameters: {a: [p, q, r], x: {kind: float, min: 0, max: 1, steps: 4, when: {a: [p, q]}}}\n"
    "metric: {name: m, goal: maximise}\nmethod: grid\n",
    "parameters: {x: {kind: float, min: 0, max: 1}}\nresource: {name: epoch, min: 1, max: 27}\n"
    "metric: {name: m, goal: minimise}\nbudget: {trials: 60}\nmethod: asha\n",
    "parameters: {a: [p, q, r], x: {kind: float, min: 0, max: 1, when: {a: [p, q]}},\n"
    "  n: {kind: int, min: 1, max: 50, log: true}}\n"
    "metric: {name: m, goal: minimise}\nbudget: {trials: 50}\nmethod: evolution\n",
    "parameters: {a: [p, q, r], x: {kind: float, min: 0, max: 1, when: {a: [p, q]}},\n"
    "  n: {kind: int, min: 1, max: 50, log: true}}\n"
    "metric: {name: m, goal: maximise}\nbudget: {trials: 50}\nmethod: annealing\n",
    "parameters: {a: [p, q, r], x: {kind: float, min: 0, max: 1, when: {a: [p, q]}},\n"
    "  n: {kind: int, min: 1, max: 50, log: true}}\n"
    "metric: {name: m, goal: minimise}\nbudget: {trials: 40}\nmethod: {kind: tpe, parallel: 6}\n",
    "parameters: {a: [p, q, r], b: [1, 2]}\n"
    "metric: {name: m, goal: minimise}\nbudget: {trials: 50}\nmethod: evolution\n",
};

/* any_metric - rough, and different for each value */
static double any_metric(const struct search_space *space, const double *values, double part)
{
    double sum = 0;

    for (unsigned int i = 0; i < space->n_parameters; i++)
        if (!isnan(values[i]))
            sum += sin(7 * search_to_unit(&space->parameters[i], values[i]) + i);
    return sum + 0.5 * (1 - part);
}

static struct world_config config_of(const char *space, uint64_t seed, uint64_t timing)
{
    uint64_t random = timing;

    return (struct world_config){ .space = space,
                                  .metric = any_metric,
                                  .noise = 0.1,
                                  .failures = 0.1,
                                  .slow = timing == 0 ? 1 : 1 + 20 * random_unit(&random),
                                  .room =
                                      timing == 0 ? 1 : 1 + (unsigned int)random_below(&random, 40),
                                  .has_changes = timing > 0,
                                  .is_killed = timing > 0,
                                  .seed = seed,
                                  .timing = timing };
}

TEST(test_no_timing_changes_a_decision)
{
    uint64_t first = first_seed(1);

    for (size_t s = 0; s < ELEMENTS(spaces); s++)
        for (uint64_t seed = first; seed < first + 8; seed++) {
            struct world_config config = config_of(spaces[s], seed, 0);
            struct world calm;

            world_begin(&calm, &config);
            world_run(&calm);
            for (uint64_t timing = seed * 100 + 1; timing <= seed * 100 + 6; timing++) {
                struct world rough;

                config = config_of(spaces[s], seed, timing);
                world_begin(&rough, &config);
                world_run(&rough);
                if (!world_same(&calm, &rough))
                    fail_msg("space %zu, seed %" PRIu64 ", timing %" PRIu64
                             ": %u and %u trials, best %u and %u, ends %d and %d",
                             s, seed, timing, calm.n, rough.n, calm.best, rough.best, calm.end,
                             rough.end);
                world_done(&rough);
            }
            world_done(&calm);
        }
}

TEST(test_a_grid_tries_each_point_once)
{
    struct world_config config = config_of(spaces[1], 1, 0);
    struct world world;

    config.failures = 0;
    world_begin(&world, &config);
    world_run(&world);
    assert_int_equal(world.n, 4 + 4 + 1);
    assert_int_equal(world.end, SEARCH_END_POINTS);
    world_done(&world);
}
