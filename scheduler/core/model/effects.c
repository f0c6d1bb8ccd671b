/* SPDX-License-Identifier: Apache-2.0 */
/* effects.c - what the world has to do or to remember, collected as data
 *
 * A row that is to be saved is listed once however often it changed; a listed one is marked in the
 * object itself, so that adding is O(1). Events are listed each time: they are history. */
#include "scheduler/core/model/effects.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/history.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/node.h"
#include "scheduler/core/model/notices.h"
#include "scheduler/core/model/process.h"
#include "shared/clock.h"
#include "shared/macro.h"
#include "shared/printable.h"

#define PENDING(kind) (UINT32_C(1) << (kind))

static struct effect *effect_new(struct cluster *cluster, enum effect_kind kind)
{
    struct effect *effect;

    if (cluster->n_effects == cluster->cap_effects) {
        cluster->cap_effects = cluster->cap_effects ? 2 * cluster->cap_effects : 64;
        cluster->effects =
            xreallocarray(cluster->effects, cluster->cap_effects, sizeof *cluster->effects);
    }
    effect = &cluster->effects[cluster->n_effects++];
    *effect = (struct effect){ .kind = kind };
    return effect;
}

static bool effect_is_new(uint32_t *pending, enum effect_kind kind)
{
    if (*pending & PENDING(kind))
        return false;
    *pending |= PENDING(kind);
    return true;
}

static void effect_of_job(struct cluster *cluster, struct job *job, enum effect_kind kind)
{
    if (effect_is_new(&job->effects_pending, kind))
        effect_new(cluster, kind)->job = job;
}

void effect_save_job(struct cluster *cluster, struct job *job)
{
    if ((job->effects_pending & PENDING(EFFECT_SAVE_SPEC)) == 0) /* which saves all of it */
        effect_of_job(cluster, job, EFFECT_SAVE_JOB);
}

void effect_save_spec(struct cluster *cluster, struct job *job)
{
    effect_of_job(cluster, job, EFFECT_SAVE_SPEC);
}

void effect_save_tasks(struct cluster *cluster, struct job *job)
{
    effect_of_job(cluster, job, EFFECT_SAVE_TASKS);
    job_tasks_changed(cluster, job); /* each change of a task queue comes by here */
}

void effect_save_dataset(struct cluster *cluster, struct job *job)
{
    effect_of_job(cluster, job, EFFECT_SAVE_DATASET);
    job_tasks_changed(cluster, job);
}

void effect_save_rendezvous(struct cluster *cluster, struct job *job)
{
    effect_of_job(cluster, job, EFFECT_SAVE_RENDEZVOUS);
}

void effect_save_family(struct cluster *cluster, struct job *job)
{
    effect_of_job(cluster, job, EFFECT_SAVE_FAMILY);
}

void effect_save_array_notice(struct cluster *cluster, struct array_notice *array)
{
    if (array->pending)
        return;
    array->pending = true;
    effect_new(cluster, EFFECT_SAVE_ARRAY_NOTICE)->array = array;
}

void effect_notice(struct cluster *cluster, struct job *job, enum notify_event event,
                   struct array_notice *array)
{
    struct effect *effect = effect_new(cluster, EFFECT_NOTICE);

    effect->job = job;
    effect->array = array;
    effect->id = event;
    job->effects_pending |= PENDING(EFFECT_NOTICE);
}

void effect_membership(struct cluster *cluster, struct job *job)
{
    effect_of_job(cluster, job, EFFECT_MEMBERSHIP);
}

void effect_save_process(struct cluster *cluster, struct process *process)
{
    if (effect_is_new(&process->effects_pending, EFFECT_SAVE_PROCESS))
        effect_new(cluster, EFFECT_SAVE_PROCESS)->process = process;
}

void effect_save_node(struct cluster *cluster, struct node *node)
{
    if (effect_is_new(&node->effects_pending, EFFECT_SAVE_NODE))
        effect_new(cluster, EFFECT_SAVE_NODE)->node = node;
}

void effect_save_away(struct cluster *cluster)
{
    effect_new(cluster, EFFECT_SAVE_AWAY)->id = cluster->away_us;
}

