/* SPDX-License-Identifier: Apache-2.0 */
/* test_copy_wait.c - what people are told of a database whose commits wait for its copy */
#include "scheduler/leadership/copy_wait.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "scheduler/leadership/shared_database.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

static struct shared_facts facts_of(const char *wanted, uint64_t waits_us, const char *state)
{
    struct shared_facts facts = { .server = "n2", .commit_waits_us = waits_us };

    (void)snprintf(facts.wanted_copies, sizeof facts.wanted_copies, "%s", wanted);
    if (state != NULL)
        (void)snprintf(facts.copies[facts.n_copies++].state, sizeof facts.copies[0].state, "%s",
                       state);
    return facts;
}

TEST(test_a_commit_that_waits_for_a_moment_is_no_news)
{
    static const struct {
        const char *wanted;
        uint64_t waits_us;
        bool is_on;
    } cases[] = {
        { "edl", 0, false },
        { "edl", USEC_PER_SEC - 1, false },
        { "edl", USEC_PER_SEC, true },
        { "ANY 1 (a, b)", 3600 * USEC_PER_SEC, true },
        { "", 0, false },
        { "", 10 * USEC_PER_SEC, false }, /* the names were taken out a moment ago */
    };

    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        const struct shared_facts facts = facts_of(cases[i].wanted, cases[i].waits_us, NULL);
        struct edl_error error = { 0 };

        if (copy_wait_is_on(&facts) != cases[i].is_on)
            fail_msg("case %zu", i);
        assert_int_equal(copy_wait_error(&facts, &error), cases[i].is_on ? -EAGAIN : 0);
        assert_int_equal(error.code, cases[i].is_on ? -EAGAIN : 0);
        assert_int_equal(copy_wait_nameless(&facts, &error), cases[i].is_on ? -EAGAIN : 0);
    }
}

TEST(test_the_copy_and_the_remedy_are_named)
{
    static const struct {
        const char *state; /* of a copy that is connected; NULL: none is */
        const char *text, *remedy;
    } cases[] = {
        { NULL, "does not follow it", "start that copy" },
        { "async", "does not follow it", "start that copy" }, /* another name, by a typing error */
        { "potential", "does not follow it", "start that copy" },
        { "sync", "confirms nothing", "the disk and the network of that copy" },
        { "quorum", "confirms nothing", "the disk and the network of that copy" },
        { "unknown", "confirms nothing", "the disk and the network of that copy" },
    };

    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        const struct shared_facts facts = facts_of("edl", 2 * USEC_PER_SEC, cases[i].state);
        struct edl_error error = { 0 };

        (void)copy_wait_error(&facts, &error);
        if (strstr(error.text, "the database at n2 waits for its synchronous copy \"edl\"") ==
                NULL ||
            strstr(error.text, cases[i].text) == NULL)
            fail_msg("case %zu: %s", i, error.text);
        if (strstr(error.remedy, cases[i].remedy) == NULL ||
            strstr(error.remedy, "synchronous_standby_names of n2") == NULL)
            fail_msg("case %zu: %s", i, error.remedy);
        (void)copy_wait_nameless(&facts, &error);
        if (strstr(error.text, cases[i].text) == NULL ||
            strstr(error.remedy, cases[i].remedy) == NULL || strstr(error.text, "edl") != NULL ||
            strstr(error.text, "n2") != NULL || strstr(error.remedy, "n2") != NULL)
            fail_msg("case %zu: %s; %s", i, error.text, error.remedy);
    }
}

TEST(test_long_names_are_cut)
{
    char wanted[sizeof((struct shared_facts *)NULL)->wanted_copies];
    struct shared_facts facts;
    struct edl_error error = { 0 };

    memset(wanted, 'x', sizeof wanted - 1);
    wanted[sizeof wanted - 1] = '\0';
    facts = facts_of(wanted, 2 * USEC_PER_SEC, NULL);
    memset(facts.server, 'y', sizeof facts.server - 1);
    assert_int_equal(copy_wait_error(&facts, &error), -EAGAIN);
    assert_non_null(strstr(error.text, "does not follow it"));
    assert_non_null(strstr(error.remedy, "docs/replicated.md"));
}
