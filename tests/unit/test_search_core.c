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
    "metric: {name: m, direction: minimize}\nbudget: {trials: 40}\nmethod: random\n",
    "parameters: {a: [p, q, r], x: {kind: float, min: 0, max: 1, steps: 4, when: {a: [p, q]}}}\n"
    "metric: {name: m, direction: maximize}\nmethod: grid\n",
    "parameters: {x: {kind: float, min: 0, max: 1}}\nresource: {name: epoch, min: 1, max: 27}\n"
    "metric: {name: m, direction: minimize}\nbudget: {trials: 60}\nmethod: asha\n",
    "parameters: {a: [p, q, r], x: {kind: float, min: 0, max: 1, when: {a: [p, q]}},\n"
    "  n: {kind: int, min: 1, max: 50, log: true}}\n"
    "metric: {name: m, direction: minimize}\nbudget: {trials: 50}\nmethod: evolution\n",
    "parameters: {a: [p, q, r], x: {kind: float, min: 0, max: 1, when: {a: [p, q]}},\n"
    "  n: {kind: int, min: 1, max: 50, log: true}}\n"
    "metric: {name: m, direction: maximize}\nbudget: {trials: 50}\nmethod: annealing\n",
    "parameters: {a: [p, q, r], x: {kind: float, min: 0, max: 1, when: {a: [p, q]}},\n"
    "  n: {kind: int, min: 1, max: 50, log: true}}\n"
    "metric: {name: m, direction: minimize}\nbudget: {trials: 40}\nmethod: {kind: tpe, parallel: "
    "6}\n",
    "parameters: {a: [p, q, r], b: [1, 2]}\n"
    "metric: {name: m, direction: minimize}\nbudget: {trials: 50}\nmethod: evolution\n",
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
        for (uint64_t seed = first; seed < first + 40; seed++) {
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
    struct search_actions actions;
    struct world world;

    config.failures = 0;
    world_begin(&world, &config);
    world_run(&world);
    assert_int_equal(world.n, 4 + 4 + 1);
    assert_int_equal(world.end, SEARCH_END_POINTS);
    world_search(&world, 0, &actions); /* without any room it is over as well */
    assert_int_equal(actions.end, SEARCH_END_POINTS);
    search_actions_clear(&actions);
    world_done(&world);
}

/* ---- asha ---- */

static const char asha[] =
    "parameters: {x: {kind: float, min: 0, max: 1}}\nresource: {name: epoch, min: 1, max: 27}\n"
    "metric: {name: m, direction: minimize}\nbudget: {trials: 60}\nmethod: {kind: asha, eta: 3}\n";

/* told_on - what a trial told on a rung; infinite: it failed there. The world tells once a rung. */
static double told_on(const struct world *world, unsigned int i, unsigned int rung)
{
    const struct search_trial *trial = &world->trials[i].trial;

    if (trial->rung == rung && trial->state == SEARCH_TRIAL_FAILED)
        return INFINITY;
    for (size_t p = 0; p < trial->n_points; p++)
        if (trial->points[p].rung == rung)
            return trial->points[p].value;
    return INFINITY;
}

/* was_best - some time, when the results of the first m were known, it was among the best third */
static bool was_best(const struct world *world, unsigned int i)
{
    for (unsigned int m = i + 1; m <= world->n; m++) {
        unsigned int n_better = 0;

        for (unsigned int other = 0; other < m; other++)
            n_better += told_on(world, other, 0) < told_on(world, i, 0) ||
                        (told_on(world, other, 0) == told_on(world, i, 0) && other < i);
        if (n_better < m / 3)
            return true;
    }
    return false;
}

/* Of an upper rung the order of coming is not told: whoever is among the best third at the end has
 * gone on, and nobody who failed. */
static void check_upper_rung(const struct world *world, unsigned int rung)
{
    unsigned int n = 0;

    for (unsigned int i = 0; i < world->n; i++)
        n += world->trials[i].trial.rung >= rung;
    for (unsigned int i = 0; i < world->n; i++) {
        unsigned int n_better = 0;

        if (world->trials[i].trial.rung < rung)
            continue;
        for (unsigned int other = 0; other < world->n; other++)
            n_better += world->trials[other].trial.rung >= rung &&
                        told_on(world, other, rung) < told_on(world, i, rung);
        if (n_better < n / 3 && isfinite(told_on(world, i, rung)))
            assert_true(world->trials[i].trial.rung > rung);
        if (n < 3)
            assert_true(world->trials[i].trial.rung == rung);
    }
}

