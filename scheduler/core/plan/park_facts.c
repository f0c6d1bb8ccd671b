/* SPDX-License-Identifier: Apache-2.0 */
/* park_facts.c - how long jobs run still, and the cost of parking one
 *
 * The job's family tells its length, else its owner does, else the time that its tasks have
 * taken. Else nobody knows it (parking_remaining).
 *
 * The cost is an upper bound: the restart, the grace in which it stops, and the work done again
 * from the last save on. That is a whole period of the checkpoints that the document promises, or
 * the task in hand. */
#include "scheduler/core/plan/park_facts.h"

#include <math.h>

#include "scheduler/core/base/task_queue.h"
#include "scheduler/core/learn/job_learned.h"
#include "scheduler/core/learn/job_turn.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/job_restarts.h"
#include "scheduler/core/model/job_roles.h"
#include "scheduler/core/model/process.h"
#include "scheduler/core/model/time_limit.h"
#include "scheduler/core/model/usage.h"
#include "scheduler/core/plan/plan.h"

/* Lengths are guesses: a loan lasts for so many times the one that it was made by. */
#define LOAN_TIMES 4

static double seconds(uint64_t us)
{
    return (double)us / USEC_PER_SEC;
}

/* Of its living processes: the longest run, and the longest that one has held a task. */
struct times {
    uint64_t ran_us, held_us;
};

static struct times times_of(const struct job *job, struct instant now)
{
    struct times times = { 0 };

    for (uint32_t r = 0; r < job->spec->n_roles; r++)
        for (uint32_t i = 0; i < job->n_slots[r]; i++) {
            const struct process *process = job->slots[r][i].live;
            uint64_t since_us = NEVER_US;

            if (process == NULL || process->started_wall_us == 0)
                continue;
            times.ran_us = MAX_OF(times.ran_us, process_ran_for_us(process, now));
            if (job->queue != NULL)
                since_us = task_queue_held_since_us(job->queue, process->incarnation);
            if (since_us < now.now_us)
                times.held_us = MAX_OF(times.held_us, now.now_us - since_us);
        }
    return times;
}

/* As its gang, since it was started first: its time before it was parked counts as well. */
static double ever_ran_s(const struct job *job, struct instant now, double ran_s)
{
    double gang_millicores = 0;
    struct usage usage;

    for (uint32_t r = 0; r < job->spec->n_roles; r++)
        gang_millicores += (double)job->spec->roles[r].min * job->spec->roles[r].cpu_millicores;
    if (job->n_parked == 0 || gang_millicores == 0)
        return ran_s;
    usage_of_job(job, now.wall_us, &usage);
    return fmax(ran_s, ((double)usage.kinds[USAGE_USEFUL].cpu_millicore_ms +
                        (double)usage.kinds[USAGE_IDLE].cpu_millicore_ms) /
                           gang_millicores / 1000);
}

/* Of its tasks, over all passes; 0: nobody knows, or it has just begun. */
static double part_done(const struct job *job)
{
    struct task_queue_counts counts;
    double tasks;

    if (job->queue == NULL || task_queue_passes(job->queue) == 0)
        return 0;
    counts = task_queue_counts(job->queue);
    tasks = fmax((double)counts.todo + counts.leased + counts.done + counts.discarded, 1);
    return fmin((task_queue_pass(job->queue) + (counts.done + counts.discarded) / tasks) /
                    task_queue_passes(job->queue),
                1);
}

/* ran_s: as its gang, ever; 0: nobody knows */
static double known_s(const struct cluster *cluster, const struct job *job, double ran_s)
{
    double done = part_done(job);
    double whole = job_expected_s(cluster, job);

    if (whole > 0)
        return done > 0 ? whole * (1 - done) : whole - ran_s;
    return done > 0 ? ran_s * (1 - done) / done : 0;
}

/* The learnt one. Where nobody has measured one it is a sixtieth of the time between two parkings
 * at most. */
static double restart_s(const struct job *job, double again_s)
{
    double s = job->learned != NULL ? job->learned->told.resize_s : GOODPUT_RESIZE_S;

    return s == GOODPUT_RESIZE_S ? fmin(s, again_s / 60) : s;
}

static double remaining_s(const struct plan *plan, const struct job *job, double again_s,
                          double ran_s)
{
    double ever_s = ever_ran_s(job, plan->now, ran_s);
    double left_s = parking_remaining(again_s, known_s(plan->cluster, job, ever_s), ever_s);
    uint64_t limit_us = job_limit_left_us(job, plan->now);

    return limit_us != NEVER_US ? fmin(left_s, seconds(limit_us)) : left_s;
}

struct parking_job park_facts(const struct plan *plan, const struct job *job, double again_s)
{
    struct times times = times_of(job, plan->now);
    uint64_t undone_us = times.held_us;
    uint64_t parked_us = plan->now.wall_us - MIN_OF(job->parked_wall_us, plan->now.wall_us);
    struct parking_job facts = { .ran_s = seconds(times.ran_us) };

    if (job->spec->checkpoint_path != NULL)
        undone_us = job->spec->checkpoint_period_us;
    facts.remaining_s = remaining_s(plan, job, again_s, facts.ran_s);
    facts.cost_s = restart_s(job, again_s) + seconds(undone_us) + seconds(job->spec->grace_us);
    facts.since_s = job->n_parked == 0 ? -1 : seconds(parked_us);
    return facts;
}

double park_loan_s(const struct plan *plan, const struct job *job, double again_s)
{
    double told_s = seconds(job->spec->expected_us);

    /* a job that has outrun its owner's guess is expected to take longer and longer */
    if (told_s == 0 && job_length_is_seen(plan->cluster, job))
        told_s = job_expected_s(plan->cluster, job);
    return fmax(again_s, LOAN_TIMES * (told_s > 0 ? told_s : again_s));
}

double park_length_s(const struct plan *plan, const struct job *job, double again_s)
{
    return remaining_s(plan, job, again_s, 0);
}
