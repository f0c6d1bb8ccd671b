/* SPDX-License-Identifier: Apache-2.0 */
/* test_agent_wire.c - which ends talk to each other, and the answer to an end that may not
 *
 * The calls themselves are played by tests/integration/261-mixed-versions.sh. */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "shared/agent_wire.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

static int check(const char *text, struct agent_wire own, enum agent_wire_peer peer,
                 struct edl_error *error)
{
    json_t *json = json_loads(text, 0, NULL);
    int r;

    assert_non_null(json);
    *error = (struct edl_error){ 0 };
    r = agent_wire_check(json, &own, peer, error);
    json_decref(json);
    return r;
}

TEST(test_neighbours_talk)
{
    static const struct {
        const char *other;
        struct agent_wire own;
        int result;
    } rows[] = {
        { "{}", { 1, 1 }, 0 }, /* before there was a number */
        { "{}", { 2, 1 }, 0 },
        { "{}", { 3, 2 }, EDL_EWIRE },
        { "{\"wire\":2,\"wire_oldest\":1}", { 1, 1 }, 0 },
        { "{\"wire\":2,\"wire_oldest\":1}", { 3, 2 }, 0 },
        { "{\"wire\":2,\"wire_oldest\":1}", { 4, 3 }, EDL_EWIRE },
        { "{\"wire\":3,\"wire_oldest\":2}", { 1, 1 }, EDL_EWIRE },
        { "{\"wire\":2}", { 1, 1 }, 0 },
        { "{\"wire\":0}", { 1, 1 }, -EINVAL },
        { "{\"wire\":\"1\"}", { 1, 1 }, -EINVAL },
        { "{\"wire\":1,\"wire_oldest\":-1}", { 1, 1 }, -EINVAL },
    };
    struct edl_error error;

    for (size_t i = 0; i < ELEMENTS(rows); i++)
        assert_int_equal(check(rows[i].other, rows[i].own, WIRE_PEER_AGENT, &error),
                         rows[i].result);
}

TEST(test_who_is_to_be_upgraded)
{
    static const struct {
        const char *other;
        enum agent_wire_peer peer;
        const char *text, *remedy;
    } rows[] = {
        { "{\"wire\":1}", WIRE_PEER_AGENT, "the agent 1 to 1: it is too old",
          "upgrade edl-agent on that node" },
        { "{\"wire\":9,\"wire_oldest\":8}", WIRE_PEER_AGENT, "the agent 8 to 9: it is too new",
          "upgrade the scheduler" },
        { "{\"wire\":1}", WIRE_PEER_SCHEDULER, "the scheduler 1 to 1: it is too old",
          "upgrade the scheduler" },
        { "{\"wire\":9,\"wire_oldest\":8}", WIRE_PEER_SCHEDULER,
          "the scheduler 8 to 9: it is too new", "upgrade edl-agent on this node" },
    };
    struct edl_error error;

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        assert_int_equal(check(rows[i].other, (struct agent_wire){ 5, 4 }, rows[i].peer, &error),
                         EDL_EWIRE);
        assert_non_null(strstr(error.text, rows[i].text));
        assert_string_equal(error.remedy, rows[i].remedy);
    }
}

TEST(test_what_this_program_says)
{
    json_t *json = agent_wire_add(json_object());
    struct agent_wire own = agent_wire_own();
    struct edl_error error;

    assert_int_equal(json_integer_value(json_object_get(json, "wire")), AGENT_WIRE_NEWEST);
    assert_int_equal(json_integer_value(json_object_get(json, "wire_oldest")), AGENT_WIRE_OLDEST);
    assert_int_equal(agent_wire_check(json, &own, WIRE_PEER_AGENT, &error), 0);
    json_decref(json);
}
