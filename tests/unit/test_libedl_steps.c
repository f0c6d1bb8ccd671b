/* SPDX-License-Identifier: Apache-2.0 */
/* test_libedl_steps.c - steps of training: added up, told once a second, waited for by nobody */

#include <errno.h>
#include <poll.h>
#include <stdio.h>

#include "shared/clock.h"
#include "shared/macro.h"
#include "tests/unit/edl_agent.h"
#include "tests/unit/test.h"

struct told {
    unsigned long long step, steps, samples, compute_us, wait_us;
};

static struct told told_at(const struct agent *agent, unsigned i)
{
    uint64_t end_us = clock_read_us(CLOCK_BOOTTIME) + 120 * USEC_PER_SEC;
    struct told told = { 0 };

    while (edl_agent_asked(agent) <= i) { /* it is on its way */
        assert_true(clock_read_us(CLOCK_BOOTTIME) < end_us);
        (void)poll(NULL, 0, 1);
    }
    if (sscanf(agent->asked->text[i],
               "POST /processes/self/steps {\"step\":%llu,\"steps\":%llu,\"samples\":%llu,"
               "\"compute_us\":%llu,\"wait_us\":%llu}",
               &told.step, &told.steps, &told.samples, &told.compute_us, &told.wait_us) != 5)
        fail_msg("asked: %s", agent->asked->text[i]);
    return told;
}

/* Steps of 4 samples that compute 3 us and wait 1 us, until the agent has answered so often: the
 * end of a client does not wait for an answer for long. */
static unsigned step_until(struct agent *agent, unsigned n)
{
    uint64_t end_us = clock_read_us(CLOCK_BOOTTIME) + 120 * USEC_PER_SEC;
    unsigned steps = 0;

    for (; edl_agent_answered(agent) < n; steps++) {
        assert_true(clock_read_us(CLOCK_BOOTTIME) < end_us);
        assert_int_equal(edl_step(agent->client, EDL_AUTO, 4, 3, 1), 0);
    }
    return steps;
}

TEST(test_steps_are_added_up_and_told_once_a_second)
{
    static const char *const answers[] = { SAYS("{}"), SAYS("{}"), SAYS("{}"), NULL };
    struct told told, sum = { 0 };
    struct agent agent;
    uint64_t begun_us;
    unsigned steps;

    edl_agent_begin(&agent, answers);
    begun_us = clock_read_us(CLOCK_BOOTTIME);
    assert_int_equal(edl_step(agent.client, 41, 4, 3, 1), 0);
    steps = 1 + step_until(&agent, 2);
    assert_true(clock_read_us(CLOCK_BOOTTIME) - begun_us > 900 * USEC_PER_MSEC);
    told = told_at(&agent, 0);
    assert_int_equal(told.step, 41);
    assert_int_equal(told.steps, 1);
    assert_int_equal(told.samples, 4);
    assert_int_equal(edl_step(agent.client, EDL_AUTO, 4, 3, 1), 0);
    steps++;
    assert_null(edl_client_free(agent.client)); /* the last ones are told at the end */
    agent.client = NULL;
    for (unsigned i = 0; i < 3; i++) {
        told = told_at(&agent, i);
        sum.steps += told.steps;
        sum.samples += told.samples;
        sum.compute_us += told.compute_us;
        sum.wait_us += told.wait_us;
    }
    assert_int_equal(told.step, 40 + steps);
    assert_int_equal(sum.steps, steps);
    assert_int_equal(sum.samples, 4 * (uint64_t)steps);
    assert_int_equal(sum.compute_us, 3 * (uint64_t)steps);
    assert_int_equal(sum.wait_us, steps);
    edl_agent_end(&agent);
}

/* Who died without an answer knows nothing any more; who was not there, nor. */
TEST(test_steps_that_nobody_took_are_told_again)
{
    static const char *const answers[] = { "", "HTTP/1.1 503 No\r\n\r\n", SAYS("{}"), SAYS("{}"),
                                           NULL };
    struct agent agent;
    unsigned steps;

    edl_agent_begin(&agent, answers);
    steps = step_until(&agent, 2);
    assert_true(told_at(&agent, 1).steps > told_at(&agent, 0).steps);
    steps += step_until(&agent, 3);
    assert_int_equal(edl_step(agent.client, EDL_AUTO, 4, 3, 1), 0);
    steps++;
    assert_null(edl_client_free(agent.client));
    agent.client = NULL;
    assert_int_equal(told_at(&agent, 2).steps + told_at(&agent, 3).steps, steps);
    edl_agent_end(&agent);
}

/* longest_step - of those that are told to such an agent for so long */
static uint64_t longest_step(const char *const *answers, uint64_t for_us)
{
    uint64_t most_us = 0, begun_us;
    struct agent agent;

    edl_agent_begin(&agent, answers);
    (void)step_until(&agent, 1);
    begun_us = clock_read_us(CLOCK_BOOTTIME);
    for (uint64_t at_us = begun_us; at_us - begun_us < for_us;) {
        uint64_t before_us = at_us;

        assert_int_equal(edl_step(agent.client, EDL_AUTO, 1, EDL_AUTO, 0), 0);
        at_us = clock_read_us(CLOCK_BOOTTIME);
        most_us = MAX_OF(most_us, at_us - before_us);
    }
    assert_int_equal(edl_agent_asked(&agent), 1);
    edl_agent_end(&agent);
    return most_us;
}

/* An agent of before does not know the call: it is not asked each second. One that is frozen
 * answers nothing: nobody waits for it. A machine that stands still is looked at once more. */
TEST(test_steps_never_wait)
{
    static const char *const before[] = { REFUSES("403 Forbidden", "not allowed"), SAYS("{}"),
                                          NULL };
    static const char *const frozen[] = { HELD, NULL };
    uint64_t end_us = clock_read_us(CLOCK_BOOTTIME) + 120 * USEC_PER_SEC;

    while (longest_step(before, 2300 * USEC_PER_MSEC) >= USEC_PER_SEC)
        assert_true(clock_read_us(CLOCK_BOOTTIME) < end_us);
    while (longest_step(frozen, 1300 * USEC_PER_MSEC) >= USEC_PER_SEC)
        assert_true(clock_read_us(CLOCK_BOOTTIME) < end_us);
}

TEST(test_a_step_of_nobody_and_one_that_cannot_be)
{
    static const char *const answers[] = { SAYS("{}"), NULL };
    struct agent agent;

    assert_int_equal(edl_step(NULL, EDL_AUTO, 1, EDL_AUTO, 0), 0);
    edl_agent_begin(&agent, answers);
    assert_int_equal(edl_step(agent.client, UINT64_C(1) << 53, 1, 1, 1), -EINVAL);
    assert_int_equal(edl_step(agent.client, 1, EDL_AUTO, 1, 1), -EINVAL);
    assert_int_equal(edl_step(agent.client, 1, 1, UINT64_C(1) << 53, 1), -EINVAL);
    assert_int_equal(edl_step(agent.client, 1, 1, 1, EDL_AUTO), -EINVAL);
    assert_says(&agent, "2^53 - 1 at most");
    assert_int_equal(edl_agent_asked(&agent), 0);
    /* of the first one nobody knows how long it took; its wait counts, and no less than nothing */
    assert_int_equal(edl_step(agent.client, 7, 1, EDL_AUTO, 5000000), 0);
    assert_null(edl_client_free(agent.client));
    agent.client = NULL;
    assert_int_equal(told_at(&agent, 0).compute_us, 0);
    assert_int_equal(told_at(&agent, 0).wait_us, 5000000);
    edl_agent_end(&agent);
}
