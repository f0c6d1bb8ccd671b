/* SPDX-License-Identifier: Apache-2.0 */
/* server_calls.c - what each call does to the core, and its answer; as scheduler/api_*.c do it */
#include <errno.h>
#include <inttypes.h>
#include <utlist.h>

#include "scheduler/core/base/queue_rules.h"
#include "scheduler/core/core.h"
#include "scheduler/core/check/spoil.h"
#include "scheduler/core/model/job_names.h"
#include "shared/cleanup.h"
#include "simulator/internal.h"

#define LEASE_WAIT_MAX_US (20 * USEC_PER_SEC)
#define INFLATION 1000 /* SIM_MUTANT_REQUEST_INFLATED */

static int status_of(int r)
{
    return r == 0 ? 200 : error_code_http_status(r);
}

static bool has_effects(const struct sim *sim)
{
    size_t n;

    (void)cluster_effects(sim->server->cluster, &n);
    return n > 0;
}

/* Of what is forgotten nobody is told, and an order neither. */
bool server_has_news(const struct sim *sim)
{
    size_t n;
    const struct effect *effects = cluster_effects(sim->server->cluster, &n);

    for (size_t i = 0; i < n; i++)
        if (effects[i].kind != EFFECT_FORGET_PROCESS)
            return true;
    return false;
}

static bool is_ahead(const struct sim *sim)
{
    return has_effects(sim) || cluster_has_news(sim->server->cluster);
}

/* An error that the core gave may speak of what is not on disk yet. */
static void refuse(struct sim *sim, const struct message *request, int status)
{
    struct message *answer = answer_new(sim, request, status);

    if (is_ahead(sim))
        server_hold(sim, answer);
    else
        send_answer(sim, answer);
}

/* The node that calls, if it shows its credential; else NULL and refused. */
static struct node *caller(struct sim *sim, const struct message *request)
{
    struct node *node = cluster_node(sim->server->cluster, sim->nodes[request->node]->name);

    if (node != NULL && request->credential != 0 &&
        strtoull(node->credential_hash, NULL, 16) == request->credential)
        return node;
    refuse(sim, request, 401);
    return NULL;
}

/* The process that calls, by its whole name; NULL and refused. */
static struct process *calling_process(struct sim *sim, const struct message *request)
{
    const struct job *job = cluster_job(sim->server->cluster, request->who.job_id);
    struct process *process = job == NULL
                                  ? NULL
                                  : job_find_process(job, request->who.role, request->who.index,
                                                     request->who.incarnation);
    struct node *node =
        process == NULL ? NULL : cluster_node(sim->server->cluster, process->node_name);

    if (process == NULL || node == NULL ||
        strtoull(node->credential_hash, NULL, 16) != request->credential) {
        refuse(sim, request, 401);
        return NULL;
    }
    return process;
}

static void on_join(struct sim *sim, struct message *request)
{
    struct server *server = sim->server;
    const char *name = sim->nodes[request->node]->name;
    bool known = cluster_node(server->cluster, name) != NULL;
    struct message *answer;
    struct node *node;
    char hash[24];
    uint64_t credential = random_u64(&server->random) | 1;
    int r;

    (void)snprintf(hash, sizeof hash, "%" PRIx64, credential);
    r = cluster_join_node(server->cluster, name, hash, request->offer, server_instant(sim), &node,
                          NULL);
    if (r < 0) {
        refuse(sim, request, status_of(r));
        return;
    }
    if (!known)
        node->orders_version = server->run << 48 | (++server->joins << 20);
    answer = answer_new(sim, request, 201);
    answer->credential = credential;
    answer->lease_us = sim->config.lease_us;
    server_hold(sim, answer);
}

/* SIM_MUTANT_PROCESS_NOT_COUNTED: the last running process of a report is left out. */
static size_t leave_out(const struct sim *sim, const struct message *request)
{
    const struct report_data *data = request->report;

    if (sim->config.mutant == SIM_MUTANT_PROCESS_NOT_COUNTED && data->n > 1 &&
        data->items[data->n - 1].state == PROCESS_RUNNING)
        return data->n - 1;
    return data->n;
}

/* SIM_MUTANT_EXIT_HIDDEN */
static void hide_exits(const struct sim *sim, struct report_data *data)
{
    if (sim->config.mutant != SIM_MUTANT_EXIT_HIDDEN)
        return;
    for (size_t i = 0; i < data->n; i++)
        data->items[i].state = PROCESS_RUNNING;
}

