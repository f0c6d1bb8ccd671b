/* SPDX-License-Identifier: Apache-2.0 */
/* test_agent_storm.c - agent_core, link_sm and fence as one agent in bad weather
 *
 * A pretended scheduler grants slots of one node and gives them to another node when this one was
 * silent for longer than its lease. Calls are lost, late and cut off for long. The agent dies and
 * comes back, and starts fail. Processes end by themselves or not even when asked. Most stand still
 * at the end of a lease, and thaws come late. After every tick: a process that acts here is granted
 * to here. In the end every order is followed and every end known. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "agent/core/agent_core.h"
#include "agent/core/fence.h"
#include "agent/core/link_sm.h"
#include "shared/macro.h"
#include "shared/random.h"
#include "tests/unit/test.h"

#define SLOTS 4
#define PROCESSES 64
#define TICK (20 * USEC_PER_MSEC)
#define LEASE (6 * USEC_PER_SEC)
#define MARGIN USEC_PER_SEC
#define HEARTBEAT (500 * USEC_PER_MSEC)
#define SEEDS 200
#define TICKS 20000

enum place { FREE, HERE, HERE_STOP, ELSEWHERE };

struct slot { /* as the scheduler has it */
    enum place place;
    uint64_t incarnation;
    bool reported;
};

struct process { /* as it is */
    bool used;   /* its folder exists */
    bool alive;
    bool adopted; /* by an agent that did not see its end */
    bool found;
    bool ended_told; /* its tail was offered, or nobody could be offered it */
    bool stubborn;
    uint64_t tail_at; /* 0: none on its way */
    uint64_t term_at; /* ends by SIGTERM then */
    struct process_id id;
    struct fence fence;
    uint64_t thaw_at; /* 0: no thaw is on its way */
    uint16_t thaw_epoch;
};

struct message {
    uint64_t call; /* 0: none */
    bool delivered;
    bool lost;
    bool join;
    uint64_t at_us, answer_at_us, timeout_us;
    uint64_t after, until_us;
    /* what travels */
    uint64_t version;
    struct agent_unit units[PROCESSES];
    struct agent_unit_report reports[PROCESSES];
    struct reconcile_order orders[SLOTS];
    size_t n;
};

static struct {
    uint64_t random;
    uint64_t now;
    bool calm;
    uint64_t cut_until;
    /* scheduler */
    struct slot slots[SLOTS];
    uint64_t incarnations;
    uint64_t version;
    uint64_t lease_end; /* 0: lost */
    uint64_t n_starts, n_ends, n_lost, n_fenced, n_frozen, n_thawed;
    /* node */
    struct process processes[PROCESSES];
    struct lease_word lease_file;
    /* agent */
    struct agent_core *core; /* NULL: it is dead */
    struct link_sm link;
    uint64_t back_at, main_at, orders_at;
    struct message main, poll;
    bool left;
} w;

static uint64_t dice(uint64_t n)
{
    return random_below(&w.random, n);
}

static bool rarely(uint64_t n)
{
    return !w.calm && dice(n) == 0;
}

/* ---- the node ---- */

static struct process *process_of(const struct process_id *id)
{
    for (size_t i = 0; i < PROCESSES; i++)
        if (w.processes[i].used && process_id_equal(&w.processes[i].id, id))
            return &w.processes[i];
    return NULL;
}

static struct agent_facts facts_of(const struct process *p)
{
    return (struct agent_facts){ .phase = p->alive ? AGENT_RUNNING : AGENT_GONE,
                                 .found = p->found,
                                 .frozen = p->alive && p->fence.stance == FENCE_FROZEN,
                                 .exit_code = 7,
                                 .reason = "over" };
}

static void observe(struct process *p)
{
    struct agent_facts facts = facts_of(p);

    if (w.core != NULL)
        agent_core_observed(w.core, &p->id, &facts, w.now);
}