TEST(test_asha_lets_only_the_best_go_on)
{
    uint64_t first = first_seed(1);

    for (uint64_t seed = first; seed < first + 100; seed++) {
        struct world_config config = config_of(asha, seed, seed);
        unsigned int n_on = 0;
        struct world world;

        world_begin(&world, &config);
        world_run(&world);
        assert_int_equal(world.n, 60);
        assert_int_equal(world.end, SEARCH_END_TRIALS);
        for (unsigned int i = 0; i < world.n; i++) {
            bool goes_on = world.trials[i].trial.rung > 0;

            assert_int_equal(goes_on, was_best(&world, i) && isfinite(told_on(&world, i, 0)));
            n_on += goes_on;
        }
        assert_in_range(n_on, 15, 35);
        for (unsigned int rung = 1; rung < 3; rung++)
            check_upper_rung(&world, rung);
        world_done(&world);
    }
}

TEST(test_a_trial_that_does_not_stop_at_its_rung_is_paused)
{
    struct world_config config = config_of(asha, 3, 0);
    struct world calm, beyond;

    config.failures = 0;
    world_begin(&calm, &config);
    world_run(&calm);
    config.goes_beyond = true; /* and what it tells there looks best of all */
    config.room = 7;
    world_begin(&beyond, &config);
    world_run(&beyond);
    assert_true(world_same(&calm, &beyond));
    world_done(&calm);
    world_done(&beyond);
}

/* ---- ends ---- */

#define PARAMETERS                                                                                 \
    "parameters: {x: {kind: float, min: 0, max: 1}}\nmetric: {name: m, direction: minimize}\n"

TEST(test_core_hours_and_time_are_held)
{
    static const struct {
        const char *space;
        enum search_end end;
    } budgets[] = {
        { PARAMETERS "budget: {core-hours: 0.1}\nmethod: random\n", SEARCH_END_CORE_HOURS },
        { PARAMETERS "budget: {core-hours: 0.1, trials: 5000}\n", SEARCH_END_CORE_HOURS },
        { PARAMETERS "budget: {time: 300s}\nmethod: tpe\n", SEARCH_END_TIME },
        { PARAMETERS "budget: {time: 1h, trials: 9}\nmethod: annealing\n", SEARCH_END_TRIALS },
    };
    uint64_t first = first_seed(1);

    for (size_t b = 0; b < ELEMENTS(budgets); b++)
        for (uint64_t seed = first; seed < first + 20; seed++) {
            struct world_config config = config_of(budgets[b].space, seed, seed);
            struct world world;

            world_begin(&world, &config);
            world_run(&world);
            assert_int_equal(world.end, budgets[b].end);
            /* the world lets the search look when a trial ends, so that much may be over */
            if (world.end == SEARCH_END_CORE_HOURS)
                assert_true(world.core_s >= 360 && world.core_s < 360 + 40 * 210);
            if (world.end == SEARCH_END_TIME)
                assert_true(world.now_s >= 300 && world.now_s < 300 + 210);
            for (unsigned int i = 0; i < world.n; i++)
                assert_true(world.trials[i].trial.state != SEARCH_TRIAL_RUNS);
            world_done(&world);
        }
}

TEST(test_a_program_that_always_fails_ends_the_search_after_a_few)
{
    uint64_t first = first_seed(1);

    for (size_t s = 0; s < ELEMENTS(spaces); s++)
        for (uint64_t seed = first; seed < first + 20; seed++) {
            struct world_config config = config_of(spaces[s], seed, seed);
            struct world world;

            config.failures = 1;
            config.metric = NULL;
            config.slow = 2; /* within a minute of one core */
            world_begin(&world, &config);
            world_run(&world);
            assert_int_equal(world.end, SEARCH_END_FAILING);
            assert_int_equal(world.shown, 1);
            assert_int_equal(world.best, 0);
            assert_int_equal(world.n, 4);
            world_done(&world);
        }
}

/* by hand: trials of one history, with the values of a random search */
struct hand {
    struct search_space *space;
    double values[SEARCH_PARAMETERS_MAX];
    struct search_trial trials[16];
    struct search_point points[16];
    struct search_actions actions;
};

