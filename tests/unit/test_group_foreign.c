/* SPDX-License-Identifier: Apache-2.0 */
/* test_group_foreign.c - another program has the port of a rank: that of one that was just lost,
 * and one that stays */
#include "tests/unit/test.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libedl/group_internal.h"
#include "shared/cleanup.h"
#include "shared/macro.h"

/* A cluster that names the lost rank so many times, and then this one alone. */
struct cluster {
    uint16_t port;
    unsigned lost, generation;
};

static int begin(void *self, enum group_wait which, uint64_t generation)
{
    (void)self;
    (void)which;
    (void)generation;
    return 0;
}

static void poll_for(void *self, enum group_wait which, struct pollfd *ret, int *timeout_ms)
{
    (void)self;
    (void)which;
    *ret = (struct pollfd){ .fd = -1 };
    *timeout_ms = 10;
}

static int go_on(void *self, enum group_wait which, struct edl_world **ret)
{
    struct cluster *c = self;
    struct edl_peer *members = xcalloc(2, sizeof *members);
    const size_t n = c->generation < c->lost ? 2 : 1;

    if (which != GROUP_WAIT_WORLD) {
        free(members);
        return -EAGAIN;
    }
    for (size_t i = 0; i < n; i++) {
        uint16_t *ports = xcalloc(1, sizeof *ports);

        *ports = c->port;
        members[i] = (struct edl_peer){ .address = xstrdup("127.0.0.1"),
                                        .node = xstrdup("node-7"),
                                        .note = xstrdup(""),
                                        .ports = ports,
                                        .n_ports = 1 };
    }
    *ret = xcalloc(1, sizeof **ret);
    **ret = (struct edl_world){ .generation = ++c->generation,
                                .size = n,
                                .rank = n - 1,
                                .master_address = xstrdup("127.0.0.1"),
                                .members = members,
                                .n_members = n };
    return 1;
}

static void end(void *self, enum group_wait which)
{
    (void)self;
    (void)which;
}

/* serve - a process that answers each caller like a web server; its pid */
static pid_t serve(uint16_t *ret_port)
{
    static const char answer[] = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\n"
                                 "Connection: close\r\n\r\nwhatever this program says to those "
                                 "that it does not understand, in 128 bytes and more";
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof address;
    pid_t pid;

    assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(fd, 8), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    *ret_port = ntohs(address.sin_port);
    pid = fork();
    while (pid == 0) {
        char words[4096];
        int caller = accept(fd, NULL, NULL);

        (void)read(caller, words, sizeof words);
        (void)!write(caller, answer, sizeof answer);
        (void)shutdown(caller, SHUT_WR);
        while (read(caller, words, sizeof words) > 0)
            ;
        (void)safe_close(caller);
    }
    (void)safe_close(fd);
    return pid;
}

static int meet(unsigned lost, uint64_t patience_us, unsigned *ret_generations, char ret_text[300])
{
    static const uint8_t secret[JOB_SECRET_BYTES] = { 1 };
    float values[4] = { 0 };
    const struct edl_group_bucket bucket = { "values", 4 };
    const struct edl_group_part part = { values, sizeof values };
    const struct edl_group_options options = {
        .micro_batches = 2, .buckets = &bucket, .n_buckets = 1, .state = &part, .n_parts = 1
    };
    struct cluster c = { .lost = lost };
    const struct group_members members = {
        .self = &c, .begin = begin, .poll = poll_for, .go_on = go_on, .end = end
    };
    struct edl_group_step step;
    struct edl_group *group;
    pid_t pid = serve(&c.port);
    int r;

    assert_int_equal(group_new(&members, &options, 7, secret, group_link_listen(0), &group), 0);
    if (patience_us > 0)
        group->foreign_patience_us = patience_us;
    r = edl_group_begin(group, &step);
    *ret_generations = c.generation;
    (void)snprintf(ret_text, 300, "%s", edl_group_error(group));
    group = edl_group_free(group);
    (void)kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    return r;
}

TEST(test_the_port_of_a_lost_rank_is_another_program_s)
{
    unsigned generations;
    char text[300];

    assert_int_equal(meet(3, 0, &generations, text), 1);
    assert_int_equal(generations, 4);
}

TEST(test_another_program_stays_in_the_place_of_a_rank)
{
    unsigned generations;
    char text[300];

    assert_int_equal(meet(1000000, 50000, &generations, text), -EBADMSG);
    assert_true(generations > 1);
    if (strstr(text, "at the address of rank 0 on node-7 a program answers") == NULL)
        fail_msg("%s", text);
}
