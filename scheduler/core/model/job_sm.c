/* SPDX-License-Identifier: Apache-2.0 */
/* job_sm.c - the states of a job
 *
 *   queued --> starting --> running <--> resizing
 *     |           |            |            |
 *     |           +------------+------------+--> stopping --> succeeded | failed | killed | queued
 *     +-----------------------------------------------------------------> failed | killed
 *
 * Only one that was to run after another fails while it is queued (after.c).
 * Everything but submit and kill is decided by job_settle, which looks at the processes and moves
 * the job where it belongs; a function that changes a process calls it. How a stopping job ends is
 * told by its intent alone (cause.h), which the store keeps, so that a restart in the middle ends
 * it the same way. */
#include "scheduler/core/model/job_sm.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <utlist.h>

#include "scheduler/core/base/deadline.h"
#include "scheduler/core/base/histogram.h"
#include "scheduler/core/base/queue_rules.h"
#include "scheduler/core/base/task_queue.h"
#include "scheduler/core/model/after.h"
#include "scheduler/core/model/archive.h"
#include "scheduler/core/model/backlog.h"
#include "scheduler/core/model/cause.h"
#include "scheduler/core/model/cluster.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/effects.h"
#include "scheduler/core/model/facts.h"
#include "scheduler/core/model/figures.h"
#include "scheduler/core/model/gpu_idle.h"
#include "scheduler/core/model/holdings.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/job_hasty.h"
#include "scheduler/core/model/job_roles.h"
#include "scheduler/core/model/job_servers.h"
#include "scheduler/core/model/notices.h"
#include "scheduler/core/model/process_sm.h"
#include "scheduler/core/model/resize_text.h"
#include "scheduler/core/model/states.h"
#include "scheduler/core/model/tasks.h"
#include "scheduler/core/model/time_limit.h"
#include "scheduler/core/model/unfit_nodes.h"
#include "scheduler/core/model/waiting.h"
#include "shared/macro.h"
#include "shared/printable.h"
#include "shared/rfc3339.h"

#define TO(state) (1U << (state))

static const unsigned allowed[] = {
    [JOB_QUEUED] = TO(JOB_STARTING) | TO(JOB_FAILED) | TO(JOB_KILLED),
    [JOB_STARTING] = TO(JOB_RUNNING) | TO(JOB_STOPPING),
    [JOB_RUNNING] = TO(JOB_RESIZING) | TO(JOB_STOPPING),
    [JOB_RESIZING] = TO(JOB_RUNNING) | TO(JOB_STOPPING),
    [JOB_STOPPING] = TO(JOB_QUEUED) | TO(JOB_SUCCEEDED) | TO(JOB_FAILED) | TO(JOB_KILLED),
    [JOB_SUCCEEDED] = 0,
    [JOB_FAILED] = 0,
    [JOB_KILLED] = 0,
};

static const char *const event_names[] = {
    [JOB_QUEUED] = "job-queued",     [JOB_STARTING] = "job-starting",
    [JOB_RUNNING] = "job-running",   [JOB_RESIZING] = "job-resizing",
    [JOB_STOPPING] = "job-stopping", [JOB_SUCCEEDED] = "job-succeeded",
    [JOB_FAILED] = "job-failed",     [JOB_KILLED] = "job-killed",
};

/* The oldest one leaves the queue. All of them together step over each job once for each time that
 * it is queued again. */
static void next_queued(struct cluster *cluster)
{
    struct job *job = cluster->first_queued;

    do
        job = job->active_next;
    while (job != NULL && !job->filed);
    cluster->first_queued = job;
}

static void count_move(struct cluster *cluster, const struct job *job, enum job_state to,
                       struct instant now)
{
    struct cluster_figures *figures = &cluster->figures;

    figures->jobs[job->state]--;
    figures->jobs[to]++;
    if (job_state_is_final(to))
        figures->jobs_ended[to]++;
    if (to == JOB_STARTING && job->started_wall_us == 0) /* not of those that are queued again */
        histogram_observe(&figures->queue_wait,
                          now.wall_us - MIN_OF(after_ready_wall_us(cluster, job), now.wall_us));
}

