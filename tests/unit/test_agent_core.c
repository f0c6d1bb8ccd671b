/* SPDX-License-Identifier: Apache-2.0 */
/* test_agent_core.c - the rules of agent_core.h one by one; the storms are in test_agent_storm.c */
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include "agent/core/agent_core.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

#define LEASE (9 * USEC_PER_SEC)
#define START (100 * USEC_PER_SEC)
#define GRACE 5000

static struct agent_core *core;
static uint64_t now;

static const struct agent_facts running = { .phase = AGENT_RUNNING, .found = true };
static const struct agent_facts frozen = { .phase = AGENT_RUNNING, .found = true, .frozen = true };
static const struct agent_facts gone = {
    .phase = AGENT_GONE, .exit_code = 3, .cause = EXIT_CAUSE_LEASE, .reason = "why"
};

static int setup(void **state)
{
    (void)state;
    now = START;
    core = agent_core_new((struct lease_word){ 0 });
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    core = agent_core_free(core);
    return 0;
}

TEST_EACH(setup, teardown);

static struct process_id id_of(uint32_t index, uint64_t incarnation)
{
    return (struct process_id){
        .job_id = 7, .role = "trainer", .index = index, .incarnation = incarnation
    };
}

static struct reconcile_order order_of(uint32_t index, uint64_t incarnation, bool run)
{
    return (struct reconcile_order){ id_of(index, incarnation), run, GRACE, 0 };
}

/* take - the actions since the last call, as letters; the last one of a kind is kept */
static struct agent_action last[AGENT_LEAVE + 1];

static const char *take(void)
{
    static const char letters[] = {
        [AGENT_START] = 'S',   [AGENT_STOP] = 'T',   [AGENT_FORGET] = 'F', [AGENT_SEND_TAIL] = 'L',
        [AGENT_REFRESH] = 'R', [AGENT_REPORT] = 'r', [AGENT_MOVED] = 'm',  [AGENT_UNLISTED] = '!',
        [AGENT_LEAVE] = 'X',   [AGENT_THAW] = 'W',   [AGENT_SILENT] = 'K', [AGENT_EPILOG] = 'E'
    };
    static char text[64];
    struct agent_action action;
    size_t n = 0;

    while (agent_core_take(core, &action)) {
        last[action.kind] = action;
        if (action.kind != AGENT_MOVED && n < sizeof text - 1)
            text[n++] = letters[action.kind];
    }
    text[n] = '\0';
    return text;
}

static void orders(size_t n, ...)
{
    struct reconcile_order list[8];
    va_list ap;

    va_start(ap, n);
    for (size_t i = 0; i < n; i++)
        list[i] = va_arg(ap, struct reconcile_order);
    va_end(ap);
    agent_core_orders(core, list, n, now, now);
}

static void reported(bool all_told)
{
    agent_core_reported(core, now, LEASE, all_told, now);
}

static void observed(uint32_t index, uint64_t incarnation, const struct agent_facts *facts)
{
    struct process_id id = id_of(index, incarnation);

    agent_core_observed(core, &id, facts, now);
}

static void tail(uint32_t index, uint64_t incarnation, bool sent)
{
    struct process_id id = id_of(index, incarnation);

    agent_core_tail_offered(core, &id, sent, now);
}

static const struct agent_unit *unit(uint32_t index, uint64_t incarnation)
{
    struct process_id id = id_of(index, incarnation);

    return agent_core_unit(core, &id);
}

/* run_one - unit 0.1 runs as ordered and everything is told */
static void run_one(void)
{
    reported(true);
    orders(1, order_of(0, 1, true));
    observed(0, 1, &running);
    (void)take();
    reported(true);
    assert_string_equal(take(), "");
}

TEST(test_one_life)
{
    reported(true);
    assert_string_equal(take(), "");
    orders(2, order_of(1, 4, false), order_of(0, 1, true));
    assert_string_equal(take(), "rS"); /* 1.4 was never started */
    assert_int_equal(last[AGENT_START].idx_order, 1);
    assert_string_equal(agent_unit_report(unit(1, 4)).reason, "never started");
    assert_int_equal(agent_unit_report(unit(1, 4)).state, UNIT_EXITED);
    assert_int_equal(agent_unit_report(unit(0, 1)).state, UNIT_PREPARING);
    observed(0, 1, &running);
    observed(0, 1, &running);
    assert_string_equal(take(), "r");
    orders(1, order_of(0, 1, false));
    assert_string_equal(take(), "FrT");
    assert_int_equal(last[AGENT_STOP].grace_us, GRACE);
    orders(1, order_of(0, 1, false));
    assert_string_equal(take(), "");
    observed(0, 1, &gone);
    assert_string_equal(take(), "rL");
    tail(0, 1, true);
    assert_string_equal(take(), "r");
    reported(true);
    assert_string_equal(take(), "");
    orders(0);
    assert_string_equal(take(), "Fr");
    assert_null(agent_core_units(core));
}

