/* SPDX-License-Identifier: Apache-2.0 */
/* forecast_note.c - the parts of a play that go into the forecast: sizes before, at and after the
 * change, the processes that have to stop, the places
 *
 * A wait beyond all that is known is described as it is before the first job ends: later events
 * happen without the change, too. */
#include <stdio.h>
#include <utlist.h>

#include "scheduler/core/ask/forecast.h"
#include "scheduler/core/ask/forecast_run.h"
#include "scheduler/core/base/task_queue.h"
#include "scheduler/core/model/cluster.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/job_roles.h"
#include "scheduler/core/model/node.h"
#include "scheduler/core/model/process.h"
#include "scheduler/core/model/states.h"

static bool is_complete(const struct job *job)
{
    for (uint32_t r = 0; r < job->spec->n_roles; r++)
        if (job_count_running(job, r) < job_role_floor(job, r))
            return false;
    return job_is_started(job);
}

bool tracked_lacks(const struct tracked *tracked)
{
    return tracked->was_complete && job_is_started(tracked->job) && !is_complete(tracked->job);
}

bool run_is_about(const struct run *run, const struct job *job)
{
    if (run->n_array == 0)
        return job == run->subject;
    return job->id >= run->subject->id && job->id - run->subject->id < run->n_array;
}

static void track(struct run *run, const struct job *job)
{
    struct forecast *forecast = run->forecast;
    struct tracked *tracked = xcalloc(1, sizeof *tracked);

    *tracked = (struct tracked){ .job = job,
                                 .first_role = forecast->n_roles,
                                 .was_queued = job->state == JOB_QUEUED,
                                 .was_complete = is_complete(job),
                                 .resizes = job->resizes,
                                 .next_incarnation = job->next_incarnation };
    HASH_ADD_PTR(run->tracked, job, tracked);
    for (uint32_t r = 0; r < job->spec->n_roles; r++) {
        struct forecast_role *role = &forecast->roles[forecast->n_roles++];

        role->job_id = job->id;
        memcpy(role->job, job->spec->name, sizeof role->job);
        memcpy(role->role, job->spec->roles[r].name, sizeof role->role);
        role->subject = run_is_about(run, job);
        role->from = job_count(job, r, false);
    }
}

const struct tracked *run_tracked(const struct run *run, const struct job *job)
{
    const struct tracked *tracked;

    HASH_FIND_PTR(run->tracked, &job, tracked);
    return tracked;
}

/* As old as its task is now: by then it holds another one, on average as old. */
static uint64_t lost_us(const struct run *run, const struct process *process)
{
    const struct job *job = cluster_job(run->cluster, process->job->id);

    return job == NULL || job->queue == NULL
               ? 0
               : task_queue_held_us(job->queue, process->incarnation, run->begin.now_us);
}

static void on_stop(const struct process *process, void *userdata)
{
    struct run *run = userdata;
    const struct tracked *tracked = run_tracked(run, process->job);
    struct forecast_role *role;
    struct forecast_victim *victim;

    if (tracked == NULL)
        return;
    role = &run->forecast->roles[tracked->first_role + process->role];
    if (role->n_victims == role->cap_victims) {
        role->cap_victims = role->cap_victims ? 2 * role->cap_victims : 4;
        role->victims = xreallocarray(role->victims, role->cap_victims, sizeof *role->victims);
    }
    victim = &role->victims[role->n_victims++];
    *victim = (struct forecast_victim){ .index = process->index,
                                        .incarnation = process->incarnation,
                                        .lost_us = lost_us(run, process),
                                        .after_end = run->noted };
    memcpy(victim->node, process->node_name, sizeof victim->node);
}

void note_begin(struct run *run)
{
    const struct job *job;
    size_t n = 0;

    DL_FOREACH2(run->play.cluster->active, job, active_next)
    n += job->spec->n_roles;
    run->forecast->roles = xcalloc(n, sizeof *run->forecast->roles);
    DL_FOREACH2(run->play.cluster->active, job, active_next)
    track(run, job);
    run->forecast->utilisation_before_ppm = cluster_utilisation_ppm(run->cluster);
    run->play.on_stop = on_stop;
    run->play.userdata = run;
}

/* The sizes as they are now, as those of the moment when it is done or (later) when all settled. */
static void note_sizes(struct run *run, bool later)
{
    struct forecast *forecast = run->forecast;
    const struct tracked *tracked;

    forecast->n_resizes = 0;
    forecast->utilisation_after_ppm = cluster_utilisation_ppm(run->play.cluster);
    for (tracked = run->tracked; tracked != NULL; tracked = tracked->hh.next) {
        const struct job *job = tracked->job;

        if (!run_is_about(run, job))
            forecast->n_resizes += job->resizes - tracked->resizes;
        for (uint32_t r = 0; r < job->spec->n_roles; r++) {
            struct forecast_role *role = &forecast->roles[tracked->first_role + r];

            role->later = job_count(job, r, false);
            if (later)
                continue;
            role->to = role->later;
            role->ends = job->state >= JOB_STOPPING && tracked->was_complete;
        }
    }
}

