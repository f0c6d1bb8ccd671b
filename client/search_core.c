/* SPDX-License-Identifier: Apache-2.0 */
/* search_core.c - see search_core.h: trials under way, new ones, and the end */
#include "client/search_core.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "client/search_past.h"
#include "shared/cleanup.h"
#include "shared/macro.h"

#define HOUR_S 3600.0
#define BEGUN_CORE_S 60.0 /* a program that is broken fails sooner */

const char *search_end_text(enum search_end end)
{
    static const char *const texts[] = {
        [SEARCH_GOES_ON] = "the search goes on",
        [SEARCH_END_TRIALS] = "all trials of the budget have ended",
        [SEARCH_END_POINTS] = "each point of the space was tried",
        [SEARCH_END_CORE_HOURS] = "the budget of core-hours is used up",
        [SEARCH_END_TIME] = "the budget of time is used up",
        [SEARCH_END_FAILING] = "the first trials failed, and none succeeded",
        [SEARCH_END_NO_METRIC] = "a trial ended and told no value of the metric",
    };

    return texts[end];
}

/* ---- results ---- */

static bool is_under_way(const struct search_trial *trial)
{
    return trial->state == SEARCH_TRIAL_WAITS || trial->state == SEARCH_TRIAL_RUNS;
}

/* signed_value - the lower the better; a value that is not finite is the worst */
static double signed_value(const struct search_space *space, double value)
{
    if (!isfinite(value))
        return INFINITY;
    return space->is_maximised ? -value : value;
}

/* told_score - by what was told on a rung, beyond its resource too only if nothing was told before;
 * INFINITY: nothing */
static double told_score(const struct search_space *space, const struct search_trial *trial,
                         unsigned int rung)
{
    double most = (double)search_rung_resource(space, rung), score = INFINITY;
    bool has_one = false;

    for (size_t i = 0; i < trial->n_points; i++) {
        const struct search_point *point = &trial->points[i];
        double value = signed_value(space, point->value);

        if (point->rung != rung || (most > 0 && point->resource > most && has_one))
            continue;
        score = space->takes_best ? MIN_OF(score, value) : value;
        has_one = true;
    }
    return score;
}

double search_score(const struct search_space *space, const struct search_trial *trial,
                    unsigned int rung)
{
    if (trial->rung < rung || (trial->rung == rung && is_under_way(trial)))
        return NAN;
    if (trial->rung == rung && trial->state == SEARCH_TRIAL_FAILED)
        return INFINITY;
    return told_score(space, trial, rung);
}

double search_result(const struct search_space *space, const struct search_trial *trial)
{
    if (trial->state == SEARCH_TRIAL_FAILED)
        return NAN;
    for (unsigned int rung = trial->rung + 1; rung-- > 0;) {
        double score = told_score(space, trial, rung);

        if (isfinite(score))
            return space->is_maximised ? -score : score;
    }
    return NAN;
}

unsigned int search_best(const struct search_space *space, const struct search_history *history)
{
    double best = INFINITY;
    unsigned int number = 0;

    for (size_t i = 0; i < history->n_trials; i++) {
        const struct search_trial *trial = &history->trials[i];
        double score =
            is_under_way(trial) ? INFINITY : signed_value(space, search_result(space, trial));

        if (score < best) {
            best = score;
            number = trial->number;
        }
    }
    return number;
}

/* ---- what there is ---- */

struct facts {
    unsigned int n_under_way, n_failed;
    unsigned int first_failed; /* by number; 0: none */
    unsigned int first_untold; /* ended well, and told no value of the metric */
    bool is_told, has_success; /* a value of the metric; one that is finite */
    bool has_begun;            /* a trial has run for long enough to say that the program works */
    double core_s;
};

static void look_at_points(const struct search_trial *trial, struct facts *facts)
{
    facts->is_told = facts->is_told || trial->n_points > 0;
    for (size_t i = 0; i < trial->n_points; i++)
        if (isfinite(trial->points[i].value))
            facts->has_success = true;
}

static void look_at_end(const struct search_space *space, const struct search_trial *trial,
                        struct facts *facts)
{
    bool has_failed = trial->state == SEARCH_TRIAL_FAILED;

    if (is_under_way(trial))
        return;
    if (!has_failed && trial->n_points == 0 && facts->first_untold == 0)
        facts->first_untold = trial->number;
    if (!has_failed && !isnan(search_result(space, trial)))
        return;
    facts->n_failed++;
    if (facts->first_failed == 0)
        facts->first_failed = trial->number;
}

