/* SPDX-License-Identifier: Apache-2.0 */
/* take.c - hands each fact to the file that learns from it */
#include "scheduler/core/learn/take.h"

#include "scheduler/core/base/task_queue.h"
#include "scheduler/core/learn/job_learn.h"
#include "scheduler/core/learn/node_speed.h"
#include "scheduler/core/model/cluster.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/facts.h"
#include "scheduler/core/model/process.h"

/* What a fact speaks of; NULL: it names none, or it is gone. */
struct subject {
    struct job *job;
    struct process *process;
    struct node *node;
};

static void job_begun(struct cluster *cluster, const struct subject *of, const struct fact *fact)
{
    job_learn_start(cluster, of->job, fact);
}

static void job_ended(struct cluster *cluster, const struct subject *of, const struct fact *fact)
{
    job_learn_end(cluster, of->job, fact);
}

static void size(struct cluster *cluster, const struct subject *of, const struct fact *fact)
{
    (void)cluster;
    job_learn_size(of->job, fact);
}

static void tasks(struct cluster *cluster, const struct subject *of, const struct fact *fact)
{
    job_learn_tasks(cluster, of->job, fact);
}

static void task_timed(struct cluster *cluster, const struct subject *of, const struct fact *fact)
{
    job_pace_finished(cluster, of->process, fact);
}

static void tasks_lost(struct cluster *cluster, const struct subject *of, const struct fact *fact)
{
    (void)cluster;
    job_learn_lost(of->job, fact);
}

static void seen(struct cluster *cluster, const struct subject *of, const struct fact *fact)
{
    job_learn_seen(cluster, of->job, fact);
}

static void steps(struct cluster *cluster, const struct subject *of, const struct fact *fact)
{
    job_pace_stepped(cluster, of->process, fact);
    job_learn_steps(cluster, of->job, fact);
}

static void stood_still(struct cluster *cluster, const struct subject *of, const struct fact *fact)
{
    (void)cluster;
    job_learn_still(of->job, fact);
}

static void process_moved(struct cluster *cluster, const struct subject *of,
                          const struct fact *fact)
{
    (void)cluster;
    of->process->runs = fact->runs;
}

static void servers_fixed(struct cluster *cluster, const struct subject *of,
                          const struct fact *fact)
{
    job_learn_servers(cluster, of->job, fact);
}

static void machine_changed(struct cluster *cluster, const struct subject *of,
                            const struct fact *fact)
{
    (void)fact;
    node_forget_speed(cluster, of->node);
}

static const struct {
    void (*take)(struct cluster *cluster, const struct subject *of, const struct fact *fact);
    bool of_job, of_process, of_node;
} kinds[_FACT_KINDS] = {
    [FACT_JOB_BEGUN] = { job_begun, .of_job = true },
    [FACT_JOB_ENDED] = { job_ended, .of_job = true },
    [FACT_SIZE] = { size, .of_job = true },
    [FACT_DATA_CAME] = { tasks, .of_job = true },
    [FACT_TASKS_DONE] = { tasks, .of_job = true },
    [FACT_TASK_TIMED] = { task_timed, .of_job = true, .of_process = true },
    [FACT_TASKS_LOST] = { tasks_lost, .of_job = true },
    [FACT_SEEN] = { seen, .of_job = true },
    [FACT_STEPS] = { steps, .of_job = true, .of_process = true },
    [FACT_STOOD_STILL] = { stood_still, .of_job = true },
    [FACT_PROCESS_MOVED] = { process_moved, .of_job = true, .of_process = true },
    [FACT_SERVERS_FIXED] = { servers_fixed, .of_job = true },
    [FACT_MACHINE_CHANGED] = { machine_changed, .of_node = true },
};

static void take(struct cluster *cluster, const struct fact *fact)
{
    struct subject of = { 0 };

    if (kinds[fact->kind].of_job)
        of.job = cluster_job(cluster, fact->job);
    if (kinds[fact->kind].of_process && of.job != NULL)
        of.process = job_find_process(of.job, fact->role, fact->index, fact->incarnation);
    if (kinds[fact->kind].of_node)
        of.node = cluster_node(cluster, fact->node);
    if ((kinds[fact->kind].of_job && of.job == NULL) ||
        (kinds[fact->kind].of_process && of.process == NULL) ||
        (kinds[fact->kind].of_node && of.node == NULL))
        return; /* removed or forgotten since */
    kinds[fact->kind].take(cluster, &of, fact);
}

void learn_take(struct cluster *cluster)
{
    for (size_t i = 0; i < cluster->n_facts; i++) {
        const struct fact fact = cluster->facts[i]; /* the list may move */

        take(cluster, &fact);
    }
    cluster->n_facts = 0;
}
