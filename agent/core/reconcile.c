/* SPDX-License-Identifier: Apache-2.0 */
/* reconcile.c - desired x observed -> actions
 *
 * Orders bring processes to life or explain why they do not; processes are stopped or forgotten.
 * The two loops do not overlap: a start that must wait for an older incarnation is simply not
 * given. The older one's STOP comes from the second loop, and its end calls us again. Quadratic on
 * purpose: its caller hands in one slot, which has few of either (agent_core.c). */
#include "agent/core/reconcile.h"

static const struct reconcile_order *order_of(const struct reconcile_order *orders, size_t n_orders,
                                              const struct process_id *id)
{
    for (size_t i = 0; i < n_orders; i++)
        if (process_id_equal(&orders[i].id, id))
            return &orders[i];
    return NULL;
}

/* superseded - is a newer incarnation of this slot to run? */
static bool superseded(const struct reconcile_order *orders, size_t n_orders,
                       const struct process_id *id)
{
    for (size_t i = 0; i < n_orders; i++)
        if (orders[i].run && orders[i].id.incarnation > id->incarnation &&
            process_id_same_slot(&orders[i].id, id))
            return true;
    return false;
}

/* plan_order - true when *ret_kind is to be done for an order */
static bool plan_order(const struct reconcile_order *order, bool newer_ordered,
                       const struct reconcile_process *processes, size_t n_processes,
                       bool may_start, enum reconcile_kind *ret_kind)
{
    bool newer_seen = newer_ordered;
    bool older_alive = false;

    for (size_t i = 0; i < n_processes; i++) {
        const struct reconcile_process *p = &processes[i];

        if (!process_id_same_slot(&p->id, &order->id))
            continue;
        if (p->id.incarnation == order->id.incarnation)
            return false; /* it is here; the second loop looks after it */
        if (p->id.incarnation > order->id.incarnation)
            newer_seen = true;
        else if (p->state != UNIT_EXITED)
            older_alive = true;
    }
    if (!order->run)
        *ret_kind = RECONCILE_NEVER_STARTED;
    else if (newer_seen)
        *ret_kind = RECONCILE_REFUSE_STALE;
    else if (older_alive || !may_start)
        return false;
    else
        *ret_kind = RECONCILE_START;
    return true;
}

/* plan_process - true when *ret_kind is to be done for a process */
static bool plan_process(const struct reconcile_process *process,
                         const struct reconcile_order *order, bool newer_ordered, bool may_start,
                         enum reconcile_kind *ret_kind)
{
    if (process->state == UNIT_EXITED) {
        *ret_kind = RECONCILE_FORGET;
        return order == NULL;
    }
    *ret_kind = RECONCILE_STOP;
    if (process->state == UNIT_STOPPING)
        return false;
    if (order == NULL || !order->run || newer_ordered)
        return true;
    *ret_kind = RECONCILE_THAW;
    return process->frozen && may_start;
}

size_t reconcile_plan(const struct reconcile_order *orders, size_t n_orders,
                      const struct reconcile_process *processes, size_t n_processes, bool may_start,
                      struct reconcile_action *ret_actions)
{
    enum reconcile_kind kind;
    size_t n = 0;

    for (size_t i = 0; i < n_orders; i++)
        if (order_of(orders, i, &orders[i].id) == NULL && /* listed twice: the first one counts */
            plan_order(&orders[i], superseded(orders, n_orders, &orders[i].id), processes,
                       n_processes, may_start, &kind))
            ret_actions[n++] =
                (struct reconcile_action){ .kind = kind, .idx_order = i, .idx_process = SIZE_MAX };
    for (size_t i = 0; i < n_processes; i++) {
        const struct reconcile_process *p = &processes[i];
        const struct reconcile_order *order = order_of(orders, n_orders, &p->id);

        if (plan_process(p, order, superseded(orders, n_orders, &p->id), may_start, &kind))
            ret_actions[n++] =
                (struct reconcile_action){ .kind = kind,
                                           .idx_order = SIZE_MAX,
                                           .idx_process = i,
                                           .grace_us =
                                               order != NULL ? order->grace_us : p->grace_us };
    }
    return n;
}
