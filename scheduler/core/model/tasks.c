/* SPDX-License-Identifier: Apache-2.0 */
/* tasks.c - what processes say about their job's data: tasks, the model, metrics
 *
 * A caller that is no longer the live incarnation of its slot is refused with EDL_ESTALE, always.
 */
#include "scheduler/core/model/tasks.h"

#include <stdio.h>
#include <errno.h>

#include "scheduler/core/base/queue_rules.h"
#include "scheduler/core/base/task_queue.h"
#include "scheduler/core/model/at_work.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/effects.h"
#include "scheduler/core/model/facts.h"
#include "scheduler/core/model/holdings.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/job_roles.h"
#include "scheduler/core/model/job_sm.h"
#include "scheduler/core/model/process.h"
#include "scheduler/core/model/process_sm.h"
#include "scheduler/core/model/states.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/printable.h"

/* Of a process's words, in an event beside our own. */
#define EVENT_SAID_BYTES 180

static int check_holder(const struct process *holder, bool needs_queue, struct edl_error *error)
{
    char name[ROLE_NAME_MAX + 16];

    process_name(holder, name, sizeof name);
    if (process_state_is_final(holder->state))
        return edl_error_set(error, EDL_ESTALE, "%s: incarnation %llu is %s", name,
                             (unsigned long long)holder->incarnation,
                             process_state_to_string(holder->state));
    if (needs_queue && holder->job->queue == NULL)
        return edl_error_set(error, -ENOENT, "job %s has no dataset yet", holder->job->spec->name);
    return 0;
}

struct tasks_mark tasks_mark(const struct job *job)
{
    struct task_queue_counts counts;

    if (job->queue == NULL)
        return (struct tasks_mark){ 0 };
    counts = task_queue_counts(job->queue);
    return (struct tasks_mark){ .pass = task_queue_pass(job->queue),
                                .tasks_discarded = counts.tasks_discarded_total,
                                .tasks_deadly = counts.tasks_deadly_total,
                                .records_discarded = counts.records_discarded_total,
                                .chunks_lost = counts.chunks_lost_total,
                                .records_lost = counts.records_lost_total };
}

/* All of one turn are skipped for the same: their holder failed with them, or died once more. */
static void tell_skipped(struct cluster *cluster, struct job *job, const struct tasks_mark *before,
                         const struct tasks_mark *after, struct instant now)
{
    uint64_t skipped = after->tasks_discarded - before->tasks_discarded;
    uint64_t records = after->records_discarded - before->records_discarded;
    bool one = skipped == 1;

    if (skipped > 0 && after->tasks_deadly > before->tasks_deadly)
        effect_event(cluster, now, job, "", "tasks-skipped",
                     "%llu task%s with %llu record%s %s skipped in pass %u, because %s processes "
                     "died again and again",
                     (unsigned long long)skipped, PLURAL(skipped), (unsigned long long)records,
                     PLURAL(records), one ? "is" : "are", before->pass + 1, one ? "its" : "their");
    else if (skipped > 0)
        effect_event(cluster, now, job, "", "tasks-skipped",
                     "%llu task%s with %llu record%s failed %u time%s and %s skipped in pass %u",
                     (unsigned long long)skipped, PLURAL(skipped), (unsigned long long)records,
                     PLURAL(records), queue_tries(job->spec), PLURAL(queue_tries(job->spec)),
                     one ? "is" : "are", before->pass + 1);
}

void tasks_changed(struct cluster *cluster, struct job *job, const struct tasks_mark *before,
                   struct instant now)
{
    struct tasks_mark after = tasks_mark(job);

    effect_save_tasks(cluster, job);
    tell_skipped(cluster, job, before, &after, now);
    if (after.chunks_lost > before->chunks_lost)
        effect_event(cluster, now, job, "", "records-lost",
                     "%llu record%s in %llu damaged chunk%s lost in pass %u",
                     (unsigned long long)(after.records_lost - before->records_lost),
                     PLURAL(after.records_lost - before->records_lost),
                     (unsigned long long)(after.chunks_lost - before->chunks_lost),
                     after.chunks_lost - before->chunks_lost == 1 ? " is" : "s are",
                     before->pass + 1);
    for (uint32_t pass = before->pass; pass < after.pass; pass++)
        effect_event(cluster, now, job, "", "pass-ended", "pass %u of %u ended", pass + 1,
                     task_queue_passes(job->queue));
}

