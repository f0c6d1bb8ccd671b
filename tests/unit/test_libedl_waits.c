/* SPDX-License-Identifier: Apache-2.0 */
/* test_libedl_waits.c - waits of a program with a poll loop, against an agent that says whatever
 * the test wants */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "libedl/edl/edl.h"
#include "shared/macro.h"
#include "tests/unit/edl_agent.h"
#include "tests/unit/test.h"

#define MASTER "\"master\":{\"address\":\"a\",\"port\":7164}"
#define WORLD(generation)                                                                          \
    "{\"generation\":" generation ",\"rank\":1,\"world_size\":9000," MASTER "}"

/* go - the loop of a program; how it ends */
static int go(struct edl_wait *wait, struct edl_world **ret)
{
    int r;

    while ((r = edl_wait_go_on(wait, ret)) == -EAGAIN) {
        struct pollfd p = { .fd = edl_wait_fd(wait), .events = edl_wait_events(wait) };

        assert_in_range(edl_wait_timeout_ms(wait), 0, 1000);
        (void)poll(&p, 1, edl_wait_timeout_ms(wait));
    }
    return r;
}

TEST(test_wait_for_a_world)
{
    static const char *const answers[] = { SAYS("{\"wait\":true,\"arrived\":1,\"missing\":[]}"),
                                           SAYS(WORLD("3")), SAYS("{\"leaving\":true}"), NULL };
    struct edl_world *world = NULL;
    struct edl_wait *wait = NULL;
    struct agent agent;

    edl_agent_begin(&agent, answers);
    assert_int_equal(edl_world_note(agent.client, "here"), 0);
    assert_int_equal(edl_world_join_begin(agent.client, UINT64_MAX, &wait), -EINVAL);
    assert_null(wait);
    assert_int_equal(edl_world_join_begin(agent.client, 2, &wait), 0);
    assert_int_equal(edl_agent_asked(&agent), 0);
    assert_int_equal(go(wait, &world), 1);
    assert_true(world->generation == 3 && world->rank == 1 && world->size == 9000);
    for (unsigned i = 0; i < 2; i++)
        assert_string_equal(agent.asked->text[i],
                            "POST /jobs/self/rendezvous {\"after\":2,\"note\":"
                            "\"here\",\"wait\":20}");
    world = edl_world_free(world);
    wait = edl_wait_free(wait);
    assert_int_equal(edl_world_join_begin(agent.client, 3, &wait), 0);
    assert_int_equal(go(wait, &world), 0);
    assert_null(world);
    wait = edl_wait_free(wait);
    edl_agent_end(&agent);
}

/* Two waits of one client, and a call between: none disturbs the others. */
TEST(test_wait_beside_a_call)
{
    static const char *const answers[] = { SAYS("{\"generation\":3,\"over\":false}"),
                                           SAYS("{\"generation\":3,\"over\":true}"),
                                           SAYS(WORLD("4")), HELD, NULL };
    struct edl_wait *over = NULL, *freed = NULL;
    struct edl_world *world = NULL;
    struct agent agent;

    edl_agent_begin(&agent, answers);
    assert_int_equal(edl_world_over_begin(agent.client, 0, &over), -EINVAL);
    assert_int_equal(edl_world_over_begin(agent.client, 3, &over), 0);
    assert_int_equal(go(over, NULL), 1);
    over = edl_wait_free(over);
    assert_int_equal(edl_world_join(agent.client, 3, EDL_FOREVER, &world), 1);
    world = edl_world_free(world);
    assert_int_equal(edl_world_over_begin(agent.client, 4, &over), 0);
    assert_int_equal(edl_wait_go_on(over, NULL), -EAGAIN);
    assert_int_equal(edl_world_join_begin(agent.client, 4, &freed), 0);
    freed = edl_wait_free(freed); /* it has not asked */
    over = edl_wait_free(over);   /* while it asks */
    edl_agent_end(&agent);
}

