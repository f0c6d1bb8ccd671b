/* SPDX-License-Identifier: Apache-2.0 */
/* search_world.c - see search_world.h */
#include "tests/unit/search_world.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "shared/error.h"
#include "shared/macro.h"
#include "shared/random.h"

#define SHORTEST_S 10.0 /* of a whole trial, or of its part on a rung */
#define TURNS_MAX 200000

void world_begin(struct world *world, const struct world_config *config)
{
    struct edl_error error = { 0 };

    *world = (struct world){ .config = *config, .random = config->timing };
    if (search_space_parse(config->space, strlen(config->space), &world->space, &error) < 0)
        fail_msg("%s: %s (%s)", error.pointer, error.text, error.remedy);
    world->trials = xcalloc(SEARCH_TRIALS_MAX, sizeof *world->trials);
    world->history = xcalloc(SEARCH_TRIALS_MAX, sizeof *world->history);
}

void world_done(struct world *world)
{
    for (unsigned int i = 0; i < world->n; i++) {
        free(world->trials[i].values);
        free(world->trials[i].points);
    }
    free(world->trials);
    free(world->history);
    (void)search_space_free(world->space);
}

static bool is_busy(const struct world_trial *trial)
{
    return trial->trial.state == SEARCH_TRIAL_WAITS || trial->trial.state == SEARCH_TRIAL_RUNS;
}

static unsigned int under_way(const struct world *world)
{
    unsigned int n = 0;

    for (unsigned int i = 0; i < world->n; i++)
        n += is_busy(&world->trials[i]);
    return n;
}

/* outcome - random numbers of a trial on a rung, whenever it gets there */
static uint64_t outcome(const struct world *world, unsigned int number, unsigned int rung)
{
    uint64_t state = world->config.seed * 1000003 + number * 101 + rung;

    (void)random_u64(&state);
    return state;
}

static double noise(uint64_t *random)
{
    return sqrt(-2 * log(1 - random_unit(random))) * cos(2 * M_PI * random_unit(random));
}

static void tell(struct world_trial *trial, double resource, double value)
{
    struct search_trial *told = &trial->trial;

    trial->points = xreallocarray(trial->points, told->n_points + 1, sizeof *trial->points);
    trial->points[told->n_points++] =
        (struct search_point){ .rung = told->rung, .resource = resource, .value = value };
    told->points = trial->points;
}

/* metric_at - curves fall as power laws do, some later than others: what is good at the beginning
 * may not be so at the end */
static double metric_at(const struct world *world, const struct world_trial *trial, double resource)
{
    double most = world->space->resource.max > 0 ? (double)world->space->resource.max : resource;
    double left = (1 / sqrt(resource) - 1 / sqrt(most)) / (1 - 1 / sqrt(most));
    uint64_t random = outcome(world, trial->trial.number, SEARCH_RUNGS_MAX);

    return world->config.metric(world->space, trial->values, resource / most) +
           (world->config.curve > 0 ? world->config.curve * left : 0) *
               (0.5 + random_unit(&random));
}

/* end_rung - a trial has run for as long as its rung takes */
static void end_rung(struct world *world, struct world_trial *trial)
{
    uint64_t random = outcome(world, trial->trial.number, trial->trial.rung);
    bool has_failed = random_unit(&random) < world->config.failures;
    double resource = trial->resource > 0 ? (double)trial->resource : 1;

    if (world->config.metric != NULL) /* else no trial tells anything */
        tell(trial, resource,
             metric_at(world, trial, resource) + world->config.noise * noise(&random));
    trial->trial.state = SEARCH_TRIAL_DONE;
    if (trial->trial.rung + 1 < search_rungs(world->space) && random_unit(&random) < 0.5)
        trial->trial.state = SEARCH_TRIAL_PAUSED;
    if (has_failed)
        trial->trial.state = SEARCH_TRIAL_FAILED;
    if (world->config.wants && !has_failed && world->found == 0 &&
        trial->trial.rung + 1 == search_rungs(world->space) &&
        world_quality(world, trial->trial.number) <= world->config.wanted + 1e-9)
        world->found = trial->trial.number;
}

/* begin_rung - for the time of the resource that it has not reached yet */
static void begin_rung(struct world *world, struct world_trial *trial, unsigned int rung,
                       uint64_t resource)
{
    double reached = rung > 0 ? (double)search_rung_resource(world->space, rung - 1) : 0;
    double part = resource > 0 ? (double)resource - reached : 1;

    trial->trial.rung = rung;
    trial->trial.state = SEARCH_TRIAL_RUNS;
    trial->resource = resource;
    trial->left_s =
        SHORTEST_S * part * (1 + (world->config.slow - 1) * random_unit(&world->random));
    trial->n_starts++;
}

static void start(struct world *world, const struct search_action *action)
{
    struct world_trial *trial = &world->trials[world->n];
    size_t size = world->space->n_parameters * sizeof *trial->values;

    assert_int_equal(action->number, world->n + 1); /* no trial twice, none left out */
    for (unsigned int i = 0; i < world->space->n_parameters; i++)
        assert_true(isnan(action->values[i]) != search_is_active(world->space, i, action->values));
    for (unsigned int i = 0; i < world->n; i++)
        assert_false(search_values_equal(world->space, world->trials[i].values, action->values));
    *trial = (struct world_trial){ .values = xcalloc(1, size) };
    memcpy(trial->values, action->values, size);
    trial->trial = (struct search_trial){ .number = action->number, .values = trial->values };
    world->n++;
    begin_rung(world, trial, 0, action->resource);
}