static struct facts facts_of(const struct search_space *space, const struct search_history *history)
{
    struct facts facts = { 0 };

    for (size_t i = 0; i < history->n_trials; i++) {
        const struct search_trial *trial = &history->trials[i];

        facts.n_under_way += is_under_way(trial);
        facts.core_s += trial->core_s;
        facts.has_begun = facts.has_begun ||
                          (trial->core_s >= BEGUN_CORE_S && trial->state != SEARCH_TRIAL_FAILED);
        look_at_points(trial, &facts);
        look_at_end(space, trial, &facts);
    }
    return facts;
}

/* ---- actions ---- */

static struct search_action *add(struct search_actions *ret, enum search_act act,
                                 unsigned int number, unsigned int rung)
{
    struct search_action *action;

    ret->actions = xreallocarray(ret->actions, ret->n + 1, sizeof *ret->actions);
    action = &ret->actions[ret->n++];
    *action = (struct search_action){ .act = act, .number = number, .rung = rung };
    return action;
}

void search_actions_clear(struct search_actions *actions)
{
    for (size_t i = 0; i < actions->n; i++)
        free(actions->actions[i].values);
    free(actions->actions);
    *actions = (struct search_actions){ 0 };
}

static void end(const struct search_history *history, enum search_end why, unsigned int trial,
                struct search_actions *ret)
{
    ret->end = why;
    ret->trial = trial;
    for (size_t i = 0; i < history->n_trials; i++)
        if (is_under_way(&history->trials[i]))
            (void)add(ret, SEARCH_STOP, history->trials[i].number, history->trials[i].rung);
}

/* ends_now - whatever runs */
static bool ends_now(const struct search_space *space, const struct search_history *history,
                     const struct facts *facts, struct search_actions *ret)
{
    const struct search_budget *budget = &space->budget;

    if (facts->first_untold > 0 && !facts->is_told)
        end(history, SEARCH_END_NO_METRIC, facts->first_untold, ret);
    else if (budget->core_hours > 0 && facts->core_s >= budget->core_hours * HOUR_S)
        end(history, SEARCH_END_CORE_HOURS, 0, ret);
    else if (budget->elapsed_us > 0 &&
             history->elapsed_s * (double)USEC_PER_SEC >= (double)budget->elapsed_us)
        end(history, SEARCH_END_TIME, 0, ret);
    return ret->end != SEARCH_GOES_ON;
}

/* fails - so many failed and none succeeded: nothing begins; those under way may still succeed */
static bool fails(const struct search_space *space, const struct search_history *history,
                  const struct facts *facts, struct search_actions *ret)
{
    if (facts->has_success || facts->n_failed < space->failures)
        return false;
    if (facts->n_under_way == 0)
        end(history, SEARCH_END_FAILING, facts->first_failed, ret);
    return true;
}

static bool goes_beyond(const struct search_trial *trial, uint64_t resource)
{
    for (size_t i = 0; i < trial->n_points; i++)
        if (trial->points[i].rung == trial->rung && trial->points[i].resource > (double)resource)
            return true;
    return false;
}

/* Programs that do not stop by themselves at their rung's resource. */
static void pause_trials(const struct search_space *space, const struct search_history *history,
                         struct search_actions *ret)
{
    for (size_t i = 0; i < history->n_trials && space->method == SEARCH_ASHA; i++) {
        const struct search_trial *trial = &history->trials[i];
        bool is_last = trial->rung + 1 >= search_rungs(space);

        if (trial->state == SEARCH_TRIAL_RUNS &&
            goes_beyond(trial, search_rung_resource(space, trial->rung)))
            (void)add(ret, is_last ? SEARCH_STOP : SEARCH_PAUSE, trial->number, trial->rung);
    }
}

/* ---- the past ---- */

static void past_clear(struct search_past *past)
{
    free(past->trials);
    free(past->scores);
}

#define _cleanup_past_ _cleanup_(past_clear)

/* past_of - room for trials up to n_max; those of the history stand at their places */
static struct search_past past_of(const struct search_space *space,
                                  const struct search_history *history, unsigned int n_max)
{
    struct search_past past = { .space = space,
                                .trials = xcalloc(n_max + 1, sizeof(struct search_trial *)),
                                .scores = xcalloc(n_max + 1, sizeof(double)) };

    for (size_t i = 0; i < history->n_trials; i++) {
        const struct search_trial *trial = &history->trials[i];

        if (trial->number >= 1 && trial->number <= n_max) {
            past.trials[trial->number - 1] = trial;
            past.scores[trial->number - 1] = search_score(space, trial, 0);
        }
    }
    return past;
}

