/* SPDX-License-Identifier: Apache-2.0 */
/* time_limit.c - how long a job may run, counted over all its runs */
#include "scheduler/core/model/time_limit.h"

#include <inttypes.h>
#include <stdio.h>

#include "scheduler/core/base/deadline.h"
#include "scheduler/core/model/cause.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/effects.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/job_sm.h"
#include "shared/clock.h"
#include "shared/job_spec.h"
#include "shared/macro.h"

static uint64_t this_run_us(const struct job *job, struct instant now)
{
    uint64_t from_us = job->runs_from_wall_us;

    return from_us == 0 ? 0 : now.wall_us - MIN_OF(from_us, now.wall_us);
}

uint64_t job_run_us(const struct job *job, struct instant now)
{
    return job->ran_us + this_run_us(job, now);
}

uint64_t job_limit_left_us(const struct job *job, struct instant now)
{
    uint64_t run_us = job_run_us(job, now);

    if (job->spec->time_limit_us == 0)
        return NEVER_US;
    return job->spec->time_limit_us - MIN_OF(run_us, job->spec->time_limit_us);
}

void job_watch_limit(struct cluster *cluster, struct job *job, struct instant now)
{
    uint64_t left_us = job_limit_left_us(job, now);
    bool counts = job->runs_from_wall_us != 0 && left_us != NEVER_US;

    deadline_set(&cluster->deadlines, &job->limit, DEADLINE_LIMIT,
                 counts ? now.now_us + left_us : NEVER_US);
}

void job_count_run(struct cluster *cluster, struct job *job, enum job_state to, struct instant now)
{
    if (to == JOB_RUNNING && job->runs_from_wall_us == 0) {
        job->runs_from_wall_us = MAX_OF(now.wall_us, 1);
    } else if (to == JOB_QUEUED || job_state_is_final(to)) {
        job->ran_us = job_run_us(job, now);
        job->runs_from_wall_us = 0;
    } else {
        return;
    }
    job_watch_limit(cluster, job, now);
}

/* "2h", "90m", "30s", "none": in the largest unit that loses nothing of whole seconds */
static const char *limit_text(uint64_t us, char *text, size_t size)
{
    static const struct {
        uint64_t s;
        char unit;
    } units[] = { { 3600, 'h' }, { 60, 'm' }, { 1, 's' } };
    uint64_t s = us / USEC_PER_SEC;
    size_t i = 0;

    if (s == 0)
        return "none";
    while (s % units[i].s != 0)
        i++;
    (void)snprintf(text, size, "%" PRIu64 "%c", s / units[i].s, units[i].unit);
    return text;
}

void job_set_limit(struct cluster *cluster, struct job *job, uint64_t limit_us, struct instant now)
{
    char was[32], is[32];

    effect_event(cluster, now, job, "", "job-limited", "time limit %s -> %s",
                 limit_text(job->spec->time_limit_us, was, sizeof was),
                 limit_text(limit_us, is, sizeof is));
    job->spec->time_limit_us = limit_us;
    job_watch_limit(cluster, job, now);
}

void job_ran_out(struct cluster *cluster, struct job *job, struct instant now)
{
    char text[32];

    if (job_limit_left_us(job, now) > 0) { /* the clock of restarts knows better */
        job_watch_limit(cluster, job, now);
        return;
    }
    job_kill(cluster, job, now, CAUSE_TIME_LIMIT, "it has run for its time limit, %s",
             limit_text(job->spec->time_limit_us, text, sizeof text));
}