static void hand_begin(struct hand *hand, const char *text)
{
    *hand = (struct hand){ 0 };
    assert_int_equal(search_space_parse(text, strlen(text), &hand->space, NULL), 0);
    for (unsigned int i = 0; i < ELEMENTS(hand->trials); i++) {
        hand->trials[i] = (struct search_trial){ .number = i + 1, .values = hand->values };
        hand->points[i] = (struct search_point){ .resource = NAN, .value = 1 };
    }
}

static void hand_end(struct hand *hand, unsigned int i, enum search_trial_state state, double value)
{
    hand->trials[i].state = state;
    hand->points[i].value = value;
    hand->trials[i].points = isnan(value) ? NULL : &hand->points[i];
    hand->trials[i].n_points = isnan(value) ? 0 : 1;
}

/* ask - what the search says to the first n trials */
static const struct search_actions *ask(struct hand *hand, unsigned int n, unsigned int room)
{
    struct search_history history = { .trials = hand->trials, .n_trials = n };

    search_actions_clear(&hand->actions);
    search_next(hand->space, &history, room, &hand->actions);
    return &hand->actions;
}

static void hand_done(struct hand *hand)
{
    search_actions_clear(&hand->actions);
    (void)search_space_free(hand->space);
}

TEST(test_the_first_wave_is_small_until_something_says_that_the_program_works)
{
    struct hand hand;

    hand_begin(&hand, PARAMETERS "budget: {trials: 100}\nmethod: random\nfailures: 3\n");
    assert_int_equal(ask(&hand, 0, 50)->n, 3);
    hand.trials[0].state = hand.trials[1].state = hand.trials[2].state = SEARCH_TRIAL_RUNS;
    assert_int_equal(ask(&hand, 3, 50)->n, 0);
    assert_int_equal(hand.actions.end, SEARCH_GOES_ON);
    hand_end(&hand, 0, SEARCH_TRIAL_FAILED, NAN);
    assert_int_equal(ask(&hand, 3, 50)->n, 0);
    hand.trials[0].core_s = 61; /* it failed, though later */
    assert_int_equal(ask(&hand, 3, 50)->n, 0);
    hand.trials[1].core_s = 61; /* it has run for long enough */
    assert_int_equal(ask(&hand, 3, 50)->n, 50);
    hand.trials[1].core_s = 0;
    hand_end(&hand, 1, SEARCH_TRIAL_RUNS, 0.5); /* or told something */
    assert_int_equal(ask(&hand, 3, 50)->n, 50);
    hand_done(&hand);
}

TEST(test_trials_under_way_may_still_succeed_after_failures)
{
    struct hand hand;

    hand_begin(&hand, PARAMETERS "budget: {trials: 100}\nmethod: random\nfailures: 2\n");
    hand_end(&hand, 0, SEARCH_TRIAL_RUNS, NAN);
    hand_end(&hand, 1, SEARCH_TRIAL_FAILED, NAN);
    hand_end(&hand, 2, SEARCH_TRIAL_FAILED, NAN);
    assert_int_equal(ask(&hand, 3, 50)->n, 0);
    assert_int_equal(hand.actions.end, SEARCH_GOES_ON);
    hand_end(&hand, 0, SEARCH_TRIAL_DONE, 0.5);
    assert_int_equal(ask(&hand, 3, 50)->n, 50);
    assert_int_equal(hand.actions.best, 1);
    hand_end(&hand, 0, SEARCH_TRIAL_FAILED, NAN);
    assert_int_equal(ask(&hand, 3, 50)->n, 0);
    assert_int_equal(hand.actions.end, SEARCH_END_FAILING);
    assert_int_equal(hand.actions.trial, 1);
    hand_done(&hand);
}

TEST(test_values_that_are_not_finite_are_failures)
{
    struct hand hand;

    hand_begin(&hand, PARAMETERS "budget: {trials: 100}\nmethod: random\nfailures: 2\n");
    hand_end(&hand, 0, SEARCH_TRIAL_DONE, INFINITY);
    hand_end(&hand, 1, SEARCH_TRIAL_DONE, -INFINITY);
    assert_int_equal(ask(&hand, 2, 50)->end, SEARCH_END_FAILING);
    assert_int_equal(hand.actions.trial, 1);
    hand_done(&hand);
}

