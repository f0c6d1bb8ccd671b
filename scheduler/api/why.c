/* SPDX-License-Identifier: Apache-2.0 */
/* why.c - GET /jobs/{job}/why: the one stated reason, an account of the nodes in numbers, the
 * change that would start it now, and when it will be over */
#include "scheduler/api/api.h"

#include <math.h>
#include <stdio.h>
#include <utlist.h>

#include "scheduler/core/ask/account.h"
#include "scheduler/core/ask/first_error.h"
#include "scheduler/core/ask/gone_peer.h"
#include "scheduler/core/ask/growth.h"
#include "scheduler/core/learn/outlook.h"
#include "scheduler/core/model/job_servers.h"
#include "scheduler/core/model/unfit_nodes.h"
#include "scheduler/core/ask/reason.h"
#include "scheduler/scheduler.h"
#include "shared/clock.h"
#include "shared/http_server.h"
#include "shared/macro.h"
#include "shared/rfc3339.h"

/* Later than that nobody plans for. */
#define OUTLOOK_MAX_S (100 * 365 * 86400.0)

static json_t *amounts(const struct resources *what)
{
    return json_pack("{s:I,s:I,s:I,s:I}", "cpu_millicores", (json_int_t)what->cpu_millicores,
                     "memory_bytes", (json_int_t)what->memory_bytes, "gpus", (json_int_t)what->gpus,
                     "ports", (json_int_t)what->ports);
}

static json_t *needs_to_json(const struct job *job, const struct job_account *account)
{
    json_t *labels = json_object();

    for (uint32_t i = 0; account->selector != NULL && i < account->selector->n; i++)
        (void)json_object_set_new(labels, account->selector->items[i].name,
                                  json_string(account->selector->items[i].value));
    return json_pack("{s:s,s:I,s:o,s:o}", "role", job->spec->roles[account->role].name, "instances",
                     (json_int_t)account->wanted, "each", amounts(&account->needs), "labels",
                     labels);
}

static json_t *nodes_to_json(const struct scheduler *scheduler, const struct job_account *account)
{
    json_t *array = json_array();

    for (size_t i = 0; i < account->n_nodes; i++) {
        const struct node_account *node = &account->nodes[i];
        char note[256];

        if (node->verdict == ACCOUNT_UNFIT)
            (void)snprintf(note, sizeof note, "%s", node->unfit->text);
        else if (node->verdict == ACCOUNT_CLOSED)
            (void)snprintf(note, sizeof note, "%s", node_reason(node->node));
        else
            (void)machine_say_gpus(machines_find(&scheduler->machines, node->node->name),
                                   node->node, note, sizeof note);
        (void)json_array_append_new(
            array, json_pack("{s:s,s:s,s:s,s:I,s:o,s:o,s:o,s:s,s:s}", "node", node->node->name,
                             "state", node_state_to_string(node->node->state), "verdict",
                             account_verdict_to_string(node->verdict), "fits",
                             (json_int_t)node->fits, "free", amounts(&node->free), "lacks",
                             amounts(&node->lacks), "foreign", amounts(&node->foreign), "unfit",
                             unfit_to_string(node->verdict == ACCOUNT_UNFIT ? node->unfit->why
                                                                            : UNFIT_NOT),
                             "note", note));
    }
    return array;
}

static json_t *others_to_json(const struct job_account *account)
{
    json_t *object = json_object();

    for (int v = 0; v < ACCOUNT_VERDICTS; v++)
        if (account->others[v] > 0)
            (void)json_object_set_new(object, account_verdict_to_string((enum account_verdict)v),
                                      json_integer(account->others[v]));
    return object;
}

static json_t *change_to_json(const struct job_account *account)
{
    if (account->change == CHANGE_NONE)
        return json_null();
    return json_pack(
        "{s:s,s:s,s:o,s:o,s:o,s:o}", "code", wait_change_to_string(account->change), "text",
        account->text, "more", amounts(&account->more), "node",
        account->on != NULL ? json_string(account->on->name) : json_null(), "job_id",
        account->before != NULL ? json_integer((json_int_t)account->before->id) : json_null(),
        "job", account->before != NULL ? json_string(account->before->spec->name) : json_null());
}

static json_t *deadline_to_json(const struct job_outlook *outlook)
{
    char at[RFC3339_MAX];

    if (!outlook->has_deadline)
        return json_null();
    return json_pack("{s:s,s:b,s:o}", "at",
                     rfc3339_format(clock_shown_us(outlook->deadline_wall_us), at), "in_time",
                     outlook->in_time, "needed",
                     outlook->needed > 0 ? json_integer(outlook->needed) : json_null());
}

static json_t *outlook_to_json(const struct job *job, struct instant now)
{
    struct job_outlook outlook;
    char ends[RFC3339_MAX];
    uint64_t left_us;

    if (!job_outlook(job, now, &outlook))
        return json_null();
    left_us = (uint64_t)fmin(outlook.left_s, OUTLOOK_MAX_S) * USEC_PER_SEC;
    return json_pack("{s:I,s:I,s:s,s:s,s:o}", "instances", (json_int_t)outlook.instances,
                     "seconds_left", (json_int_t)(left_us / USEC_PER_SEC), "ends",
                     rfc3339_format(instant_shown_us(now, now.wall_us + left_us), ends), "basis",
                     outlook.by_family ? "family" : "tasks", "deadline",
                     deadline_to_json(&outlook));
}

