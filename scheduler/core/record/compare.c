/* SPDX-License-Identifier: Apache-2.0 */
/* compare.c - do two clusters remember the same?
 *
 * Looks at every fact that a store keeps (columns.h) and at those that a restart derives from them
 * (the live process of a slot, sums granted, which jobs are active). Linear, no allocation. Compare
 * between turns: the history of a job is trimmed when a turn's effects are cleared. Left out, with
 * loose columns, because a restart begins them anew or they are only written along with something
 * else:
 *
 *   lease_deadline_us, not_before_us,   boot time: leases are full again, a back-off is over, a
 *   submitted_us, tasks' deadlines      leased task has all its time again
 *   orders_version, offers_version      count within one run of the scheduler
 *   foreign load, last_report_wall_us,  of every report: written when something else of the row
 *   cpu_used_us, memory_used_bytes,     changes
 *   frozen_us
 *   since when processes are quiet      of reports, too
 *   port_next                           where the search for free ports begins
 *   who arrived for a generation        after a restart they call again
 *   which task is next                  after a restart they come in the order of their ids
 *   heard, n_stale, reported, process->listed  the next report tells
 *   process->told                       likewise
 *   what is learnt of jobs and families families are written now and then, jobs begin with theirs
 *   effects, and what planning keeps    worked out anew */
#include "scheduler/core/record/compare.h"

#include <utlist.h>

#include "scheduler/core/base/task_queue.h"
#include "scheduler/core/model/cause.h"
#include "scheduler/core/model/cluster.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/job_names.h"
#include "scheduler/core/model/node.h"
#include "scheduler/core/model/notices.h"
#include "scheduler/core/model/rendezvous.h"
#include "scheduler/core/model/states.h"
#include "scheduler/core/record/columns.h"
#include "scheduler/core/record/records.h"

#define DIFFERS(...) edl_error_set(error, EDL_EBADTRANSITION, __VA_ARGS__)
#define ULL(value) ((unsigned long long)(value))

static int compare_node(const struct node *a, const struct node *b, struct edl_error *error)
{
    const char *column;

    if (b == NULL)
        return DIFFERS("node %s is missing", a->name);
    column = columns_differ(&node_table, a, b);
    if (column != NULL)
        return DIFFERS("node %s (%s and %s): its %s differs", a->name,
                       node_state_to_string(a->state), node_state_to_string(b->state), column);
    if (!node_offers_same(&a->offer, &b->offer) || a->offer_shrunk != b->offer_shrunk)
        return DIFFERS("node %s: its offer differs", a->name);
    if ((a->lease_prev == NULL) != (b->lease_prev == NULL))
        return DIFFERS("node %s: one has no lease", a->name);
    if (a->cpu_granted_millicores != b->cpu_granted_millicores ||
        a->memory_granted_bytes != b->memory_granted_bytes || a->gpus_granted != b->gpus_granted)
        return DIFFERS("node %s: granted %llum and %llum, %u and %u GPUs", a->name,
                       ULL(a->cpu_granted_millicores), ULL(b->cpu_granted_millicores),
                       a->gpus_granted, b->gpus_granted);
    return 0;
}

static int compare_process(const struct process *a, const struct process *b,
                           struct edl_error *error)
{
    const char *column = columns_differ(&process_table, a, b);

    if (column != NULL)
        return DIFFERS("job %s: incarnation %llu (%s: %s) and %llu (%s: %s): the %s differs",
                       a->job->spec->name, ULL(a->incarnation), process_state_to_string(a->state),
                       a->reason, ULL(b->incarnation), process_state_to_string(b->state), b->reason,
                       column);
    return (a->node == NULL) == (b->node == NULL)
               ? 0
               : DIFFERS("job %s: incarnation %llu is live in one only", a->job->spec->name,
                         ULL(a->incarnation));
}

static int compare_processes(const struct job *a, const struct job *b, struct edl_error *error)
{
    const struct process *x = a->processes;
    const struct process *y = b->processes;

    for (; x != NULL && y != NULL; x = x->job_next, y = y->job_next) {
        int r = compare_process(x, y, error);

        if (r < 0)
            return r;
    }
    return x == NULL && y == NULL
               ? 0
               : DIFFERS("job %s: one has more processes than the other", a->spec->name);
}

static uint64_t incarnation_of(const struct process *process)
{
    return process != NULL ? process->incarnation : 0;
}