TEST(test_a_metric_that_nobody_tells_ends_the_search_with_the_first_trial)
{
    struct hand hand;

    hand_begin(&hand, PARAMETERS "budget: {trials: 100}\nmethod: random\n");
    hand_end(&hand, 0, SEARCH_TRIAL_RUNS, NAN);
    hand_end(&hand, 1, SEARCH_TRIAL_DONE, NAN);
    assert_int_equal(ask(&hand, 2, 50)->end, SEARCH_END_NO_METRIC);
    assert_int_equal(hand.actions.trial, 2);
    assert_int_equal(hand.actions.n, 1);
    assert_int_equal(hand.actions.actions[0].act, SEARCH_STOP);
    assert_int_equal(hand.actions.actions[0].number, 1);
    hand_end(&hand, 2, SEARCH_TRIAL_DONE, NAN);
    assert_int_equal(ask(&hand, 3, 50)->trial, 2);
    hand_end(&hand, 0, SEARCH_TRIAL_RUNS, 1); /* another tells it: then that one is only bad */
    assert_int_equal(ask(&hand, 2, 50)->end, SEARCH_GOES_ON);
    hand_done(&hand);
}

TEST(test_a_missing_number_is_started_first)
{
    struct hand hand;

    hand_begin(&hand, PARAMETERS "budget: {trials: 3}\nmethod: random\n");
    hand_end(&hand, 0, SEARCH_TRIAL_DONE, 3);
    hand_end(&hand, 1, SEARCH_TRIAL_DONE, 2);
    hand.trials[1].number = 3;
    assert_int_equal(ask(&hand, 2, 50)->n, 1);
    assert_int_equal(hand.actions.actions[0].number, 2);
    assert_int_equal(hand.actions.best, 3);
    hand_done(&hand);
}

TEST(test_a_result_is_the_last_value_or_the_best_and_never_a_failed_trials)
{
    static const struct search_point points[] = {
        { 0, 1, 5 }, { 0, 2, 3 }, { 0, 3, NAN }, { 0, 3, 4 }
    };
    struct search_trial trial = { .number = 1, .points = points, .n_points = 4 };
    static const struct {
        const char *direction;
        double result;
    } directions[] = { { "direction: minimize", 4 },
                       { "direction: maximize", 4 },
                       { "direction: minimize, take: best", 3 },
                       { "direction: maximize, take: best", 5 } };

    for (size_t i = 0; i < ELEMENTS(directions); i++) {
        struct search_space *space = NULL;
        char text[200];

        (void)snprintf(text, sizeof text,
                       "parameters: {x: [1]}\nmetric: {name: m, %s}\nmethod: grid\n",
                       directions[i].direction);
        assert_int_equal(search_space_parse(text, strlen(text), &space, NULL), 0);
        trial.state = SEARCH_TRIAL_DONE;
        assert_true(search_result(space, &trial) == directions[i].result);
        trial.n_points = 3; /* the last one is no number: so is the result, but for the best */
        assert_int_equal(isnan(search_result(space, &trial)), i < 2);
        trial.n_points = 4;
        trial.state = SEARCH_TRIAL_FAILED;
        assert_true(isnan(search_result(space, &trial)));
        (void)search_space_free(space);
    }
}

TEST(test_a_method_waits_for_the_results_that_it_chooses_by)
{
    struct hand hand;

    hand_begin(&hand, PARAMETERS "budget: {trials: 100}\n"
                                 "method: {kind: evolution, parallel: 3}\n");
    for (unsigned int i = 0; i < 4; i++)
        hand_end(&hand, i, SEARCH_TRIAL_DONE, i);
    hand_end(&hand, 1, SEARCH_TRIAL_RUNS, 1);
    assert_int_equal(ask(&hand, 4, 50)->n, 0); /* trial 5 looks at 1 and 2 */
    hand_end(&hand, 1, SEARCH_TRIAL_FAILED, NAN);
    assert_int_equal(ask(&hand, 4, 50)->n, 3); /* trial 8 would look at 5 */
    hand_done(&hand);
}

TEST(test_another_seed_makes_other_trials)
{
    for (size_t s = 0; s < ELEMENTS(spaces) - 1; s++) {
        struct hand one, other;

        hand_begin(&one, spaces[s]);
        hand_begin(&other, spaces[s]);
        other.space->seed = 2;
        assert_int_equal(search_values_equal(one.space, ask(&one, 0, 1)->actions[0].values,
                                             ask(&other, 0, 1)->actions[0].values),
                         one.space->method == SEARCH_GRID);
        hand_done(&one);
        hand_done(&other);
    }
}