size_t tasks_of_dead(const struct process *dead)
{
    struct job *job = dead->job;
    uint64_t *at_work;
    struct task_death death = { .slot = dead->role * ROLE_INSTANCES_MAX + dead->index + 1,
                                .next = job->next_incarnation };
    size_t n;

    if (task_queue_held_since_us(job->queue, dead->incarnation) == NEVER_US)
        return task_queue_release_holder(job->queue, dead->incarnation, NULL);
    at_work = xcalloc(job_count_live(job) + 1, sizeof *at_work);
    for (uint32_t role = 0; role < job->spec->n_roles; role++)
        for (uint32_t i = 0; i < job->n_slots[role]; i++) {
            const struct process *other = job->slots[role][i].live;

            if (other != NULL && other != dead && other->at_work)
                at_work[death.n_at_work++] = other->incarnation;
        }
    death.at_work = at_work;
    n = task_queue_release_holder(job->queue, dead->incarnation, &death);
    free(at_work);
    return n;
}

void tasks_settle(struct cluster *cluster, struct job *job, struct instant now)
{
    if (task_queue_is_finished(job->queue) || task_queue_has_failed(job->queue))
        job_settle(cluster, job, now);
}

/* Behind "skipped after". */
static const char *describe_tries(const struct job *job, const struct task_queue_counts *counts,
                                  char *buffer, size_t size)
{
    static const char died[] = "repeated deaths of processes";

    if (counts->tasks_deadly_total == counts->tasks_discarded_total)
        return died;
    (void)snprintf(buffer, size, "%u failure%s each%s%s", queue_tries(job->spec),
                   PLURAL(queue_tries(job->spec)), counts->tasks_deadly_total > 0 ? ", or " : "",
                   counts->tasks_deadly_total > 0 ? died : "");
    return buffer;
}

char *tasks_describe_skipped(const struct job *job, char *buffer, size_t size)
{
    struct task_queue_counts counts = { 0 };
    char tries[120];

    buffer[0] = '\0';
    if (job->queue != NULL)
        counts = task_queue_counts(job->queue);
    if (counts.tasks_discarded_total > 0)
        (void)snprintf(buffer, size, "%llu task%s with %llu of %llu record%s %s skipped after %s",
                       (unsigned long long)counts.tasks_discarded_total,
                       counts.tasks_discarded_total == 1 ? "" : "s",
                       (unsigned long long)counts.records_discarded_total,
                       (unsigned long long)counts.records_pass * task_queue_passes(job->queue),
                       PLURAL(counts.records_pass * task_queue_passes(job->queue)),
                       counts.tasks_discarded_total == 1 ? "was" : "were",
                       describe_tries(job, &counts, tries, sizeof tries));
    if (counts.chunks_lost_total > 0)
        (void)snprintf(buffer + strlen(buffer), size - strlen(buffer),
                       "%s%llu record%s in %llu damaged chunk%s skipped",
                       counts.tasks_discarded_total > 0 ? "; " : "",
                       (unsigned long long)counts.records_lost_total,
                       PLURAL(counts.records_lost_total),
                       (unsigned long long)counts.chunks_lost_total,
                       counts.chunks_lost_total == 1 ? " was" : "s were");
    return buffer;
}

/* cluster_set_dataset - the first wins; the same again is accepted and freed; refused: the caller
 * keeps the queue */