/* SIM_MUTANT_SUCCESS_FAILS */
static void blame(const struct sim *sim, struct report_data *data)
{
    if (sim->config.mutant != SIM_MUTANT_SUCCESS_FAILS)
        return;
    for (size_t i = 0; i < data->n; i++)
        if (data->items[i].state == PROCESS_EXITED && data->items[i].exit_code == 0)
            data->items[i].exit_code = 1;
}

/* SIM_MUTANT_NOBODY_SPARED */
static void fail_with_one(const struct sim *sim)
{
    struct job *job, *next;

    DL_FOREACH_SAFE2(cluster_active_jobs(sim->server->cluster), job, next, active_next)
    {
        uint32_t n = 0;

        for (uint32_t r = 0; r < job->spec->n_roles; r++)
            n += job->counts[r].given_up;
        if (n == 0 || job->state == JOB_STOPPING)
            continue;
        (void)cluster_kill_job(sim->server->cluster, job, NULL, server_instant(sim), NULL);
        job->cause = CAUSE_PROCESS_FAILED;
        job->intent = INTENT_FAILED;
    }
}

/* hear_early - a report counts as if it repeated what no answer has told its node yet */
static int hear_early(struct sim *sim, struct node *node, struct node_report *report, int r)
{
    if (r == EDL_ESTALE) {
        report->session = node->session;
        r = cluster_report(sim->server->cluster, node, report, server_instant(sim), NULL);
    }
    if (r == 0 && node->start_session != 0) {
        report->session = node->start_session;
        r = cluster_report(sim->server->cluster, node, report, server_instant(sim), NULL);
    }
    return r;
}

static void on_report(struct sim *sim, struct message *request)
{
    struct node *node = caller(sim, request);
    struct node_report report = { .boot_id = request->boot_id,
                                  .sent_us = request->sent_us,
                                  .session = request->session,
                                  .foreign_cpu_millicores = request->foreign_cpu_millicores,
                                  .foreign_memory_bytes = request->foreign_memory_bytes,
                                  .processes = request->report->items,
                                  .n_processes = leave_out(sim, request),
                                  .complete = true };
    struct message *answer;
    int r;

    if (node == NULL)
        return;
    hide_exits(sim, request->report);
    blame(sim, request->report);
    report.offer = *request->offer;
    if (sim->config.mutant == SIM_MUTANT_FOREIGN_HIDDEN)
        report.foreign_cpu_millicores = report.foreign_memory_bytes = 0;
    r = cluster_report(sim->server->cluster, node, &report, server_instant(sim), NULL);
    if (sim->config.mutant == SIM_MUTANT_AWAY_SHARE_EARLY)
        r = hear_early(sim, node, &report, r);
    if (sim->config.mutant == SIM_MUTANT_NOBODY_SPARED)
        fail_with_one(sim);
    answer = answer_new(sim, request, status_of(r));
    answer->lease_us = sim->config.lease_us;
    answer->next_report_us = cluster_next_report_us(sim->server->cluster);
    answer->session = r == EDL_ESTALE ? node->session : node->start_session;
    server_hold(sim, answer);
}

static void on_orders(struct sim *sim, struct message *request)
{
    const struct node *node = caller(sim, request);
    struct message *waiter;

    if (node == NULL)
        return;
    if (!request->has_version || request->version != node->orders_version ||
        request->wait_us == 0 || sim->server->tells_away) {
        struct message *answer = answer_new(sim, request, 200);

        if (is_ahead(sim))
            server_hold(sim, answer);
        else
            server_answer_orders(sim, answer);
        return;
    }
    waiter = message_new(sim, CALL_ORDERS);
    waiter->node = request->node;
    waiter->call = request->call;
    waiter->has_version = true;
    waiter->version = request->version;
    waiter->arrived_us = sim->now_us;
    DL_APPEND(sim->server->orders_waiters[request->node], waiter);
    server_after(sim, request->wait_us, EVENT_POLL_END, request->node, request->call);
}

/* --- tasks --- */

