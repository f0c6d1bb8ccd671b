/* SPDX-License-Identifier: Apache-2.0 */
/* test_host_port.c - addresses of parameter servers as people write them */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "shared/macro.h"
#include "tests/unit/test.h"
#include "trainer/wire/host_port.h"

#define HOST_SIZE 16

TEST(test_what_is_one)
{
    static const struct {
        const char *text, *host;
        uint16_t port;
    } cases[] = {
        { "10.0.0.1:7164", "10.0.0.1", 7164 },
        { "n1:0", "n1", 0 },
        { "[fe80::1]:1", "fe80::1", 1 },
        { "::1:65535", "::1", 65535 },
        { "a[b]:1", "a[b]", 1 },
        { "123456789012345:1", "123456789012345", 1 },
    };

    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        char host[HOST_SIZE];
        uint16_t port = 9;

        if (host_port_parse(cases[i].text, strlen(cases[i].text), host, sizeof host, &port) < 0)
            fail_msg("%s is refused", cases[i].text);
        assert_string_equal(host, cases[i].host);
        assert_int_equal(port, cases[i].port);
    }
}

TEST(test_what_is_none)
{
    static const char *const bad[] = { "",
                                       "n1",
                                       "n1:",
                                       ":1",
                                       "[]:1",
                                       "n1:1x",
                                       "n1:-1",
                                       "n1:65536",
                                       "n1: 1",
                                       "n1:00000000001",
                                       "[::1]:",
                                       "n1:7164:x",
                                       "1234567890123456:1" };
    char host[HOST_SIZE] = "kept";
    uint16_t port = 9;

    for (size_t i = 0; i < ELEMENTS(bad); i++)
        if (host_port_parse(bad[i], strlen(bad[i]), host, sizeof host, &port) != -EINVAL)
            fail_msg("%s is taken", bad[i]);
    assert_string_equal(host, "kept");
    assert_int_equal(port, 9);
}

/* A word of a list ends where the caller says. */
TEST(test_a_word_of_a_list)
{
    char host[HOST_SIZE];
    uint16_t port;

    assert_int_equal(host_port_parse("n1:71,n2:8", 5, host, sizeof host, &port), 0);
    assert_string_equal(host, "n1");
    assert_int_equal(port, 71);
}