int cluster_set_dataset(struct cluster *cluster, struct job *job, struct task_queue *take_queue,
                        const char *digest, struct instant now, struct edl_error *error)
{
    if (strlen(digest) >= DATASET_DIGEST_SIZE)
        return edl_error_at(error, -EINVAL, "/digest", "the digest is too long");
    if (job_state_is_final(job->state))
        return edl_error_set(error, EDL_EBADTRANSITION, "job %s is %s", job->spec->name,
                             job_state_to_string(job->state));
    if (job->queue != NULL) {
        if (job->dataset_digest == NULL || !streq(job->dataset_digest, digest))
            return edl_error_set(error, -EEXIST, "job %s has another dataset already",
                                 job->spec->name);
        (void)task_queue_free(take_queue);
        return 0;
    }
    task_queue_order(take_queue);
    job->queue = take_queue;
    job_touch(cluster, job); /* the work left decides how many may be taken from it */
    fact_of_queue(cluster, FACT_DATA_CAME, job, now);
    cluster->plan_wanted = true;
    job->dataset_digest = xstrdup(digest);
    holdings_data(&cluster->holdings, job);
    effect_save_job(cluster, job);
    effect_save_dataset(cluster, job);
    effect_event(cluster, now, job, "", "dataset-set", "the data has %zu task%s",
                 task_queue_n_tasks(take_queue), PLURAL(task_queue_n_tasks(take_queue)));
    return 0;
}

/* wish_of_pass - 0, or why nothing of the pass that is asked for is given; of one that has not
 * begun *ret_result says it, as that may be waited for */
static int wish_of_pass(const struct job *job, const struct task_wish *wish,
                        enum task_lease_result *ret_result, struct edl_error *error)
{
    struct edl_error why = { 0 };
    int r = wish->of_pass ? task_queue_check_pass(job->queue, wish->pass, &why) : 0;

    if (r == EDL_EPASSAFTER)
        *ret_result = TASK_LEASE_EARLY;
    else if (r < 0 && error != NULL)
        *error = why;
    return r == EDL_EPASSAFTER ? 0 : r;
}

bool process_is_saver(const struct process *process)
{
    const struct task_queue *queue = process->job->queue;

    return queue != NULL && task_queue_saver(queue) == process->incarnation &&
           !task_queue_is_model_saved(queue);
}

void tasks_note_end(const struct process *process, bool success)
{
    const struct job *job = process->job;

    if (job->queue != NULL && !process->stop_wanted)
        task_queue_holder_ends(job->queue, process->incarnation, success, job->next_incarnation);
}

bool process_holds_task(const struct process *process)
{
    return process->state == PROCESS_RUNNING &&
           task_queue_held_since_us(process->job->queue, process->incarnation) != NEVER_US;
}

/* One of an instance that its job is to give (plan/give.c) is stopped when it asks for its next
 * task. Whichever asks first goes, not the slowest: that one may hang in its task. One that holds a
 * task and asks for the next in advance is in the middle of its work. */
static bool goes_instead(struct cluster *cluster, struct process *holder, struct instant now)
{
    struct job *job = holder->job;
    char reason[sizeof holder->reason];

    if (job->gives == 0 || job_elastic_role(job) != (int)holder->role || job->finishing ||
        job->state == JOB_STARTING || job_surplus(job) == 0 || process_is_saver(holder) ||
        process_holds_task(holder) || !node_takes_processes(holder->node))
        return false;
    job->gives--;
    (void)snprintf(reason, sizeof reason, "shrunk by the policy %s, between two tasks",
                   cluster->policy_name);
    process_stop(cluster, holder, false, CAUSE_SHRUNK, reason, now);
    job_settle(cluster, job, now); /* its turn's plan may be over, and the commit is next */
    cluster->plan_wanted = true;
    return true;
}

/* cluster_lease_tasks - see tasks.h; one that is asked to stop gets no more work */
int cluster_lease_tasks(struct cluster *cluster, struct process *holder,
                        const struct task_wish *wish, struct instant now, struct tasks_given *ret,
                        struct edl_error *error)
{
    struct job *job = holder->job;
    int r = check_holder(holder, true, error);