static void start(const struct agent_action *action)
{
    struct process *p = w.processes;

    assert_null(process_of(&action->id)); /* nothing is started twice */
    while (p->used)
        assert_true(++p < w.processes + PROCESSES);
    *p = (struct process){ .used = true, .id = action->id, .stubborn = dice(4) == 0 };
    w.n_starts++;
    if (rarely(10)) {
        p->ended_told = true;
        agent_core_start_failed(w.core, &p->id, START_FAULT_NODE, "cannot", w.now);
        return;
    }
    p->alive = true;
    p->found = !rarely(10);
    fence_init(&p->fence, agent_core_lease_us(w.core), 2 * USEC_PER_SEC);
    if (p->id.index != 0) /* of that slot none has a group */
        fence_may_freeze(&p->fence, 60 * USEC_PER_SEC);
    observe(p);
}

static void end(struct process *p)
{
    p->alive = false;
    p->term_at = 0;
    if (p->found)
        observe(p); /* else its end is not seen before somebody looks */
}

/* A signal may be late, and the lease another one by then. */
static void tick_thaw(struct process *p)
{
    if (p->thaw_at == 0 || w.now < p->thaw_at)
        return;
    p->thaw_at = 0;
    if (!fence_thaw(&p->fence, p->thaw_epoch, w.lease_file, w.now))
        return;
    w.n_thawed++;
    observe(p);
}

static void tick_frozen(struct process *p, const struct fence_verdict *verdict)
{
    w.n_frozen += verdict->freeze;
    w.n_thawed += verdict->thaw;
    if (verdict->freeze && dice(10) != 0) {
        fence_verified(&p->fence);
        observe(p);
    } else if (verdict->thaw) {
        observe(p);
    }
}

static void tick_process(struct process *p)
{
    struct fence_verdict verdict;

    if (p->alive) {
        tick_thaw(p);
        verdict = fence_look(&p->fence, w.lease_file, w.now);
        tick_frozen(p, &verdict);
        if (verdict.term && !p->stubborn)
            p->term_at = w.now + 1 + dice(3 * USEC_PER_SEC);
        w.n_fenced += verdict.kill;
        if (verdict.kill || (p->fence.stance == FENCE_RUNS && rarely(2000)) ||
            (p->term_at != 0 && w.now >= p->term_at))
            end(p);
    }
    if (p->tail_at != 0 && w.now >= p->tail_at && w.core != NULL) {
        p->tail_at = 0;
        p->ended_told = true;
        agent_core_tail_offered(w.core, &p->id, dice(2) == 0, w.now);
    }
}

/* ---- the scheduler ---- */

static struct slot *slot_of(const struct process_id *id)
{
    struct slot *slot = &w.slots[id->index];

    return (slot->place == HERE || slot->place == HERE_STOP) && slot->incarnation == id->incarnation
               ? slot
               : NULL;
}

static void set_place(struct slot *slot, enum place place)
{
    slot->place = place;
    slot->reported = false;
    w.version++;
}

static void tick_scheduler(void)
{
    struct slot *slot = &w.slots[dice(SLOTS)];

    if (w.lease_end != 0 && w.now >= w.lease_end) {
        w.lease_end = 0;
        w.n_lost++;
        for (size_t i = 0; i < SLOTS; i++)
            if (w.slots[i].place == HERE || w.slots[i].place == HERE_STOP)
                set_place(&w.slots[i], ELSEWHERE);
    }
    if (rarely(50)) {
        if (slot->place == HERE) {
            set_place(slot, HERE_STOP);
        } else if (slot->place != HERE_STOP && w.lease_end != 0) {
            slot->incarnation = ++w.incarnations;
            set_place(slot, HERE);
        }
    }
}

static void take_unit(const struct agent_unit *unit, const struct agent_unit_report *report)
{
    struct slot *slot = slot_of(&unit->id);

    if (slot == NULL)
        return;
    slot->reported = true;
    if (report->state == UNIT_EXITED) {
        const struct process *p = process_of(&unit->id);

        assert_true(p == NULL || p->ended_told || p->adopted);
        w.n_ends++;
        set_place(slot, FREE);
    }
}

