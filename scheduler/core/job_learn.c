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

static double seconds_of(struct instant now)
{
    return (double)now.now_us / USEC_PER_SEC;
}

/* How many there are when all of them run and nobody is being stopped, else 0 */
static uint32_t steady_instances(const struct job *job, uint32_t role)
{
    uint32_t live = job_count(job, role, true);

    return live == job_count_running(job, role) && live == job_count(job, role, false) ? live : 0;
}

/* It lacks instances for another reason than a change of its size, or is about to be over. */
static bool is_disturbed(const struct job *job, uint32_t role)
{
    return !(job->state == JOB_RUNNING || job->state == JOB_RESIZING) || job->finishing ||
           job->waits_for_room || job_count_due(job, role) > 0;
}

/* Of a program that neither takes tasks nor meets others it is only known that it runs. */
static uint32_t working_instances(const struct job *job, uint32_t role)
{
    bool tells = job->queue != NULL || rendezvous_of(job, role) != NULL;

    return tells ? job->counts[role].at_work : job_count_running(job, role);
}

void job_learn_size(struct job *job, struct instant now)
{
    int elastic = job_elastic_role(job);
    uint32_t role = (uint32_t)elastic;
    const struct rendezvous *rendezvous;
    struct goodput_size size;

    if (job->learned == NULL || elastic < 0)
        return;
    rendezvous = rendezvous_of(job, role);
    size = (struct goodput_size){
        .now_s = seconds_of(now),
        .wanted = job_count(job, role, false),
        .working = working_instances(job, role),
        /* who is left of a generation that is over is about to wait for the next one */
        .stopping = job->counts[role].stopping > 0 || (rendezvous != NULL && rendezvous->over),
        .disturbed = is_disturbed(job, role),
    };
    goodput_learn_size(&job->learned->of, &size);
}

void process_works(struct process *process, struct instant now)
{
    if (process->at_work || process->state >= PROCESS_STOPPING)
        return;
    process_set_at_work(process, true);
    job_learn_size(process->job, now);
}

void process_waits(struct process *process, struct instant now)
{
    if (!process->at_work)
        return;
    process_set_at_work(process, false);
    job_learn_size(process->job, now);
}

void job_learn_lost(const struct process *process, struct instant now)
{
    const struct job *job = process->job;

    if (job->learned != NULL && process->stop_wanted && job_elastic_role(job) == (int)process->role)
        goodput_learn_lost(&job->learned->of,
                           (double)task_queue_held_us(job->queue, process->incarnation,
                                                      now.now_us) /
                               USEC_PER_SEC);
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
        .now_s = seconds_of(now),
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