static struct task_queue *make_queue(const struct sim *sim, const struct job *job,
                                     const struct sim_work *work)
{
    struct task_queue_config config = queue_rules(job->spec);
    struct task_queue *queue;

    if (sim->config.mutant == SIM_MUTANT_TASKS_DISCARDED_EARLY)
        config.failures_max = 0;
    if (sim->config.mutant == SIM_MUTANT_TASKS_TAKEN_EARLY)
        config.lease_timeout_us = 3 * USEC_PER_SEC;
    if (sim->config.mutant == SIM_MUTANT_TASKS_NEVER_TAKEN)
        config.lease_timeout_us = config.lease_least_us = NEVER_US / 2;
    queue = task_queue_new(&config);
    for (uint32_t i = 0; i < work->tasks; i++) {
        const struct task_chunk chunk = { .path = "data",
                                          .offset_bytes = i,
                                          .n_records = work->records_per_task };

        (void)task_queue_add(queue, &chunk, 1);
    }
    return queue;
}

static void on_dataset(struct sim *sim, struct message *request)
{
    struct process *process = calling_process(sim, request);
    const struct truth_job *truth = ledger_job(sim, request->who.job_id);
    struct task_queue *queue;
    int r;

    if (process == NULL)
        return;
    queue = make_queue(sim, process->job, &sim->submissions[truth->submission].work);
    r = cluster_set_dataset(sim->server->cluster, process->job, queue, "d", server_instant(sim),
                            NULL);
    if (r < 0) {
        (void)task_queue_free(queue);
        refuse(sim, request, status_of(r));
        return;
    }
    server_hold(sim, answer_new(sim, request, 200));
}

/* true: it was answered */
static bool poll_lease(struct sim *sim, const struct message *request, bool last)
{
    struct job *job = cluster_job(sim->server->cluster, request->who.job_id);
    struct process *holder =
        job_find_process(job, request->who.role, request->who.index, request->who.incarnation);
    enum task_lease_result result;
    struct task *task = NULL;
    bool save_model = false;
    struct message *answer;
    int r = cluster_lease_task(sim->server->cluster, holder, NULL, 0, server_instant(sim), &result,
                               &task, &save_model, NULL);

    if (r == 0 && result == TASK_LEASE_WAIT && !last)
        return false;
    answer = answer_new(sim, request, status_of(r));
    if (r == 0 && result == TASK_LEASE_GIVEN) {
        answer->ref = (struct task_ref){ task->id, task_queue_pass(job->queue), task->lease, 0 };
        ledger_task_leased(sim, job, task, holder->incarnation);
    }
    answer->finished = r == 0 && result == TASK_LEASE_FINISHED;
    answer->wait = r == 0 && result == TASK_LEASE_WAIT;
    answer->save_model =
        save_model || (answer->finished && sim->config.mutant == SIM_MUTANT_SAVERS_MANY);
    if (save_model && sim->config.mutant == SIM_MUTANT_SAVE_ASSUMED)
        answer->save_model =
            cluster_model_saved(sim->server->cluster, holder, NULL, server_instant(sim), NULL) < 0;
    if (answer->save_model)
        ledger_saver(sim, PENDING_SAVER, job, holder->incarnation);
    if (r < 0 || answer->wait)
        send_answer(sim, answer);
    else
        server_hold(sim, answer);
    return true;
}

static void on_lease(struct sim *sim, struct message *request)
{
    const struct process *process = calling_process(sim, request);
    struct message *waiter;

    if (process == NULL || poll_lease(sim, request, request->wait_us == 0))
        return;
    waiter = message_new(sim, CALL_LEASE);
    waiter->node = request->node;
    waiter->call = request->call;
    waiter->process = request->process;
    waiter->who = request->who;
    waiter->wait_us = sim->now_us + MIN_OF(request->wait_us, LEASE_WAIT_MAX_US);
    DL_APPEND(ledger_job(sim, request->who.job_id)->waiters[sim->server->index], waiter);
    server_at(sim, waiter->wait_us, EVENT_LEASE_END, (uint32_t)request->who.job_id, request->call);
}

void server_serve_tasks(struct sim *sim, struct truth_job *job)
{
    struct message **waiters = &job->waiters[sim->server->index];
    struct message *list = *waiters;
    struct message *waiter;
    struct message *next;

    *waiters = NULL;
    DL_FOREACH_SAFE(list, waiter, next)
    {
        DL_DELETE(list, waiter);
        if (poll_lease(sim, waiter, sim->now_us >= waiter->wait_us))
            (void)message_free(sim, waiter);
        else
            DL_APPEND(*waiters, waiter);
    }
}