bool job_set_state(struct cluster *cluster, struct job *job, enum job_state to, struct instant now)
{
    bool begins = to == JOB_RUNNING && job->started_wall_us == 0;
    enum job_state from = job->state;

    if (!(allowed[job->state] & TO(to))) {
        unlisted_move(cluster, "job", job->spec->name, job_state_to_string(job->state),
                      job_state_to_string(to));
        return false;
    }
    if (job->state == JOB_QUEUED)
        job_unfile(cluster, job);
    if (job == cluster->first_queued)
        next_queued(cluster);
    count_move(cluster, job, to, now);
    if (job->state == JOB_QUEUED)
        after_name(cluster, job, -1);
    job->state = to;
    if (to == JOB_QUEUED)
        after_name(cluster, job, 1);
    job_touch(cluster, job);
    if (to == JOB_STARTING)
        fact_of_job(cluster, FACT_JOB_BEGUN, job, now);
    if (from == JOB_STARTING && to == JOB_RUNNING)
        job_hear_backlog(cluster, job, now);
    if (begins)
        job->started_wall_us = now.wall_us;
    job_count_run(cluster, job, to, now);
    if (job_state_is_final(to)) {
        job->ended_wall_us = now.wall_us;
        memset(job->secret, 0,
               sizeof job->secret); /* backups of later hold none that is not used */
        DL_DELETE2(cluster->active, job, active_prev, active_next);
        job->active_prev = NULL;
        holdings_leave(&cluster->holdings, job);
        ended_add(cluster, job);
        deadline_set(&cluster->deadlines, &job->backoff, DEADLINE_BACKOFF, NEVER_US);
        deadline_set(&cluster->deadlines, &job->due, DEADLINE_JOB, NEVER_US);
        deadline_set(&cluster->deadlines, &job->proof, DEADLINE_PROOF, NEVER_US);
        job_forget_idle(cluster, job);
        job_forget_backlog(cluster, job);
        job_hasty_forget(job);
        job_forget_unfit(cluster, job);
        fact_of_job(cluster, FACT_JOB_ENDED, job, now);
        job_close_queue(cluster, job);
    }
    effect_save_job(cluster, job);
    effect_event(cluster, now, job, "", event_names[to], "%s", job->reason);
    notices_of_move(cluster, job, begins, to == JOB_QUEUED);
    /* a plan brings about a resize, which needs none; complete or ended jobs give others a
     * chance */
    if (to != JOB_STARTING && to != JOB_RESIZING)
        cluster->plan_wanted = true;
    if (job_state_is_final(to))
        after_ended(cluster, job, now);
    return true;
}

static void set_reason(struct cluster *cluster, struct job *job, enum cause cause,
                       const char *format, va_list ap)
{
    const char *code = cause_code(cause, job->intent);
    char text[JOB_REASON_SIZE + 8]; /* a longer text is cut between two characters */

    (void)vsnprintf(text, sizeof text, format, ap);
    text[printable_prefix(text, JOB_REASON_SIZE - 1)] = '\0';
    if (cause == job->cause && streq(text, job->reason) && streq(code, job->reason_code))
        return;
    job->cause = cause;
    free(job->reason);
    job->reason = xstrdup(text);
    (void)snprintf(job->reason_code, sizeof job->reason_code, "%s", code);
    effect_save_job(cluster, job);
}

void job_set_reason(struct cluster *cluster, struct job *job, enum cause cause, const char *format,
                    ...)
{
    va_list ap;

    va_start(ap, format);
    set_reason(cluster, job, cause, format, ap);
    va_end(ap);
}

void job_set_target(struct cluster *cluster, struct job *job, uint32_t role, uint32_t target,
                    struct instant now)
{
    uint32_t old = job->target[role];
    char text[sizeof((struct effect *)0)->text];
    const char *why;