TEST(test_the_goal_says_which_trial_is_best)
{
    static const char *const texts[] = {
        "parameters: {x: [1]}\nmetric: {name: m, direction: minimize}\nmethod: grid\n",
        "parameters: {x: [1]}\nmetric: {name: m, direction: maximize}\nmethod: grid\n",
    };

    for (unsigned int i = 0; i < 2; i++) {
        struct hand hand;

        hand_begin(&hand, texts[i]);
        hand_end(&hand, 0, SEARCH_TRIAL_DONE, 2);
        hand_end(&hand, 1, SEARCH_TRIAL_PAUSED, 1);
        hand_end(&hand, 2, SEARCH_TRIAL_DONE, 3);
        hand_end(&hand, 3, SEARCH_TRIAL_FAILED, i == 0 ? -9 : 9);
        hand_end(&hand, 4, SEARCH_TRIAL_DONE, INFINITY);
        hand_end(&hand, 5, SEARCH_TRIAL_DONE, i == 0 ? 1 : 3); /* the first of equal ones */
        assert_int_equal(ask(&hand, 6, 1)->best, i == 0 ? 2 : 3);
        hand_done(&hand);
    }
}

TEST(test_with_little_room_the_highest_rung_goes_on_first)
{
    struct search_point points[10][2];
    struct hand hand;

    hand_begin(&hand, asha);
    for (unsigned int i = 0; i < 10; i++) {
        hand_end(&hand, i, SEARCH_TRIAL_PAUSED, i);
        points[i][0] = (struct search_point){ 0, 1, i };
        points[i][1] = (struct search_point){ 1, 3, i };
        hand.trials[i].points = points[i];
        hand.trials[i].rung = i < 2; /* 1 and 2 have done rung 1, 3 may go on to it */
        hand.trials[i].n_points = 1 + hand.trials[i].rung;
    }
    assert_int_equal(ask(&hand, 9, 1)->n, 1); /* rung 2 needs three on rung 1 */
    assert_int_equal(hand.actions.actions[0].act, SEARCH_CONTINUE);
    assert_int_equal(hand.actions.actions[0].number, 3);
    assert_int_equal(hand.actions.actions[0].rung, 1);
    hand.trials[2].rung = 1;
    hand.trials[2].n_points = 2;
    points[9][0].value = -1; /* 10 goes on to rung 1, and 1 to rung 2 */
    assert_int_equal(ask(&hand, 10, 1)->n, 1);
    assert_int_equal(hand.actions.actions[0].number, 1);
    assert_int_equal(hand.actions.actions[0].rung, 2);
    assert_int_equal(hand.actions.actions[0].resource, 9);
    assert_int_equal(ask(&hand, 10, 2)->n, 2);
    assert_int_equal(hand.actions.actions[1].number, 10);
    hand.space->budget.trials = 10;
    assert_int_equal(ask(&hand, 10, 0)->n, 0);
    assert_int_equal(hand.actions.end, SEARCH_GOES_ON); /* they wait for room */
    hand_done(&hand);
}

TEST(test_only_beyond_its_resource_a_trial_is_paused_or_on_the_last_rung_stopped)
{
    struct search_point points[2] = { { 0, 1, 5 }, { 0, 2, 4 } };
    struct hand hand;

    hand_begin(&hand, asha);
    hand.trials[0].state = SEARCH_TRIAL_RUNS;
    hand.trials[0].points = points;
    hand.trials[0].n_points = 1;
    assert_int_equal(ask(&hand, 1, 0)->n, 0);
    hand.trials[0].n_points = 2;
    assert_int_equal(ask(&hand, 1, 0)->n, 1);
    assert_int_equal(hand.actions.actions[0].act, SEARCH_PAUSE);
    hand.trials[0].rung = points[0].rung = points[1].rung = 3;
    points[1].resource = 27;
    assert_int_equal(ask(&hand, 1, 0)->n, 0);
    points[1].resource = 28;
    assert_int_equal(ask(&hand, 1, 0)->n, 1);
    assert_int_equal(hand.actions.actions[0].act, SEARCH_STOP);
    hand_done(&hand);
}