    ret->n = 0;
    ret->save_model = false;
    ret->result = TASK_LEASE_WAIT;
    if (r == 0)
        r = wish_of_pass(job, wish, &ret->result, error);
    if (r < 0 || ret->result == TASK_LEASE_EARLY)
        return r;
    if (holder->stop_wanted || goes_instead(cluster, holder, now)) {
        if (task_queue_is_finished(job->queue))
            ret->result = TASK_LEASE_FINISHED;
        return 0;
    }
    process_works(cluster, holder, now);
    ret->result = task_queue_lease_some(job->queue, holder->incarnation, wish, now.now_us,
                                        ret->tasks, &ret->n);
    if (ret->result == TASK_LEASE_FINISHED && !task_queue_is_model_saved(job->queue))
        ret->save_model = task_queue_elect_saver(job->queue, holder->incarnation);
    cluster->figures.task_leases += ret->n;
    if (ret->n > 0 || ret->save_model)
        effect_save_tasks(cluster, job);
    return 0;
}

int cluster_lease_task(struct cluster *cluster, struct process *holder, const uint32_t *known,
                       size_t n_known, struct instant now, enum task_lease_result *ret,
                       struct task **ret_task, bool *ret_save_model, struct edl_error *error)
{
    const struct task_wish wish = { .known = known, .n_known = n_known, .n = 1 };
    struct tasks_given given = { .tasks = ret_task };
    int r = cluster_lease_tasks(cluster, holder, &wish, now, &given, error);

    if (r < 0)
        return r;
    *ret = given.result;
    *ret_save_model = given.save_model;
    return 0;
}

static int finish_one(struct cluster *cluster, struct process *holder,
                      const struct task_finish *end, struct instant now, struct edl_error *error)
{
    struct job *job = holder->job;
    /* counted before; the same finish said again counts nothing */
    const struct task_queue_counts before = task_queue_counts(job->queue);
    struct task_queue_counts after;
    uint64_t records, lost;
    uint64_t took_us =
        task_queue_task_took_us(job->queue, end->task, end->lease, holder->incarnation, now.now_us);
    int r = task_queue_end(job->queue, end, holder->incarnation, now.now_us, NULL, error);

    if (r < 0)
        return r;
    after = task_queue_counts(job->queue);
    records = after.records_total - before.records_total;
    lost = after.records_lost_total - before.records_lost_total;
    holder->credited_wall_us = now.wall_us;
    if (records > 0)
        fact_task_timed(cluster, holder, took_us, records, now);
    cluster->figures.task_records += records;
    cluster->figures.task_records_lost += lost;
    cluster->figures.task_ends[TASK_END_FINISHED] += records + lost > 0;
    return 0;
}

/* ends_changed - what follows from finishes, however many there were */
static void ends_changed(struct cluster *cluster, struct job *job, const struct tasks_mark *before,
                         struct instant now)
{
    fact_of_queue(cluster, FACT_TASKS_DONE, job, now);
    tasks_changed(cluster, job, before, now);
    tasks_settle(cluster, job, now);
}

/* check_ends - whether each may have lost what it says, before any is counted */
static int check_ends(const struct job *job, const struct task_finish *ends, size_t n,
                      struct edl_error *error)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < n; i++) {
        char at[32];

        (void)snprintf(at, sizeof at, "/tasks/%zu", i);
        r = task_queue_check_lost(job->queue, &ends[i], at, error);
    }
    return r;
}

/* cluster_finish_tasks - see tasks.h; EDL_ESTALE for a dead incarnation */
int cluster_finish_tasks(struct cluster *cluster, struct process *holder, struct task_finish *ends,
                         size_t n, struct instant now, struct edl_error *error)
{
    const struct tasks_mark before = tasks_mark(holder->job);
    bool any = false;
    int r = check_holder(holder, true, error);

    if (r == 0)
        r = check_ends(holder->job, ends, n, error);
    if (r < 0)
        return r;
    for (size_t i = 0; i < n; i++) {
        ends[i].result = finish_one(cluster, holder, &ends[i], now, NULL);
        any = any || ends[i].result == 0;
    }
    if (any)
        ends_changed(cluster, holder->job, &before, now);
    return 0;
}

