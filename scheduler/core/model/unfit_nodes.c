/* SPDX-License-Identifier: Apache-2.0 */
/* unfit_nodes.c - see unfit_nodes.h
 *
 * A refusal costs its node no more than a look-up of an account or a folder, so every job finds out
 * for itself: nothing is shared between jobs, and a user who submits again, with the folder made,
 * is not kept waiting by the findings of an earlier one. A job that no node can run fails with the
 * words of the last of them; one that waits in the queue with such a list is in a class of its
 * own. */
#include "scheduler/core/model/unfit_nodes.h"

#include <stdio.h>
#include <stdlib.h>
#include <utlist.h>

#include "scheduler/core/base/deadline.h"
#include "scheduler/core/model/cluster.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/job_roles.h"
#include "scheduler/core/model/job_sm.h"
#include "scheduler/core/model/node.h"
#include "scheduler/core/model/node_fit.h"
#include "scheduler/core/model/past_refusals.h"
#include "scheduler/core/model/process.h"
#include "scheduler/core/model/waiting.h"
#include "shared/clock.h"
#include "shared/job_spec.h"
#include "shared/macro.h"
#include "shared/printable.h"

#define FORGOTTEN_AFTER_US (600 * USEC_PER_SEC)
#define ALL_ROLES UINT32_MAX

_Static_assert(JOB_ROLES_MAX <= 32, "roles are bits of a mask");

/* What to do, with the code that a job ends by. */
static const char *const advice[_UNFITS] = {
    [UNFIT_NOT] = "no node can run it",
    [UNFIT_NO_ACCOUNT] = "no node has its account; create it there, or name another one (user)",
    [UNFIT_ACCOUNT_REFUSED] = "no node runs processes as its account",
    [UNFIT_ACCOUNT_DIFFERS] =
        ("no node has its account with the number of the scheduler's machine; give it that one "
         "there, or map it (map-user in agent.conf)"),
    [UNFIT_NO_WORKSPACE] =
        ("no node can enter its workspace; send it along (edl submit --upload .) "
         "or make it on the nodes"),
    [UNFIT_START_FAILED] = "no node can start it",
    [UNFIT_DISK_FULL] = "no node has room for it on its disk",
    [UNFIT_NO_PROGRAM] = "no node can execute its program",
};

/* What to do about one node, while others can run it. */
static const char *const remedies[_UNFITS] = {
    [UNFIT_NOT] = "",
    [UNFIT_NO_ACCOUNT] = "create the account there, or name another one (user)",
    [UNFIT_ACCOUNT_REFUSED] = "ask its owner to allow the account (agent.conf)",
    [UNFIT_ACCOUNT_DIFFERS] = ("give the account the number of the scheduler's machine there, or "
                               "map it (map-user in its agent.conf)"),
    [UNFIT_NO_WORKSPACE] = "make the folder there, or send it along (edl submit --upload .)",
    [UNFIT_START_FAILED] = "its agent's log has more",
    [UNFIT_DISK_FULL] = "make room on its disk",
    [UNFIT_NO_PROGRAM] = ("install the program there, send it along (edl submit --upload .), or "
                          "choose nodes that have it (nodeSelector)"),
};

const char *unfit_remedy(enum unfit why)
{
    return remedies[why];
}

const struct unfit_node *unfit_nodes_find(const struct unfit_nodes *unfit, const struct node *node)
{
    for (size_t i = 0; unfit != NULL && i < unfit->n; i++)
        if (unfit->items[i].node == node)
            return &unfit->items[i];
    return NULL;
}

struct unfit_nodes *unfit_nodes_free(struct unfit_nodes *unfit)
{
    if (unfit != NULL)
        free(unfit->items);
    free(unfit);
    return NULL;
}

static const char *workspace_of(const struct role_spec *role)
{
    return role->workspace != NULL ? role->workspace : "";
}