    if (old == target)
        return;
    job->target[role] = target;
    effect_save_job(cluster, job);
    /* a finishing job's target only follows its processes */
    if ((job->state != JOB_RUNNING && job->state != JOB_RESIZING) || job->finishing ||
        job_elastic_role(job) != (int)role)
        return;
    job->resizes++;
    why = job->resize_why != NULL ? job->resize_why : "";
    figures_resized(&cluster->figures, target > old ? RESIZE_GROW : RESIZE_SHRINK,
                    job->resize_why != NULL ? job->resize_reason : RESIZE_OTHER);
    effect_event(cluster, now, job, "", "job-resized", "%s",
                 resize_describe(job->spec->roles[role].name, old, target, why, text, sizeof text));
    free(job->resize_why);
    job->resize_why = NULL;
}

/* The gang is complete: a process that already ended by itself with success counts as well. Nobody
 * new comes to one that finishes before it was (its minimum was raised meanwhile), so all it has is
 * enough.
 */
static bool gang_runs(const struct job *job)
{
    for (uint32_t r = 0; r < job->spec->n_roles; r++)
        if (job_count_running(job, r) < job_role_floor(job, r))
            return false;
    return true;
}

static bool is_settled(const struct job *job)
{
    for (uint32_t r = 0; r < job->spec->n_roles; r++) {
        uint32_t live = job_count(job, r, true);

        if (live != job->target[r] || live != job_count_running(job, r))
            return false;
    }
    return true;
}

/* The data must be worked off by somebody: when all have finished and it is not, one slot starts
 * again. Likewise when the one that was told to save the model died before it asked. */
static bool revive(struct cluster *cluster, struct job *job)
{
    if (job_owes_nothing(job) && (job->queue == NULL || !task_queue_saver_died(job->queue)))
        return false;
    for (uint32_t r = 0; r < job->spec->n_roles; r++)
        for (uint32_t i = 0; job_role_works(job, r) && i < job->n_slots[r]; i++) {
            if (!job->slots[r][i].finished)
                continue;
            slot_set_finished(cluster, job, r, i, false);
            slot_set_due(cluster, job, r, i, true);
            effect_save_job(cluster, job);
            cluster->plan_wanted = true;
            return true;
        }
    return false;
}

/* Drops repairs that nobody needs: the data is done and some process finished. */
static void forgive(struct cluster *cluster, struct job *job, uint32_t role)
{
    for (uint32_t i = 0; job->counts[role].due > 0 && i < job->n_slots[role]; i++)
        if (job->slots[role][i].live == NULL)
            slot_set_due(cluster, job, role, i, false);
}

/* At least one working process finished, none lives, and none is to be started again. */
static bool is_done(struct cluster *cluster, struct job *job)
{
    uint32_t live = 0;
    uint32_t due = 0;
    bool forgiving = job->queue != NULL && job_data_complete(job);

    if (!job->finishing)
        return false;
    for (uint32_t r = 0; r < job->spec->n_roles; r++) {
        if (!job_role_works(job, r))
            continue;
        if (forgiving)
            forgive(cluster, job, r);
        live += job_count(job, r, true);
        due += job_count_due(job, r);
    }
    return live == 0 && due == 0 && !revive(cluster, job);
}

/* A slot that starts again is the most interesting reason for not being complete. */
static bool describe_repair(struct cluster *cluster, struct job *job)
{
    for (uint32_t r = 0; r < job->spec->n_roles; r++)
        for (uint32_t i = 0; job->counts[r].due > 0 && i < job->n_slots[r]; i++) {
            const struct slot *slot = &job->slots[r][i];

            if (!slot->due || slot->live != NULL)
                continue;
            if (job->waits_for_room)
                job_set_reason(cluster, job, CAUSE_NO_ROOM,
                               "%s-%u is to be started again and waits for room on a node",
                               job->spec->roles[r].name, i);
            else if (slot->failures > 0)
                job_set_reason(cluster, job, CAUSE_RESTARTING,
                               "%s-%u is started again after failure %u of at most %u",
                               job->spec->roles[r].name, i, slot->failures, job->spec->restart_max);
            else
                job_set_reason(cluster, job, CAUSE_RESTARTING,
                               "%s-%u is started again where there is room",
                               job->spec->roles[r].name, i);
            return true;
        }
    return false;
}

