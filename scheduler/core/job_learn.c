/* SPDX-License-Identifier: Apache-2.0 */
/* job_learn.c - how fast a job is at which size, for policies that want to know
 *
 * What is counted is what the task queue counts anyway; a program need not say anything. With
 * another policy nothing is kept. */
#include "scheduler/core/core_internal.h"

static struct job_learned *learned_new(void)
{
    struct job_learned *learned = xcalloc(1, sizeof *learned);

    goodput_learn_init(&learned->of);
    learned->units_left = -1;
    return learned;
}

/* How many there are when all of them run and nobody is being stopped, else 0 */
static uint32_t steady_instances(const struct job *job, uint32_t role)
{
    uint32_t live = job_count(job, role, true);

    return live == job_count_running(job, role) && live == job_count(job, role, false) ? live : 0;
}

void job_learn(struct cluster *cluster, struct job *job, struct instant now)
{
    int role = job_elastic_role(job);
    struct task_queue_counts counts;
    struct goodput_progress progress;
    bool first;

    if (!cluster->config.policy->learns || role < 0 || job->queue == NULL ||
        task_queue_is_closed(job->queue))
        return;
    first = job->learned == NULL;
    if (first)
        job->learned = learned_new();
    counts = task_queue_counts(job->queue);
    progress = (struct goodput_progress){
        .now_s = (double)now.now_us / USEC_PER_SEC,
        .instances = steady_instances(job, (uint32_t)role),
        .tasks = (uint64_t)task_queue_pass(job->queue) * task_queue_n_tasks(job->queue) +
                 counts.done + counts.discarded,
        .units = (double)(counts.records_total + counts.records_discarded_total),
    };
    if (!goodput_learn_note(&job->learned->of, &progress) && !first)
        return;
    job->learned->told = job->learned->of;
    job->learned->units_done = progress.units;
    job->learned->units_left =
        (double)task_queue_passes(job->queue) * (double)counts.records_pass - progress.units;
    job_touch(cluster, job);
    cluster->plan_wanted = true;
}