static void take_report(const struct message *m)
{
    w.lease_end = w.now + LEASE + MARGIN;
    for (size_t i = 0; i < SLOTS; i++) {
        bool listed = false;

        for (size_t j = 0; j < m->n; j++)
            listed |=
                m->units[j].id.index == i && m->units[j].id.incarnation == w.slots[i].incarnation;
        if (w.slots[i].reported && !listed)
            set_place(&w.slots[i], FREE); /* its agent does not know it: it never ran */
    }
    for (size_t i = 0; i < m->n; i++)
        take_unit(&m->units[i], &m->reports[i]);
}

static void give_orders(struct message *m)
{
    m->n = 0;
    m->version = w.version;
    for (uint32_t i = 0; i < SLOTS; i++)
        if (w.slots[i].place == HERE || w.slots[i].place == HERE_STOP)
            m->orders[m->n++] = (struct reconcile_order){
                .id = { 1, "r", i, w.slots[i].incarnation },
                .run = w.slots[i].place == HERE,
                .grace_us = USEC_PER_SEC,
            };
}

/* ---- the agent ---- */

static void send(struct message *m, uint64_t call, uint64_t timeout_us)
{
    *m = (struct message){ .call = call, .timeout_us = w.now + timeout_us };
    m->at_us = w.now + dice(rarely(10) ? 3 * USEC_PER_SEC : 3 * TICK);
    m->lost = rarely(20);
}

static void do_link(const struct link_actions *actions)
{
    for (size_t i = 0; i < actions->n; i++) {
        const struct link_action *a = &actions->list[i];

        switch (a->kind) {
        case LINK_JOIN:
        case LINK_REPORT:
            send(&w.main, a->call, LINK_CALL_TIMEOUT_US);
            w.main.join = a->kind == LINK_JOIN;
            for (const struct agent_unit *u = agent_core_units(w.core); u != NULL; u = u->next) {
                w.main.units[w.main.n] = *u;
                w.main.reports[w.main.n++] = agent_unit_report(u);
            }
            break;
        case LINK_POLL_ORDERS:
            send(&w.poll, a->call, LINK_ORDERS_TIMEOUT_US);
            w.poll.after = a->after;
            w.poll.until_us = w.poll.at_us + a->wait_s * USEC_PER_SEC;
            break;
        case LINK_CANCEL_POLL:
            w.poll.call = 0;
            break;
        case LINK_CANCEL_MAIN:
            w.main.call = 0;
            break;
        case LINK_NEXT: /* it knows one here */
            break;
        case LINK_DROP_CREDENTIAL:
            agent_core_refused(w.core);
            break;
        case LINK_ARM_MAIN:
            w.main_at = a->at_us;
            break;
        case LINK_ARM_ORDERS:
            w.orders_at = a->at_us;
            break;
        }
    }
}

static void do_action(const struct agent_action *action)
{
    struct process *p = process_of(&action->id);
    struct link_actions actions;

    switch (action->kind) {
    case AGENT_START:
        start(action);
        break;
    case AGENT_STOP:
        if (p != NULL)
            fence_stop(&p->fence, action->grace_us, w.now);
        break;
    case AGENT_SILENT: /* nobody here promises anything */
        assert_true(false);
        break;
    case AGENT_THAW:
        assert_non_null(p);
        p->thaw_at = w.now + 1 + dice(rarely(4) ? 3 * LEASE : TICK);
        p->thaw_epoch = action->epoch;
        break;
    case AGENT_FORGET:
        if (p != NULL) {
            assert_false(p->alive);
            p->used = false;
        }
        break;
    case AGENT_SEND_TAIL:
        assert_non_null(p);
        p->tail_at = w.now + 1 + dice(2 * USEC_PER_SEC);
        break;
    case AGENT_REFRESH:
        if (p != NULL) {
            p->found = true;
            observe(p);
        }
        break;
    case AGENT_REPORT:
        link_sm_changed(&w.link, w.now, &actions);
        do_link(&actions);
        break;
    case AGENT_MOVED:
    case AGENT_EPILOG:
        break;
    case AGENT_UNLISTED:
        fail_msg("%s", agent_core_unlisted(w.core));
        break;
    case AGENT_LEAVE:
        assert_true(agent_core_is_all_told(w.core));
        w.left = true;
        break;
    }
}

