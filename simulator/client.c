/* SPDX-License-Identifier: Apache-2.0 */
/* client.c - people: submit, kill, scale, give priorities, drain; they try again until they are
 * answered
 *
 * An answer that was lost leaves a client not knowing; it asks again. A submission whose name is
 * taken then is its own: names are unique here. */
#include "simulator/internal.h"

#define TIMEOUT_US (10 * USEC_PER_SEC)
#define WAITS_FOR_JOB_US USEC_PER_SEC
#define RETRY_LEAST_US (200 * USEC_PER_MSEC)
#define RETRY_MOST_US (5 * USEC_PER_SEC)

static void retry_later(struct sim *sim, uint32_t number)
{
    struct operation *op = &sim->operations[number];
    uint64_t most_us = MIN_OF(RETRY_LEAST_US << MIN_OF(op->failures, 6U), RETRY_MOST_US);

    op->failures++;
    op->call = 0;
    op->at = sim->n_servers > 1 ? 1 - op->at : 0;
    sim_after(sim, most_us / 2 + random_below(&op->random, most_us / 2), EVENT_CLIENT, number, 0);
}

static void call(struct sim *sim, uint32_t number)
{
    struct operation *op = &sim->operations[number];
    struct message *message = message_new(sim, op->kind);

    if (op->kind == CALL_SUBMIT && sim->submissions[op->submission].submitted_us == NEVER_US)
        sim->submissions[op->submission].submitted_us = sim->now_us;
    message->op = number;
    message->call = op->call = ++sim->call_serial;
    if (op->submission != NOBODY)
        message->job_id = sim->submissions[op->submission].job_id;
    send_request(sim, message);
    sim_after(sim, TIMEOUT_US, EVENT_CLIENT, number, op->call);
}

void client_on_event(struct sim *sim, uint32_t number, uint64_t which)
{
    struct operation *op = &sim->operations[number];

    if (op->done || which != op->call)
        return;
    if (which != 0)
        retry_later(sim, number); /* no answer came */
    else if (op->kind != CALL_SUBMIT && op->submission != NOBODY &&
             sim->submissions[op->submission].job_id == 0)
        sim_after(sim, WAITS_FOR_JOB_US, EVENT_CLIENT, number, 0);
    else
        call(sim, number);
}

static void on_submitted(struct sim *sim, struct operation *op, const struct message *answer)
{
    struct submission *submission = &sim->submissions[op->submission];

    op->done = answer->status == 201 || answer->status == 409;
    if (!op->done)
        return;
    submission->job_id = answer->job_id;
    submission->acknowledged_us = sim->now_us;
}

void client_answer(struct sim *sim, const struct message *answer)
{
    struct operation *op = &sim->operations[answer->op];

    if (op->done || answer->call != op->call)
        return;
    if (op->kind == CALL_SUBMIT)
        on_submitted(sim, op, answer);
    else /* what is not possible any more, is not */
        op->done = answer->status == 200 || answer->status == 409 || answer->status == 400 ||
                   answer->status == 422;
    if (!op->done) {
        retry_later(sim, answer->op);
        return;
    }
    op->acknowledged = answer->status == 200 || answer->status == 201;
    if (op->acknowledged)
        ledger_acknowledged(sim, op);
}
