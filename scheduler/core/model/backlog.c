/* SPDX-License-Identifier: Apache-2.0 */
/* backlog.c - how many instances of a service have work, by what they tell of their queues
 *
 * More are wanted at once: one more while a task waits for each and they compute for three fifths
 * of their time, twice as many while four do, and one more when they compute for four fifths though
 * nothing waits. A batch takes all that waits, so an empty queue alone does not say that one more
 * would idle; and students keep some tasks waiting, so a queue alone does not say that one is
 * missing. They grow only when all that there are have told: one that starts has no part of the
 * load yet.
 *
 * Fewer are wanted when less than a task waits for each, and those that are left would compute for
 * less than two fifths of their time, and that for ten seconds. That is less than what one more is
 * wanted at, so a load that stays the same moves nothing. One that has just come computes nothing,
 * but then tasks wait for the others.
 *
 * Students offer a task to each of their teachers, so the mean counts, not the sum.
 *
 * Volatile: agents tell again. A service that begins, or is found by a scheduler that begins, keeps
 * its size until it was heard. */
#include "scheduler/core/model/backlog.h"

#include <stdio.h>
#include <stdlib.h>
#include <utlist.h>

#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/effects.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/job_roles.h"
#include "scheduler/core/model/process.h"
#include "scheduler/core/model/states.h"
#include "shared/clock.h"
#include "shared/job_spec.h"
#include "shared/macro.h"

#define WAITS 1000        /* thousandths of a task, for each: nobody is too many */
#define SHRINKS_BELOW 400 /* permille of their time that they compute */

/* While so many tasks wait for each, and each computes for so much of its time: of so many there
 * are so many times as many wanted, and so many more. The first row that holds counts. */
static const struct {
    uint32_t waiting_milli, busy_permille, times, more;
} rows[] = {
    { 4000, 600, 2, 0 },
    { WAITS, 600, 1, 1 },
    { 0, 800, 1, 1 },
    { 0, 0, 1, 0 },
};

int backlog_role(const struct job *job)
{
    int role = job_elastic_role(job);

    if (role < 0)
        return -1;
    return job->spec->mode == JOB_MODE_SERVICE || streq(job->spec->roles[role].name, BACKLOG_ROLE)
               ? role
               : -1;
}

static void look_again(struct cluster *cluster, struct backlog *backlog, struct instant now)
{
    deadline_set(&cluster->deadlines, &backlog->look, DEADLINE_BACKLOG,
                 now.now_us + BACKLOG_LOOK_US);
}

static struct backlog *backlog_of(struct job *job, uint32_t role, struct instant now)
{
    if (job->backlog == NULL) {
        job->backlog = xcalloc(1, sizeof *job->backlog);
        job->backlog->job = job;
        job->backlog->wanted = MAX_OF(job_staying(job, role), 1U);
        job->backlog->since_us = now.now_us;
    }
    return job->backlog;
}

void job_hear_backlog(struct cluster *cluster, struct job *job, struct instant now)
{
    int role = backlog_role(job);

    if (role >= 0)
        look_again(cluster, backlog_of(job, (uint32_t)role, now), now);
}

void process_take_backlog(struct cluster *cluster, struct process *process,
                          const struct backlog_told *told, struct instant now)
{
    struct job *job = process->job;

    if (!told->any || backlog_role(job) != (int)process->role)
        return;
    process->backlog = *told;
    if (job->backlog == NULL && job_is_started(job))
        job_hear_backlog(cluster, job, now);
}

/* Of the instances that are to stay; how many there are, with those that have not told. One that
 * says nothing new counts as none: its last words may be of a load that is gone. */
static uint32_t hear(struct backlog *backlog, uint32_t role)
{
    const struct process *process;
    uint64_t waiting_milli = 0, busy_permille = 0;
    uint32_t n = 0, n_told = 0;

    DL_FOREACH2(backlog->job->processes, process, job_next)
    {
        if (process->role != role || process->state >= PROCESS_STOPPING || process->backlog.old)
            continue;
        n++;
        if (process->state != PROCESS_RUNNING || !process->backlog.any)
            continue;
        n_told++;
        waiting_milli += process->backlog.waiting_milli;
        busy_permille += process->backlog.busy_permille;
    }
    if (n_told > 0) {
        backlog->n_told = n_told;
        backlog->waiting_milli = (uint32_t)(waiting_milli / n_told);
        backlog->busy_permille = (uint32_t)(busy_permille / n_told);
    }
    return n_told > 0 ? n : 0;
}

