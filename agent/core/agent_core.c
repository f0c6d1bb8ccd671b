/* SPDX-License-Identifier: Apache-2.0 */
/* agent_core.c - everything an agent decides about the processes of its node
 *
 * Every input changes the table, then plan() or plan_slot() compares it with the orders, then
 * leave() looks whether it is time to go. Each plan is in the table before it is carried out. */
#include "agent/core/agent_core.h"

#include <stdio.h>
#include <utlist.h>

#include "agent/core/agent_core_internal.h"
#include "agent/core/fence.h"
#include "agent/core/promised.h"
#include "shared/macro.h"

struct agent_core *agent_core_new(struct lease_word lease)
{
    struct agent_core *core = xcalloc(1, sizeof *core);

    core->lease = lease;
    core->goodbye_at_us = NEVER_US;
    return core;
}

/* arrived - its start is not under way any more */
static void arrived(struct agent_core *core, struct agent_unit *unit)
{
    if (unit->under_way)
        start_shares_drop(&core->shares, unit->owner);
    unit->under_way = false;
}

/* set_off - its start is under way */
static void set_off(struct agent_core *core, struct agent_unit *unit, uint64_t now_us)
{
    if (!unit->under_way)
        start_shares_add(&core->shares, unit->owner);
    unit->under_way = true;
    unit->given_us = now_us;
}

static bool set_frozen(struct agent_core *core, struct agent_unit *unit, bool frozen)
{
    bool news = unit->frozen != frozen;

    core->n_frozen += (size_t)frozen - unit->frozen;
    unit->frozen = frozen;
    return news;
}

/* unit_free - its slot stays, which may be empty now */
static void unit_free(struct agent_core *core, struct agent_unit *unit)
{
    arrived(core, unit);
    (void)set_frozen(core, unit, false);
    promised_set(&core->promised, unit, 0, 0);
    slot_remove_unit(unit);
    DL_DELETE(core->units, unit);
    free(unit);
}

struct agent_core *agent_core_free(struct agent_core *core)
{
    if (core == NULL)
        return NULL;
    while (core->units != NULL)
        unit_free(core, core->units);
    slots_free(&core->slots);
    visits_free(&core->visits);
    free(core->orders);
    free(core->order_next);
    free(core->actions);
    slot_view_clear(&core->view);
    free(core);
    return NULL;
}

/* ---- actions ---- */

struct agent_action *agent_core_add(struct agent_core *core, enum agent_action_kind kind,
                                    const struct process_id *id)
{
    struct agent_action *action;

    if (core->n_actions == core->room) {
        core->room = MAX_OF(core->room * 2, (size_t)16);
        core->actions = xreallocarray(core->actions, core->room, sizeof *core->actions);
    }
    action = &core->actions[core->n_actions++];
    *action = (struct agent_action){ .kind = kind };
    if (id != NULL)
        action->id = *id;
    return action;
}

bool agent_core_take(struct agent_core *core, struct agent_action *ret)
{
    if (core->idx_action == core->n_actions) {
        core->idx_action = core->n_actions = 0;
        return false;
    }
    *ret = core->actions[core->idx_action++];
    if (ret->kind == AGENT_REPORT)
        core->report_queued = false;
    return true;
}

void agent_core_touch(struct agent_core *core)
{
    core->all_told = false;
    if (!core->report_queued)
        (void)agent_core_add(core, AGENT_REPORT, NULL);
    core->report_queued = true;
}

const char *agent_core_unlisted(const struct agent_core *core)
{
    return core->unlisted.text;
}

/* ---- units ---- */

static struct agent_unit *find(const struct agent_core *core, const struct process_id *id)
{
    return slot_unit(slots_find(&core->slots, id), id);
}

static struct agent_unit *unit_new(struct agent_core *core, const struct process_id *id,
                                   uint64_t grace_us)
{
    struct agent_unit *unit = xcalloc(1, sizeof *unit);

    unit->id = *id;
    unit->grace_us = grace_us;
    DL_APPEND(core->units, unit);
    slot_add_unit(slots_get(&core->slots, id), unit);
    visits_unit_came(&core->visits, id->job_id);
    return unit;
}