TEST(test_end_is_told_after_its_tail)
{
    run_one();
    observed(0, 1, &gone);
    assert_int_equal(agent_unit_report(unit(0, 1)).state, UNIT_PREPARING);
    assert_int_equal(agent_unit_report(unit(0, 1)).exit_code, 0);
    assert_string_equal(agent_unit_report(unit(0, 1)).reason, "");
    tail(0, 1, false);
    assert_int_equal(agent_unit_report(unit(0, 1)).state, UNIT_EXITED);
    assert_int_equal(agent_unit_report(unit(0, 1)).exit_code, 3);
    assert_string_equal(agent_unit_report(unit(0, 1)).reason, "why");
    assert_int_equal(agent_unit_report(unit(0, 1)).cause, EXIT_CAUSE_LEASE);
    assert_string_equal(take(), "rL");
    reported(true);
    assert_string_equal(take(), "L"); /* one more try, as the end is known */
    tail(0, 1, false);
    reported(true);
    assert_string_equal(take(), "");
}

/* Nobody rises from the dead: whoever says so is at fault, and it is said. */
TEST(test_move_that_no_table_lists_is_told)
{
    run_one();
    assert_string_equal(agent_core_unlisted(core), "");
    observed(0, 1, &gone);
    (void)take();
    observed(0, 1, &gone); /* saying it again is harmless */
    assert_string_equal(take(), "");
    observed(0, 1, &running);
    assert_string_equal(take(), "!");
    assert_string_equal(agent_core_unlisted(core),
                        "a process that is exited cannot take 'started'");
    assert_int_equal(unit(0, 1)->state, UNIT_EXITED);
}

TEST(test_start_that_fails_is_an_end)
{
    struct process_id id = id_of(0, 1);

    reported(true);
    orders(1, order_of(0, 1, true));
    (void)take();
    agent_core_start_failed(core, &id, START_FAULT_NODE, "no such folder", now);
    assert_string_equal(take(), "r");
    assert_int_equal(agent_unit_report(unit(0, 1)).exit_code, -1);
    assert_string_equal(agent_unit_report(unit(0, 1)).reason, "no such folder");
    assert_int_equal(agent_unit_report(unit(0, 1)).fault, START_FAULT_NODE);
    assert_int_equal(agent_unit_report(unit(0, 1)).cause, EXIT_CAUSE_NONE);
    reported(true);
    orders(1, order_of(0, 1, true)); /* not again */
    assert_string_equal(take(), "");
}

TEST(test_nothing_before_the_first_orders)
{
    struct process_id id = id_of(0, 1);

    agent_core_adopt(core, &id, GRACE, &running);
    reported(true);
    assert_string_equal(take(), "r");
    orders(0);
    assert_string_equal(take(), "Tr");
}

TEST(test_no_start_without_a_lease)
{
    orders(1, order_of(0, 1, true));
    assert_string_equal(take(), "");
    reported(true);
    assert_string_equal(take(), "S" /* asked for at the same instant */ "r");
    now += LEASE - LEASE / 3; /* its fence would end it at once */
    orders(2, order_of(0, 1, true), order_of(1, 1, true));
    assert_string_equal(take(), "");
    reported(true);
    assert_string_equal(take(), "RSr");
}

/* freeze_one - it ran, and stands still since its lease ran out; then a report is taken */
static void freeze_one(void)
{
    reported(true);
    orders(1, order_of(0, 1, true));
    observed(0, 1, &running);
    (void)take();
    now += LEASE - 1;
    observed(0, 1, &frozen);
    assert_string_equal(take(), "r");
    assert_true(agent_core_any_frozen(core));
    assert_int_equal(agent_unit_report(unit(0, 1)).state, UNIT_RUNNING);
    now += 10 * LEASE;
    reported(true);
}

