/* SPDX-License-Identifier: Apache-2.0 */
/* node_starts.c - what starts that fail say of a node
 *
 * A ready node on which the processes of three different jobs could not be started within ten
 * minutes, and none could, is quarantined. A job that cannot be started on another node either does
 * not count, until one of its processes runs on some node: then those that failed it are to blame.
 *
 * Where the job may be at fault as well (enum start_doubt), only that proof counts, and it is a
 * stronger one: a shell runs before it finds no python3. A program is proved by AT_ONCE_US, or by
 * an end of another kind. A user who asks for what one node has not must not close it to others: so
 * accounts and folders count when they are of two users. */
#include "scheduler/core/model/node_starts.h"

#include <utlist.h>

#include "scheduler/core/base/deadline.h"
#include "scheduler/core/base/digest.h"
#include "scheduler/core/model/cluster.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/job_hasty.h"
#include "scheduler/core/model/job_restarts.h"
#include "scheduler/core/model/node.h"
#include "scheduler/core/model/process.h"
#include "scheduler/core/model/states.h"
#include "shared/clock.h"
#include "shared/macro.h"

#define QUARANTINE_AFTER 3
#define QUARANTINE_WITHIN_US (600 * USEC_PER_SEC)

static bool is_recent(const struct start_failure *failure, struct instant now)
{
    return now.now_us - failure->at_us <= QUARANTINE_WITHIN_US;
}

/* n_start_failures: it did not fail there */
static uint32_t find(const struct node *node, uint64_t who, struct instant now)
{
    uint32_t i = 0;

    while (i < node->n_start_failures &&
           !(node->start_failures[i].who == who && is_recent(&node->start_failures[i], now)))
        i++;
    return i;
}

/* NULL: it did not fail on that one, or that one is here */
static struct start_failure *find_elsewhere(struct node *node, const struct node *here,
                                            uint64_t who, struct instant now)
{
    uint32_t i = node != here ? find(node, who, now) : node->n_start_failures;

    return i < node->n_start_failures ? &node->start_failures[i] : NULL;
}

/* It fails on other nodes as well: that is remembered there, and none is to blame. Linear in the
 * nodes: it happens for failed starts only, each of which cost an agent a fork. */
static void look_elsewhere(struct cluster *cluster, const struct node *here,
                           struct start_failure *failure, struct instant now)
{
    for (struct node *node = cluster->nodes; node != NULL; node = node->hh.next) {
        struct start_failure *other = find_elsewhere(node, here, failure->who, now);

        if (other == NULL)
            continue;
        other->fails_elsewhere = failure->fails_elsewhere = true;
        failure->starts_elsewhere |= other->starts_elsewhere;
    }
}

static uint64_t digest_job(const struct job *job)
{
    return digest_text(digest_text(0, job->user), job->spec->name);
}

bool node_failed_to_start(const struct node *node, const struct job *job, struct instant now)
{
    return node->n_start_failures > 0 && find(node, digest_job(job), now) < node->n_start_failures;
}

/* Keeps the last different ones; one that fails again is the newest again. */
static void note_start_failure(struct node *node, const struct start_failure *failure,
                               struct instant now)
{
    struct start_failure newest = *failure;
    uint32_t n = 0;

    for (uint32_t i = 0; i < node->n_start_failures; i++) {
        const struct start_failure *old = &node->start_failures[i];

        if (old->who == failure->who) {
            newest.fails_elsewhere |= old->fails_elsewhere;
            newest.starts_elsewhere |= old->starts_elsewhere && is_recent(old, now);
            newest.others_start |= old->others_start;
            newest.doubt = MIN_OF(newest.doubt, old->doubt);
        } else if (is_recent(old, now)) {
            node->start_failures[n++] = *old;
        }
    }
    if (n == START_FAILURES_MAX) {
        n--;
        memmove(&node->start_failures[0], &node->start_failures[1],
                n * sizeof node->start_failures[0]);
    }
    node->start_failures[n++] = newest;
    node->n_start_failures = n;
}

/* One job that cannot be started is that job's fault, and so is one that cannot be started
 * anywhere, however often it is submitted; several different ones that fail here and not everywhere
 * are the node's. */
