/* SPDX-License-Identifier: Apache-2.0 */
/* test_session_listeners.c - whose socket would answer at a port of the node */
#include "tests/unit/test.h"

#include <arpa/inet.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/session/session_listeners.h"
#include "shared/cleanup.h"
#include "shared/macro.h"

/* Of port 0x22B8 = 8888, as a machine of this byte order prints it. */
#define REST " 00000000:00000000 00:00000000 00000000  1000        0 "
#define V4_LOOPBACK "   0: 0100007F:22B8 00000000:0000 0A" REST "101 1 0000 100 0 0 10 0\n"
#define V4_ANY "   1: 00000000:22B8 00000000:0000 0A" REST "102 1 0000 100 0 0 10 0\n"
#define V4_CONNECTED "   2: 0100007F:22B8 0100007F:D431 01" REST "103 1 0000 20 4 30 10 -1\n"
#define V4_OTHER_PORT "   3: 00000000:0016 00000000:0000 0A" REST "104 1 0000 100 0 0 10 0\n"
#define NO_ADDRESS "00000000000000000000000000000000"
#define V6_ANY "   0: " NO_ADDRESS ":22B8 " NO_ADDRESS ":0000 0A" REST "105 1 0000 100 0 0 10 0\n"
#define V6_LOOPBACK                                                                                \
    "   1: 00000000000000000000000001000000:22B8 " NO_ADDRESS ":0000 0A" REST                      \
    "106 1 0000 100 0 0 10 0\n"
#define V6_MAPPED                                                                                  \
    "   2: 0000000000000000FFFF00000100007F:22B8 " NO_ADDRESS ":0000 0A" REST                      \
    "107 1 0000 100 0 0 10 0\n"

static struct session_listeners of(const char *const *v4, size_t n_v4, const char *const *v6,
                                   size_t n_v6)
{
    struct session_listeners listeners = { 0 };

    for (size_t i = 0; i < n_v4; i++)
        session_listeners_take(&listeners, v4[i], false, 8888);
    for (size_t i = 0; i < n_v6; i++)
        session_listeners_take(&listeners, v6[i], true, 8888);
    return listeners;
}

/* answers - the inodes of those that might, as digits behind each other */
static void answers(const struct session_listeners *listeners, const char *address,
                    const char *expected)
{
    struct session_listeners at;
    struct in6_addr parsed;
    char text[256] = "";

    assert_int_equal(inet_pton(AF_INET6, address, &parsed), 1);
    session_listeners_at(listeners, &parsed, &at);
    for (size_t i = 0; i < at.n; i++)
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%lu ",
                       (unsigned long)at.list[i].inode);
    assert_string_equal(text, expected);
}

static int hold(pid_t pid, const void *gone)
{
    return gone != NULL ? -1 : pidfd_open(pid, 0);
}

TEST(test_only_those_that_listen_at_the_port)
{
    static const char *const v4[] = {
        V4_CONNECTED, V4_OTHER_PORT, V4_ANY,
        "",           "nonsense",    "  sl  local_address rem_address   st tx_queue\n"
    };
    struct session_listeners listeners = of(v4, ELEMENTS(v4), NULL, 0);

    assert_int_equal(listeners.n, 1);
    answers(&listeners, "::ffff:127.0.0.1", "102 ");
    answers(&listeners, "::1", "");
}

TEST(test_the_exact_address_goes_before_all_addresses)
{
    static const char *const v4[] = { V4_ANY, V4_LOOPBACK }, *const v6[] = { V6_ANY };
    struct session_listeners listeners = of(v4, 2, v6, 1);

    answers(&listeners, "::ffff:127.0.0.1", "101 ");
    answers(&listeners, "::ffff:10.0.0.7", "102 105 ");
    answers(&listeners, "::1", "105 ");
}

TEST(test_version_6_answers_to_version_4_and_not_the_other_way)
{
    static const char *const v6[] = { V6_MAPPED, V6_LOOPBACK };
    struct session_listeners listeners = of(NULL, 0, v6, 2);

    answers(&listeners, "::ffff:127.0.0.1", "107 ");
    answers(&listeners, "::1", "106 ");
    answers(&listeners, "::ffff:127.0.0.2", "");
}

TEST(test_a_stranger_beside_makes_it_nobodys)
{
    static const char *const v4[] = { V4_ANY }, *const v6[] = { V6_ANY };
    struct session_listeners listeners = of(v4, 1, v6, 1);
    const pid_t self = getpid();

    /* neither inode is one of ours */
    assert_false(session_listeners_owned(&listeners, &self, 1, hold, NULL));
}

static int listen_at(uint16_t *ret_port)
{
    struct sockaddr_in address = { .sin_family = AF_INET };
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    *ret_port = ntohs(address.sin_port);
    return fd;
}

TEST(test_a_socket_of_ours_is_ours_and_not_our_parents)
{
    const pid_t self = getpid(), parent = getppid();
    struct session_listeners listeners, at;
    _cleanup_close_ int fd = -1;
    struct in6_addr loopback;
    uint16_t port;

    fd = listen_at(&port);
    assert_int_equal(inet_pton(AF_INET6, "::ffff:127.0.0.1", &loopback), 1);
    assert_int_equal(session_listeners_read(self, port, &listeners), 0);
    session_listeners_at(&listeners, &loopback, &at);
    assert_int_equal(at.n, 1);
    assert_true(session_listeners_owned(&at, &self, 1, hold, NULL));
    assert_false(session_listeners_owned(&at, &self, 1, hold, "it is another one by now"));
    assert_false(session_listeners_owned(&at, &parent, 1, hold, NULL));
    assert_false(session_listeners_owned(&at, NULL, 0, hold, NULL));
}

TEST(test_nobody_listens)
{
    struct session_listeners none = { 0 };
    const pid_t self = getpid();

    assert_false(session_listeners_owned(&none, &self, 1, hold, NULL));
}