static void carry_out(void)
{
    struct agent_action action;

    while (agent_core_take(w.core, &action))
        do_action(&action);
}

static void agent_dies(void)
{
    w.core = agent_core_free(w.core);
    w.main.call = w.poll.call = 0;
    w.back_at = w.now + dice(4 * USEC_PER_SEC);
    for (size_t i = 0; i < PROCESSES; i++)
        w.processes[i].tail_at = 0;
}

static void agent_starts(void)
{
    struct link_actions actions;

    w.core = agent_core_new(w.lease_file);
    w.main_at = w.orders_at = NEVER_US;
    for (size_t i = 0; i < PROCESSES; i++) {
        struct process *p = &w.processes[i];
        struct agent_facts facts = facts_of(p);

        if (!p->used)
            continue;
        p->found = facts.found = facts.found || p->alive;
        p->adopted = p->adopted || !p->alive;
        agent_core_adopt(w.core, &p->id, 2 * USEC_PER_SEC, &facts);
    }
    link_sm_init(&w.link, HEARTBEAT, w.now > 200 * USEC_PER_SEC, w.now, &actions);
    do_link(&actions);
}

static void answer_main(enum link_result result)
{
    struct link_report_answer answer = {
        .result = result, .lease_us = LEASE, .has_version = true, .version = w.main.version
    };
    struct link_actions actions;
    uint64_t call = w.main.call;

    w.main.call = 0;
    if (w.main.join) {
        link_sm_join_answered(&w.link, call, result, w.now, (uint32_t)dice(1000), &actions);
        do_link(&actions);
        return;
    }
    link_sm_report_answered(&w.link, call, &answer, w.now, (uint32_t)dice(1000), &actions);
    do_link(&actions);
    if (result != LINK_TAKEN)
        return;
    agent_core_reported(w.core, w.link.sent_us, LEASE, link_sm_all_told(&w.link), w.now);
    w.lease_file = agent_core_lease(w.core);
}

static void answer_poll(enum link_result result)
{
    struct link_actions actions;
    uint64_t call = w.poll.call;

    w.poll.call = 0;
    assert_true(link_sm_awaits(&w.link, call));
    if (result == LINK_TAKEN)
        agent_core_orders(w.core, w.poll.orders, w.poll.n, w.link.asked_us, w.now);
    link_sm_orders_answered(&w.link, call, result, w.poll.version, w.now, (uint32_t)dice(1000),
                            &actions);
    carry_out();
    do_link(&actions);
}

static void tick_message(struct message *m, bool poll)
{
    bool cut = w.now < w.cut_until;
    enum link_result result = LINK_TAKEN;

    if (m->call == 0)
        return;
    if (!m->delivered && !m->lost && !cut && w.now >= m->at_us &&
        (!poll || m->after != w.version || w.now >= m->until_us)) {
        m->delivered = true;
        m->answer_at_us = w.now + dice(rarely(10) ? 4 * USEC_PER_SEC : 3 * TICK);
        if (poll)
            give_orders(m);
        else if (!m->join)
            take_report(m);
        if (!poll)
            m->version = w.version;
        m->lost = rarely(20);
    }
    if (w.now >= m->timeout_us)
        result = LINK_FAILED;
    else if (!m->delivered || m->lost || cut || w.now < m->answer_at_us)
        return;
    if (!poll && rarely(100))
        result = LINK_REFUSED;
    if (poll)
        answer_poll(result);
    else
        answer_main(result);
}