static void go_on(struct world *world, const struct search_action *action)
{
    struct world_trial *trial = &world->trials[action->number - 1];

    assert_in_range(action->number, 1, world->n);
    assert_true(trial->trial.state == SEARCH_TRIAL_PAUSED ||
                trial->trial.state == SEARCH_TRIAL_DONE);
    assert_int_equal(action->rung, trial->trial.rung + 1);
    assert_true(action->rung < search_rungs(world->space));
    begin_rung(world, trial, action->rung, action->resource);
}

static void apply(struct world *world, const struct search_action *action)
{
    struct world_trial *trial = &world->trials[action->number - 1];

    switch (action->act) {
    case SEARCH_START:
        start(world, action);
        break;
    case SEARCH_CONTINUE:
        go_on(world, action);
        break;
    case SEARCH_PAUSE:
        assert_true(trial->trial.state == SEARCH_TRIAL_RUNS);
        trial->trial.state = SEARCH_TRIAL_PAUSED;
        break;
    case SEARCH_STOP:
        assert_true(is_busy(trial));
        trial->trial.state = SEARCH_TRIAL_DONE;
        break;
    }
}

void world_search(struct world *world, unsigned int room, struct search_actions *ret)
{
    struct search_history history = { .trials = world->history,
                                      .n_trials = world->n,
                                      .elapsed_s = world->now_s };

    for (unsigned int i = 0; i < world->n; i++)
        world->history[i] = world->trials[i].trial;
    search_next(world->space, &history, room, ret);
}

/* pass_time - until a trial ends its rung; false: none is under way */
static bool pass_time(struct world *world)
{
    struct world_trial *next = NULL;
    double passed_s;

    for (unsigned int i = 0; i < world->n; i++)
        if (is_busy(&world->trials[i]) && (next == NULL || world->trials[i].left_s < next->left_s))
            next = &world->trials[i];
    if (next == NULL)
        return false;
    passed_s = next->left_s;
    for (unsigned int i = 0; i < world->n; i++)
        if (is_busy(&world->trials[i])) {
            world->trials[i].left_s -= passed_s;
            world->trials[i].trial.core_s += passed_s;
            world->core_s += passed_s;
        }
    world->now_s += passed_s;
    if (world->config.goes_beyond) { /* it tells on and on until somebody pauses it */
        end_rung(world, next);
        if (next->trial.state != SEARCH_TRIAL_FAILED) {
            tell(next, (double)next->resource + 1, -1000);
            next->trial.state = SEARCH_TRIAL_RUNS;
            next->left_s = SHORTEST_S;
        }
        return true;
    }
    end_rung(world, next);
    return true;
}

static unsigned int room_now(struct world *world)
{
    unsigned int most = world->config.room, busy = under_way(world);

    if (world->config.has_changes)
        most = 1 + (unsigned int)random_below(&world->random, most);
    return most > busy ? most - busy : 0;
}

/* turn - the search looks once and may be killed amid its actions; returns how many were done */
static size_t turn(struct world *world)
{
    unsigned int room = room_now(world);
    struct search_actions actions;
    size_t n, n_begun = 0;

    world_search(world, room, &actions);
    n = actions.n;
    if (world->config.is_killed && actions.end == SEARCH_GOES_ON)
        n = (size_t)random_below(&world->random, actions.n + 1);
    for (size_t i = 0; i < n; i++) {
        apply(world, &actions.actions[i]);
        n_begun +=
            actions.actions[i].act == SEARCH_START || actions.actions[i].act == SEARCH_CONTINUE;
    }
    assert_true(n_begun <= room);
    world->most_under_way = MAX_OF(world->most_under_way, under_way(world));
    world->end = actions.end;
    world->best = actions.best;
    world->shown = actions.trial;
    search_actions_clear(&actions);
    return n;
}

void world_run(struct world *world)
{
    for (unsigned int turns = 0; turns < TURNS_MAX; turns++) {
        size_t n = turn(world);

        if (world->end != SEARCH_GOES_ON || world->found > 0)
            return;
        if (!pass_time(world) && n == 0)
            /* with room for one at least something has to happen, or it hangs */
            assert_true(world->config.has_changes || world->config.is_killed);
    }
    fail_msg("the search does not end");
}

double world_quality(const struct world *world, unsigned int number)
{
    double value = world->config.metric(world->space, world->trials[number - 1].values, 1);

    return world->space->is_maximised ? -value : value;
}

bool world_same(const struct world *a, const struct world *b)
{
    if (a->n != b->n || a->end != b->end || a->best != b->best)
        return false;
    for (unsigned int i = 0; i < a->n; i++)
        if (a->trials[i].trial.rung != b->trials[i].trial.rung ||
            !search_values_equal(a->space, a->trials[i].values, b->trials[i].values))
            return false;
    return true;
}