static int compare_slots(const struct job *a, const struct job *b, struct edl_error *error)
{
    static const struct slot none;

    for (uint32_t r = 0; r < a->spec->n_roles; r++)
        for (uint32_t i = 0; i < MAX_OF(a->n_slots[r], b->n_slots[r]); i++) {
            const struct slot *x = i < a->n_slots[r] ? &a->slots[r][i] : &none;
            const struct slot *y = i < b->n_slots[r] ? &b->slots[r][i] : &none;

            if (x->failures != y->failures || x->finished != y->finished || x->due != y->due)
                return DIFFERS(
                    "job %s: %s-%u: failures %u and %u, finished %d and %d, due %d and %d",
                    a->spec->name, a->spec->roles[r].name, i, x->failures, y->failures, x->finished,
                    y->finished, x->due, y->due);
            if (incarnation_of(x->live) != incarnation_of(y->live) ||
                incarnation_of(x->newest) != incarnation_of(y->newest))
                return DIFFERS("job %s: %s-%u: incarnation %llu and %llu is live", a->spec->name,
                               a->spec->roles[r].name, i, ULL(incarnation_of(x->live)),
                               ULL(incarnation_of(y->live)));
        }
    return 0;
}

static bool same_chunks(const struct task *a, const struct task *b)
{
    if (a->n_chunks != b->n_chunks || a->n_records != b->n_records)
        return false;
    for (uint32_t i = 0; i < a->n_chunks; i++)
        if (!streq(a->chunks[i].path, b->chunks[i].path) ||
            a->chunks[i].offset_bytes != b->chunks[i].offset_bytes ||
            a->chunks[i].n_records != b->chunks[i].n_records ||
            a->chunks[i].file_bytes != b->chunks[i].file_bytes ||
            a->chunks[i].mtime_us != b->chunks[i].mtime_us)
            return false;
    return true;
}

static int compare_tasks(const struct job *a, const struct job *b, struct edl_error *error)
{
    struct queue_record x, y;
    const char *column;

    if ((a->queue == NULL) != (b->queue == NULL))
        return DIFFERS("job %s: one has no task queue", a->spec->name);
    if (a->queue == NULL)
        return 0;
    record_of_queue(a, &x);
    record_of_queue(b, &y);
    column = columns_differ(&queue_table, &x, &y);
    if (column != NULL)
        return DIFFERS("job %s: pass %u and %u, records %llu and %llu: the %s of its queue differs",
                       a->spec->name, x.pass, y.pass, ULL(x.counts.records_total),
                       ULL(y.counts.records_total), column);
    if (task_queue_n_tasks(a->queue) != task_queue_n_tasks(b->queue))
        return DIFFERS("job %s: one has more tasks", a->spec->name);
    for (uint32_t i = 0; i < task_queue_n_tasks(a->queue); i++) {
        const struct task *t = task_queue_task(a->queue, i);
        const struct task *u = task_queue_task(b->queue, i);

        if (columns_differ(&task_table, t, u) != NULL || !same_chunks(t, u) ||
            (t->state == TASK_LEASED && t->holder != u->holder))
            return DIFFERS("job %s: task %u: state %d and %d, lease %u and %u, failures %u and %u, "
                           "holder %llu and %llu",
                           a->spec->name, i, (int)t->state, (int)u->state, t->lease, u->lease,
                           t->failures, u->failures, ULL(t->holder), ULL(u->holder));
    }
    return 0;
}

static bool same_usage(const struct usage *a, const struct usage *b)
{
    return a == NULL || b == NULL ? a == b : memcmp(a, b, sizeof *a) == 0;
}

static bool same_text(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : streq(a, b);
}

static bool same_targets(const struct job *a, const struct job *b)
{
    return a->spec->n_roles == b->spec->n_roles &&
           memcmp(a->target, b->target, a->spec->n_roles * sizeof *a->target) == 0;
}

