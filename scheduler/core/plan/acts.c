/* SPDX-License-Identifier: Apache-2.0 */
/* acts.c - the acts of a plan: a list of values, each applied at once */
#include "scheduler/core/plan/acts.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/node.h"
#include "scheduler/core/model/process.h"
#include "scheduler/core/plan/plan.h"
#include "scheduler/core/plan/planner.h"
#include "scheduler/core/plan/rooms.h"
#include "shared/macro.h"

static void note(struct act_list *list, const struct act *act)
{
    if (list->n == list->cap) {
        list->cap = list->cap > 0 ? 2 * list->cap : 64;
        list->items = xreallocarray(list->items, list->cap, sizeof *list->items);
    }
    list->items[list->n] = *act;
    if (act->text != NULL)
        list->items[list->n].text = xstrdup(act->text);
    list->n++;
}

bool plan_do(struct cluster *cluster, const struct act *act, struct instant now)
{
    bool done = act_apply(cluster, act, now);

    if (done)
        note(&cluster->planner->acts, act);
    rooms_look(cluster->planner);
    return done;
}

bool plan_assign(struct plan *plan, struct job *job, uint32_t role, uint32_t index,
                 struct node *node)
{
    const struct act act = {
        .kind = ACT_RUN, .job = job->id, .role = role, .index = index, .node = node->name
    };

    return plan_do(plan->cluster, &act, plan->now);
}

void plan_stop(struct plan *plan, struct process *process, bool again, enum cause cause,
               const char *reason)
{
    const struct act act = { .kind = ACT_STOP,
                             .job = process->job->id,
                             .role = process->role,
                             .index = process->index,
                             .incarnation = process->incarnation,
                             .again = again,
                             .cause = cause,
                             .text = reason };

    (void)plan_do(plan->cluster, &act, plan->now);
}

void plan_target(struct plan *plan, struct job *job, uint32_t role, uint32_t n)
{
    const struct act act = { .kind = ACT_TARGET, .job = job->id, .role = role, .n = n };

    if (job->target[role] != n)
        (void)plan_do(plan->cluster, &act, plan->now);
}

/* With a sentence. */
static void say(struct plan *plan, struct act *act, const struct job *job, const char *format,
                va_list ap)
{
    char text[JOB_REASON_SIZE];

    (void)vsnprintf(text, sizeof text, format, ap);
    act->job = job->id;
    act->text = text;
    (void)plan_do(plan->cluster, act, plan->now);
}

void plan_size(struct plan *plan, const struct job *job, enum resize_reason reason,
               const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    say(plan, &(struct act){ .kind = ACT_SIZE, .resize = reason }, job, format, ap);
    va_end(ap);
}

void plan_requeue(struct plan *plan, const struct job *job, enum cause cause, const char *format,
                  ...)
{
    va_list ap;

    va_start(ap, format);
    say(plan, &(struct act){ .kind = ACT_REQUEUE, .cause = cause }, job, format, ap);
    va_end(ap);
}

void plan_event(struct plan *plan, const struct job *job, const char *event, const char *format,
                ...)
{
    va_list ap;

    va_start(ap, format);
    say(plan, &(struct act){ .kind = ACT_EVENT, .event = event }, job, format, ap);
    va_end(ap);
}

void plan_touch(struct cluster *cluster, struct job *job)
{
    job_touch(cluster, job);
    rooms_look(cluster->planner);
}

const struct act *cluster_acts(const struct cluster *cluster, size_t *ret_n)
{
    *ret_n = cluster->planner->acts.n;
    return cluster->planner->acts.items;
}

void acts_clear(struct act_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        free((char *)list->items[i].text);
    list->n = 0;
}
