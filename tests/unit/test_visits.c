/* SPDX-License-Identifier: Apache-2.0 */
/* test_visits.c - the time of prolog and epilog of a job, and starts that wait for them */
#include <stdio.h>

#include "agent/core/agent_core.h"
#include "agent/core/drop_in.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

#define LEASE (9 * USEC_PER_SEC)
#define START (100 * USEC_PER_SEC)
#define GRACE 5000
#define JOB 7

static struct agent_core *core;
static uint64_t now;
static struct reconcile_order ordered[8];
static size_t n_ordered;

static const struct agent_facts running = { .phase = AGENT_RUNNING, .found = true };
static const struct agent_facts gone = { .phase = AGENT_GONE, .exit_code = 3 };

static int setup(void **state)
{
    (void)state;
    now = START;
    n_ordered = 0;
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

static struct process_id id_of(uint32_t index)
{
    return (struct process_id){ .job_id = JOB, .role = "t", .index = index, .incarnation = 1 };
}

/* take - how many actions of that kind there are; of all others nothing is done. The unit of the
 * last one of it is kept */
static struct process_id taken;

static unsigned take(enum agent_action_kind kind)
{
    struct agent_action action;
    unsigned n = 0;

    while (agent_core_take(core, &action))
        if (action.kind == kind) {
            taken = action.id;
            n++;
        }
    return n;
}

static void tell_orders(void)
{
    agent_core_reported(core, now, LEASE, true, now);
    agent_core_orders(core, ordered, n_ordered, now, now);
}

static void order(uint32_t index)
{
    ordered[n_ordered++] = (struct reconcile_order){ id_of(index), true, GRACE, 0 };
    tell_orders();
}

static enum visit_entry enter(uint32_t index)
{
    const struct process_id id = id_of(index);

    return agent_core_enter(core, &id, true);
}

static void observed(uint32_t index, const struct agent_facts *facts)
{
    const struct process_id id = id_of(index);

    agent_core_observed(core, &id, facts, now);
}

static void start_fails(uint32_t index, enum start_fault fault)
{
    const struct process_id id = id_of(index);

    agent_core_start_failed(core, &id, fault, "why", now);
}

static enum unit_state told(uint32_t index)
{
    const struct process_id id = id_of(index);

    agent_core_tail_offered(core, &id, true, now);
    return agent_unit_report(agent_core_unit(core, &id)).state;
}

/* Two processes of a job: one prolog before the first, one epilog behind the last. */
TEST(test_a_visit)
{
    order(0);
    order(1);
    assert_int_equal(enter(0), VISIT_BEGIN);
    assert_int_equal(enter(1), VISIT_WAIT);
    agent_core_prolog_ended(core, JOB, true);
    assert_int_equal(enter(0), VISIT_GO);
    assert_int_equal(enter(1), VISIT_GO);
    observed(0, &running);
    observed(1, &running);
    observed(0, &gone);
    assert_int_equal(take(AGENT_EPILOG), 0);
    assert_int_equal(told(0), UNIT_EXITED); /* what it had is free: its job goes on */
    observed(1, &gone);
    assert_int_equal(take(AGENT_EPILOG), 1);
    assert_int_equal(taken.index, 1);
    assert_int_equal(told(1), UNIT_PREPARING);
    agent_core_epilog_ended(core, JOB, now);
    assert_int_equal(take(AGENT_REPORT), 1);
    assert_int_equal(told(1), UNIT_EXITED);
}

/* Its end is not forgotten while it is held, and the node does not leave. */
TEST(test_leaving_waits_for_the_epilog)
{
    order(0);
    (void)enter(0);
    agent_core_prolog_ended(core, JOB, true);
    observed(0, &running);
    agent_core_stop(core, now);
    observed(0, &gone);
    assert_int_equal(told(0), UNIT_PREPARING);
    agent_core_reported(core, now, LEASE, true, now);
    assert_int_equal(take(AGENT_LEAVE), 0);
    agent_core_epilog_ended(core, JOB, now);
    (void)take(AGENT_REPORT);
    agent_core_reported(core, now, LEASE, true, now);
    assert_int_equal(take(AGENT_LEAVE), 1);
}

/* A node without drop-ins, and a job that was there before they were: nothing ever runs. */
TEST(test_a_bare_visit)
{
    const struct process_id first = id_of(0), second = id_of(1);

    order(0);
    assert_int_equal(agent_core_enter(core, &first, false), VISIT_GO);
    observed(0, &running);
    order(1);
    assert_int_equal(agent_core_enter(core, &second, true), VISIT_GO);
    observed(0, &gone);
    observed(1, &gone);
    assert_int_equal(take(AGENT_EPILOG), 0);
    assert_int_equal(told(1), UNIT_EXITED);
    assert_false(agent_core_is_entered(core, JOB));
    order(2);
    assert_int_equal(enter(2), VISIT_BEGIN);
}

/* The ends are told at once, as the node is set aside; what the prolog began is undone. */
TEST(test_a_prolog_that_fails)
{
    order(0);
    order(1);
    assert_int_equal(enter(0), VISIT_BEGIN);
    agent_core_prolog_ended(core, JOB, false);
    start_fails(0, START_FAULT_NODE);
    assert_int_equal(take(AGENT_EPILOG), 0);
    assert_int_equal(enter(1),
                     VISIT_BEGIN); /* it was late, for its workspace: nothing is passed by */
    agent_core_prolog_ended(core, JOB, false);
    start_fails(1, START_FAULT_NODE);
    assert_int_equal(take(AGENT_EPILOG), 1);
    assert_int_equal(told(0), UNIT_EXITED);
    assert_int_equal(told(1), UNIT_EXITED);
    agent_core_epilog_ended(core, JOB, now);
    assert_int_equal(take(AGENT_EPILOG), 0);
}

/* The lease ends in the middle of it: nothing starts, nobody is to blame, and it is undone. */
TEST(test_cut_off_in_the_prolog)
{
    const struct process_id id = id_of(0);

    order(0);
    (void)enter(0);
    agent_core_start_waits(core, &id, now);
    now += LEASE;
    agent_core_prolog_ended(core, JOB, true);
    assert_int_equal(enter(0), VISIT_GO);
    assert_false(agent_core_start_late(core, &id, now));
    assert_int_equal(take(AGENT_EPILOG), 1);
    assert_int_equal(agent_core_unit(core, &id)->fault, START_FAULT_PLACE);
    assert_int_equal(told(0), UNIT_EXITED);
}

/* Stopped in the middle of it: the epilog comes behind it, not beside it. */
TEST(test_stopped_in_the_prolog)
{
    order(0);
    (void)enter(0);
    start_fails(0, START_FAULT_NONE);
    assert_int_equal(take(AGENT_EPILOG), 0);
    agent_core_prolog_ended(core, JOB, false);
    assert_int_equal(take(AGENT_EPILOG), 1);
    assert_int_equal(taken.job_id, JOB);
    assert_string_equal(taken.role, "");
}

/* One that comes while the epilog runs waits for it, and has a prolog of its own. */
TEST(test_back_again)
{
    order(0);
    (void)enter(0);
    agent_core_prolog_ended(core, JOB, true);
    observed(0, &running);
    observed(0, &gone);
    order(1);
    assert_int_equal(enter(1), VISIT_WAIT);
    agent_core_epilog_ended(core, JOB, now);
    assert_int_equal(enter(1), VISIT_BEGIN);
    agent_core_prolog_ended(core, JOB, true);
    assert_int_equal(enter(1), VISIT_GO);
}

/* ---- an agent that begins ---- */

static void adopt(uint32_t index, const struct agent_facts *facts)
{
    const struct process_id id = id_of(index);

    agent_core_adopt(core, &id, GRACE, facts);
}

/* Its processes ended while there was no agent: the epilog is due, the end is told behind it. */
TEST(test_an_epilog_that_was_due)
{
    adopt(0, &gone);
    assert_int_equal(told(0), UNIT_EXITED);
    agent_core_adopt_visit(core, JOB, true);
    assert_int_equal(told(0), UNIT_PREPARING);
    assert_int_equal(take(AGENT_EPILOG), 0); /* before the first orders nothing is done */
    order(0);
    assert_int_equal(take(AGENT_EPILOG), 1);
    tell_orders();
    assert_int_equal(take(AGENT_EPILOG), 0); /* once */
    agent_core_epilog_ended(core, JOB, now);
    assert_int_equal(told(0), UNIT_EXITED);
}

TEST(test_a_job_that_lives_is_adopted)
{
    adopt(0, &running);
    agent_core_adopt_visit(core, JOB, false); /* it runs, whatever the record says */
    order(0);
    order(1);
    assert_int_equal(enter(1), VISIT_GO);
    assert_int_equal(take(AGENT_EPILOG), 0);
    observed(1, &gone);
    observed(0, &gone);
    assert_int_equal(take(AGENT_EPILOG), 1);
}

TEST(test_a_job_without_a_record_is_bare)
{
    adopt(0, &running);
    order(0);
    order(1);
    assert_int_equal(enter(1), VISIT_GO);
    observed(1, &gone);
    observed(0, &gone);
    assert_int_equal(take(AGENT_EPILOG), 0);
}

/* The agent was killed in the middle of a prolog: it is run again where the job is still to come,
 * and undone where it is not. */
TEST(test_a_prolog_that_was_cut)
{
    agent_core_adopt_visit(core, JOB, false);
    order(0);
    assert_int_equal(take(AGENT_EPILOG), 0);
    assert_int_equal(enter(0), VISIT_BEGIN);
    (void)teardown(NULL);
    (void)setup(NULL);
    agent_core_adopt_visit(core, JOB, false);
    tell_orders();
    assert_int_equal(take(AGENT_EPILOG), 1);
    assert_int_equal(taken.job_id, JOB);
}

/* ---- names, owners, words ---- */

TEST(test_names_as_run_parts_takes_them)
{
    static const char *const good[] = { "10-mount", "a", "Z_9", "-" };
    static const char *const bad[] = { "",    ".",          "..",       "10-mount.sh", "a~",
                                       "a b", "x.dpkg-old", "\xc3\xa4", "a/b",         "a\n" };

    for (size_t i = 0; i < ELEMENTS(good); i++)
        assert_true(drop_in_name_valid(good[i]));
    for (size_t i = 0; i < ELEMENTS(bad); i++)
        assert_false(drop_in_name_valid(bad[i]));
}

TEST(test_whose_they_may_be)
{
    assert_true(drop_in_trusted(0, 0755, false));
    assert_true(drop_in_trusted(0, 01777, true)); /* /tmp: its owner alone replaces it */
    assert_false(drop_in_trusted(0, 01777, false));
    assert_false(drop_in_trusted(0, 0775, true));
    assert_false(drop_in_trusted(0, 0757, false));
    assert_false(drop_in_trusted(1000, 0755, false));
}

static const char *last_line(const char *text)
{
    static char room[100];

    (void)snprintf(room, sizeof room, "%s", text);
    return drop_in_last_line(room);
}

TEST(test_the_last_line)
{
    assert_string_equal(last_line("one\ntwo\n\n \n"), "two");
    assert_string_equal(last_line("  one"), "one");
    assert_string_equal(last_line(""), "");
    assert_string_equal(last_line("\n\n"), "");
    assert_string_equal(last_line("a\x1b[31mb"), "a?[31mb");
    assert_string_equal(last_line("\xc3\xa9tat"), "\xc3\xa9tat");
    assert_string_equal(last_line("a\xff\xc3\xa9"), "a?\xc3\xa9");
}

TEST(test_what_is_said)
{
    static char many[300];
    char text[DROP_IN_REASON_SIZE];

    drop_in_say(DROP_IN_PROLOG, "10-mount", DROP_IN_CODE, 3, "no route", text);
    assert_string_equal(text, "prolog 10-mount ended with 3: no route");
    drop_in_say(DROP_IN_EPILOG, "a", DROP_IN_SIGNAL, 9, "", text);
    assert_string_equal(text, "epilog a was killed by signal 9");
    drop_in_say(DROP_IN_PROLOG, "a", DROP_IN_TIMEOUT, 60, "", text);
    assert_string_equal(text, "prolog a took longer than 60 s");
    drop_in_say(DROP_IN_PROLOG, "", DROP_IN_REFUSED, 0, "why", text);
    assert_string_equal(text, "prolog is not run: why");
    (void)memset(many, 'x', sizeof many - 1);
    drop_in_say(DROP_IN_PROLOG, many, DROP_IN_CODE, 3, many, text);
    assert_true(strlen(text) < DROP_IN_REASON_SIZE - 1);
    assert_non_null(strstr(text, "x ended with 3: x"));
}
