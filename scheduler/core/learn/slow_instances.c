/* SPDX-License-Identifier: Apache-2.0 */
/* slow_instances.c - which instances of a job are slow, and which nodes that blames
 *
 * The task queue knows who took up a task when, and when it was done. Now and then - after two
 * tasks of each instance - the paces of those that have finished enough are compared: an instance
 * with its others, and a node with the other nodes on which the job runs, by the known speed of
 * those. Instances on one node alone say nothing of it. Sorting costs O(n log n) for each 2 n
 * tasks: O(log n) a task.
 *
 * Instances that wait for each other in every step finish alike however fast each of them is: no
 * queue would tell which is slow. Their steps do: the time that each computed for a sample, without
 * its waits. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/core/base/steps.h"
#include "scheduler/core/learn/job_learn.h"
#include "scheduler/core/learn/job_learned.h"
#include "scheduler/core/learn/job_types.h"
#include "scheduler/core/learn/node_speed.h"
#include "scheduler/core/model/cluster.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/node.h"
#include "scheduler/core/model/process.h"
#include "scheduler/core/speed/pace.h"
#include "shared/macro.h"
#include "shared/step_sums.h"

#define TASKS_PER_INSTANCE 2
#define TASKS_MIN 4

struct runner {
    struct process *process;
    struct node *node;
    double log_s;
};

static int compare_numbers(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

static int compare_runners(const void *a, const void *b)
{
    const struct runner *x = a;
    const struct runner *y = b;
    int r = strcmp(x->node->name, y->node->name);

    return r != 0 ? r : compare_numbers(&x->log_s, &y->log_s);
}

/* One that has ended since then has none any more. */
static struct node *node_of(const struct cluster *cluster, const struct process *process)
{
    return process->node != NULL ? process->node : cluster_node(cluster, process->node_name);
}

/* Those that ran when it happened: some may have been stopped in the same turn. */
static size_t gather(const struct cluster *cluster, const struct job *job, const struct fact *fact,
                     struct runner *ret)
{
    uint32_t left = fact->running; /* it may have had many more slots once */
    size_t n = 0;

    for (uint32_t i = 0; left > 0 && i < job->n_slots[fact->role]; i++) {
        struct process *process = job->slots[fact->role][i].newest;
        struct node *node;

        if (process == NULL || !process->runs)
            continue;
        left--;
        node = node_of(cluster, process);
        if (node == NULL || process->pace == NULL ||
            !goodput_pace_is_known(process->pace, job->learned->of.sizes))
            continue;
        ret[n++] = (struct runner){ process, node, goodput_pace_log_s(process->pace) };
    }
    return n;
}

/* Where x is in the sorted numbers. */
static size_t place_of(const double *sorted, size_t n, double x)
{
    const double *at = bsearch(&x, sorted, n, sizeof *sorted, compare_numbers);

    return (size_t)(at - sorted);
}

/* The time of a step for an instance, with its waits; 0: it tells of none */
static double step_us(const struct process *process)
{
    const struct step_sums *last = process->steps != NULL ? &process->steps->last : NULL;

    if (last == NULL || last->steps == 0)
        return 0;
    return ((double)last->compute_us + (double)last->wait_us) / (double)last->steps;
}

/* Whether the others wait for the slowest one: then a step takes all of them as long, though it
 * computes so much longer. */
static bool is_lockstep(const struct runner *runners, size_t n, const struct process *slowest)
{
    double *sorted = xcalloc(n, sizeof *sorted);
    double own_us = step_us(slowest), others_us;

    for (size_t i = 0; i < n; i++)
        sorted[i] = step_us(runners[i].process);
    qsort(sorted, n, sizeof *sorted, compare_numbers);
    others_us = goodput_pace_of_others(sorted, n, place_of(sorted, n, own_us));
    free(sorted);
    return own_us > 0 && others_us > 0 && own_us < others_us / sqrt((double)slowest->speed);
}

/* The speed of all by the speed if this one computed like the others. */
static double lockstep_evenness(const struct process *slowest)
{
    const struct step_sums *last = &slowest->steps->last;
    double computes = (double)last->compute_us / (double)last->steps / step_us(slowest);

    return 1 - computes * (1 - (double)slowest->speed);
}

/* Which of them is the slowest, beside its others, and how much of the job's speed is missing. */
static void compare_instances(struct job_learned *learned, struct runner *runners, size_t n)
{
    double *sorted = xcalloc(n, sizeof *sorted);
    const struct process *straggler = NULL;
    double slowest = PROCESS_STRAGGLES;
    double missing = 0;

    for (size_t i = 0; i < n; i++)
        sorted[i] = runners[i].log_s;
    qsort(sorted, n, sizeof *sorted, compare_numbers);
    for (size_t i = 0; i < n; i++) {
        struct process *process = runners[i].process;
        double log_s = runners[i].log_s;
        double speed = exp(goodput_pace_of_others(sorted, n, place_of(sorted, n, log_s)) - log_s);

        process->speed = (float)fmin(fmax(speed, 1.0 / GOODPUT_PACE_MOST), GOODPUT_PACE_MOST);
        if (process->speed < PROCESS_STRAGGLES)
            missing += 1 - process->speed;
        if (process->speed < slowest) {
            slowest = process->speed;
            straggler = process;
        }
    }
    free(sorted);
    learned->straggler = straggler != NULL ? straggler->incarnation : 0;
    learned->lockstep = straggler != NULL && is_lockstep(runners, n, straggler);
    learned->evenness = learned->lockstep ? lockstep_evenness(straggler) : 1 - missing / (double)n;
}