static json_t *gpu_types_to_json(const struct cluster *cluster, const struct job *job)
{
    struct job_gpu_type types[GPU_TYPES_MAX];
    size_t n = cluster_job_gpu_types(cluster, job, types);
    json_t *array = json_array();

    for (size_t i = 0; i < n; i++)
        (void)json_array_append_new(
            array, json_pack("{s:s,s:o,s:I,s:I}", "gpu_type", types[i].name, "speed",
                             types[i].speed > 0 ? json_real(round(1000 * types[i].speed) / 1000)
                                                : json_null(),
                             "rounds", (json_int_t)types[i].rounds, "instances",
                             (json_int_t)types[i].instances));
    return array;
}

/* What was skipped of its data is no reason for its state, but whoever asks wants to know. */
static json_t *skipped_to_json(const struct job *job)
{
    struct task_queue_counts counts = { 0 };

    if (job->queue != NULL)
        counts = task_queue_counts(job->queue);
    return json_pack("{s:I,s:I,s:I,s:I}", "tasks", (json_int_t)counts.tasks_discarded_total,
                     "records", (json_int_t)counts.records_discarded_total, "chunks_lost",
                     (json_int_t)counts.chunks_lost_total, "records_lost",
                     (json_int_t)counts.records_lost_total);
}

/* Nor is what stood still. */
static json_t *stood_still_to_json(const struct job *job)
{
    json_t *array = json_array();
    const struct process *process;
    char name[ROLE_NAME_MAX + 16];

    DL_FOREACH2(job->processes, process, job_next)
    {
        if (process->frozen_us == 0 || process_state_is_final(process->state))
            continue;
        (void)snprintf(name, sizeof name, "%s-%u", job->spec->roles[process->role].name,
                       process->index);
        (void)json_array_append_new(array, json_pack("{s:s,s:s,s:I}", "process", name, "node",
                                                     process->node_name, "frozen_us",
                                                     (json_int_t)process->frozen_us));
    }
    return array;
}

static json_t *first_error_to_json(const struct job *job)
{
    const struct process *first = job_first_error(job);
    char name[ROLE_NAME_MAX + 16];

    if (first == NULL)
        return json_null();
    (void)snprintf(name, sizeof name, "%s-%u", job->spec->roles[first->role].name, first->index);
    return json_pack("{s:s,s:s,s:I,s:s}", "process", name, "node", first->node_name, "time_us",
                     (json_int_t)clock_shown_us(process_failed_us(first)), "text",
                     process_error_text(first));
}

static json_t *waits_for_to_json(const struct job *job)
{
    struct gone_peer gone;
    char name[ROLE_NAME_MAX + 16];
    char text[GONE_PEER_TEXT_SIZE];

    job_gone_peer(job, clock_instant(), &gone);
    if (gone.process == NULL)
        return json_null();
    (void)snprintf(name, sizeof name, "%s-%u", job->spec->roles[gone.process->role].name,
                   gone.process->index);
    return json_pack("{s:s,s:I,s:I,s:s}", "process", name, "waiting", (json_int_t)gone.waiting,
                     "ended_us", (json_int_t)clock_shown_us(gone.process->ended_wall_us), "text",
                     gone_peer_text(&gone, text, sizeof text));
}

void api_job_why(struct http_request *request, void *userdata)
{
    const struct scheduler *scheduler = userdata;
    const struct job *job = api_job(userdata, request);
    struct job_account account;
    char now[JOB_REASON_SIZE];
    char servers[120];
    char growth[320];

    if (job == NULL)
        return;
    /* the reason of a waiting job has the numbers of then */
    (void)cluster_explain(scheduler->cluster, job, now, sizeof now);
    cluster_account(scheduler->cluster, job, &account);
    http_reply_json(
        request, 200,
        json_pack("{s:s,s:s,s:s,s:o,s:o,s:o,s:o,s:o,s:o,s:s,s:s,s:s,s:o,s:o,s:o,s:o}", "state",
                  job_state_to_string(job->state), "code",
                  cluster_explain_code(scheduler->cluster, job), "reason",
                  *now != '\0' ? now : job->reason, "first_error", first_error_to_json(job),
                  "needs", account.wanted > 0 ? needs_to_json(job, &account) : json_null(), "nodes",
                  nodes_to_json(scheduler, &account), "others", others_to_json(&account), "change",
                  change_to_json(&account), "outlook", outlook_to_json(job, clock_instant()),
                  "moved", job_moved(job), "growth",
                  cluster_explain_growth(scheduler->cluster, job, growth, sizeof growth),
                  "pservers", job_describe_servers(job, servers, sizeof servers), "gpu_types",
                  gpu_types_to_json(scheduler->cluster, job), "skipped", skipped_to_json(job),
                  "stood_still", stood_still_to_json(job), "waits_for", waits_for_to_json(job)));
}
