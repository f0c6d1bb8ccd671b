/* SPDX-License-Identifier: Apache-2.0 */
/* simulate_json.c - what came of a scenario, for programs */
#include <math.h>

#include "client/json_read.h"
#include "client/simulate.h"
#include "scheduler/core/policy/policy.h"
#include "shared/macro.h"

/* null stands for a moment that has not come and for a figure that there is not */
static json_t *json_moment(uint64_t us)
{
    return us == NEVER_US ? json_null() : json_real(simulate_seconds(us));
}

static json_t *json_figure(double value)
{
    return isnan(value) ? json_null() : json_real(value);
}

static json_t *json_distribution(const struct distribution *d)
{
    return json_pack("{s:I, s:f, s:f, s:f, s:f}", "n", (json_int_t)d->n, "mean", d->mean, "p50",
                     d->p50, "p95", d->p95, "max", d->max);
}

static json_t *json_job(const struct scenario_job_result *job, uint64_t end_us)
{
    /* one that was to be submitted after the end has no state */
    const char *state = job->submitted_us > end_us ? NULL : job_state_to_string(job->state);

    return json_pack("{s:s, s:s?, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:f, s:I}", "name", job->name,
                     "state", state, "submitted_s", json_moment(job->submitted_us),
                     "acknowledged_s", json_moment(job->acknowledged_us), "placed_s",
                     json_moment(job->placed_us), "started_s", json_moment(job->started_us),
                     "shown_running_s", json_moment(job->shown_us), "ended_s",
                     json_moment(job->ended_us), "trainers", (json_int_t)job->trainers,
                     "trainers_plateau", job->trainers_mean, "resizes", (json_int_t)job->resizes);
}

static json_t *json_round(const struct scenario_result *r)
{
    json_t *jobs = json_array(), *returns = json_array();

    for (size_t i = 0; i < r->n_jobs; i++)
        (void)json_array_append_new(jobs, json_job(&r->jobs[i], r->end_us));
    for (size_t i = 0; i < r->n_returns; i++)
        (void)json_array_append_new(returns, json_moment(r->short_returns_us[i]));

    json_t *round =
        json_pack("{s:I, s:f, s:I, s:s, s:o, s:o, s:o, s:o, s:o, s:I}", "seed", (json_int_t)r->seed,
                  "end_s", simulate_seconds(r->end_us), "events", (json_int_t)r->events,
                  "violation", r->violation, "waiting_s", json_distribution(&r->waiting_s),
                  "waiting_acknowledged_s", json_distribution(&r->waiting_acknowledged_s),
                  "waiting_room_s", json_distribution(&r->waiting_room_s), "waiting_shown_s",
                  json_distribution(&r->waiting_shown_s), "completion_s",
                  json_distribution(&r->completion_s), "never_started",
                  (json_int_t)r->never_started);
    json_t *rest =
        json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:I, s:I, s:I, s:I, s:f, s:f, s:o, s:o}",
                  "utilisation", r->utilisation, "utilisation_plateau", r->utilisation_plateau,
                  "utilisation_ours_plateau", r->utilisation_ours_plateau, "jain_plateau",
                  r->jain_plateau, "jain_end", r->jain_end, "trainers_plateau", r->trainers_plateau,
                  "resizes", (json_int_t)r->resizes, "starts", (json_int_t)r->starts,
                  "tasks_finished", (json_int_t)r->tasks_finished, "tasks_given_back",
                  (json_int_t)r->tasks_given_back, "short_longest_s",
                  simulate_seconds(r->short_longest_us), "short_core_s", r->short_core_s,
                  "short_returns_s", returns, "jobs", jobs);

    (void)json_object_update(round, rest);
    json_decref(rest);
    return round;
}

static json_t *json_goals(const struct simulate_play *play)
{
    json_t *figures = json_array();

    for (size_t i = 0; play->experiment != NULL && i < play->experiment->n_figures; i++) {
        const struct experiment_figure *figure = &play->experiment->figures[i];
        double value = experiment_figure(figure, play->rounds, play->n);

        (void)json_array_append_new(figures,
                                    json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o}",
                                              "key", figure->key, "name", figure->name, "unit",
                                              figure->unit, "value", json_figure(value), "at_most",
                                              json_figure(figure->at_most), "at_least",
                                              json_figure(figure->at_least), "met",
                                              experiment_has_goal(figure)
                                                  ? json_boolean(experiment_met(figure, value))
                                                  : json_null(),
                                              "report_elastic", json_figure(figure->report_elastic),
                                              "report_fixed", json_figure(figure->report_fixed)));
    }
    return figures;
}

void simulate_print_json(const struct simulate_play *play)
{
    const struct scenario *scenario = play->scenario;
    json_t *rounds = json_array();

    for (size_t i = 0; i < play->n; i++)
        (void)json_array_append_new(rounds, json_round(&play->rounds[i]));

    _cleanup_json_ json_t *object =
        json_pack("{s:s, s:s, s:I, s:f, s:I, s:o, s:o}", "name", scenario->name, "policy",
                  scenario->policy->name, "nodes", (json_int_t)scenario->nodes, "cores",
                  (double)scenario->cpu_millicores / 1000, "submissions",
                  (json_int_t)scenario->submissions, "figures", json_goals(play), "rounds", rounds);

    json_print(object);
}
