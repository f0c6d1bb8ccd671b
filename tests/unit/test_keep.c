/* SPDX-License-Identifier: Apache-2.0 */
/* test_keep.c - how an agent asks its scheduler's keeper, by the questions that reach that one
 *
 * Times are those that the questions carry: a slow machine changes nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/keep.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/hex.h"
#include "shared/http_client.h"
#include "shared/keep_wire.h"
#include "shared/macro.h"
#include "shared/socket_address.h"

#define LEASE_US (USEC_PER_SEC) /* nobody here is kept from running for so long */

struct fixture {
    sd_event *event;
    struct keep *keep;
    sd_event_source *heard;
    struct http_answer answer;
    uint8_t key[KEEP_KEY_BYTES];
    uint64_t kept_us;      /* of the newest answer that it took */
    uint64_t asked_us;     /* the newest question */
    uint64_t answer_until; /* questions of before are answered */
    unsigned n_asked;
};

static void on_kept(uint64_t sent_us, uint64_t lease_us, uint64_t now_us, void *userdata)
{
    struct fixture *f = userdata;

    assert_int_equal(lease_us, LEASE_US);
    assert_true(sent_us <= now_us);
    f->kept_us = sent_us;
}

static int on_question(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    struct fixture *f = userdata;
    struct keep_datagram question;
    uint8_t bytes[KEEP_DATAGRAM_BYTES + 1];
    union socket_address from;
    socklen_t size = sizeof from;
    ssize_t n = recvfrom(fd, bytes, sizeof bytes, 0, &from.any, &size);

    (void)source;
    (void)events;
    assert_true(n > 0 && keep_read(KEEP_ASK, bytes, (size_t)n, &question));
    assert_true(keep_is_true(bytes, f->key));
    f->asked_us = question.sent_us;
    f->n_asked++;
    if (question.sent_us >= f->answer_until)
        return 0;
    assert_int_equal(keep_write(KEEP_KEPT, &question, f->key, bytes), 0);
    assert_int_equal(sendto(fd, bytes, KEEP_DATAGRAM_BYTES, 0, &from.any, size),
                     KEEP_DATAGRAM_BYTES);
    return 0;
}

static int start(void **state)
{
    struct fixture *f = xcalloc(1, sizeof *f);
    char hex[2 * KEEP_KEY_BYTES + 1];
    union socket_address address;
    socklen_t size = socket_address_parse("127.0.0.1", 0, &address);
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    assert_int_equal(bind(fd, &address.any, size), 0);
    assert_int_equal(getsockname(fd, &address.any, &size), 0);
    assert_true(sd_event_new(&f->event) >= 0);
    assert_true(sd_event_add_io(f->event, &f->heard, fd, EPOLLIN, on_question, f) >= 0);
    (void)sd_event_source_set_io_fd_own(f->heard, true);
    assert_int_equal(keep_new(f->event, on_kept, f, &f->keep, NULL), 0);
    memset(f->key, 7, sizeof f->key);
    hex_encode(f->key, sizeof f->key, hex);
    (void)snprintf(f->answer.peer, sizeof f->answer.peer, "127.0.0.1");
    f->answer.peer_port = ntohs(address.v4.sin_port);
    f->answer.json = json_pack("{s:I,s:{s:s,s:i,s:i}}", "lease_us", (json_int_t)LEASE_US, "keeper",
                               "key", hex, "slot", 3, "generation", 5);
    *state = f;
    return 0;
}

static int stop(void **state)
{
    struct fixture *f = *state;

    (void)keep_free(f->keep);
    (void)sd_event_source_disable_unref(f->heard);
    json_decref(f->answer.json);
    (void)sd_event_unref(f->event);
    free(f);
    return 0;
}

static void run_until(const struct fixture *f, uint64_t until_us)
{
    for (uint64_t now_us; (now_us = clock_read_us(CLOCK_BOOTTIME)) < until_us;)
        assert_true(sd_event_run(f->event, until_us - now_us) >= 0);
}

/* A cable that is broken one way: its questions are heard, and it hears nothing. */
static void test_nobody_is_asked_beyond_the_lease(void **state)
{
    struct fixture *f = *state;
    uint64_t told_us;

    for (int again = 0; again < 2; again++) {
        f->n_asked = 0;
        keep_tell(f->keep, &f->answer);
        told_us = clock_read_us(CLOCK_BOOTTIME);
        run_until(f, told_us + 2 * LEASE_US);
        assert_true(f->n_asked > 0);
        assert_true(f->asked_us < told_us + LEASE_US);
    }
    assert_int_equal(f->kept_us, 0);
}

/* The scheduler stands still, and its keeper answers: for as long as that, and a lease more. */
static void test_it_goes_on_while_it_is_answered(void **state)
{
    struct fixture *f = *state;
    uint64_t told_us = clock_read_us(CLOCK_BOOTTIME);

    f->answer_until = told_us + 2 * LEASE_US;
    keep_tell(f->keep, &f->answer);
    run_until(f, told_us + 4 * LEASE_US);
    assert_true(f->kept_us > told_us + LEASE_US);
    assert_true(f->kept_us < f->answer_until);
    assert_true(f->asked_us < f->kept_us + LEASE_US);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_nobody_is_asked_beyond_the_lease, start, stop),
        cmocka_unit_test_setup_teardown(test_it_goes_on_while_it_is_answered, start, stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