/* ---- trials that go on ---- */

/* continue_trials - the highest rung first; returns how many could not for lack of room */
static unsigned int continue_trials(const struct search_past *past, unsigned int *room,
                                    struct search_actions *ret)
{
    _cleanup_free_ unsigned int *rungs = xcalloc(past->n, sizeof *rungs);
    unsigned int n_left = 0;

    if (past->space->method != SEARCH_ASHA)
        return 0;
    search_promotions(past, rungs);
    for (unsigned int rung = search_rungs(past->space); rung-- > 1;)
        for (unsigned int i = 0; i < past->n; i++) {
            const struct search_trial *trial = past->trials[i];

            if (rungs[i] != rung || trial->rung != rung - 1)
                continue;
            if (*room == 0) {
                n_left++;
                continue;
            }
            add(ret, SEARCH_CONTINUE, trial->number, rung)->resource =
                search_rung_resource(past->space, rung);
            --*room;
        }
    return n_left;
}

/* ---- trials that begin ---- */

enum verdict { MAY_START, HAS_TO_WAIT, HAS_ALL_TRIALS, HAS_ALL_POINTS };

/* is_known - the results by which trial past->n + 1 is chosen */
static bool is_known(const struct search_past *past)
{
    unsigned int parallel = past->space->settings.parallel;

    for (unsigned int i = 0; parallel > 0 && i + parallel <= past->n; i++)
        if (isnan(past->scores[i]))
            return false;
    return true;
}

/* Until something says that the program works, no more begin than may fail. */
static bool is_first_wave(const struct search_past *past, const struct facts *facts,
                          unsigned int n_started)
{
    return !facts->has_success && !facts->has_begun && n_started >= past->space->failures;
}

static unsigned int trials_max(const struct search_space *space)
{
    return space->budget.trials > 0 ? space->budget.trials : SEARCH_TRIALS_MAX;
}

/* start_trials - from the lowest number that has no trial on */
static enum verdict start_trials(struct search_past *past, const struct facts *facts,
                                 unsigned int n_started, unsigned int room,
                                 struct search_trial *started, struct search_actions *ret)
{
    const struct search_space *space = past->space;

    for (; past->n < trials_max(space); past->n++) {
        struct search_action *action;
        struct search_trial *trial = &started[past->n];
        double *values;
        bool has_values;

        if (past->trials[past->n] != NULL)
            continue;
        if (!is_known(past) || is_first_wave(past, facts, n_started) ||
            (room == 0 && facts->n_under_way > 0))
            return HAS_TO_WAIT;
        values = xcalloc(space->n_parameters, sizeof *values);
        has_values = search_choose(past, values);
        if (!has_values || room == 0) {
            free(values);
            return has_values ? HAS_TO_WAIT : HAS_ALL_POINTS;
        }
        action = add(ret, SEARCH_START, past->n + 1, 0);
        action->values = values;
        action->resource = search_rung_resource(space, 0);
        *trial = (struct search_trial){ .number = action->number, .values = values };
        past->trials[past->n] = trial;
        past->scores[past->n] = NAN;
        n_started++;
        room--;
    }
    return HAS_ALL_TRIALS;
}

void search_next(const struct search_space *space, const struct search_history *history,
                 unsigned int room, struct search_actions *ret)
{
    struct facts facts = facts_of(space, history);
    unsigned int n_max = trials_max(space), n_left;
    _cleanup_past_ struct search_past past = past_of(space, history, n_max);
    _cleanup_free_ struct search_trial *started = xcalloc(n_max, sizeof *started);
    enum verdict verdict;

    *ret = (struct search_actions){ .best = search_best(space, history) };
    if (ends_now(space, history, &facts, ret) || fails(space, history, &facts, ret))
        return;
    pause_trials(space, history, ret);
    while (past.n < n_max && past.trials[past.n] != NULL)
        past.n++;
    n_left = continue_trials(&past, &room, ret);
    verdict = start_trials(&past, &facts, (unsigned int)history->n_trials, room, started, ret);
    if (facts.n_under_way > 0 || n_left > 0 || ret->n > 0)
        return;
    if (verdict == HAS_ALL_TRIALS)
        ret->end = SEARCH_END_TRIALS;
    if (verdict == HAS_ALL_POINTS)
        ret->end = SEARCH_END_POINTS;
}
