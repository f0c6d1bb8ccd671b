/* SPDX-License-Identifier: Apache-2.0 */
/* past_refusals.c - refusals of nodes in the last ten minutes, also of jobs that are over
 *
 * Decides nothing: a job that is submitted finds out for itself (unfit_nodes.c), since the account
 * or the folder may be there by now. A caller that asks for a forecast is told of no start that
 * would be refused. The newest are kept, and a restart forgets them. */
#include "scheduler/core/model/past_refusals.h"

#include <stdio.h>

#include "scheduler/core/base/digest.h"
#include "scheduler/core/model/cluster.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/node.h"
#include "scheduler/core/model/process.h"
#include "scheduler/core/model/unfit_nodes.h"
#include "shared/clock.h"
#include "shared/job_spec.h"
#include "shared/node_name.h"
#include "shared/printable.h"
#include "shared/workspace_id.h"

#define PAST_REFUSALS_MAX 64
#define KEPT_US (600 * USEC_PER_SEC)

struct past_refusal {
    char node[NODE_NAME_MAX + 1];
    enum unfit why;
    uint64_t what; /* digest of the account, and of the folder if that was refused */
    uint64_t until_us;
    char text[UNFIT_TEXT_SIZE];
};

struct past_refusals {
    struct past_refusal items[PAST_REFUSALS_MAX]; /* oldest first */
    size_t n;
};

static uint64_t digest_of(const struct job *job, uint32_t role, enum unfit why)
{
    const struct job_spec *spec = job->spec;
    const char *workspace =
        spec->workspace_folder != NULL && workspace_is_kept(spec->roles[role].workspace)
            ? spec->workspace_folder
            : spec->roles[role].workspace;
    uint64_t digest = digest_text(0, spec->user[0] != '\0' ? spec->user : job->user);

    return why == UNFIT_NO_WORKSPACE ? digest_text(digest, workspace != NULL ? workspace : "")
                                     : digest;
}

static void drop(struct past_refusals *past, size_t at)
{
    past->n--;
    memmove(&past->items[at], &past->items[at + 1], (past->n - at) * sizeof *past->items);
}

void past_refusals_note(struct cluster *cluster, const struct process *process, enum unfit why,
                        const char *text, struct instant now)
{
    struct past_refusals *past = cluster->past_refusals;
    uint64_t what = digest_of(process->job, process->role, why);
    struct past_refusal *item;

    if (past == NULL)
        past = cluster->past_refusals = xcalloc(1, sizeof *past);
    for (size_t i = 0; i < past->n; i++)
        if (past->items[i].what == what && past->items[i].why == why &&
            streq(past->items[i].node, process->node->name)) {
            drop(past, i);
            break;
        }
    if (past->n == PAST_REFUSALS_MAX)
        drop(past, 0);
    item = &past->items[past->n++];
    *item = (struct past_refusal){ .why = why, .what = what, .until_us = now.now_us + KEPT_US };
    (void)snprintf(item->node, sizeof item->node, "%s", process->node->name);
    (void)snprintf(item->text, sizeof item->text, "%.*s",
                   printable_prefix(text, sizeof item->text - 1), text);
}

void past_refusals_ran(struct cluster *cluster, const struct process *process)
{
    struct past_refusals *past = cluster->past_refusals;

    for (size_t i = past != NULL ? past->n : 0; i-- > 0;)
        if (streq(past->items[i].node, process->node->name) &&
            past->items[i].what == digest_of(process->job, process->role, past->items[i].why))
            drop(past, i);
}

void past_refusals_copy(struct cluster *copy, const struct cluster *cluster)
{
    if (cluster->past_refusals == NULL)
        return;
    copy->past_refusals = xcalloc(1, sizeof *copy->past_refusals);
    *copy->past_refusals = *cluster->past_refusals;
}

bool past_refusals_any(const struct cluster *cluster)
{
    return cluster->past_refusals != NULL && cluster->past_refusals->n > 0;
}

void job_expect_refusals(struct cluster *copy, struct job *job, struct instant now)
{
    const struct past_refusals *past = copy->past_refusals;

    for (size_t i = 0; past != NULL && i < past->n; i++) {
        const struct past_refusal *item = &past->items[i];
        const struct node *node = cluster_node(copy, item->node);

        for (uint32_t r = 0; node != NULL && r < job->spec->n_roles; r++)
            if (item->until_us > now.now_us && item->what == digest_of(job, r, item->why))
                job_expect_unfit(job, node, r, item->why, item->text);
    }
}
