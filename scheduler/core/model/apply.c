/* SPDX-License-Identifier: Apache-2.0 */
/* apply.c - the acts of a plan, as values */
#include "scheduler/core/model/apply.h"

#include <inttypes.h>
#include <stdio.h>

#include "scheduler/core/model/cluster.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/effects.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/job_servers.h"
#include "scheduler/core/model/job_sm.h"
#include "scheduler/core/model/node.h"
#include "scheduler/core/model/process.h"
#include "scheduler/core/model/process_sm.h"
#include "scheduler/core/model/resize_text.h"
#include "scheduler/core/model/waiting.h"

/* An act, and those that it speaks of, as far as they are there. */
struct doing {
    const struct act *act;
    struct job *job;
    struct process *process;
    struct node *node;
    struct slot *slot;
    struct instant now;
};

static bool bill(struct cluster *cluster, const struct doing *doing)
{
    doing->job->served = doing->act->served;
    doing->job->charged = doing->act->charged;
    effect_save_job(cluster, doing->job);
    return true;
}

static bool paid(struct cluster *cluster, const struct doing *doing)
{
    (void)cluster;
    doing->job->settled = true;
    return true;
}

static bool servers(struct cluster *cluster, const struct doing *doing)
{
    job_unfile(cluster, doing->job); /* it asks for something else from now on */
    job_fix_servers(cluster, doing->job, doing->act->n);
    return true;
}

static bool start(struct cluster *cluster, const struct doing *doing)
{
    struct job *job = doing->job;

    job_unfile(cluster, job);
    if (doing->act->n == 1)
        job_set_reason(cluster, job, CAUSE_STARTING, "its process is being started");
    else
        job_set_reason(cluster, job, CAUSE_STARTING, "all of its %u processes are being started",
                       doing->act->n);
    job->parked_for = 0;
    job->goes_first = false;
    return job_set_state(cluster, job, JOB_STARTING, doing->now);
}

static bool run(struct cluster *cluster, const struct doing *doing)
{
    return process_assign(cluster, doing->job, doing->act->role, doing->act->index, doing->node,
                          doing->now);
}

static bool stop(struct cluster *cluster, const struct doing *doing)
{
    process_stop(cluster, doing->process, doing->act->again, doing->act->cause, doing->act->text,
                 doing->now);
    return true;
}

static bool move(struct cluster *cluster, const struct doing *doing)
{
    struct process *process = doing->process;
    char name[ROLE_NAME_MAX + 16];

    process_name(process, name, sizeof name);
    (void)snprintf(process->reason, sizeof process->reason, "%s", doing->act->text);
    effect_process_event(cluster, doing->now, process, doing->act->event, "%s: %s", name,
                         doing->act->text);
    if (doing->act->for_job != 0)
        cluster->figures.instances_exchanged++;
    else
        cluster->figures.stragglers_moved++;
    process->node->moved_away += doing->act->n;
    return true;
}

static bool size(struct cluster *cluster, const struct doing *doing)
{
    (void)cluster;
    job_decided(doing->job, doing->act->resize, "%s", doing->act->text);
    return true;
}

static bool target(struct cluster *cluster, const struct doing *doing)
{
    job_set_target(cluster, doing->job, doing->act->role, doing->act->n, doing->now);
    return true;
}

static bool gives(struct cluster *cluster, const struct doing *doing)
{
    (void)cluster;
    doing->job->gives = doing->act->n;
    return true;
}

static bool forgo(struct cluster *cluster, const struct doing *doing)
{
    slot_set_due(cluster, doing->job, doing->act->role, doing->act->index, false);
    return true;
}

static bool exchange(struct cluster *cluster, const struct doing *doing)
{
    (void)cluster;
    doing->job->exchange = (struct exchange){ .with = doing->act->for_job,
                                              .role = doing->act->role,
                                              .index = doing->act->index };
    return true;
}

static bool delay(struct cluster *cluster, const struct doing *doing)
{
    doing->slot->not_before_us = doing->act->us;
    job_touch(cluster, doing->job);
    return true;
}

static bool requeue(struct cluster *cluster, const struct doing *doing)
{
    job_stop(cluster, doing->job, doing->now, INTENT_REQUEUED, doing->act->cause, "%s",
             doing->act->text);
    return true;
}

static bool park(struct cluster *cluster, const struct doing *doing)
{
    struct job *job = doing->job;

    job->parked_for = doing->act->for_job;
    job->parked_wall_us = job->turn_wall_us = doing->now.wall_us;
    job->n_parked++;
    cluster->figures.jobs_parked++;
    return requeue(cluster, doing);
}

static bool first(struct cluster *cluster, const struct doing *doing)
{
    job_unfile(cluster, doing->job);
    doing->job->goes_first = true;
    doing->job->turn_wall_us = 0;
    job_file(cluster, doing->job);
    effect_save_job(cluster, doing->job);
    cluster->plan_wanted = true;
    return true;
}

static bool waits(struct cluster *cluster, const struct doing *doing)
{
    (void)cluster;
    doing->job->waits_for_room = doing->act->n > 0;
    return true;
}

static bool drains(struct cluster *cluster, const struct doing *doing)
{
    struct node *node = doing->node;

    (void)snprintf(node->waits, sizeof node->waits, "%s", doing->act->text);
    if (*node->waits != '\0')
        effect_event(cluster, doing->now, NULL, node->name, "node-drain-waits", "%s %s", node->name,
                     node->waits);
    return true;
}