/* cluster_end_task - see task_queue_end; EDL_ESTALE also for a dead incarnation */
int cluster_end_task(struct cluster *cluster, struct process *holder, const struct task_finish *end,
                     struct instant now, struct edl_error *error)
{
    const struct tasks_mark before = tasks_mark(holder->job);
    int r = check_holder(holder, true, error);

    if (r == 0)
        r = finish_one(cluster, holder, end, now, error);
    if (r < 0)
        return r;
    ends_changed(cluster, holder->job, &before, now);
    return 0;
}

int cluster_finish_task(struct cluster *cluster, struct process *holder, uint32_t task,
                        uint32_t pass, uint32_t lease, struct instant now, struct edl_error *error)
{
    const struct task_finish end = { .task = task, .pass = pass, .lease = lease };

    return cluster_end_task(cluster, holder, &end, now, error);
}

/* cluster_fail_task - see task_queue_fail; EDL_ESTALE also for a dead incarnation */
int cluster_fail_task(struct cluster *cluster, struct process *holder, uint32_t task, uint32_t pass,
                      uint32_t lease, bool returned, const char *reason, struct instant now,
                      struct edl_error *error)
{
    struct job *job = holder->job;
    const struct tasks_mark before = tasks_mark(job);
    int r = check_holder(holder, true, error);

    if (r >= 0 && returned)
        fact_tasks_lost(cluster, holder, now);
    if (r >= 0)
        r = task_queue_fail(job->queue, task, pass, lease, holder->incarnation, now.now_us,
                            returned, error);
    if (r < 0)
        return r;
    cluster->figures.task_ends[returned ? TASK_END_RETURNED : TASK_END_FAILED]++;
    if (!returned)
        effect_process_event(cluster, now, holder, "task-failed", "task %u failed%s%.*s", task,
                             reason != NULL && *reason != '\0' ? ": " : "",
                             reason != NULL ? printable_prefix(reason, EVENT_SAID_BYTES) : 0,
                             reason != NULL ? reason : "");
    tasks_changed(cluster, job, &before, now);
    tasks_settle(cluster, job, now);
    return 0;
}

int cluster_ask_to_save(struct cluster *cluster, struct process *holder, struct instant now,
                        bool *ret_save_model, struct edl_error *error)
{
    struct job *job = holder->job;
    const bool asked = job->queue != NULL && task_queue_save_asked(job->queue);
    const uint64_t saver = job->queue != NULL ? task_queue_saver(job->queue) : 0;
    int r = check_holder(holder, true, error);

    if (r < 0)
        return r;
    *ret_save_model = task_queue_ask_to_save(job->queue, holder->incarnation);
    if (task_queue_save_asked(job->queue) != asked || task_queue_saver(job->queue) != saver) {
        effect_save_tasks(cluster, job);
        job_settle(cluster, job, now);
    }
    return 0;
}

/* cluster_model_saved - EDL_ESTALE for a dead incarnation; else what task_queue_model_saved says */
int cluster_model_saved(struct cluster *cluster, struct process *holder, const char *path,
                        struct instant now, struct edl_error *error)
{
    int r = check_holder(holder, true, error);

    if (r >= 0)
        r = task_queue_model_saved(holder->job->queue, holder->incarnation, path, error);
    if (r < 0)
        return r;
    effect_save_tasks(cluster, holder->job);
    effect_process_event(cluster, now, holder, "model-saved", "the model is saved%s%.*s",
                         path != NULL && *path != '\0' ? ": " : "",
                         path != NULL ? printable_prefix(path, EVENT_SAID_BYTES) : 0,
                         path != NULL ? path : "");
    job_settle(cluster, holder->job, now);
    return 0;
}

/* cluster_set_metrics - the last word of any live process; json is copied */
int cluster_set_metrics(struct cluster *cluster, struct process *holder, const char *json,
                        struct instant now, struct edl_error *error)
{
    int r = check_holder(holder, false, error);

    (void)now;
    if (r < 0)
        return r;
    free(holder->job->metrics);
    holder->job->metrics = xstrdup(json);
    effect_save_job(cluster, holder->job);
    return 0;
}
