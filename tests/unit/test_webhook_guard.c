/* SPDX-License-Identifier: Apache-2.0 */
/* test_webhook_guard.c - to which addresses the scheduler calls for its users */
#include "scheduler/notices/webhook_guard.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "scheduler/notices/own_socket_address.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

static struct webhook_rules rules_of(const char *text)
{
    struct webhook_rules rules;
    struct edl_error error;

    if (webhook_rules_parse(text, &rules, &error) < 0)
        fail_msg("%s: %s", text, error.text);
    return rules;
}

union an_address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static union an_address address_of(const char *text)
{
    union an_address address = { .v4.sin_family = AF_INET };

    if (inet_pton(AF_INET, text, &address.v4.sin_addr) == 1)
        return address;
    address = (union an_address){ .v6.sin6_family = AF_INET6 };
    assert_int_equal(inet_pton(AF_INET6, text, &address.v6.sin6_addr), 1);
    return address;
}

static bool allows(const char *text, const char *host, const char *address)
{
    struct webhook_rules rules = rules_of(text);
    union an_address to = address_of(address);

    return webhook_address_allowed(&rules, host, &to.any, false);
}

/* An address of the Internet that this machine has is its own: a firewall may trust it. */
TEST(test_a_public_address_of_this_machine)
{
    union an_address own = address_of("8.8.8.8");
    struct webhook_rules rules = rules_of("public");

    assert_true(webhook_address_allowed(&rules, "h", &own.any, false));
    assert_false(webhook_address_allowed(&rules, "h", &own.any, true));
    rules = rules_of("public,8.8.8.8");
    assert_true(webhook_address_allowed(&rules, "h", &own.any, true));
    rules = rules_of("h");
    assert_true(webhook_address_allowed(&rules, "h", &own.any, true));
}

TEST(test_own_addresses)
{
    union an_address loop = address_of("127.0.0.1"), other = address_of("192.0.2.1");

    assert_true(is_own_socket_address(&loop.any));
    assert_false(is_own_socket_address(&other.any));
}

static const char *const inner[] = { "0.0.0.0",
                                     "10.0.0.1",
                                     "10.255.255.255",
                                     "100.64.0.1",
                                     "100.127.255.255",
                                     "127.0.0.1",
                                     "127.255.0.1",
                                     "169.254.169.254",
                                     "172.16.0.1",
                                     "172.31.255.255",
                                     "192.0.0.1",
                                     "192.168.1.1",
                                     "198.18.0.1",
                                     "198.19.255.255",
                                     "203.0.113.9",
                                     "224.0.0.1",
                                     "239.1.2.3",
                                     "240.0.0.1",
                                     "255.255.255.255",
                                     "::",
                                     "::1",
                                     "fe80::1",
                                     "fc00::1",
                                     "fd12::1",
                                     "ff02::1",
                                     "::ffff:127.0.0.1",
                                     "::ffff:10.0.0.1",
                                     "::ffff:169.254.169.254",
                                     "64:ff9b::7f00:1",
                                     "64:ff9b::a00:1",
                                     "2002:7f00:1::",
                                     "2002:c0a8:101::1",
                                     "2001:0:4136:e378::1",
                                     "2001:db8::1",
                                     "fec0::1",
                                     "::127.0.0.1",
                                     "64:ff9b:1::1",
                                     "4000::1" };
static const char *const outer[] = { "1.1.1.1",        "9.255.255.255",    "11.0.0.0",
                                     "100.63.255.255", "100.128.0.0",      "126.255.255.255",
                                     "128.0.0.1",      "169.253.0.1",      "172.15.255.255",
                                     "172.32.0.0",     "192.167.0.1",      "192.169.0.1",
                                     "223.255.255.1",  "2606:4700::1",     "2a00::1",
                                     "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1" };

TEST(test_public_is_what_the_internet_knows)
{
    for (size_t i = 0; i < ELEMENTS(inner); i++)
        if (allows("public", "h", inner[i]))
            fail_msg("%s is allowed", inner[i]);
    for (size_t i = 0; i < ELEMENTS(outer); i++)
        if (!allows("public", "h", outer[i]))
            fail_msg("%s is not allowed", outer[i]);
}

TEST(test_what_is_named_is_allowed_beside)
{
    assert_true(allows("public,10.1.0.0/16", "h", "10.1.255.1"));
    assert_true(allows("public,10.1.0.0/16", "h", "1.1.1.1"));
    assert_false(allows("public,10.1.0.0/16", "h", "10.2.0.1"));
    assert_true(allows("10.1.0.0/16", "h", "::ffff:10.1.2.3"));
    assert_false(allows("10.1.0.0/16", "h", "1.1.1.1"));
    assert_true(allows("127.0.0.1", "h", "127.0.0.1"));
    assert_false(allows("127.0.0.1", "h", "127.0.0.2"));
    assert_true(allows("fd00::/9", "h", "fd7f::1"));
    assert_false(allows("fd00::/9", "h", "fd80::1"));
    assert_true(allows("Hooks.lab", "hooks.LAB", "10.0.0.1"));
    assert_false(allows("hooks.lab", "xhooks.lab", "10.0.0.1"));
    assert_false(allows("hooks.lab", "hooks.lab.evil.example", "10.0.0.1"));
    assert_true(allows("0.0.0.0/0", "h", "127.0.0.1"));
    assert_false(allows("0.0.0.0/0", "h", "::1"));
    assert_true(allows("::/0", "h", "127.0.0.1"));
    assert_false(allows("none", "h", "1.1.1.1"));
}

TEST(test_a_host_that_is_an_address_is_seen_at_once)
{
    struct webhook_rules open = rules_of("public"), none = rules_of("none");

    assert_true(webhook_host_refused(&open, "127.0.0.1"));
    assert_true(webhook_host_refused(&open, "::1"));
    assert_true(webhook_host_refused(&open, "169.254.169.254"));
    assert_false(webhook_host_refused(&open, "1.1.1.1"));
    assert_false(webhook_host_refused(&open, "localhost")); /* judged when it is looked up */
    assert_true(webhook_host_refused(&none, "hooks.example"));
}

TEST(test_lists_that_are_refused)
{
    static const char *const bad[] = { "",
                                       "public,",
                                       ",public",
                                       "public 10.0.0.1",
                                       "10.0.0.0/33",
                                       "10.0.0.0/",
                                       "10.0.0/8",
                                       "::/129",
                                       "none,public",
                                       "h_x",
                                       "http://h",
                                       "-h",
                                       "10.0.0.0/8x",
                                       "/8" };
    struct webhook_rules rules;

    for (size_t i = 0; i < ELEMENTS(bad); i++) {
        struct edl_error error = { 0 };

        if (webhook_rules_parse(bad[i], &rules, &error) != -EINVAL)
            fail_msg("\"%s\" is taken", bad[i]);
        assert_true(error.remedy[0] != '\0');
    }
    rules = rules_of(" public , 10.0.0.0/8 ");
    assert_true(rules.open);
    assert_int_equal(rules.n_nets, 1);
}