/* SIM_MUTANT_STALE_FINISH_ACCEPTED: whoever holds the task now is said to have called */
static int finish_as_holder(struct sim *sim, struct job *job, const struct task_ref *ref)
{
    const struct task *task = task_queue_task(job->queue, ref->task);

    for (struct process *p = job->processes; task != NULL && p != NULL; p = p->job_next)
        if (p->incarnation == task->holder && task->state == TASK_LEASED)
            return cluster_finish_task(sim->server->cluster, p, ref->task,
                                       task_queue_pass(job->queue), task->lease,
                                       server_instant(sim), NULL);
    return EDL_ESTALE;
}

static void on_finish(struct sim *sim, struct message *request)
{
    struct process *process = calling_process(sim, request);
    const struct task_finish end = { .task = request->ref.task,
                                     .pass = request->ref.pass,
                                     .lease = request->ref.lease,
                                     .lost_records = request->ref.lost,
                                     .lost_chunks = request->ref.lost > 0 ? 1 : 0 };
    int r;

    if (process == NULL)
        return;
    if (sim->config.mutant == SIM_MUTANT_LOSS_IGNORED)
        r = cluster_finish_task(sim->server->cluster, process, end.task, end.pass, end.lease,
                                server_instant(sim), NULL);
    else
        r = cluster_end_task(sim->server->cluster, process, &end, server_instant(sim), NULL);
    if (r == EDL_ESTALE && sim->config.mutant == SIM_MUTANT_STALE_FINISH_ACCEPTED)
        r = finish_as_holder(sim, process->job, &request->ref);
    sim->seen[SIM_SEEN_STALE_FINISHES] += r == EDL_ESTALE;
    if (r == 0)
        ledger_task_ended(sim, PENDING_FINISH, process->job, &request->ref,
                          request->who.incarnation);
    if (r < 0)
        refuse(sim, request, status_of(r));
    else
        server_hold(sim, answer_new(sim, request, 200));
}

static void on_fail(struct sim *sim, struct message *request)
{
    struct process *process = calling_process(sim, request);
    int r;

    if (process == NULL)
        return;
    r = cluster_fail_task(sim->server->cluster, process, request->ref.task, request->ref.pass,
                          request->ref.lease, request->returned, NULL, server_instant(sim), NULL);
    if (r == 0)
        ledger_task_ended(sim, request->returned ? PENDING_RETURN : PENDING_FAIL, process->job,
                          &request->ref, request->who.incarnation);
    if (r < 0)
        refuse(sim, request, status_of(r));
    else
        server_hold(sim, answer_new(sim, request, 200));
}

static void on_saved(struct sim *sim, struct message *request)
{
    struct process *process = calling_process(sim, request);
    int r;

    if (process == NULL)
        return;
    r = cluster_model_saved(sim->server->cluster, process, "/out/model", server_instant(sim), NULL);
    if (r == 0)
        ledger_saver(sim, PENDING_SAVED, process->job, process->incarnation);
    if (r < 0)
        refuse(sim, request, status_of(r));
    else
        server_hold(sim, answer_new(sim, request, 200));
}

/* --- people --- */

static void spoil_spec(const struct sim *sim, struct job_spec *spec)
{
    if (sim->config.mutant == SIM_MUTANT_PARKED_UNASKED) {
        spec->parking = JOB_PARKING_ALLOWED;
        if (spec->checkpoint_path == NULL)
            spec->checkpoint_path = xstrdup("/shared");
        spec->checkpoint_period_us = MAX_OF(spec->checkpoint_period_us, 1U);
    }
    for (size_t i = 0; i < spec->n_roles; i++) {
        if (sim->config.mutant == SIM_MUTANT_GANG_BY_HALVES)
            spec->roles[i].min = 1;
        if (sim->config.mutant == SIM_MUTANT_MAX_EXCEEDED &&
            spec->roles[i].max > spec->roles[i].min)
            spec->roles[i].max += 3;
        if (sim->config.mutant == SIM_MUTANT_MAX_LOWERED)
            spec->roles[i].max = spec->roles[i].min;
        if (sim->config.mutant == SIM_MUTANT_SELECTOR_IGNORED)
            free(TAKE_PTR(spec->roles[i].selector));
        if (sim->config.mutant == SIM_MUTANT_PINS_IGNORED)
            role_forget_nodes(&spec->roles[i]);
        if (sim->config.mutant == SIM_MUTANT_REQUEST_INFLATED)
            spec->roles[i].cpu_millicores *= INFLATION;
    }
}