TEST(test_frozen_is_thawed_by_orders_of_after_the_gap)
{
    uint16_t epoch = agent_core_lease(core).epoch;

    freeze_one();
    assert_string_equal(take(), ""); /* by those from before nothing is */
    assert_int_equal(agent_core_lease(core).epoch, epoch + 2);
    orders(1, order_of(0, 1, true));
    assert_string_equal(take(), "W");
    assert_int_equal(last[AGENT_THAW].epoch, epoch + 2);
    reported(true);
    assert_string_equal(take(), "W"); /* the signal may have come too late */
    observed(0, 1, &running);
    assert_string_equal(take(), "r");
    assert_false(agent_core_any_frozen(core));
    reported(true);
    assert_string_equal(take(), "");
}

TEST(test_frozen_is_stopped_when_it_is_not_ordered_any_more)
{
    freeze_one();
    (void)take();
    orders(1, order_of(0, 2, true)); /* its place has another */
    assert_string_equal(take(), "Tr");
    assert_int_equal(last[AGENT_STOP].id.incarnation, 1);
    reported(true);
    assert_string_equal(take(), "");
    observed(0, 1, &gone);
    assert_string_equal(take(), "rLSF"); /* the other starts */
    assert_false(agent_core_any_frozen(core));
}

/* A report that was taken in time leaves the epoch, and its supervisor needs nobody. */
TEST(test_the_epoch_rises_with_a_gap_only)
{
    uint16_t epoch;

    reported(true);
    epoch = agent_core_lease(core).epoch;
    now += LEASE - 1;
    reported(true);
    assert_int_equal(agent_core_lease(core).epoch, epoch);
    now += LEASE;
    reported(true);
    assert_int_equal(agent_core_lease(core).epoch, epoch + 1);
}

TEST(test_frozen_is_not_thawed_near_the_end_of_a_lease)
{
    freeze_one();
    (void)take();
    now += LEASE - LEASE / 6;
    orders(1, order_of(0, 1, true));
    assert_string_equal(take(), "");
}

/* An agent that begins finds it, and knows the epoch from the lease file. */
TEST(test_frozen_is_adopted)
{
    struct process_id id = id_of(0, 1);
    struct agent_action action;
    unsigned told = 0;

    core = agent_core_free(core);
    core = agent_core_new((struct lease_word){ START - 1, 5 });
    agent_core_adopt(core, &id, GRACE, &frozen);
    assert_true(agent_core_any_frozen(core));
    while (agent_core_take(core, &action))
        told += action.kind == AGENT_MOVED;
    assert_int_equal(told, 1);
    reported(true);
    (void)take();
    orders(1, order_of(0, 1, true));
    assert_string_equal(take(), "W");
    assert_int_equal(last[AGENT_THAW].epoch, 6);
}

/* During the gap the scheduler may have given the slot to another node. */
TEST(test_orders_from_before_a_gap_start_nothing)
{
    uint64_t asked = now;
    struct reconcile_order two[] = { order_of(0, 1, true), order_of(0, 2, true) };

    run_one();
    agent_core_orders(core, two, 2, asked, now);
    assert_string_equal(take(), "Tr"); /* 0.2 waits for 0.1 */
    now += LEASE;
    observed(0, 1, &gone); /* by its fence */
    reported(true);
    assert_string_equal(take(), "rL");
    agent_core_orders(core, two, 2, now - 1, now); /* asked for before, came late */
    assert_string_equal(take(), "");
    agent_core_orders(core, two, 2, now, now);
    assert_string_equal(take(), "Sr");
}

/* The deadline counts from when the report was sent. */
TEST(test_start_that_waited)
{
    struct process_id id = id_of(0, 1);

    reported(true);
    orders(1, order_of(0, 1, true));
    assert_string_equal(take(), "Sr");
    assert_true(agent_core_start_late(core, &id, now));
    /* what is not known, or over, is not started */
    id.incarnation = 2;
    assert_false(agent_core_start_late(core, &id, now));
    id.incarnation = 1;

    /* its lease is over: the slot may be somebody else's */
    now += LEASE;
    assert_false(agent_core_start_late(core, &id, now));
    assert_string_equal(agent_core_unit(core, &id)->reason,
                        "the node was cut off before it could start");
    assert_int_equal(agent_core_unit(core, &id)->state, UNIT_EXITED);
    assert_false(agent_core_start_late(core, &id, now));

    /* a stop came first: whoever carries it out tells its end */
    reported(true);
    orders(1, order_of(0, 2, true));
    id.incarnation = 2;
    (void)take();
    orders(1, order_of(0, 2, false));
    assert_non_null(strchr(take(), 'T'));
    assert_false(agent_core_start_late(core, &id, now));
    assert_int_equal(agent_core_unit(core, &id)->state, UNIT_STOPPING);
}