/* runs_the_same - a shell and the like may not have found one word of many: so the whole command
 * counts, and a role with another one finds out for itself */
static bool runs_the_same(const struct role_spec *a, const struct role_spec *b)
{
    size_t i = 0;

    if (a->argv == NULL || b->argv == NULL)
        return a == b;
    while (a->argv[i] != NULL && b->argv[i] != NULL && streq(a->argv[i], b->argv[i]))
        i++;
    return a->argv[i] == NULL && b->argv[i] == NULL && streq(workspace_of(a), workspace_of(b));
}

/* roles_like - an account is the job's; a workspace and a program are those of each role */
static uint32_t roles_like(const struct job *job, uint32_t role, enum unfit why)
{
    const struct role_spec *spec = job->spec->roles;
    uint32_t roles = 0;

    if (why != UNFIT_NO_WORKSPACE && why != UNFIT_NO_PROGRAM)
        return ALL_ROLES;
    for (uint32_t r = 0; r < job->spec->n_roles; r++)
        if (why == UNFIT_NO_PROGRAM ? runs_the_same(&spec[r], &spec[role])
                                    : streq(workspace_of(&spec[r]), workspace_of(&spec[role])))
            roles |= UINT32_C(1) << r;
    return roles;
}

static struct unfit_node *entry_of(struct job *job, const struct node *node)
{
    struct unfit_nodes *unfit = job->unfit;
    struct unfit_node *items;

    if (unfit == NULL)
        unfit = job->unfit = xcalloc(1, sizeof *unfit);
    for (size_t i = 0; i < unfit->n; i++)
        if (unfit->items[i].node == node)
            return &unfit->items[i];
    items = xcalloc(unfit->n + 1, sizeof *items);
    if (unfit->n > 0)
        memcpy(items, unfit->items, unfit->n * sizeof *items);
    free(unfit->items);
    unfit->items = items;
    items[unfit->n] = (struct unfit_node){ .node = node };
    return &items[unfit->n++];
}

void job_expect_unfit(struct job *job, const struct node *node, uint32_t role, enum unfit why,
                      const char *text)
{
    struct unfit_node *entry = entry_of(job, node);

    entry->roles |= roles_like(job, role, why);
    if (unfit_is_refusal(why))
        entry->refused |= roles_like(job, role, why);
    if (unfit_is_refusal(why) || entry->refused == 0) { /* that it tried in vain tells less */
        entry->why = why;
        (void)snprintf(entry->text, sizeof entry->text, "%.*s",
                       printable_prefix(text, sizeof entry->text - 1), text);
    }
}

void job_note_unfit(struct cluster *cluster, const struct process *process, enum unfit why,
                    const char *text, struct instant now)
{
    struct job *job = process->job;

    job_expect_unfit(job, process->node, process->role, why, text);
    if (unfit_is_refusal(why))
        past_refusals_note(cluster, process, why, text, now);
    deadline_set(&cluster->deadlines, &job->unfit_forgotten, DEADLINE_UNFIT,
                 now.now_us + FORGOTTEN_AFTER_US);
    cluster->plan_wanted = true;
}

/* Its class in the queue is no longer true. */
static void change(struct cluster *cluster, struct job *job, size_t at, size_t n)
{
    bool waits = job->filed;
    struct unfit_nodes *unfit = job->unfit;

    if (waits)
        job_unfile(cluster, job);
    memmove(&unfit->items[at], &unfit->items[at + n], (unfit->n - at - n) * sizeof *unfit->items);
    unfit->n -= n;
    if (unfit->n == 0)
        job->unfit = unfit_nodes_free(unfit);
    if (waits)
        job_file(cluster, job);
    job_touch(cluster, job);
    cluster->plan_wanted = true;
}

void job_unfit_fell_due(struct cluster *cluster, struct job *job)
{
    if (job->unfit != NULL)
        change(cluster, job, 0, job->unfit->n);
}