static bool is_blamed(const struct start_failure *failure)
{
    return !failure->others_start && (failure->starts_elsewhere ||
                                      (failure->doubt == DOUBT_NONE && !failure->fails_elsewhere));
}

static uint32_t count_blaming(const struct node *node, struct instant now)
{
    const struct start_failure *first = NULL;
    uint32_t blaming = 0, requests = 0;
    bool one_user = true;

    for (uint32_t i = 0; i < node->n_start_failures; i++) {
        const struct start_failure *failure = &node->start_failures[i];

        if (!is_blamed(failure) || !is_recent(failure, now))
            continue;
        first = first != NULL ? first : failure;
        one_user = one_user && failure->user == first->user;
        requests += failure->doubt == DOUBT_REQUEST;
        blaming++;
    }
    return one_user ? blaming - requests : blaming;
}

static void judge(struct cluster *cluster, struct node *node, struct instant now)
{
    if (node->state == NODE_READY && count_blaming(node, now) >= QUARANTINE_AFTER)
        node_quarantine(cluster, node, now);
}

void node_start_failed(struct cluster *cluster, struct node *node, struct job *job,
                       enum start_doubt doubt, struct instant now)
{
    struct start_failure failure = { .who = digest_job(job),
                                     .user = digest_text(0, job->user),
                                     .at_us = now.now_us,
                                     .doubt = doubt };

    if (node->state != NODE_READY)
        return;
    if (doubt == DOUBT_NONE)
        job->start_failed = true;
    else
        job->start_doubted = true;
    look_elsewhere(cluster, node, &failure, now);
    note_start_failure(node, &failure, now);
    judge(cluster, node, now);
}

/* That they failed it is news of them after all. Linear in the nodes, but at most once for each
 * start that failed. */
static void blame_others(struct cluster *cluster, const struct node *here, const struct job *job,
                         bool doubted, struct instant now)
{
    uint64_t who = digest_job(job);

    for (struct node *node = cluster->nodes; node != NULL; node = node->hh.next) {
        struct start_failure *failure = find_elsewhere(node, here, who, now);

        if (failure == NULL || (failure->doubt != DOUBT_NONE) != doubted)
            continue;
        failure->starts_elsewhere = true;
        judge(cluster, node, now);
    }
}

static void others_start(struct node *node, bool doubted)
{
    for (uint32_t i = 0; i < node->n_start_failures; i++)
        if ((node->start_failures[i].doubt != DOUBT_NONE) == doubted)
            node->start_failures[i].others_start = true;
}

void node_started(struct cluster *cluster, struct node *node, struct job *job, struct instant now)
{
    others_start(node, false);
    if (job->start_failed)
        blame_others(cluster, node, job, false, now);
    job->start_failed = false;
    if (node->n_start_failures > 0 || job->start_doubted)
        deadline_set(&cluster->deadlines, &job->proof, DEADLINE_PROOF,
                     MIN_OF(deadline_at(&job->proof), now.now_us + AT_ONCE_US));
}

void node_proved(struct cluster *cluster, struct node *node, struct job *job, struct instant now)
{
    others_start(node, true);
    if (job->start_doubted)
        blame_others(cluster, node, job, true, now);
    job->start_doubted = false;
}

void job_proof_fell_due(struct cluster *cluster, struct job *job, struct instant now)
{
    uint64_t next_us = NEVER_US;

    for (uint32_t r = 0; r < job->spec->n_roles; r++)
        for (uint32_t i = 0; i < job->n_slots[r]; i++) {
            const struct process *process = job->slots[r][i].live;
            uint64_t ran_us;

            if (process == NULL || process->state != PROCESS_RUNNING)
                continue;
            ran_us = process_ran_for_us(process, now);
            if (ran_us >= AT_ONCE_US)
                node_proved(cluster, process->node, job, now);
            else
                next_us = MIN_OF(next_us, now.now_us + AT_ONCE_US - ran_us);
        }
    deadline_set(&cluster->deadlines, &job->proof, DEADLINE_PROOF, next_us);
}
