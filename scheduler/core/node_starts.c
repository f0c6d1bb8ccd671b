/* SPDX-License-Identifier: Apache-2.0 */
/* node_starts.c - what starts that fail say of a node
 *
 * A ready node on which the processes of three different jobs could not be started within ten
 * minutes, and none could, is quarantined. A job that cannot be started on another node either does
 * not count. */
#include "scheduler/core/plan_internal.h"

#define QUARANTINE_AFTER 3
#define QUARANTINE_WITHIN_US (600 * USEC_PER_SEC)

static bool is_recent(const struct start_failure *failure, struct instant now)
{
    return now.now_us - failure->at_us <= QUARANTINE_WITHIN_US;
}

/* It fails on another node as well: that is remembered there, and neither is to blame. Linear in
 * the nodes: it happens for failed starts only, each of which cost an agent a fork. */
static bool fails_elsewhere(struct cluster *cluster, const struct node *here, uint64_t who,
                            struct instant now)
{
    bool elsewhere = false;

    for (struct node *node = cluster->nodes; node != NULL; node = node->hh.next)
        for (uint32_t i = 0; node != here && i < node->n_start_failures; i++) {
            struct start_failure *failure = &node->start_failures[i];

            if (failure->who != who || !is_recent(failure, now))
                continue;
            failure->jobs_fault = true;
            elsewhere = true;
        }
    return elsewhere;
}

static uint64_t digest_job(const struct job *job)
{
    return digest_text(digest_text(0, job->user), job->spec->name);
}

bool node_failed_to_start(const struct node *node, const struct job *job, struct instant now)
{
    uint64_t who = node->n_start_failures > 0 ? digest_job(job) : 0;

    for (uint32_t i = 0; i < node->n_start_failures; i++)
        if (node->start_failures[i].who == who && is_recent(&node->start_failures[i], now))
            return true;
    return false;
}

/* Keeps the last different ones; one that fails again is the newest again. */
static void note_start_failure(struct node *node, const struct start_failure *failure,
                               struct instant now)
{
    bool jobs_fault = failure->jobs_fault;
    uint32_t n = 0;

    for (uint32_t i = 0; i < node->n_start_failures; i++) {
        const struct start_failure *old = &node->start_failures[i];

        if (old->who == failure->who)
            jobs_fault = jobs_fault || old->jobs_fault;
        else if (is_recent(old, now))
            node->start_failures[n++] = *old;
    }
    if (n == START_FAILURES_MAX) {
        n--;
        memmove(&node->start_failures[0], &node->start_failures[1],
                n * sizeof node->start_failures[0]);
    }
    node->start_failures[n] = *failure;
    node->start_failures[n++].jobs_fault = jobs_fault;
    node->n_start_failures = n;
}

/* One job that cannot be started is that job's fault, and so is one that cannot be started
 * anywhere, however often it is submitted; several different ones that fail here alone are the
 * node's. */
void node_start_failed(struct cluster *cluster, struct node *node, const struct job *job,
                       struct instant now)
{
    struct start_failure failure = { .who = digest_job(job), .at_us = now.now_us };
    uint32_t blaming = 0;

    if (node->state != NODE_READY)
        return;
    failure.jobs_fault = fails_elsewhere(cluster, node, failure.who, now);
    note_start_failure(node, &failure, now);
    for (uint32_t i = 0; i < node->n_start_failures; i++)
        blaming += !node->start_failures[i].jobs_fault;
    if (blaming < QUARANTINE_AFTER)
        return;
    node_quarantine(cluster, node, now);
}

void node_started(struct node *node)
{
    for (uint32_t i = 0; i < node->n_start_failures; i++)
        node->start_failures[i].jobs_fault = true;
}