/* move - one step of the life cycle; false when nothing changed */
static bool move(struct agent_core *core, struct agent_unit *unit, enum unit_event event)
{
    enum unit_state next;

    if (unit_sm_step(unit->state, event, &next, &core->unlisted) < 0) {
        (void)agent_core_add(core, AGENT_UNLISTED, &unit->id);
        return false;
    }
    if (next == unit->state)
        return false;
    unit->state = next;
    (void)agent_core_add(core, AGENT_MOVED, &unit->id);
    if (next == UNIT_EXITED && visits_unit_gone(&core->visits, unit->id.job_id)) {
        unit->held = unit->fault == START_FAULT_NONE;
        (void)agent_core_add(core, AGENT_EPILOG, &unit->id);
    }
    agent_core_touch(core);
    return true;
}

static void set_end(struct agent_unit *unit, int exit_code, int exit_signal, const char *reason)
{
    unit->exit_code = exit_code;
    unit->exit_signal = exit_signal;
    (void)snprintf(unit->reason, sizeof unit->reason, "%s", reason != NULL ? reason : "");
    unit->found = false;
}

/* end_unseen - it never ran here, so it has no log either */
static void end_unseen(struct agent_core *core, struct agent_unit *unit, const char *reason)
{
    promised_set(&core->promised, unit, 0, 0);
    set_end(unit, -1, 0, reason);
    unit->exit_public = true;
    unit->tail_sent = true;
    arrived(core, unit);
    (void)move(core, unit, UNIT_EVENT_GONE);
}

static void stop_unit(struct agent_core *core, struct agent_unit *unit, uint64_t grace_us)
{
    if (unit->state == UNIT_EXITED)
        return;
    agent_core_add(core, AGENT_STOP, &unit->id)->grace_us = grace_us;
    (void)move(core, unit, UNIT_EVENT_STOP);
}

/* take_facts - true when the state changed, or whether it stands still */
static bool take_facts(struct agent_core *core, struct agent_unit *unit,
                       const struct agent_facts *facts)
{
    bool news;

    if (unit->state == UNIT_EXITED) /* more of what is over changes nothing; life would be news */
        return facts->phase == AGENT_RUNNING && move(core, unit, UNIT_EVENT_STARTED);
    unit->found = facts->found;
    if (facts->phase != AGENT_STARTING)
        arrived(core, unit);
    switch (facts->phase) {
    case AGENT_STARTING:
        return false;
    case AGENT_RUNNING:
        unit->started = true;
        news = set_frozen(core, unit, facts->frozen);
        if (move(core, unit, UNIT_EVENT_STARTED))
            return true; /* both are told at once */
        if (news) {
            (void)agent_core_add(core, AGENT_MOVED, &unit->id);
            agent_core_touch(core);
        }
        return news;
    case AGENT_GONE:
        break;
    }
    (void)set_frozen(core, unit, false);
    promised_set(&core->promised, unit, 0, 0);
    set_end(unit, facts->exit_code, facts->exit_signal, facts->reason);
    unit->cause = facts->cause;
    unit->unfit = facts->unfit;
    unit->fault = facts->fault;
    return move(core, unit, UNIT_EVENT_GONE);
}

/* ---- what to do ---- */

/* may_start - not in the last third of a lease either: the fence would end it at once */
static bool may_start(const struct agent_core *core, uint64_t now_us)
{
    return !core->stopping && core->lease_us > 0 && !core->orders_void &&
           core->orders_asked_us >= core->orders_since_us &&
           now_us < fence_term_at(core->lease.deadline_us, core->lease_us);
}

static void start(struct agent_core *core, size_t idx_order, uint64_t now_us)
{
    const struct reconcile_order *order = &core->orders[idx_order];
    struct agent_unit *unit = unit_new(core, &order->id, order->grace_us);

    unit->owner = order->owner;
    set_off(core, unit, now_us);
    agent_core_add(core, AGENT_START, &unit->id)->idx_order = idx_order;
    agent_core_touch(core);
}

static void never(struct agent_core *core, size_t idx_order, const char *reason)
{
    const struct reconcile_order *order = &core->orders[idx_order];

    end_unseen(core, unit_new(core, &order->id, order->grace_us), reason);
}

static void forget(struct agent_core *core, struct agent_unit *unit)
{
    (void)agent_core_add(core, AGENT_FORGET, &unit->id);
    unit_free(core, unit);
    agent_core_touch(core);
}