static uint32_t needed(const struct backlog *backlog, bool all_told)
{
    uint64_t computes = (uint64_t)backlog->busy_permille * backlog->n_told;
    uint32_t enough = (uint32_t)((computes + SHRINKS_BELOW - 1) / SHRINKS_BELOW);
    size_t i = 0;

    while (backlog->waiting_milli < rows[i].waiting_milli ||
           backlog->busy_permille < rows[i].busy_permille)
        i++;
    if (all_told && rows[i].times + rows[i].more > 1)
        return backlog->n_told * rows[i].times + rows[i].more;
    return backlog->waiting_milli < WAITS ? MIN_OF(enough, backlog->wanted) : backlog->wanted;
}

/* true: another number is wanted */
static bool decide(struct backlog *backlog, uint32_t need, struct instant now)
{
    if (need >= backlog->wanted) {
        bool more = need > backlog->wanted;

        backlog->wanted = need;
        backlog->most = 0;
        backlog->since_us = now.now_us;
        return more;
    }
    backlog->most = MAX_OF(backlog->most, need);
    if (now.now_us - backlog->since_us < BACKLOG_HOLD_US)
        return false;
    backlog->wanted = backlog->most;
    backlog->most = 0;
    backlog->since_us = now.now_us;
    return true;
}

static void plan_anew(struct cluster *cluster, struct job *job)
{
    job_touch(cluster, job);
    cluster->plan_wanted = true;
}

void job_backlog_fell_due(struct cluster *cluster, struct backlog *backlog, struct instant now)
{
    struct job *job = backlog->job;
    int role = backlog_role(job);
    const struct role_spec *spec;
    uint32_t n;

    if (role < 0 || !job_is_started(job)) {
        job_forget_backlog(cluster, job);
        return;
    }
    spec = &job->spec->roles[role];
    n = hear(backlog, (uint32_t)role);
    if (n == 0 && backlog->n_told == 0 && now.now_us - backlog->since_us >= BACKLOG_HOLD_US) {
        job_forget_backlog(cluster, job); /* it tells nothing */
        plan_anew(cluster, job);
        return;
    }
    if (n > 0) {
        uint32_t need = needed(backlog, backlog->n_told == n);

        if (decide(backlog, MIN_OF(MAX_OF(need, MAX_OF(spec->min, 1U)), spec->max), now))
            plan_anew(cluster, job);
    }
    look_again(cluster, backlog, now);
}

void job_forget_backlog(struct cluster *cluster, struct job *job)
{
    if (job->backlog == NULL)
        return;
    deadline_set(&cluster->deadlines, &job->backlog->look, DEADLINE_BACKLOG, NEVER_US);
    free(job->backlog);
    job->backlog = NULL;
}

void job_copy_backlog(struct cluster *copy, struct job *to, const struct job *job)
{
    uint64_t look_us;

    job_forget_backlog(copy, to);
    if (job->backlog == NULL)
        return;
    look_us = deadline_at(&job->backlog->look);
    to->backlog = xcalloc(1, sizeof *to->backlog);
    *to->backlog = *job->backlog;
    to->backlog->job = to;
    to->backlog->look = (struct deadline){ 0 };
    deadline_set(&copy->deadlines, &to->backlog->look, DEADLINE_BACKLOG, look_us);
}

uint32_t job_wanted_by_backlog(const struct job *job)
{
    return job->backlog != NULL ? job->backlog->wanted : 0;
}

char *job_describe_backlog(const struct job *job, char *buffer, size_t size)
{
    const struct backlog *backlog = job->backlog;
    int role = backlog_role(job);

    buffer[0] = '\0';
    if (backlog == NULL || backlog->n_told == 0 || role < 0)
        return buffer;
    (void)snprintf(
        buffer, size,
        "%.1f tasks wait for each %s of %u, which compute %.0f%% of the time: %u %s wanted",
        backlog->waiting_milli / 1000.0, job->spec->roles[role].name, backlog->n_told,
        backlog->busy_permille / 10.0, backlog->wanted, backlog->wanted == 1 ? "is" : "are");
    return buffer;
}