static size_t stays_of(const struct cluster *cluster, const struct job *job, uint32_t role,
                       const struct runner *runners, size_t n, struct node_stay *ret)
{
    size_t n_stays = 0;

    for (size_t first = 0, next; first < n; first = next) {
        struct node *node = runners[first].node;
        double log_s;

        for (next = first; next < n && runners[next].node == node;)
            next++;
        log_s = runners[first + (next - first - 1) / 2].log_s;
        ret[n_stays] = (struct node_stay){ .node = node, .log_s = log_s };
        job_expect_node(cluster, job, role, &ret[n_stays++]);
    }
    return n_stays;
}

/* Its pace on a node like most. */
static double typical_of(const struct node_stay *stay)
{
    return stay->log_s + (stay->level + stay->bias);
}

/* The expected gain of its type for this job is no merit of the node. */
static void compare_nodes(struct cluster *cluster, const struct node_stay *stays, size_t n,
                          enum speed_kind kind, struct instant now)
{
    double *sorted = xcalloc(n, sizeof *sorted);

    for (size_t i = 0; i < n; i++)
        sorted[i] = typical_of(&stays[i]);
    qsort(sorted, n, sizeof *sorted, compare_numbers);
    for (size_t i = 0; n > 1 && i < n; i++) {
        size_t at = place_of(sorted, n, typical_of(&stays[i]));

        node_expect_speed(stays[i].node, kind, stays[i].level);
        node_note_speed(cluster, stays[i].node, kind,
                        goodput_pace_of_others(sorted, n, at) - stays[i].log_s - stays[i].bias,
                        now);
    }
    free(sorted);
}

static void compare(struct cluster *cluster, struct job *job, const struct fact *fact)
{
    uint32_t role = fact->role;
    struct instant now = fact->now;
    struct runner *runners = xcalloc(fact->running + 1, sizeof *runners);
    size_t n = gather(cluster, job, fact, runners);
    enum speed_kind kind = speed_kind_of(&job->spec->roles[role]);
    struct node_stay *stays = xcalloc(n + 1, sizeof *stays);
    size_t n_stays = 0;

    if (n > 1) {
        qsort(runners, n, sizeof *runners, compare_runners);
        compare_instances(job->learned, runners, n);
        n_stays = stays_of(cluster, job, role, runners, n, stays);
        compare_nodes(cluster, stays, n_stays, kind, now);
        job_note_types(cluster, job, role, stays, n_stays, now);
    } else { /* the slow one is gone, or there is nothing to compare with */
        job->learned->evenness = 1;
        job->learned->lockstep = false;
        job->learned->straggler = 0;
    }
    job_believe_types(cluster, job, now);
    if (job->learned->straggler == 0)
        job->learned->straggler = job_misplaced(cluster, job, role);
    free(stays);
    free(runners);
    if (job->learned->straggler == 0)
        return;
    job_touch(cluster, job);
    cluster->plan_wanted = true;
}

static bool is_compared(const struct cluster *cluster, const struct job *job)
{
    return job->learned != NULL && !cluster->config.ignores_speed;
}

static struct goodput_pace *pace_of(struct process *process)
{
    if (process->pace == NULL)
        process->pace = xcalloc(1, sizeof *process->pace);
    return process->pace;
}

static void note_pace(struct cluster *cluster, struct process *process, uint64_t busy_us,
                      const struct fact *fact)
{
    struct job *job = process->job;

    if (!goodput_pace_note(pace_of(process), job->learned->of.sizes, (double)fact->units,
                           (double)busy_us / USEC_PER_SEC))
        return;
    if (++job->learned->paces < MAX_OF(TASKS_PER_INSTANCE * fact->running, (uint32_t)TASKS_MIN))
        return;
    job->learned->paces = 0;
    compare(cluster, job, fact);
}

void job_pace_finished(struct cluster *cluster, struct process *process, const struct fact *fact)
{
    uint64_t busy_us = fact->us;
    struct goodput_pace *pace;

    if (!is_compared(cluster, process->job))
        return;
    pace = pace_of(process);
    /* of two tasks that it holds it works on one after the other */
    if (pace->finished_us != 0)
        busy_us = MIN_OF(busy_us, fact->now.now_us - pace->finished_us);
    pace->finished_us = fact->now.now_us;
    if (!fact->stood_still)
        note_pace(cluster, process, busy_us, fact);
}

void job_pace_stepped(struct cluster *cluster, struct process *process, const struct fact *fact)
{
    if (is_compared(cluster, process->job))
        note_pace(cluster, process, fact->us, fact);
}
