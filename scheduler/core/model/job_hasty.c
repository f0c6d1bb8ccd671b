/* SPDX-License-Identifier: Apache-2.0 */
/* job_hasty.c - a job whose processes end at once on a node backs off there
 *
 * Each slot has a back-off of its own (process_sm.c), and its first failure waits for no longer
 * than the document says. A job of a thousand slots could so keep its node busy with firsts. So the
 * failures of all its slots on one node are counted together, in rounds: those are of one round
 * that had been placed before the first of them failed. From the second round on a failed process
 * waits for 100 ms at least, doubled with each further round, up to a minute. A process that ran
 * for AT_ONCE_US or ended with success shows that the node can run the job: the count begins anew.
 * Volatile: after a restart the count begins anew as well. */
#include "scheduler/core/model/job_hasty.h"

#include <stdlib.h>
#include <string.h>

#include "scheduler/core/base/digest.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/job_restarts.h"
#include "scheduler/core/model/process.h"
#include "shared/clock.h"
#include "shared/macro.h"

#define HASTY_NODES_MAX 16 /* the last ones on which it failed at once */

struct hasty {
    uint64_t node; /* digest of its name */
    uint32_t rounds;
    uint64_t since_wall_us; /* the round's first failure */
    uint64_t until_us;      /* a process that failed in this round is not started again before */
};

static struct hasty *find(const struct job *job, uint64_t node)
{
    for (uint32_t i = 0; i < job->n_hasty; i++)
        if (job->hasty[i].node == node)
            return &job->hasty[i];
    return NULL;
}

static void drop(struct job *job, struct hasty *hasty)
{
    struct hasty *end = job->hasty + job->n_hasty--;

    memmove(hasty, hasty + 1, (size_t)(end - (hasty + 1)) * sizeof *hasty);
}

/* The oldest one gives way. */
static struct hasty *add(struct job *job, uint64_t node)
{
    struct hasty *made;

    if (job->hasty == NULL)
        job->hasty = xcalloc(HASTY_NODES_MAX, sizeof *job->hasty);
    if (job->n_hasty == HASTY_NODES_MAX)
        drop(job, &job->hasty[0]);
    made = &job->hasty[job->n_hasty++];
    *made = (struct hasty){ .node = node };
    return made;
}

static uint64_t wait_us(uint32_t rounds)
{
    uint64_t us = rounds > 1 ? BACKOFF_LEAST_US : 0;

    for (uint32_t i = 2; i < rounds && us < BACKOFF_MAX_US; i++)
        us *= 2;
    return MIN_OF(us, BACKOFF_MAX_US);
}

uint64_t job_hasty_failed(struct job *job, const struct process *process, struct instant now)
{
    uint64_t node = digest_text(0, process->node_name);
    struct hasty *hasty = find(job, node);

    if (process_ran_for_us(process, now) >= AT_ONCE_US) {
        job_hasty_ran(job, process);
        return 0;
    }
    if (hasty == NULL)
        hasty = add(job, node);
    if (now.wall_us > hasty->since_wall_us + 2 * BACKOFF_MAX_US)
        hasty->rounds = 0; /* long ago: others of the job ran well since */
    if (hasty->rounds == 0 || process->assigned_wall_us >= hasty->since_wall_us) {
        hasty->rounds++;
        hasty->since_wall_us = now.wall_us;
        hasty->until_us = now.now_us + wait_us(hasty->rounds);
    }
    return hasty->until_us;
}

void job_hasty_ran(struct job *job, const struct process *process)
{
    struct hasty *hasty = find(job, digest_text(0, process->node_name));

    if (hasty != NULL)
        drop(job, hasty);
}

void job_hasty_copy(struct job *to, const struct job *from)
{
    if (from->n_hasty == 0)
        return;
    to->hasty = xcalloc(HASTY_NODES_MAX, sizeof *to->hasty);
    memcpy(to->hasty, from->hasty, from->n_hasty * sizeof *to->hasty);
    to->n_hasty = from->n_hasty;
}

void job_hasty_forget(struct job *job)
{
    free(job->hasty);
    job->hasty = NULL;
    job->n_hasty = 0;
}