/* Nothing is left to work off. A process that still runs may save the model, or do work that only
 * its program knows of: it is waited for however long that takes, so people have to be told. */
static bool describe_closing(struct cluster *cluster, struct job *job, uint32_t running)
{
    if (job->queue == NULL || !task_queue_is_finished(job->queue) || running == 0)
        return false;
    if (job_owes_nothing(job) && !task_queue_is_model_saved(job->queue))
        job_set_reason(cluster, job, CAUSE_FINISHING,
                       "all passes over the data ended; %u process%s on, and it ends when its"
                       " trainers have",
                       running, running == 1 ? " runs" : "es run");
    else if (!task_queue_is_model_saved(job->queue))
        job_set_reason(cluster, job, CAUSE_FINISHING,
                       "all passes over the data ended; the model is not saved yet by the one of"
                       " its %u process%s that is elected to",
                       running, PLURAL_ES(running));
    else
        job_set_reason(cluster, job, CAUSE_FINISHING,
                       "all passes over the data ended and the model is saved; %u process%s on,"
                       " and it ends when its trainers have",
                       running, running == 1 ? " runs" : "es run");
    return true;
}

/* ", N were given up..." behind the running ones; "" when none was */
static const char *describe_given_up(const struct job *job, char *buffer, size_t size)
{
    uint32_t n = 0;

    for (uint32_t r = 0; r < job->spec->n_roles; r++)
        n += job->counts[r].given_up;
    buffer[0] = '\0';
    if (n > 0)
        (void)snprintf(buffer, size, "; %u failed more than %u time%s and %s given up", n,
                       job->spec->restart_max, PLURAL(job->spec->restart_max),
                       n == 1 ? "was" : "were");
    return buffer;
}

static void describe(struct cluster *cluster, struct job *job, enum job_state state)
{
    uint32_t running = 0;
    uint32_t stopping = 0;
    uint32_t wanted = 0;
    char given_up[80];

    for (uint32_t r = 0; r < job->spec->n_roles; r++) {
        running += job_count_running(job, r);
        stopping += job_count(job, r, true) - job_count(job, r, false);
        wanted += job->target[r];
    }
    if (describe_closing(cluster, job, running))
        return;
    if (state == JOB_RUNNING) {
        if (running == 1)
            job_set_reason(cluster, job, CAUSE_RUNNING, "its process runs%s",
                           describe_given_up(job, given_up, sizeof given_up));
        else
            job_set_reason(cluster, job, CAUSE_RUNNING, "all %u processes run%s", running,
                           describe_given_up(job, given_up, sizeof given_up));
        return;
    }
    if (describe_repair(cluster, job))
        return;
    if (job->waits_for_room)
        job_set_reason(cluster, job, CAUSE_NO_ROOM,
                       "%u of %u process%s run; the others wait for room on a node", running,
                       wanted, PLURAL_ES(wanted));
    else if (state == JOB_STARTING)
        job_set_reason(cluster, job, CAUSE_STARTING, "%u of %u process%s", running, wanted,
                       wanted == 1 ? " runs" : "es run");
    else
        job_set_reason(cluster, job, CAUSE_RESIZING,
                       "%u process%s, %u %s wanted, %u %s being stopped", running,
                       running == 1 ? " runs" : "es run", wanted, wanted == 1 ? "is" : "are",
                       stopping, stopping == 1 ? "is" : "are");
}

void job_retry_given_up(struct cluster *cluster, struct job *job, uint32_t role)
{
    for (uint32_t i = 0; job->counts[role].given_up > 0 && i < job->n_slots[role]; i++)
        if (slot_is_given_up(job, &job->slots[role][i]))
            slot_set_failures(cluster, job, role, i, 0);
}

/* Upstream's master tells its trainers "all task finished" in this case, too, and they end with
 * success. The data was not trained, so the job has failed. */