static void look_at(struct agent_core *core, const struct slot *slot)
{
    struct slot_view *view = &core->view;
    struct agent_unit *unit;

    view->n_orders = view->n_units = 0;
    for (size_t i = slot->first_order; i != SLOT_NO_ORDER; i = core->order_next[i]) {
        slot_view_make_room(view, view->n_orders + 1);
        view->orders[view->n_orders] = core->orders[i];
        view->idx_orders[view->n_orders++] = i;
    }
    DL_FOREACH2(slot->units, unit, slot_next)
    {
        slot_view_make_room(view, view->n_orders + view->n_units + 1); /* one action each at most */
        view->units[view->n_units] = unit;
        view->processes[view->n_units++] = (struct reconcile_process){
            .id = unit->id, .state = unit->state, .frozen = unit->frozen, .grace_us = unit->grace_us
        };
    }
}

/* carry_out - one action for a slot; false: a start has to wait for its turn */
static bool carry_out(struct agent_core *core, const struct reconcile_action *action,
                      uint64_t now_us)
{
    const struct slot_view *view = &core->view;

    switch (action->kind) {
    case RECONCILE_START:
        if (!agent_core_may_start_more(core, view->orders[0].owner))
            return false;
        start(core, view->idx_orders[action->idx_order], now_us);
        break;
    case RECONCILE_REFUSE_STALE:
        never(core, view->idx_orders[action->idx_order],
              "stale incarnation: a newer one is known here");
        break;
    case RECONCILE_NEVER_STARTED:
        never(core, view->idx_orders[action->idx_order], "never started");
        break;
    case RECONCILE_STOP:
        stop_unit(core, view->units[action->idx_process], action->grace_us);
        break;
    case RECONCILE_THAW:
        agent_core_add(core, AGENT_THAW, &view->units[action->idx_process]->id)->epoch =
            core->lease.epoch;
        break;
    case RECONCILE_FORGET:
        forget(core, view->units[action->idx_process]);
        break;
    }
    return true;
}

/* plan_slot - one that is held keeps its turn while it wants to start */
static void plan_slot(struct agent_core *core, struct slot *slot, uint64_t now_us)
{
    const struct slot_view *view = &core->view;
    bool waits = false;
    size_t n;

    look_at(core, slot);
    n = reconcile_plan(view->orders, view->n_orders, view->processes, view->n_units,
                       may_start(core, now_us), view->actions);
    core->compared += (view->n_orders + view->n_units) * (view->n_orders + view->n_units);
    for (size_t i = 0; i < n; i++)
        waits |= !carry_out(core, &view->actions[i], now_us);
    if (waits) /* an order is there: all of a slot are of one job, and so of one owner */
        turns_add(&core->slots.turns, view->orders[0].owner, &slot->turn, slot);
    else
        turns_remove(&core->slots.turns, &slot->turn);
    slots_drop_empty(&core->slots, slot);
}

static bool may_start_of(uint64_t owner, const void *userdata)
{
    return agent_core_may_start_more(userdata, owner);
}

/* plan_held - the starts whose turn it is now */
static void plan_held(struct agent_core *core, uint64_t now_us)
{
    struct slot *slot;

    while ((slot = turns_next(&core->slots.turns, may_start_of, core)) != NULL)
        plan_slot(core, slot, now_us);
}

/* plan_unit - after something changed of it alone */
static void plan_unit(struct agent_core *core, const struct agent_unit *unit, uint64_t now_us)
{
    const struct process_id id = unit->id; /* the unit may be forgotten by the first */
    struct slot *slot;

    if (!core->have_orders)
        return;
    plan_held(core, now_us);
    slot = slots_find(&core->slots, &id);
    if (slot != NULL)
        plan_slot(core, slot, now_us);
}

static void plan(struct agent_core *core, uint64_t now_us)
{
    struct slot *slot, *next;

    if (!core->have_orders)
        return;
    plan_held(core, now_us);
    for (slot = core->slots.table; slot != NULL; slot = next) {
        next = slot->hh.next; /* a slot of which nothing is left goes */
        plan_slot(core, slot, now_us);
    }
}