static bool event(struct cluster *cluster, const struct doing *doing)
{
    effect_event(cluster, doing->now, doing->job, "", doing->act->event, "%s", doing->act->text);
    return true;
}

static bool reason(struct cluster *cluster, const struct doing *doing)
{
    job_set_reason(cluster, doing->job, doing->act->cause, "%s", doing->act->text);
    return true;
}

static bool settle(struct cluster *cluster, const struct doing *doing)
{
    job_settle(cluster, doing->job, doing->now);
    return true;
}

/* The things that an act speaks of. */
enum { OF_JOB = 1, OF_PROCESS = 2, OF_NODE = 4, OF_SLOT = 8 };

static const struct {
    const char *name;
    unsigned of;
    bool (*fn)(struct cluster *cluster, const struct doing *doing);
} acts[_ACTS] = {
    [ACT_BILL] = { "bill", OF_JOB, bill },
    [ACT_PAID] = { "paid", OF_JOB, paid },
    [ACT_SERVERS] = { "servers", OF_JOB, servers },
    [ACT_START] = { "start", OF_JOB, start },
    [ACT_RUN] = { "run", OF_JOB | OF_SLOT | OF_NODE, run },
    [ACT_STOP] = { "stop", OF_JOB | OF_PROCESS, stop },
    [ACT_MOVE] = { "move", OF_JOB | OF_PROCESS, move },
    [ACT_SIZE] = { "size", OF_JOB, size },
    [ACT_TARGET] = { "target", OF_JOB, target },
    [ACT_GIVES] = { "gives", OF_JOB, gives },
    [ACT_FORGO] = { "forgo", OF_JOB | OF_SLOT, forgo },
    [ACT_EXCHANGE] = { "exchange", OF_JOB, exchange },
    [ACT_DELAY] = { "delay", OF_JOB | OF_SLOT, delay },
    [ACT_REQUEUE] = { "requeue", OF_JOB, requeue },
    [ACT_PARK] = { "park", OF_JOB, park },
    [ACT_FIRST] = { "first", OF_JOB, first },
    [ACT_WAITS] = { "waits", OF_JOB, waits },
    [ACT_DRAINS] = { "drains", OF_NODE, drains },
    [ACT_EVENT] = { "event", OF_JOB, event },
    [ACT_REASON] = { "reason", OF_JOB, reason },
    [ACT_SETTLE] = { "settle", OF_JOB, settle },
};

static bool has(const struct act *act, unsigned of)
{
    return (acts[act->kind].of & of) != 0;
}

/* act_apply - see apply.h */
bool act_apply(struct cluster *cluster, const struct act *act, struct instant now)
{
    struct doing doing = { .act = act, .now = now };
    struct job *job = has(act, OF_JOB) ? cluster_job(cluster, act->job) : NULL;

    doing.job = job;
    if (has(act, OF_NODE))
        doing.node = cluster_node(cluster, act->node);
    if (job != NULL && has(act, OF_PROCESS))
        doing.process = job_find_process(job, act->role, act->index, act->incarnation);
    if (job != NULL && has(act, OF_SLOT) && act->role < job->spec->n_roles &&
        act->index < job->n_slots[act->role])
        doing.slot = &job->slots[act->role][act->index];
    if ((has(act, OF_JOB) && job == NULL) || (has(act, OF_NODE) && doing.node == NULL) ||
        (has(act, OF_PROCESS) && doing.process == NULL) ||
        (has(act, OF_SLOT) && doing.slot == NULL))
        return false;
    return acts[act->kind].fn(cluster, &doing);
}

static size_t put(char *buffer, size_t size, size_t used, const char *before, const char *text)
{
    int n = snprintf(buffer + used, size - used, "%s%s", before, text);

    return n < 0 ? used : MIN_OF(used + (size_t)n, size - 1);
}

/* act_describe - see apply.h */
char *act_describe(const struct cluster *cluster, const struct act *act, char *buffer, size_t size)
{
    const struct job *job = cluster_job(cluster, act->job);
    size_t used = put(buffer, size, 0, "", acts[act->kind].name);
    char text[64];

    if (job != NULL)
        used = put(buffer, size, used, " ", job->spec->name);
    if (job != NULL && (has(act, OF_PROCESS | OF_SLOT) || act->kind == ACT_TARGET))
        used = put(buffer, size, used, " ", job->spec->roles[act->role].name);
    (void)snprintf(text, sizeof text, "-%" PRIu32, act->index);
    if (has(act, OF_PROCESS | OF_SLOT))
        used = put(buffer, size, used, "", text);
    (void)snprintf(text, sizeof text, " %" PRIu32, act->n);
    if (act->n > 0)
        used = put(buffer, size, used, "", text);
    if (act->node != NULL)
        used = put(buffer, size, used, " on ", act->node);
    (void)snprintf(text, sizeof text, " for job %" PRIu64, act->for_job);
    if (act->for_job != 0)
        used = put(buffer, size, used, "", text);
    if (act->again)
        used = put(buffer, size, used, "", ", again");
    if (act->cause != CAUSE_NONE)
        used = put(buffer, size, used, " because ", cause_to_string(act->cause));
    if (act->kind == ACT_SIZE)
        used = put(buffer, size, used, " because ", resize_reason_to_string(act->resize));
    if (act->text != NULL && *act->text != '\0')
        (void)put(buffer, size, used, ": ", act->text);
    return buffer;
}