/* Of a job that is over nobody asks any more. */
static int compare_rendezvous(const struct job *a, const struct job *b, struct edl_error *error)
{
    if (job_state_is_final(a->state))
        return 0;
    for (uint32_t r = 0; r < a->spec->n_roles; r++) {
        struct rendezvous_record x = { 0 };
        struct rendezvous_record y = { 0 };
        bool same;

        (void)record_of_rendezvous(a, r, &x);
        (void)record_of_rendezvous(b, r, &y);
        same = x.generation == y.generation && x.n_members == y.n_members;
        for (uint32_t i = 0; same && i < x.n_members; i++)
            same = x.members[i].index == y.members[i].index &&
                   x.members[i].incarnation == y.members[i].incarnation &&
                   same_text(x.members[i].note, y.members[i].note);
        if (!same)
            return DIFFERS(
                "job %s: %s: generation %llu of %u and %llu of %u, or other members or notes",
                a->spec->name, a->spec->roles[r].name, ULL(x.generation), x.n_members,
                ULL(y.generation), y.n_members);
    }
    return 0;
}

static int compare_job(const struct job *a, const struct job *b, struct edl_error *error)
{
    const char *column;
    int r;

    if (b == NULL)
        return DIFFERS("job %s (%llu) is missing", a->spec->name, ULL(a->id));
    column = columns_differ(&job_table, a, b);
    if (column != NULL)
        return DIFFERS("job %s (%s: %s) and (%s: %s): its %s differs", a->spec->name,
                       job_state_to_string(a->state), a->reason, job_state_to_string(b->state),
                       b->reason, column);
    if (!streq(a->reason, b->reason) || !same_targets(a, b) ||
        (a->state == JOB_QUEUED &&
         (a->turn_wall_us != b->turn_wall_us || a->served != b->served)) ||
        a->charged != b->charged || !same_usage(a->usage, b->usage) ||
        !same_text(a->dataset_digest, b->dataset_digest) ||
        (a->active_prev == NULL) != (b->active_prev == NULL))
        return DIFFERS("job %s: its reason, targets, place in the queue, usage or data set differs "
                       "(%s and %s)",
                       a->spec->name, a->reason, b->reason);
    if (!job_spec_equal(a->spec, b->spec))
        return DIFFERS("job %s: its document differs", a->spec->name);
    if (!streq(a->metrics != NULL ? a->metrics : "", b->metrics != NULL ? b->metrics : ""))
        return DIFFERS("job %s: its metrics differ", a->spec->name);
    r = compare_processes(a, b, error);
    if (r == 0)
        r = compare_slots(a, b, error);
    if (r == 0)
        r = compare_rendezvous(a, b, error);
    return r < 0 ? r : compare_tasks(a, b, error);
}

static int compare_array_notice(const struct array_notice *a, const struct array_notice *b,
                                struct edl_error *error)
{
    const char *column = b != NULL ? columns_differ(&array_notice_table, a, b) : "row";

    return column == NULL ? 0
                          : DIFFERS("what is told of the array from job %llu on: its %s differs",
                                    ULL(a->first_id), column);
}

int cluster_compare(const struct cluster *a, const struct cluster *b, struct edl_error *error)
{
    const struct node *node;
    const struct job *job;
    const struct array_notice *array;
    int r = 0;

    if (HASH_COUNT(a->nodes) != HASH_COUNT(b->nodes) ||
        HASH_CNT(hh, a->jobs) != HASH_CNT(hh, b->jobs))
        return DIFFERS("nodes: %u and %u, jobs: %u and %u", HASH_COUNT(a->nodes),
                       HASH_COUNT(b->nodes), HASH_CNT(hh, a->jobs), HASH_CNT(hh, b->jobs));
    if (job_names_count(a) != job_names_count(b))
        return DIFFERS("%u and %u names of jobs", job_names_count(a), job_names_count(b));
    if (a->away_us != b->away_us)
        return DIFFERS("nodes may be alone for %llu and %llu us", ULL(a->away_us), ULL(b->away_us));
    if (a->next_job_id != b->next_job_id)
        return DIFFERS("the next job is %llu and %llu", ULL(a->next_job_id), ULL(b->next_job_id));
    if (HASH_COUNT(a->array_notices) != HASH_COUNT(b->array_notices))
        return DIFFERS("arrays of which something is told: %u and %u", HASH_COUNT(a->array_notices),
                       HASH_COUNT(b->array_notices));
    for (array = a->array_notices; r == 0 && array != NULL; array = array->hh.next)
        r = compare_array_notice(array, array_notice_find(b, array->first_id), error);
    for (node = a->nodes; r == 0 && node != NULL; node = node->hh.next)
        r = compare_node(node, cluster_node(b, node->name), error);
    for (job = a->jobs; r == 0 && job != NULL; job = job->hh.next)
        r = compare_job(job, cluster_job(b, job->id), error);
    return r;
}