static const char *describe_all_failed(const struct job *job, char *buffer, size_t size)
{
    struct task_queue_counts counts = task_queue_counts(job->queue);

    (void)snprintf(buffer, size,
                   "all task finished, but none was trained: %u of %u task%s of pass %u failed %u "
                   "time%s each%s (%llu record%s); edl logs %llu and edl events tell how",
                   counts.discarded, counts.discarded, PLURAL(counts.discarded),
                   MIN_OF(task_queue_pass(job->queue) + 1, task_queue_passes(job->queue)),
                   queue_tries(job->spec), PLURAL(queue_tries(job->spec)),
                   counts.tasks_deadly_total > 0 ? ", or their processes died" : "",
                   (unsigned long long)counts.records_pass, PLURAL(counts.records_pass),
                   (unsigned long long)job->id);
    return buffer;
}

static bool data_has_failed(const struct job *job)
{
    return job->queue != NULL && task_queue_has_failed(job->queue);
}

/* The job was to be queued again, and cannot run any more. */
static void fail_instead(struct cluster *cluster, struct job *job)
{
    char text[JOB_REASON_SIZE];

    if (data_has_failed(job)) {
        job->intent = INTENT_FAILED;
        job_set_reason(cluster, job, CAUSE_ALL_TASKS_FAILED, "%s",
                       describe_all_failed(job, text, sizeof text));
    } else if (job_is_refused(cluster, job)) {
        job->intent = INTENT_FAILED;
        job_set_reason(cluster, job, CAUSE_NO_NODE_RUNS_IT, "%s",
                       job_say_unfit(job, text, sizeof text));
    }
}

static void end_when_empty(struct cluster *cluster, struct job *job, struct instant now)
{
    enum job_state end;

    if (job_count_live(job) > 0)
        return;
    if (job->intent == INTENT_REQUEUED)
        fail_instead(cluster, job);
    end = intent_end(job->intent);
    if (!job_set_state(cluster, job, end, now) || end != JOB_QUEUED)
        return;
    job->intent = INTENT_NONE;
    /* in its old place in the order; its data goes on where it was */
    job_forget_idle(cluster, job);
    job_forget_backlog(cluster, job);
    if (job->started_wall_us == 0)
        job_free_servers(cluster, job);
    for (uint32_t r = 0; r < job->spec->n_roles; r++) {
        job_retry_given_up(cluster, job, r);
        job_set_target(cluster, job, r, job->spec->roles[r].min, now);
    }
    job->was_told = false;
    job_file(cluster, job);
}

bool job_keeps_remains(const struct job *job)
{
    return job->spec->keep_remains && job->state == JOB_STOPPING &&
           (job->intent == INTENT_DONE || job->cause == CAUSE_PROCESS_FAILED);
}

static void stop_remains(struct cluster *cluster, struct job *job, struct instant now)
{
    for (uint32_t r = 0; r < job->spec->n_roles; r++)
        for (uint32_t i = 0; i < job->n_slots[r]; i++)
            if (job->slots[r][i].live != NULL)
                process_stop(cluster, job->slots[r][i].live, false, CAUSE_JOB_ENDS, "its job ends",
                             now);
}

void job_stop(struct cluster *cluster, struct job *job, struct instant now, enum intent intent,
              enum cause cause, const char *format, ...)
{
    va_list ap;

    if (!job_is_started(job))
        return;
    job->intent = intent;
    va_start(ap, format);
    set_reason(cluster, job, cause, format, ap);
    va_end(ap);
    (void)job_set_state(cluster, job, JOB_STOPPING, now);
    job->waits_for_room = false;
    for (uint32_t r = 0; r < job->spec->n_roles; r++) {
        job->target[r] = 0;
        for (uint32_t i = 0; i < job->n_slots[r]; i++)
            slot_set_due(cluster, job, r, i, false);
    }
    if (!job_keeps_remains(job))
        stop_remains(cluster, job, now);
    else if (job_count_live(job) > 0)
        job_set_reason(cluster, job, cause,
                       "%.*s; its remaining processes stay until it is killed (autoclean: false)",
                       printable_prefix(job->reason, 150), job->reason);
    end_when_empty(cluster, job, now);
}