void unfit_forget_node(struct cluster *cluster, const struct node *node)
{
    struct job *job;

    DL_FOREACH2(cluster->active, job, active_next)
    for (size_t i = 0; job->unfit != NULL && i < job->unfit->n; i++)
        if (job->unfit->items[i].node == node) {
            change(cluster, job, i, 1);
            break;
        }
}

void unfit_forget_disk(struct cluster *cluster, const struct node *node)
{
    struct job *job;

    DL_FOREACH2(cluster->active, job, active_next)
    for (size_t i = 0; job->unfit != NULL && i < job->unfit->n; i++)
        if (job->unfit->items[i].node == node && job->unfit->items[i].why == UNFIT_DISK_FULL) {
            change(cluster, job, i, 1);
            break;
        }
}

void job_forget_unfit(struct cluster *cluster, struct job *job)
{
    deadline_set(&cluster->deadlines, &job->unfit_forgotten, DEADLINE_UNFIT, NEVER_US);
    job->unfit = unfit_nodes_free(job->unfit);
}

void job_copy_unfit(struct cluster *copy, struct job *to, const struct job *from)
{
    for (size_t i = 0; from->unfit != NULL && i < from->unfit->n; i++) {
        const struct node *node = cluster_node(copy, from->unfit->items[i].node->name);
        struct unfit_node *entry = entry_of(to, node);

        *entry = from->unfit->items[i];
        entry->node = node;
    }
    deadline_set(&copy->deadlines, &to->unfit_forgotten, DEADLINE_UNFIT,
                 deadline_at(&from->unfit_forgotten));
}

/* Nodes, here or away, are large enough for one of the role, and all of them refused it. */
static bool is_role_refused(const struct cluster *cluster, const struct job *job, uint32_t role)
{
    const struct role_spec *spec = &job->spec->roles[role];
    const struct node *node;
    bool any = false;

    if (spec->nodes != NULL)
        return false; /* it waits for the nodes that it names */
    for (node = cluster->nodes; node != NULL; node = node->hh.next) {
        const struct unfit_node *found = unfit_nodes_find(job->unfit, node);

        if (!node_could_hold(node, spec))
            continue;
        if (found == NULL || (found->refused >> role & 1) == 0)
            return false;
        any = true;
    }
    return any;
}

bool job_is_refused(const struct cluster *cluster, const struct job *job)
{
    for (uint32_t r = 0; job->unfit != NULL && r < job->spec->n_roles; r++)
        if (is_role_refused(cluster, job, r))
            return true;
    return false;
}

/* Those that only could not start it are tried again. */
static void forget_failed_starts(struct job *job)
{
    size_t kept = 0;

    for (size_t i = 0; job->unfit != NULL && i < job->unfit->n; i++) {
        struct unfit_node *entry = &job->unfit->items[i];

        if (entry->why != UNFIT_DISK_FULL || entry->refused != 0)
            entry->roles = entry->refused;
        if (entry->roles != 0)
            job->unfit->items[kept++] = *entry;
    }
    if (job->unfit != NULL)
        job->unfit->n = kept;
    if (kept == 0)
        job->unfit = unfit_nodes_free(job->unfit);
}

/* Else it would go straight back to where it could not be started. */
static bool has_another(const struct cluster *cluster, const struct process *process)
{
    const struct job *job = process->job;
    const struct node *node;

    for (node = cluster->nodes; node != NULL; node = node->hh.next)
        if (node_takes_processes(node) &&
            node_could_run_slot(node, job, process->role, process->index))
            return job_could_be_complete(cluster, job);
    return false;
}

/* So many nodes are alike in what they have not: the rest is not tried for it. */
static bool is_known_enough(const struct job *job)
{
    size_t n = 0;

    for (size_t i = 0; job->unfit != NULL && i < job->unfit->n; i++)
        n += job->unfit->items[i].why == UNFIT_NO_PROGRAM;
    return n >= NO_PROGRAM_NODES_MAX;
}