TEST(test_late_answer_gives_what_is_left)
{
    agent_core_reported(core, now, LEASE, true, now + LEASE);
    assert_int_equal(agent_core_lease_deadline_us(core), now + LEASE);
    now += LEASE;
    orders(1, order_of(0, 1, true));
    assert_string_equal(take(), "");
    agent_core_reported(core, now - LEASE, LEASE / 2, true, now); /* never backward */
    assert_int_equal(agent_core_lease_deadline_us(core), now);
}

TEST(test_refused_node_starts_nothing_more)
{
    run_one();
    orders(2, order_of(0, 1, true), order_of(0, 2, true));
    assert_string_equal(take(), "Tr");
    agent_core_refused(core);
    observed(0, 1, &gone);
    reported(true);
    assert_string_equal(take(), "rL");
    orders(2, order_of(0, 1, true), order_of(0, 2, true));
    assert_string_equal(take(), "Sr");
}

TEST(test_listed_twice_starts_once)
{
    reported(true);
    orders(2, order_of(0, 1, true), order_of(0, 1, true));
    assert_string_equal(take(), "Sr");
}

TEST(test_stale_incarnation_is_refused)
{
    reported(true);
    orders(1, order_of(0, 2, true));
    observed(0, 2, &running);
    (void)take();
    orders(2, order_of(0, 1, true), order_of(0, 2, true));
    assert_string_equal(take(), "r");
    assert_int_equal(agent_unit_report(unit(0, 1)).state, UNIT_EXITED);
    assert_int_equal(unit(0, 2)->state, UNIT_RUNNING);
}

/* What ended while no agent was there: told with the first report, its log offered after it. */
TEST(test_adopted_end_is_told_at_once)
{
    struct process_id id = id_of(0, 1);

    agent_core_adopt(core, &id, GRACE, &gone);
    assert_int_equal(agent_unit_report(unit(0, 1)).state, UNIT_EXITED);
    reported(true);
    assert_string_equal(take(), "rL");
    tail(0, 1, true);
    orders(1, order_of(0, 1, true)); /* made before that report */
    assert_string_equal(take(), "");
}

TEST(test_unfound_is_looked_for_with_each_report)
{
    const struct agent_facts starting = { .phase = AGENT_STARTING };

    reported(true);
    orders(1, order_of(0, 1, true));
    observed(0, 1, &starting);
    (void)take();
    reported(false);
    assert_string_equal(take(), "R");
    observed(0, 1, &running);
    (void)take();
    reported(true);
    assert_string_equal(take(), "");
}

/* until - its timer at each time that it asks for, up to then */
static void until(uint64_t at)
{
    while (agent_core_next_us(core) <= at) {
        now = agent_core_next_us(core);
        agent_core_timer(core, now);
    }
    now = at;
}

static bool promised(uint32_t index, uint64_t incarnation, uint64_t within_us)
{
    struct process_id id = id_of(index, incarnation);

    return agent_core_promised(core, &id, within_us, now);
}

TEST(test_a_promise_that_is_broken_kills)
{
    run_one();
    assert_int_equal(agent_core_next_us(core), NEVER_US);
    assert_false(promised(0, 2, USEC_PER_SEC)); /* nobody knows it */
    assert_true(promised(0, 1, 2 * USEC_PER_SEC));
    until(now + 1900 * USEC_PER_MSEC);
    assert_true(promised(0, 1, 2 * USEC_PER_SEC));
    until(now + 1900 * USEC_PER_MSEC);
    assert_string_equal(take(), "");
    until(now + 200 * USEC_PER_MSEC);
    assert_string_equal(take(), "K");
    assert_int_equal(last[AGENT_SILENT].grace_us, 2 * USEC_PER_SEC);
    until(now + USEC_PER_SEC);
    assert_string_equal(take(), "K"); /* until its end is seen */
    observed(0, 1, &gone);
    assert_int_equal(agent_core_next_us(core), NEVER_US);
}