TEST(test_wait_over_failures)
{
    static const char *const answers[] = { REFUSES("503 Service Unavailable", "it restarts"),
                                           "HTTP/1.1 200 OK\r\nContent-Le",
                                           REFUSES("507 Insufficient Storage", "full"),
                                           REFUSES("429 Too Many Requests", "later"),
                                           SAYS("{\"generation\":3,\"over\":true}"),
                                           NULL };
    struct edl_wait *wait = NULL;
    struct agent agent;

    edl_agent_begin(&agent, answers);
    assert_int_equal(edl_world_over_begin(agent.client, 3, &wait), 0);
    assert_int_equal(go(wait, NULL), 1);
    assert_string_equal(edl_last_error(agent.client), "");
    wait = edl_wait_free(wait);
    edl_agent_end(&agent);
}

TEST(test_wait_ends_with_an_error)
{
    static const struct {
        const char *answer;
        int code;
        const char *part;
    } cases[] = {
        { REFUSES("503 Service Unavailable", "it restarts"), -EHOSTUNREACH, "it restarts" },
        { REFUSES("409 Conflict", "over"), -ESTALE, "over: do this" },
        { SAYS("[]"), -EPROTO, "not as expected" },
        { SAYS("{\"generation\":3}"), -EPROTO, "not as expected" },
        { "rubbish", -EHOSTUNREACH, "" },
    };

    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        const char *const answers[] = { cases[i].answer, NULL };
        struct edl_world *world = NULL;
        struct edl_wait *wait = NULL;
        struct agent agent;

        edl_agent_begin(&agent, answers);
        if (cases[i].code == -EHOSTUNREACH)
            edl_client_set_patience(agent.client, 0);
        assert_int_equal(edl_world_join_begin(agent.client, 0, &wait), 0);
        assert_int_equal(go(wait, &world), cases[i].code);
        assert_null(world);
        assert_says(&agent, cases[i].part);
        wait = edl_wait_free(wait);
        edl_agent_end(&agent);
    }
}

/* Nobody listens any more; a flag ends what waits. */
TEST(test_wait_without_an_agent)
{
    static const char *const answers[] = { NULL };
    static volatile sig_atomic_t stop;
    struct edl_wait *wait = NULL;
    struct agent agent;

    edl_agent_begin(&agent, answers);
    while (waitid(P_PID, (id_t)agent.pid, &(siginfo_t){ 0 }, WEXITED | WNOWAIT) == -1)
        assert_int_equal(errno, EINTR);
    edl_client_set_patience(agent.client, 0);
    assert_int_equal(edl_world_over_begin(agent.client, 3, &wait), 0);
    assert_int_equal(go(wait, NULL), -EHOSTUNREACH);
    wait = edl_wait_free(wait);
    edl_client_set_patience(agent.client, 120000000);
    edl_client_set_stop(agent.client, &stop);
    assert_int_equal(edl_world_over_begin(agent.client, 3, &wait), 0);
    assert_int_equal(edl_wait_go_on(wait, NULL), -EAGAIN);
    assert_int_equal(edl_wait_fd(wait), -1);
    assert_in_range(edl_wait_timeout_ms(wait), 1, 50);
    stop = 1;
    assert_int_equal(edl_wait_go_on(wait, NULL), -EINTR);
    wait = edl_wait_free(wait);
    edl_agent_end(&agent);
}

TEST(test_world_now)
{
    static const char *const answers[] = {
        SAYS("{\"generation\":7,\"world_size\":1," MASTER ",\"members\":[{\"rank\":0,\"index\":4,"
             "\"incarnation\":12,\"address\":\"a\",\"ports\":[7165],\"note\":\"here\"}]}"),
        REFUSES("404 Not Found", "no generation"), SAYS("{\"generation\":7}"), NULL
    };
    struct edl_world *world = NULL;
    struct agent agent;

    edl_agent_begin(&agent, answers);
    assert_int_equal(edl_world_now(agent.client, &world), 1);
    assert_true(world->generation == 7 && world->rank == EDL_NO_RANK && world->n_members == 1);
    assert_string_equal(world->members[0].note, "here");
    assert_string_equal(agent.asked->text[0], "GET /jobs/self/rendezvous ");
    world = edl_world_free(world);
    assert_int_equal(edl_world_now(agent.client, &world), 0);
    assert_string_equal(edl_last_error(agent.client), "");
    assert_int_equal(edl_world_now(agent.client, &world), -EPROTO);
    assert_null(world);
    edl_agent_end(&agent);
}