enum elsewhere job_note_failed_start(struct cluster *cluster, const struct process *process,
                                     enum unfit why, const char *text, struct instant now)
{
    struct job *job = process->job;
    enum elsewhere ret = ELSEWHERE_NONE;

    job_note_unfit(cluster, process, why, text, now);
    if (has_another(cluster, process))
        ret = is_known_enough(job) ? ELSEWHERE_ENOUGH : ELSEWHERE_MAYBE;
    if (ret != ELSEWHERE_MAYBE)
        forget_failed_starts(job);
    return ret;
}

/* Its node has not said yet whether it can run it. */
static bool is_asked(const struct job *job)
{
    for (uint32_t r = 0; r < job->spec->n_roles; r++)
        for (uint32_t i = 0; i < job->n_slots[r]; i++)
            if (job->slots[r][i].live != NULL && job->slots[r][i].live->state < PROCESS_RUNNING)
                return true;
    return false;
}

/* A gang that never was complete, and cannot be with the nodes that are left, holds nothing
 * meanwhile. All its nodes are heard first: maybe none can run it. */
bool job_stop_if_unfit(struct cluster *cluster, struct job *job, struct instant now)
{
    char text[JOB_REASON_SIZE];

    if (job->unfit == NULL || !job_is_started(job))
        return false;
    if (job_is_refused(cluster, job))
        job_stop(cluster, job, now, INTENT_FAILED, CAUSE_NO_NODE_RUNS_IT, "%s",
                 job_say_unfit(job, text, sizeof text));
    else if (job->state == JOB_STARTING && !is_asked(job) && !job_could_be_complete(cluster, job))
        job_stop(cluster, job, now, INTENT_REQUEUED, CAUSE_TOO_FEW_NODES, "%s",
                 job_say_too_few(job, text, sizeof text));
    else
        return false;
    return true;
}

/* The last one that refused it, or else that could not start it. */
static const struct unfit_node *telling(const struct job *job)
{
    size_t i = job->unfit->n;

    while (i > 0 && job->unfit->items[i - 1].refused == 0)
        i--;
    return &job->unfit->items[i > 0 ? i - 1 : job->unfit->n - 1];
}

char *job_say_unfit(const struct job *job, char *buffer, size_t size)
{
    const struct unfit_node *last = telling(job);

    (void)snprintf(buffer, size, "%s; %.32s: %.*s", advice[last->why], last->node->name,
                   printable_prefix(last->text, 130), last->text);
    return buffer;
}

char *job_say_too_few(const struct job *job, char *buffer, size_t size)
{
    const struct unfit_node *last = telling(job);
    char others[40] = "";

    if (job->unfit->n > 1)
        (void)snprintf(others, sizeof others, " (and %zu other%s)", job->unfit->n - 1,
                       PLURAL(job->unfit->n - 1));
    (void)snprintf(buffer, size,
                   "its minimum needs more nodes than can run it; %.32s%s cannot: %.*s; %s; they "
                   "are tried again after ten minutes",
                   last->node->name, others, printable_prefix(last->text, 130), last->text,
                   remedies[last->why]);
    return buffer;
}

char *job_describe_unfit(const struct job *job, char *buffer, size_t size)
{
    const struct unfit_node *last;
    int most;

    buffer[0] = '\0';
    if (job->unfit == NULL)
        return buffer;
    last = &job->unfit->items[job->unfit->n - 1];
    most = printable_prefix(last->text, 100);
    if (job->unfit->n == 1)
        (void)snprintf(buffer, size, "; it cannot run on %.32s: %.*s", last->node->name, most,
                       last->text);
    else
        (void)snprintf(buffer, size, "; it cannot run on %zu of the nodes, %.32s: %.*s",
                       job->unfit->n, last->node->name, most, last->text);
    return buffer;
}
