/* SPDX-License-Identifier: Apache-2.0 */
/* simulate_tables.c - what came of a scenario, for people */
#include <inttypes.h>
#include <math.h>

#include "client/report.h"
#include "client/simulate.h"
#include "client/table_print.h"
#include "client/text.h"
#include "scheduler/core/policy/policy.h"
#include "shared/cleanup.h"
#include "shared/macro.h"

#define JOBS_LISTED 40

/* add_span - from one moment to another in seconds, "-" when it has not come */
static void add_span(struct table *table, uint64_t from_us, uint64_t to_us)
{
    if (from_us == NEVER_US || to_us == NEVER_US)
        table_add(table, "-");
    else
        table_add(table, "%.1f", simulate_seconds(to_us > from_us ? to_us - from_us : 0));
}

static void print_jobs(const struct simulate_play *play, const struct scenario_result *result)
{
    static const char *const headers[] = { "JOB",      "STATE", "SUBMITTED", "WAITED", "COMPLETED",
                                           "TRAINERS", "MEAN",  "RESIZES",   NULL };
    _cleanup_(cleanup_tablep) struct table *table = table_new(headers, 0xfc);

    if (result->n_jobs > JOBS_LISTED && !play->options->all) {
        report_note("%zu job%s; --all lists them", result->n_jobs, PLURAL(result->n_jobs));
        return;
    }
    for (size_t i = 0; i < result->n_jobs; i++) {
        const struct scenario_job_result *job = &result->jobs[i];

        table_add(table, "%s", job->name);
        table_add(table, "%s",
                  job->submitted_us > result->end_us ? "-" : job_state_to_string(job->state));
        add_span(table, 0, job->submitted_us);
        add_span(table, job->submitted_us, job->started_us);
        add_span(table, job->submitted_us, job->ended_us);
        table_add(table, "%" PRIu32, job->trainers);
        table_add(table, "%.1f", job->trainers_mean);
        table_add(table, "%" PRIu32, job->resizes);
    }
    table_print(table, stdout);
    (void)putchar('\n');
}

static void print_distribution(const char *name, const struct distribution *d)
{
    (void)printf("%-22s mean %.2f s, median %.2f s, p95 %.2f s, longest %.2f s\n", name, d->mean,
                 d->p50, d->p95, d->max);
}

static void print_short(const struct scenario_result *result)
{
    if (result->short_longest_us == 0)
        return;
    (void)printf("%-22s after %.1f s at worst, %.0f core-seconds were missing; rises:",
                 "cores of others back", simulate_seconds(result->short_longest_us),
                 result->short_core_s);
    for (size_t i = 0; i < result->n_returns; i++)
        if (result->short_returns_us[i] == NEVER_US)
            (void)printf(" open");
        else
            (void)printf(" %.1f", simulate_seconds(result->short_returns_us[i]));
    (void)putchar('\n');
}

static void print_figures_of(const struct scenario_result *result)
{
    print_distribution("waiting", &result->waiting_s);
    print_distribution("  from the answer on", &result->waiting_acknowledged_s);
    print_distribution("  until room is given", &result->waiting_room_s);
    print_distribution("  until shown running", &result->waiting_shown_s);
    if (result->never_started > 0)
        (void)printf("%-22s %" PRIu32 " (their waiting counts until the end)\n",
                     "jobs that never ran", result->never_started);
    if (result->completion_s.n > 0)
        print_distribution("completion", &result->completion_s);
    (void)printf("%-22s mean %.2f %%, plateau %.2f %% (ours %.2f %%)\n", "utilisation",
                 100 * result->utilisation, 100 * result->utilisation_plateau,
                 100 * result->utilisation_ours_plateau);
    (void)printf("%-22s %.4f in the plateau, %.4f at the end\n", "fairness (Jain)",
                 result->jain_plateau, result->jain_end);
    (void)printf("%-22s %" PRIu32 ", %" PRIu64 " start%s\n", "resizes", result->resizes,
                 result->starts, PLURAL(result->starts));
    if (result->tasks_finished > 0)
        (void)printf("%-22s %" PRIu64 " finished, %" PRIu64 " given back unfinished\n", "tasks",
                     result->tasks_finished, result->tasks_given_back);
    print_short(result);
}

static void print_rounds(const struct simulate_play *play)
{
    static const char *const headers[] = { "SEED",        "WAITING",    "P95",
                                           "UTILISATION", "PLATEAU",    "JAIN",
                                           "RESIZES",     "CORES-BACK", NULL };
    _cleanup_(cleanup_tablep) struct table *table = table_new(headers, 0xff);

    for (size_t i = 0; i < play->n; i++) {
        const struct scenario_result *r = &play->rounds[i];

        table_add(table, "%" PRIu64, r->seed);
        table_add(table, "%.2f", r->waiting_s.mean);
        table_add(table, "%.2f", r->waiting_s.p95);
        table_add(table, "%.2f%%", 100 * r->utilisation);
        table_add(table, "%.2f%%", 100 * r->utilisation_plateau);
        table_add(table, "%.4f", r->jain_plateau);
        table_add(table, "%" PRIu32, r->resizes);
        table_add(table, "%.1f", simulate_seconds(r->short_longest_us));
    }
    table_print(table, stdout);
    (void)putchar('\n');
}

static void add_value(struct table *table, const char *before, double value, const char *unit)
{
    if (isnan(value))
        table_add(table, "-");
    else
        table_add(table, "%s%.*f%s%s", before, fabs(value) < 1 ? 3 : 2, value, unit[0] ? " " : "",
                  unit);
}

static void print_goals(const struct simulate_play *play)
{
    static const char *const headers[] = { "FIGURE",       "HERE",       "GOAL", "MET",
                                           "2017 ELASTIC", "2017 FIXED", NULL };
    _cleanup_(cleanup_tablep) struct table *table = table_new(headers, 0x36);

    for (size_t i = 0; i < play->experiment->n_figures; i++) {
        const struct experiment_figure *figure = &play->experiment->figures[i];
        double value = experiment_figure(figure, play->rounds, play->n);

        table_add(table, "%s", figure->name);
        add_value(table, "", value, figure->unit);
        if (!isnan(figure->at_most))
            add_value(table, isnan(figure->at_least) ? "<= " : "", figure->at_most, figure->unit);
        else
            add_value(table, ">= ", figure->at_least, figure->unit);
        table_add(table, "%s",
                  !experiment_has_goal(figure)    ? "-"
                  : experiment_met(figure, value) ? "yes"
                                                  : "NO");
        add_value(table, "", figure->report_elastic, figure->unit);
        add_value(table, "", figure->report_fixed, figure->unit);
    }
    table_print(table, stdout);
}

void simulate_print_tables(const struct simulate_play *play)
{
    const struct scenario *scenario = play->scenario;
    const struct scenario_result *first = &play->rounds[0];
    char cores[24];

    (void)printf("%s: %" PRIu32 " node%s, %s core%s, %" PRIu32 " job%s, policy %s, %.0f s\n\n",
                 scenario->name, scenario->nodes, PLURAL(scenario->nodes),
                 text_cpu(scenario->cpu_millicores, cores, sizeof(cores)),
                 PLURAL(scenario->cpu_millicores / 1000.0), scenario->submissions,
                 PLURAL(scenario->submissions), scenario->policy->name,
                 simulate_seconds(first->end_us));
    if (play->n > 1) {
        print_rounds(play);
    } else {
        print_jobs(play, first);
        print_figures_of(first);
    }
    if (play->experiment != NULL) {
        if (play->n == 1)
            (void)putchar('\n');
        print_goals(play);
    }
}