void effect_orders(struct cluster *cluster, struct node *node)
{
    node->orders_version++;
    if (effect_is_new(&node->effects_pending, EFFECT_ORDERS))
        effect_new(cluster, EFFECT_ORDERS)->node = node;
}

void effect_forget_node(struct cluster *cluster, struct node *node)
{
    size_t kept = 0;

    for (size_t i = 0; i < cluster->n_effects; i++)
        if (cluster->effects[i].node != node)
            cluster->effects[kept++] = cluster->effects[i];
    cluster->n_effects = kept;
    (void)snprintf(effect_new(cluster, EFFECT_FORGET_NODE)->name, sizeof cluster->effects->name,
                   "%s", node->name);
}

void effect_archive_job(struct cluster *cluster, uint64_t id)
{
    effect_new(cluster, EFFECT_ARCHIVE_JOB)->id = id;
}

void effect_forget_process(struct cluster *cluster, const struct process *process)
{
    struct effect *effect = effect_new(cluster, EFFECT_FORGET_PROCESS);

    effect->job = process->job;
    effect->id = process->incarnation;
    effect->role = process->role;
    effect->index = process->index;
    (void)snprintf(effect->name, sizeof effect->name, "%s",
                   process->job->spec->roles[process->role].name);
    process->job->effects_pending |= PENDING(EFFECT_FORGET_PROCESS);
}

static struct effect *event_new(struct cluster *cluster, struct instant now, struct job *job,
                                const char *node, const char *event)
{
    struct effect *effect = effect_new(cluster, EFFECT_EVENT);

    effect->job = job;
    if (job != NULL)
        job->effects_pending |= PENDING(EFFECT_EVENT);
    effect->wall_us = now.wall_us;
    (void)snprintf(effect->name, sizeof effect->name, "%s", node);
    (void)snprintf(effect->event, sizeof effect->event, "%s", event);
    return effect;
}

static void set_text(struct effect *effect, const char *format, va_list ap)
{
    char text[JOB_REASON_SIZE + 8]; /* a longer text is cut between two characters */

    (void)vsnprintf(text, sizeof text, format, ap);
    (void)snprintf(effect->text, sizeof effect->text, "%.*s",
                   printable_prefix(text, sizeof effect->text - 1), text);
}

void effect_event(struct cluster *cluster, struct instant now, struct job *job, const char *node,
                  const char *event, const char *format, ...)
{
    struct effect *effect = event_new(cluster, now, job, node, event);
    va_list ap;

    va_start(ap, format);
    set_text(effect, format, ap);
    va_end(ap);
}

void effect_process_event(struct cluster *cluster, struct instant now,
                          const struct process *process, const char *event, const char *format, ...)
{
    struct effect *effect = event_new(cluster, now, process->job, process->node_name, event);
    va_list ap;

    effect->id = process->incarnation;
    effect->role = process->role;
    effect->index = process->index;
    va_start(ap, format);
    set_text(effect, format, ap);
    va_end(ap);
}

/* Every end of a process is an event of its job, so each job that may have to forget is among the
 * effects. The next turn says which are forgotten: this one's effects are over. */
static void trim_histories(struct cluster *cluster)
{
    size_t n = cluster->n_effects;
    struct job **jobs = NULL;
    size_t n_jobs = 0;

    for (size_t i = 0; i < n; i++) {
        struct job *job = cluster->effects[i].job;

        if (job == NULL || job->n_past <= JOB_HISTORY_MAX)
            continue;
        if (jobs == NULL)
            jobs = xcalloc(n, sizeof(*jobs));
        jobs[n_jobs++] = job;
    }
    cluster->n_effects = 0;
    for (size_t i = 0; i < n_jobs; i++)
        history_trim(cluster, jobs[i]);
    free(jobs);
}

/* cluster_effects_clear - all were carried out */
void cluster_effects_clear(struct cluster *cluster)
{
    for (size_t i = 0; i < cluster->n_effects; i++) {
        const struct effect *effect = &cluster->effects[i];

        if (effect->job != NULL)
            effect->job->effects_pending = 0;
        if (effect->process != NULL)
            effect->process->effects_pending = 0;
        if (effect->node != NULL)
            effect->node->effects_pending = 0;
        if (effect->kind == EFFECT_SAVE_ARRAY_NOTICE)
            array_notice_stored(cluster, effect->array);
    }
    trim_histories(cluster);
}
