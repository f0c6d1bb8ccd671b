/* SPDX-License-Identifier: Apache-2.0 */
/* serving.c - see serving.h */
#include "scheduler/nodes/serving.h"

#include <math.h>

#include "scheduler/core/events/services.h"
#include "scheduler/core/model/backlog.h"
#include "scheduler/core/model/process.h"
#include "scheduler/nodes/progress.h"
#include "shared/macro.h"

enum figure { QUEUE_TASKS, BUSY_SHARE, STUDENTS, TASKS_PER_S, SAMPLES_PER_S, FIGURES };
enum together { MEAN, MOST, SUM };

static const struct {
    const char *name;
    double most; /* of one process */
    enum together together;
} figures[FIGURES] = {
    [QUEUE_TASKS] = { "queue_tasks", BACKLOG_WAITING_MAX / 1000.0, MEAN },
    [BUSY_SHARE] = { "busy_share", 1, MEAN },
    [STUDENTS] = { "students", 1e6, MOST },
    [TASKS_PER_S] = { "tasks_per_s", 1e9, SUM },
    [SAMPLES_PER_S] = { "samples_per_s", 1e12, SUM },
};

/* false: it is no number, or less than none */
static bool figure_of(const json_t *progress, enum figure figure, double *ret)
{
    const json_t *value = json_object_get(progress, figures[figure].name);

    if (!json_is_number(value) || !(json_number_value(value) >= 0))
        return false;
    *ret = fmin(json_number_value(value), figures[figure].most);
    return true;
}

void serving_read(const json_t *progress, struct backlog_told *ret)
{
    double waiting = 0, busy = 0;

    ret->any = figure_of(progress, QUEUE_TASKS, &waiting) && figure_of(progress, BUSY_SHARE, &busy);
    ret->waiting_milli = (uint32_t)(waiting * 1000);
    ret->busy_permille = (uint32_t)(busy * BACKLOG_BUSY_MAX);
}

static double rounded(double value)
{
    return round(value * 1000) / 1000;
}

json_t *serving_of_process(const struct progresses *progresses, const struct process *process)
{
    const json_t *progress = progresses_find_new(progresses, process);
    json_t *object = json_object();

    for (enum figure i = 0; i < FIGURES; i++) {
        double value;

        (void)json_object_set_new(object, figures[i].name,
                                  figure_of(progress, i, &value) ? json_real(rounded(value))
                                                                 : json_null());
    }
    return object;
}

json_t *serving_figures(const struct progresses *progresses, const struct service *service,
                        const struct process *const *processes, size_t n)
{
    uint32_t wanted = job_wanted_by_backlog(service->job);
    double of[FIGURES] = { 0 };
    uint32_t n_told = 0;
    json_t *object;

    for (size_t i = 0; i < n; i++) {
        const json_t *progress = progresses_find_new(progresses, processes[i]);
        struct backlog_told told;

        serving_read(progress, &told);
        n_told += told.any;
        for (enum figure f = 0; told.any && f < FIGURES; f++) {
            double value = 0;

            (void)figure_of(progress, f, &value);
            of[f] = figures[f].together == MOST ? fmax(of[f], value) : of[f] + value;
        }
    }
    if (n_told == 0)
        return json_null();
    object = json_pack("{s:I,s:o}", "told", (json_int_t)n_told, "wanted",
                       wanted > 0 ? json_integer(wanted) : json_null());
    for (enum figure f = 0; f < FIGURES; f++)
        (void)json_object_set_new(object, figures[f].name,
                                  json_real(rounded(figures[f].together == MEAN ? of[f] / n_told
                                                                                : of[f])));
    return object;
}