static void note_reason(struct run *run, const struct job *job)
{
    struct forecast *forecast = run->forecast;
    bool about_other = job != run->subject;

    forecast->cause = job->cause;
    memcpy(forecast->code, job->reason_code, sizeof forecast->code);
    (void)snprintf(forecast->reason, sizeof forecast->reason, "%s%s%s%s", about_other ? "job " : "",
                   about_other ? job->spec->name : "", about_other ? ": " : "", job->reason);
}

/* Nobody lacks anything, but it is not over: a node waits for others, or it takes longer than was
 * looked at. */
static void note_cut_short(struct run *run)
{
    const struct node *node =
        run->change->node != NULL ? cluster_node(run->play.cluster, run->change->node) : NULL;

    if (node != NULL && *node_reason(node) != '\0') {
        (void)snprintf(run->forecast->code, sizeof run->forecast->code, "drain-waits");
        (void)snprintf(run->forecast->reason, sizeof run->forecast->reason, "node %s %s",
                       node->name, node_reason(node));
        return;
    }
    (void)snprintf(run->forecast->code, sizeof run->forecast->code, "not-over");
    (void)snprintf(run->forecast->reason, sizeof run->forecast->reason,
                   "it is not over within the time that was looked at");
}

/* The obstacle to the change. */
static const struct job *find_waiting(const struct run *run)
{
    const struct tracked *tracked;

    for (tracked = run->tracked; run->subject == NULL && tracked != NULL;
         tracked = tracked->hh.next)
        if (tracked_lacks(tracked))
            return tracked->job;
    return run->n_array > 0 ? cluster_job(run->play.cluster, run->subject->id + run->n_started)
                            : run->subject;
}

static void note_placements_of(struct run *run, const struct tracked *tracked)
{
    struct forecast *forecast = run->forecast;
    const struct process *process;

    DL_FOREACH2(tracked->job->processes, process, job_next)
    {
        struct forecast_placement *placement;

        if (process->incarnation < tracked->next_incarnation ||
            process_state_is_final(process->state) || process->stop_wanted)
            continue;
        forecast->placements = xreallocarray(forecast->placements, forecast->n_placements + 1,
                                             sizeof *forecast->placements);
        placement = &forecast->placements[forecast->n_placements++];
        *placement =
            (struct forecast_placement){ .index = process->index, .gpu_mask = process->gpu_mask };
        memcpy(placement->job, process->job->spec->name, sizeof placement->job);
        memcpy(placement->role, process->job->spec->roles[process->role].name,
               sizeof placement->role);
        memcpy(placement->node, process->node_name, sizeof placement->node);
    }
}

/* Of its subject; without a subject of all that is new. */
static void note_placements(struct run *run)
{
    uint64_t end =
        run->subject != NULL ? run->subject->id + MAX_OF(run->n_array, (uint32_t)1) : UINT64_MAX;
    const struct tracked *tracked;

    if (run->n_array > FORECAST_ARRAY_LISTED)
        end = run->subject->id + FORECAST_ARRAY_LISTED;
    for (tracked = run->tracked; tracked != NULL; tracked = tracked->hh.next)
        if (run->subject == NULL || (run_is_about(run, tracked->job) && tracked->job->id < end))
            note_placements_of(run, tracked);
}

void note_waiting(struct run *run)
{
    const struct job *waiting = find_waiting(run);

    run->noted = true;
    note_sizes(run, false);
    run->forecast->array.n_started = run->n_started;
    if (run->n_array > 0)
        note_placements(run);
    if (waiting != NULL)
        note_reason(run, waiting);
    else
        note_cut_short(run);
}

void note_done(struct run *run)
{
    struct forecast *forecast = run->forecast;

    note_sizes(run, false);
    forecast->array.n_started = run->n_started;
    forecast->n_placements = 0; /* those of before a job's end */
    note_placements(run);
}

void note_settled(struct run *run)
{
    note_sizes(run, true);
}

/* A process that was asked to stop after a job's end, in a wait that this end did not end: not
 * because of the change. */
static void drop_later_victims(struct forecast_role *role)
{
    while (role->n_victims > 0 && role->victims[role->n_victims - 1].after_end)
        role->n_victims--;
}

static bool is_telling(const struct run *run, const struct forecast_role *role)
{
    if (run->n_array > 0 && role->subject)
        return role->job_id - run->subject->id < FORECAST_ARRAY_LISTED;
    return role->subject || role->ends || role->n_victims > 0 || role->from != role->to ||
           role->from != role->later;
}

void note_end(struct run *run)
{
    struct forecast *forecast = run->forecast;
    struct tracked *tracked;
    struct tracked *next;
    size_t kept = 0;

    for (size_t i = 0; i < forecast->n_roles; i++) {
        struct forecast_role *role = &forecast->roles[i];

        if (!run->done)
            drop_later_victims(role);
        for (size_t v = 0; v < role->n_victims; v++)
            forecast->lost_us += role->victims[v].lost_us;
        forecast->n_victims += (uint32_t)role->n_victims;
        if (is_telling(run, role))
            forecast->roles[kept++] = *role;
        else
            free(role->victims);
    }
    forecast->n_roles = kept;
    HASH_ITER(hh, run->tracked, tracked, next)
    {
        HASH_DEL(run->tracked, tracked);
        free(tracked);
    }
}
