/* SPDX-License-Identifier: Apache-2.0 */
/* next_orders.c - orders that came while older ones are still being carried out
 *
 * Decisions of the core by the older ones speak of them by index, so that the newer ones wait until
 * that is done. Each orders say all: of several the newest count. */
#include "agent/agent_internal.h"
#include "agent/core/agent_core.h"
#include "agent/files/file_reads.h"
#include "agent/logs/logs.h"
#include "agent/session/sessions.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/log.h"

void agent_take_next_orders(struct agent *a)
{
    orders_clear(&a->orders);
    a->orders = a->next;
    a->next = (struct orders){ 0 };
    a->has_next = false;
    agent_core_orders(a->core, a->orders.list, a->orders.n, a->next_asked_us,
                      clock_read_us(CLOCK_BOOTTIME));
}

void agent_drop_next_orders(struct agent *a)
{
    orders_clear(&a->next);
    a->has_next = false;
}

bool agent_on_orders(const json_t *answer, uint64_t asked_us, uint64_t now_us, void *userdata)
{
    struct agent *a = userdata;
    struct edl_error error = { 0 };
    struct orders orders;

    (void)now_us; /* they are taken later */
    if (orders_parse(answer, &orders, &error) < 0) {
        (void)log_failure(&error, "orders are not understood and not followed");
        return false;
    }
    agent_drop_next_orders(a);
    a->next = orders;
    a->has_next = true;
    a->next_asked_us = asked_us;
    logs_follow(a->logs, a->next.logs, a->next.n_logs);
    file_reads_follow(a->file_reads, json_object_get(answer, "reads"));
    sessions_follow(a->sessions, json_object_get(answer, "sessions"), a->accounts);
    agent_decided(a);
    return true;
}