TEST(test_a_promise_that_is_taken_back)
{
    run_one();
    assert_true(promised(0, 1, USEC_PER_SEC));
    assert_true(promised(0, 1, 0));
    assert_int_equal(agent_core_next_us(core), NEVER_US);
}

/* Nor near the end of a lease: its supervisor may have frozen it, and that is not known here yet.
 */
TEST(test_who_is_frozen_breaks_no_promise)
{
    run_one();
    assert_true(promised(0, 1, LEASE - USEC_PER_SEC));
    until(now + LEASE + 5 * USEC_PER_SEC); /* nothing is heard of the scheduler */
    observed(0, 1, &frozen);
    until(now + 20 * USEC_PER_SEC);
    assert_null(strchr(take(), 'K'));
    reported(true);
    observed(0, 1, &running);
    for (int s = 0; s < 7; s++) { /* it goes on and says nothing */
        until(now + USEC_PER_SEC);
        reported(true);
    }
    assert_null(strchr(take(), 'K'));
    until(now + 2 * USEC_PER_SEC);
    assert_non_null(strchr(take(), 'K'));
}

TEST(test_who_is_being_stopped_breaks_no_promise)
{
    run_one();
    assert_true(promised(0, 1, USEC_PER_SEC));
    orders(1, order_of(0, 1, false));
    (void)take();
    until(now + 5 * USEC_PER_SEC);
    assert_string_equal(take(), "");
}

/* The next agent is told by the folder of the process, and counts anew. */
TEST(test_a_promise_outlives_the_agent)
{
    struct process_id id = id_of(0, 1);

    agent_core_adopt(core, &id, GRACE, &running);
    assert_true(promised(0, 1, USEC_PER_SEC));
    reported(true);
    orders(1, order_of(0, 1, true));
    (void)take();
    until(now + 900 * USEC_PER_MSEC);
    assert_string_equal(take(), "");
    until(now + 200 * USEC_PER_MSEC);
    assert_string_equal(take(), "K");
}

TEST(test_checkpoint_done_ends_the_grace)
{
    struct process_id id = id_of(0, 1), stale = id_of(0, 2);

    run_one();
    assert_false(agent_core_checkpoint_done(core, &id)); /* it is not being stopped */
    assert_string_equal(take(), "");
    orders(1, order_of(0, 1, false));
    assert_string_equal(take(), "Tr");
    assert_false(agent_core_checkpoint_done(core, &stale));
    assert_true(agent_core_checkpoint_done(core, &id));
    assert_string_equal(take(), "T");
    assert_int_equal(last[AGENT_STOP].grace_us, AGENT_SAVED_GRACE_US);
    assert_true(agent_core_checkpoint_done(core, &id)); /* saying it again gives no other second */
    assert_string_equal(take(), "");
    observed(0, 1, &gone);
    (void)take();
    assert_false(agent_core_checkpoint_done(core, &id));
    assert_string_equal(take(), "");
}

TEST(test_leaves_when_all_ends_are_told)
{
    run_one();
    agent_core_stop(core, now);
    assert_string_equal(take(), "Tr");
    assert_int_equal(last[AGENT_STOP].grace_us, GRACE);
    agent_core_stop(core, now);
    assert_string_equal(take(), "T");
    assert_int_equal(last[AGENT_STOP].grace_us, 0);
    orders(2, order_of(0, 1, true), order_of(1, 1, true));
    reported(true);
    assert_string_equal(take(), "");
    observed(0, 1, &gone);
    reported(true);
    assert_string_equal(take(), "rL"); /* its end is not public yet */
    tail(0, 1, true);
    reported(true); /* but what is queued was not in that report */
    assert_string_equal(take(), "r");
    reported(false);
    assert_string_equal(take(), "");
    reported(true);
    assert_string_equal(take(), "X");
    reported(true);
    assert_string_equal(take(), "");
}

TEST(test_leaves_without_an_answer_in_the_end)
{
    agent_core_stop(core, now);
    assert_string_equal(take(), "");
    assert_int_equal(agent_core_next_us(core), now + AGENT_GOODBYE_US);
    now += AGENT_GOODBYE_US - 1;
    agent_core_timer(core, now);
    assert_string_equal(take(), "");
    agent_core_timer(core, ++now);
    assert_string_equal(take(), "X");
    assert_false(agent_core_is_all_told(core));
    assert_int_equal(agent_core_next_us(core), NEVER_US);
}