static void tick_agent(void)
{
    struct link_actions actions;

    if (w.core == NULL && w.now >= w.back_at)
        agent_starts();
    if (w.core == NULL)
        return;
    tick_message(&w.main, false);
    carry_out();
    tick_message(&w.poll, true);
    carry_out();
    if (w.now >= w.main_at) {
        w.main_at = NEVER_US;
        link_sm_main_timer(&w.link, w.now, 0, &actions);
        do_link(&actions);
    }
    if (w.now >= w.orders_at) {
        w.orders_at = NEVER_US;
        link_sm_orders_timer(&w.link, w.now, &actions);
        do_link(&actions);
    }
    if (w.now >= agent_core_next_us(w.core))
        agent_core_timer(w.core, w.now);
    carry_out();
}

/* ---- all of it ---- */

static void check(void)
{
    for (size_t i = 0; i < PROCESSES; i++) {
        const struct process *p = &w.processes[i];

        if (p->used && p->alive && p->fence.stance != FENCE_FROZEN && slot_of(&p->id) == NULL)
            fail_msg("%llu us: slot %u incarnation %llu runs and is not granted",
                     (unsigned long long)w.now, p->id.index, (unsigned long long)p->id.incarnation);
    }
}

static void tick(void)
{
    w.now += TICK;
    if (rarely(1000))
        w.cut_until = w.now + dice(3 * LEASE);
    for (size_t i = 0; i < PROCESSES; i++)
        if (w.processes[i].used)
            tick_process(&w.processes[i]);
    tick_scheduler();
    check();
    if (rarely(700) && w.core != NULL)
        agent_dies();
    tick_agent();
    check();
}

static void assert_orders_followed(void)
{
    for (size_t i = 0; i < SLOTS; i++) {
        const struct process_id id = { 1, "r", (uint32_t)i, w.slots[i].incarnation };

        assert_int_not_equal(w.slots[i].place, HERE_STOP);
        if (w.slots[i].place == HERE)
            assert_true(process_of(&id) != NULL && process_of(&id)->alive &&
                        process_of(&id)->fence.stance == FENCE_RUNS);
    }
    for (const struct agent_unit *u = agent_core_units(w.core); u != NULL; u = u->next)
        assert_non_null(slot_of(&u->id)); /* the rest was forgotten */
    assert_true(link_sm_all_told(&w.link));
}

static void storm(uint64_t seed)
{
    memset(&w, 0, sizeof w);
    w.random = seed;
    w.now = 100 * USEC_PER_SEC;
    w.version = 1;
    agent_starts();
    for (int i = 0; i < TICKS; i++)
        tick();
    w.calm = true;
    for (uint64_t us = 0; us < 60 * USEC_PER_SEC; us += TICK)
        tick();
    assert_orders_followed();
    agent_core_stop(w.core, w.now);
    for (uint64_t us = 0; us < 10 * USEC_PER_SEC && !w.left; us += TICK)
        tick();
    assert_true(w.left);
    for (size_t i = 0; i < PROCESSES; i++)
        assert_false(w.processes[i].used && w.processes[i].alive);
    w.core = agent_core_free(w.core);
}

TEST(test_storms)
{
    uint64_t starts = 0, ends = 0, lost = 0, fenced = 0, frozen = 0, thawed = 0;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        storm(seed);
        starts += w.n_starts;
        ends += w.n_ends;
        lost += w.n_lost;
        fenced += w.n_fenced;
        frozen += w.n_frozen;
        thawed += w.n_thawed;
    }
    print_message(
        "%llu starts, %llu ends told, %llu times lost, %llu killed, %llu frozen, %llu thawed\n",
        (unsigned long long)starts, (unsigned long long)ends, (unsigned long long)lost,
        (unsigned long long)fenced, (unsigned long long)frozen, (unsigned long long)thawed);
    assert_true(starts > 1000 && ends > 500 && lost > 50 && fenced > 50 && frozen > 50 &&
                thawed > 50); /* it was a storm */
}