void job_kill(struct cluster *cluster, struct job *job, struct instant now, enum cause cause,
              const char *format, ...)
{
    char text[JOB_REASON_SIZE];
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    if (job->state == JOB_QUEUED) {
        job->intent = INTENT_KILLED;
        job_set_reason(cluster, job, cause, "%s", text);
        job_want_nothing(job);
        (void)job_set_state(cluster, job, JOB_KILLED, now);
        return;
    }
    if (job->intent == INTENT_REQUEUED) { /* it was to start again */
        job->intent = INTENT_KILLED;
        job_set_reason(cluster, job, cause, "%s", text);
    }
    if (job_keeps_remains(job))
        stop_remains(cluster, job, now);
    job_stop(cluster, job, now, INTENT_KILLED, cause, "%s", text);
}

/* Deadlines are elapsed time, which a restart may know better; the timer runs on boot time. */
void job_watch_deadline(struct cluster *cluster, struct job *job, struct instant now)
{
    uint64_t wall_us = job->spec->deadline_wall_us;
    uint64_t left_us = wall_us > now.wall_us ? wall_us - now.wall_us : 0;

    if (wall_us != 0 && !job_state_is_final(job->state))
        deadline_set(&cluster->deadlines, &job->due, DEADLINE_JOB, now.now_us + left_us);
}

void job_overdue(struct cluster *cluster, struct job *job, struct instant now)
{
    char text[RFC3339_MAX];

    if (now.wall_us < job->spec->deadline_wall_us) { /* it was far away */
        job_watch_deadline(cluster, job, now);
        return;
    }
    job_kill(cluster, job, now, CAUSE_DEADLINE, "it was not done by its deadline, %s",
             rfc3339_format(instant_shown_us(now, job->spec->deadline_wall_us), text));
}

/* what_is_done - of a job whose work ended with success */
static const char *what_is_done(const struct job *job)
{
    if (job->queue == NULL)
        return "all its working processes ended with success";
    return task_queue_is_model_saved(job->queue)
               ? "all passes over the data ended and the model is saved"
               : "all passes over the data ended, and its processes asked for no model";
}

/* With where the model is, if there is room for all of that, and the faults. */
static void stop_done(struct cluster *cluster, struct job *job, struct instant now)
{
    const char *done = what_is_done(job);
    const char *path = job->queue != NULL ? task_queue_model_path(job->queue) : "";
    char skipped[200], tail[320];

    describe_given_up(job, tail, sizeof tail);
    if (*tasks_describe_skipped(job, skipped, sizeof skipped) != '\0')
        (void)snprintf(tail + strlen(tail), sizeof tail - strlen(tail), "; %s", skipped);
    if (strlen(done) + strlen(": ") + strlen(path) + strlen(tail) >= JOB_REASON_SIZE)
        path = "";
    job_stop(cluster, job, now, INTENT_DONE, CAUSE_DONE, "%s%s%s%s", done,
             *path != '\0' ? ": " : "", path, tail);
}

void job_settle(struct cluster *cluster, struct job *job, struct instant now)
{
    char text[JOB_REASON_SIZE];
    enum job_state to;

    fact_of_job(cluster, FACT_SIZE, job, now);
    if (job->state == JOB_STOPPING) {
        end_when_empty(cluster, job, now);
        return;
    }
    if (!job_is_started(job))
        return;
    if (data_has_failed(job)) {
        job_stop(cluster, job, now, INTENT_FAILED, CAUSE_ALL_TASKS_FAILED, "%s",
                 describe_all_failed(job, text, sizeof text));
        return;
    }
    if (is_done(cluster, job)) {
        stop_done(cluster, job, now);
        return;
    }
    for (uint32_t r = 0; job->finishing && r < job->spec->n_roles; r++)
        job_set_target(cluster, job, r, job_role_floor(job, r), now);
    if (job->state == JOB_STARTING && gang_runs(job)) {
        job_set_reason(cluster, job, CAUSE_RUNNING, "the minimum of every role runs");
        (void)job_set_state(cluster, job, JOB_RUNNING, now);
    }
    to = job->state == JOB_STARTING ? JOB_STARTING : is_settled(job) ? JOB_RUNNING : JOB_RESIZING;
    describe(cluster, job, to); /* before the move: its event tells the reason */
    if (to != job->state)
        (void)job_set_state(cluster, job, to, now);
}