/* The job that this very request made, as its Idempotency-Key tells: asked again, also long after
 * the job ended and its name was free, it makes no other. */
static const struct truth_job *made_before(const struct sim *sim, uint32_t submission)
{
    for (uint64_t id = 0; id < sim->ledger.n_jobs; id++)
        if (sim->ledger.jobs[id] != NULL && sim->ledger.jobs[id]->submission == submission &&
            (sim->ledger.jobs[id]->exists || sim->ledger.jobs[id]->made_run == sim->server->run))
            return sim->ledger.jobs[id];
    return NULL;
}

static bool answer_again(struct sim *sim, const struct message *request)
{
    const struct truth_job *made = made_before(sim, sim->operations[request->op].submission);
    struct message *answer;

    if (made == NULL)
        return false;
    answer = answer_new(sim, request, 201);
    answer->job_id = made->id;
    server_hold(sim, answer); /* it may be of this very turn */
    return true;
}

static const char *user_of(const struct sim *sim, uint32_t submission)
{
    uint32_t user = sim->submissions[submission].user;

    if (sim->submissions[submission].user_name[0] != '\0')
        return sim->submissions[submission].user_name;
    if (!sim->config.groups)
        return "sim";
    return groups_user(sim->config.mutant == SIM_MUTANT_USER_MISTAKEN ? 0 : user);
}

static void on_submit(struct sim *sim, struct message *request)
{
    const struct operation *op = &sim->operations[request->op];
    struct job_spec *spec;
    struct message *answer;
    struct job *job;
    int r;

    if (answer_again(sim, request))
        return;
    spec = job_spec_copy(sim->submissions[op->submission].spec);
    job = cluster_own_job(sim->server->cluster, user_of(sim, op->submission), spec->name);
    spoil_spec(sim, spec);
    if (sim->config.mutant == SIM_MUTANT_NUMBER_REUSED)
        spoil_number(sim->server->cluster);
    r = cluster_submit(sim->server->cluster, spec, user_of(sim, op->submission),
                       server_instant(sim), &job, NULL);
    if (r < 0)
        (void)job_spec_free(spec);
    else
        (void)ledger_job_made(sim, job, op->submission);
    answer = answer_new(sim, request, r == 0 ? 201 : status_of(r));
    /* the document of a name that is taken tells whose it is */
    answer->job_id = job != NULL ? job->id : 0;
    if (r == 0 || is_ahead(sim)) /* that a name is taken may be news, too */
        server_hold(sim, answer);
    else
        send_answer(sim, answer);
}

/* What is stopping ends as it was to end, but what was to be queued again. */
static bool is_ending(const struct job *job)
{
    return job_state_is_final(job->state) ||
           (job->state == JOB_STOPPING && job->intent != INTENT_REQUEUED);
}

static void on_kill(struct sim *sim, struct message *request)
{
    struct job *job = cluster_job(sim->server->cluster, request->job_id);
    bool was_ending = job == NULL || is_ending(job);
    int r = job == NULL
                ? -ENOENT
                : cluster_kill_job(sim->server->cluster, job, NULL, server_instant(sim), NULL);

    if (r == 0 && !was_ending)
        ledger_killed(sim, job);
    if (r == 0 && sim->config.mutant == SIM_MUTANT_KILL_FAILS)
        job->intent = INTENT_FAILED;
    if (r < 0)
        refuse(sim, request, status_of(r));
    else
        server_hold(sim, answer_new(sim, request, 200));
}

static void on_scale(struct sim *sim, struct message *request)
{
    const struct operation *op = &sim->operations[request->op];
    struct job *job = cluster_job(sim->server->cluster, request->job_id);
    uint32_t min = sim->config.mutant == SIM_MUTANT_MINIMUM_LOWERED ? MIN_OF(op->min, 1U) : op->min;
    int r = job == NULL ? -ENOENT
                        : cluster_scale_job(sim->server->cluster, job, op->role, min, op->max,
                                            server_instant(sim), NULL);

    if (r == 0)
        ledger_scaled(sim, job, request->op);
    if (r < 0)
        refuse(sim, request, status_of(r));
    else
        server_hold(sim, answer_new(sim, request, 200));
}

