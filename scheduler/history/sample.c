/* SPDX-License-Identifier: Apache-2.0 */
/* sample.c - see sample.h */
#include "scheduler/history/sample.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <utlist.h>

#include "scheduler/core/base/steps.h"
#include "scheduler/core/base/task_queue.h"
#include "scheduler/core/core.h"
#include "scheduler/history/series.h"
#include "scheduler/nodes/progress.h"
#include "shared/macro.h"

#define TOLD_MAX 256 /* processes whose figures are looked at */

/* What a program counts in edl.progress(), the first that it tells. */
static const struct {
    const char *name;
    bool is_shared; /* each process tells the same number; else its own, and all are added up */
} counters[] = {
    { "samples", false }, { "records", false },  { "tokens", false },
    { "step", true },     { "steps", true },     { "batch", true },
    { "batches", true },  { "iteration", true }, { "iterations", true },
};

static const char *const costs[] = { "cost", "loss" };

/* What the job's processes tell. */
struct told {
    double cost_sum, counted, done;
    size_t n_costs, n_counted, n;
    double samples_per_s; /* of steps */
    bool steps;
};

static bool number_of(const json_t *progress, const char *name, double *ret)
{
    const json_t *value = json_object_get(progress, name);

    if (!json_is_number(value))
        return false;
    *ret = json_number_value(value);
    return isfinite(*ret);
}

/* The first name that is told is the series' for good: two would not make one curve. */
static void keep_name(char ret[SERIES_NAME_SIZE], const char *name)
{
    if (*ret == '\0')
        (void)snprintf(ret, SERIES_NAME_SIZE, "%s", name);
}

static void add_counter(struct told *told, const char *rate_of, const json_t *progress)
{
    for (size_t i = 0; i < ELEMENTS(counters); i++) {
        double value;

        if (!streq(counters[i].name, rate_of) || !number_of(progress, rate_of, &value))
            continue;
        told->counted =
            counters[i].is_shared ? MAX_OF(told->counted, value) : told->counted + value;
        told->n_counted++;
    }
}

static void add_progress(struct told *told, struct series *names, const json_t *progress,
                         bool counts)
{
    double value;

    for (size_t i = 0; i < ELEMENTS(costs); i++)
        if (number_of(progress, costs[i], &value)) {
            keep_name(names->cost_name, costs[i]);
            break;
        }
    if (*names->cost_name != '\0' && number_of(progress, names->cost_name, &value)) {
        told->cost_sum += value;
        told->n_costs++;
    }
    if (number_of(progress, "done", &value) && value >= 0 && value <= 1)
        told->done = fmax(told->done, value);
    for (size_t i = 0; counts && i < ELEMENTS(counters); i++)
        if (number_of(progress, counters[i].name, &value)) {
            keep_name(names->rate_of, counters[i].name);
            break;
        }
    if (counts)
        add_counter(told, names->rate_of, progress);
}

static void look(const struct job *job, const struct progresses *progresses, uint64_t now_us,
                 bool counts, struct series *names, struct told *ret)
{
    const struct process *process;

    DL_FOREACH2(job->processes, process, job_next)
    {
        const json_t *progress;

        if (process_state_is_final(process->state))
            continue;
        if (process->steps != NULL && process->steps->total.samples > 0) {
            ret->samples_per_s += steps_samples_per_s(process->steps, now_us);
            ret->steps = true;
        }
        if (ret->n++ >= TOLD_MAX)
            continue;
        progress = progresses_find(progresses, process);
        if (progress != NULL)
            add_progress(ret, names, progress, counts);
    }
}

/* By what was counted before. Less than then: processes left, or began again. */
static double rate_of(struct sampling *sampling, double counted, uint64_t now_us)
{
    double rate = NAN;

    if (sampling->at_us != 0 && now_us > sampling->at_us && counted >= sampling->counted)
        rate = (counted - sampling->counted) * (double)USEC_PER_SEC /
               (double)(now_us - sampling->at_us);
    *sampling = (struct sampling){ .counted = counted, .at_us = now_us };
    return rate;
}

bool sample_take(struct sampling *sampling, struct series *names, const struct job *job,
                 const struct progresses *progresses, struct instant now, struct series_point *ret)
{
    struct task_queue_counts counts = { 0 };
    struct told told = { .done = -1 };
    double all;

    *ret = (struct series_point){ .time_us = now.wall_us, .done = NAN, .rate = NAN, .cost = NAN };
    if (job->queue != NULL)
        counts = task_queue_counts(job->queue);
    all = (double)counts.records_pass *
          (job->queue != NULL ? (double)task_queue_passes(job->queue) : 0);
    look(job, progresses, now.now_us, all == 0, names, &told);
    if (told.steps)
        keep_name(names->rate_of, "samples");
    else if (all > 0)
        keep_name(names->rate_of, "records");
    if (told.steps && streq(names->rate_of, "samples"))
        ret->rate = told.samples_per_s;
    else if (all > 0 && streq(names->rate_of, "records"))
        ret->rate = rate_of(sampling, (double)counts.records_total, now.now_us);
    else if (told.n_counted > 0)
        ret->rate = rate_of(sampling, told.counted, now.now_us);
    if (all > 0)
        ret->done = fmin(1, (double)(counts.records_total + counts.records_lost_total) / all);
    else if (told.done >= 0)
        ret->done = told.done;
    if (told.n_costs > 0)
        ret->cost = told.cost_sum / (double)told.n_costs;
    return all > 0 || told.done >= 0 || told.n_costs > 0 || told.n_counted > 0 || told.steps;
}
