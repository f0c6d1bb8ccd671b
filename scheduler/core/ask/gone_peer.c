/* SPDX-License-Identifier: Apache-2.0 */
/* gone_peer.c - processes that seem to wait for one of their role that has ended
 *
 * No process tells of its waiting. These signs show it: it has used next to no processor for
 * minutes, takes no tasks, tells no steps, and meets nobody by the rendezvous. And one beside it
 * has ended. A program that spins while it waits is not seen. */
#include "scheduler/core/ask/gone_peer.h"

#include <inttypes.h>
#include <stdio.h>
#include <utlist.h>

#include "scheduler/core/model/job.h"
#include "scheduler/core/model/job_roles.h"
#include "scheduler/core/model/process.h"
#include "scheduler/core/model/states.h"
#include "shared/macro.h"

static uint64_t since_us(uint64_t then_us, uint64_t now_us)
{
    return now_us > then_us ? now_us - then_us : 0;
}

/* Those of a service or of a role of servers wait for callers. */
static bool role_computes(const struct job *job, uint32_t role)
{
    return job->spec->mode != JOB_MODE_SERVICE && job_role_works(job, role) &&
           !streq(job->spec->roles[role].name, "teacher");
}

static bool does_nothing(const struct process *process, struct instant now)
{
    bool told = process->steps != NULL || process->arrived || process->generation != 0;

    return !told && !process->stands_still && process->quiet_us != 0 &&
           since_us(process->quiet_us, now.now_us) >= GONE_PEER_US;
}

static const struct process *last_to_end(const struct job *job, struct instant now)
{
    const struct process *process, *last = NULL;

    DL_FOREACH2(job->processes, process, job_next)
    {
        if (process_state_is_final(process->state) && process->started_wall_us != 0 &&
            role_computes(job, process->role) &&
            since_us(process->ended_wall_us, now.wall_us) >= GONE_PEER_US &&
            (last == NULL || process->ended_wall_us > last->ended_wall_us))
            last = process;
    }
    return last;
}

void job_gone_peer(const struct job *job, struct instant now, struct gone_peer *ret)
{
    const struct process *last = last_to_end(job, now), *process;
    uint32_t waiting = 0;
    bool left_behind = false; /* somebody that ran beside it */

    *ret = (struct gone_peer){ 0 };
    if (last == NULL || job->queue != NULL || !job_is_started(job))
        return;
    DL_FOREACH2(job->processes, process, job_next)
    {
        if (process->role != last->role || process_state_is_final(process->state))
            continue;
        if (!does_nothing(process, now))
            return;
        left_behind |= process->started_wall_us < last->ended_wall_us;
        waiting++;
    }
    if (left_behind)
        *ret = (struct gone_peer){ .process = last,
                                   .waiting = waiting,
                                   .gone_us = since_us(last->ended_wall_us, now.wall_us) };
}

const char *gone_peer_text(const struct gone_peer *gone, char *buffer, size_t size)
{
    const struct process *process = gone->process;

    buffer[0] = '\0';
    if (process == NULL)
        return buffer;
    (void)snprintf(
        buffer, size,
        "%" PRIu32 " %s for %s-%" PRIu32 ", which ended %" PRIu64
        " min ago, and use no processor: a program with a fixed world in an elastic job? "
        "It wants --min N --max N; edl-job(5) tells how a program follows",
        gone->waiting, gone->waiting == 1 ? "process seems to wait" : "processes seem to wait",
        process->job->spec->roles[process->role].name, process->index,
        gone->gone_us / (60 * USEC_PER_SEC));
    return buffer;
}