static void on_prioritise(struct sim *sim, struct message *request)
{
    const struct operation *op = &sim->operations[request->op];
    struct job *job = cluster_job(sim->server->cluster, request->job_id);
    const struct job_change change = { .prioritise =
                                           sim->config.mutant != SIM_MUTANT_PRIORITY_IGNORED,
                                       .priority = op->priority };
    int r = job == NULL
                ? -ENOENT
                : cluster_change_job(sim->server->cluster, job, &change, server_instant(sim), NULL);

    if (r == 0)
        ledger_prioritised(sim, job, request->op);
    if (r < 0)
        refuse(sim, request, status_of(r));
    else
        server_hold(sim, answer_new(sim, request, 200));
}

static enum node_state spoil_state(const struct sim *sim, enum node_state state)
{
    if (sim->config.mutant == SIM_MUTANT_CORDON_IGNORED)
        return NODE_READY;
    return sim->config.mutant == SIM_MUTANT_DRAIN_AS_CORDON && state == NODE_DRAINING
               ? NODE_CORDONED
               : state;
}

static void on_node_state(struct sim *sim, struct message *request)
{
    const struct operation *op = &sim->operations[request->op];
    struct node *node = cluster_node(sim->server->cluster, sim->nodes[op->node]->name);
    enum node_state state = spoil_state(sim, op->state);
    int r = node == NULL ? -ENOENT
                         : cluster_set_node_state(sim->server->cluster, node, state,
                                                  server_instant(sim), NULL);

    if (r == 0)
        ledger_node_told(sim, request->op);
    if (r < 0)
        refuse(sim, request, status_of(r));
    else
        server_hold(sim, answer_new(sim, request, 200));
}

static void on_node_remove(struct sim *sim, struct message *request)
{
    uint32_t number = sim->operations[request->op].node;
    struct node *node = cluster_node(sim->server->cluster, sim->nodes[number]->name);
    int r = node == NULL
                ? 0 /* it was removed, and the answer lost */
                : cluster_remove_node(sim->server->cluster, node, server_instant(sim), NULL);

    if (r < 0)
        refuse(sim, request, status_of(r));
    else
        server_hold(sim, answer_new(sim, request, 200));
    if (r == 0 && node != NULL) {
        ledger_node_told(sim, request->op);
        server_node_removed(sim, number);
    }
}

static void (*const handlers[_CALL_MAX])(struct sim *, struct message *) = {
    [CALL_JOIN] = on_join,
    [CALL_REPORT] = on_report,
    [CALL_ORDERS] = on_orders,
    [CALL_DATASET] = on_dataset,
    [CALL_LEASE] = on_lease,
    [CALL_FINISH] = on_finish,
    [CALL_FAIL] = on_fail,
    [CALL_SAVED] = on_saved,
    [CALL_SUBMIT] = on_submit,
    [CALL_KILL] = on_kill,
    [CALL_SCALE] = on_scale,
    [CALL_NODE_STATE] = on_node_state,
    [CALL_NODE_REMOVE] = on_node_remove,
    [CALL_PRIORITISE] = on_prioritise,
};

void server_handle(struct sim *sim, struct message *take_request)
{
    handlers[take_request->kind](sim, take_request);
    (void)message_free(sim, take_request);
}

void server_on_lease_end(struct sim *sim, uint32_t job, uint64_t call)
{
    struct truth_job *truth = ledger_job(sim, job);
    struct message *waiter;

    if (!sim->server->up || truth == NULL)
        return;
    DL_FOREACH(truth->waiters[sim->server->index], waiter)
    if (waiter->call == call)
        break;
    if (waiter == NULL)
        return;
    if (sim->server->busy) { /* the loop is in the commit: a moment later */
        server_after(sim, USEC_PER_MSEC, EVENT_LEASE_END, job, call);
        return;
    }
    DL_DELETE(truth->waiters[sim->server->index], waiter);
    waiter->wait_us = 0;
    waiter->generation = sim->server->generation;
    waiter->server = sim->server->index;
    waiter->term = 0;
    server_receive(sim, waiter);
}