void agent_core_look_whether_to_leave(struct agent_core *core, uint64_t now_us)
{
    const struct agent_unit *unit;

    if (!core->stopping || core->left)
        return;
    DL_FOREACH(core->units, unit)
    if (unit->state != UNIT_EXITED || !unit->exit_public || unit->held)
        return;
    if (core->all_told || now_us >= core->goodbye_at_us) {
        core->left = true;
        (void)agent_core_add(core, AGENT_LEAVE, NULL);
    } else if (core->goodbye_at_us == NEVER_US) {
        core->goodbye_at_us = now_us + AGENT_GOODBYE_US;
    }
}

/* ---- inputs ---- */

void agent_core_adopt(struct agent_core *core, const struct process_id *id, uint64_t grace_us,
                      const struct agent_facts *facts)
{
    struct agent_unit *unit = unit_new(core, id, grace_us);

    /* Nobody can be offered its log yet, and its end must not wait for that. */
    unit->exit_public = facts->phase == AGENT_GONE;
    (void)visits_enter(&core->visits, id->job_id, false); /* its visit may follow */
    (void)take_facts(core, unit, facts);
}

void agent_core_orders(struct agent_core *core, const struct reconcile_order *orders, size_t n,
                       uint64_t asked_us, uint64_t now_us)
{
    struct process_id deserted = { 0 };

    free(core->orders);
    free(core->order_next);
    core->orders = xcalloc(n, sizeof *core->orders);
    core->order_next = xcalloc(n, sizeof *core->order_next);
    if (n > 0)
        memcpy(core->orders, orders, n * sizeof *orders);
    core->n_orders = n;
    slots_forget_orders(&core->slots);
    for (size_t i = 0; i < n; i++)
        slot_add_order(slots_get(&core->slots, &orders[i].id), core->order_next, i);
    core->orders_asked_us = asked_us;
    core->orders_void = false;
    core->have_orders = true;
    plan(core, now_us);
    while (visits_take_deserted(&core->visits, &deserted.job_id))
        (void)agent_core_add(core, AGENT_EPILOG, &deserted);
    agent_core_look_whether_to_leave(core, now_us);
}

void agent_core_observed(struct agent_core *core, const struct process_id *id,
                         const struct agent_facts *facts, uint64_t now_us)
{
    struct agent_unit *unit = find(core, id);

    if (unit == NULL || !take_facts(core, unit, facts))
        return;
    if (unit->state == UNIT_EXITED)
        (void)agent_core_add(core, AGENT_SEND_TAIL, id); /* the end is reported after it */
    plan_unit(core, unit, now_us);
    agent_core_look_whether_to_leave(core, now_us);
}

void agent_core_start_failed(struct agent_core *core, const struct process_id *id,
                             enum start_fault fault, const char *reason, uint64_t now_us)
{
    struct agent_unit *unit = find(core, id);

    if (unit == NULL || unit->state == UNIT_EXITED)
        return;
    unit->fault = fault;
    unit->cause = fault == START_FAULT_NONE ? EXIT_CAUSE_STOPPED : EXIT_CAUSE_NONE;
    end_unseen(core, unit, reason);
    plan_unit(core, unit, now_us);
    agent_core_look_whether_to_leave(core, now_us);
}

static bool is_ordered(const struct agent_core *core, const struct agent_unit *unit)
{
    for (size_t i = unit->slot->first_order; i != SLOT_NO_ORDER; i = core->order_next[i])
        if (core->orders[i].id.incarnation == unit->id.incarnation)
            return core->orders[i].run;
    return false;
}

void agent_core_start_waits(struct agent_core *core, const struct process_id *id, uint64_t now_us)
{
    struct agent_unit *unit = find(core, id);

    if (unit != NULL)
        arrived(core, unit);
    if (core->have_orders)
        plan_held(core, now_us);
}

bool agent_core_may_start_more(const struct agent_core *core, uint64_t owner)
{
    return start_shares_has_room(&core->shares, owner, 2 * AGENT_STARTS_MAX);
}

bool agent_core_start_late(struct agent_core *core, const struct process_id *id, uint64_t now_us)
{
    struct agent_unit *unit = find(core, id);

    if (unit == NULL || unit->state != UNIT_PREPARING)
        return false;
    if (may_start(core, now_us) && is_ordered(core, unit)) {
        set_off(core, unit, now_us);
        return true;
    }
    agent_core_start_failed(core, id, START_FAULT_PLACE,
                            "the node was cut off before it could start", now_us);
    return false;
}

bool agent_core_checkpoint_done(struct agent_core *core, const struct process_id *id)
{
    struct agent_unit *unit = find(core, id);

    if (unit == NULL || unit->state != UNIT_STOPPING)
        return false;
    if (!unit->saved) /* what is less already stays so: a fence's end only comes nearer */
        agent_core_add(core, AGENT_STOP, id)->grace_us = AGENT_SAVED_GRACE_US;
    unit->saved = true;
    return true;
}

bool agent_core_promised(struct agent_core *core, const struct process_id *id, uint64_t within_us,
                         uint64_t now_us)
{
    struct agent_unit *unit = find(core, id);

    if (unit == NULL || unit->state == UNIT_EXITED)
        return false;
    promised_set(&core->promised, unit, within_us, now_us);
    return true;
}

/* watch - who broke a promise */
static void watch(struct agent_core *core, uint64_t now_us)
{
    bool held =
        core->lease_us > 0 && now_us < fence_freeze_at(core->lease.deadline_us, core->lease_us);
    struct agent_unit *unit;

    DL_FOREACH2(core->promised, unit, promise_next)
    {
        if (promised_broken(unit, held, now_us))
            agent_core_add(core, AGENT_SILENT, &unit->id)->grace_us = unit->promise.within_us;
    }
}

void agent_core_tail_offered(struct agent_core *core, const struct process_id *id, bool sent,
                             uint64_t now_us)
{
    struct agent_unit *unit = find(core, id);

    if (unit == NULL || unit->state != UNIT_EXITED)
        return;
    unit->tail_sent = unit->tail_sent || sent;
    if (unit->exit_public)
        return;
    unit->exit_public = true;
    agent_core_touch(core);
    agent_core_look_whether_to_leave(core, now_us);
}

/* beat - what is looked at again and again. all_told: the scheduler has stored what we told */
static void beat(struct agent_core *core, bool all_told, uint64_t now_us)
{
    struct agent_unit *unit;

    DL_FOREACH(core->units, unit)
    {
        if (unit->under_way && now_us - unit->given_us >= AGENT_START_SLOW_US)
            arrived(core, unit);
        if (unit->state != UNIT_EXITED && !unit->found) {
            (void)agent_core_add(core, AGENT_REFRESH, &unit->id);
        } else if (unit->state == UNIT_EXITED && unit->exit_public && !unit->tail_sent &&
                   all_told) {
            /* One more try; its end is stored by now, and so may the tail be. */
            unit->tail_sent = true;
            (void)agent_core_add(core, AGENT_SEND_TAIL, &unit->id);
        }
    }
}

void agent_core_renewed(struct agent_core *core, uint64_t sent_us, uint64_t lease_us,
                        uint64_t now_us)
{
    if (now_us >= core->lease.deadline_us) {
        core->orders_since_us = now_us;
        core->lease.epoch++;
    }
    core->lease_us = lease_us;
    core->lease.deadline_us = MAX_OF(core->lease.deadline_us, sent_us + lease_us);
}

void agent_core_reported(struct agent_core *core, uint64_t sent_us, uint64_t lease_us,
                         bool all_told, uint64_t now_us)
{
    if (lease_us > 0)
        agent_core_renewed(core, sent_us, lease_us, now_us);
    core->all_told = all_told && !core->report_queued;
    beat(core, all_told, now_us);
    plan(core, now_us);
    agent_core_look_whether_to_leave(core, now_us);
}

void agent_core_refused(struct agent_core *core)
{
    core->orders_void = true;
}

void agent_core_stop(struct agent_core *core, uint64_t now_us)
{
    bool again = core->stopping;
    struct agent_unit *unit;

    core->stopping = true;
    DL_FOREACH(core->units, unit)
    stop_unit(core, unit, again ? 0 : unit->grace_us);
    agent_core_look_whether_to_leave(core, now_us);
}

void agent_core_timer(struct agent_core *core, uint64_t now_us)
{
    watch(core, now_us);
    agent_core_look_whether_to_leave(core, now_us);
}

uint64_t agent_core_next_us(const struct agent_core *core)
{
    return core->left ? NEVER_US : MIN_OF(core->goodbye_at_us, promised_next_us(core->promised));
}
