/* SPDX-License-Identifier: Apache-2.0 */
/* test_lease_keeper.c - the program edl-lease-keeper: whom it answers, and whom it does not
 *
 * It is taken from the folder in EDL_BUILD_DIR (default "."). What is not answered is told by the
 * answer to a good question that was sent behind it. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <setjmp.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "scheduler/core/events/kept_word.h"
#include "scheduler/keeper_table.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/macro.h"
#include "shared/socket_address.h"

#define WAIT_MS 20000

struct fixture {
    struct keeper_table *table;
    int listen, call, ask; /* listen: where it is called; call: -1 is over; ask: connected to it */
    char path[64];         /* of listen */
    pid_t pid;
    uint64_t asked_us; /* each question is newer than the last */
};

static int bound(union socket_address *ret)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    socklen_t size = socket_address_parse("127.0.0.1", 0, ret);
    const int on = 1;

    assert_int_equal(setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &on, sizeof on), 0);
    assert_int_equal(bind(fd, &ret->any, size), 0);
    assert_int_equal(getsockname(fd, &ret->any, &size), 0);
    return fd;
}

static int call_it(const struct fixture *f)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", f->path);
    assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

static void listen_there(struct fixture *f)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    const char *tmp = getenv("TMPDIR");

    (void)snprintf(f->path, sizeof f->path, "%.40s/keeper.%d", tmp != NULL ? tmp : "/tmp",
                   getpid());
    (void)unlink(f->path);
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", f->path);
    f->listen = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(f->listen, (const struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(f->listen, 4), 0);
}

static char said(int fd)
{
    struct pollfd it = { .fd = fd, .events = POLLIN };
    char byte = 0;

    assert_int_equal(poll(&it, 1, WAIT_MS), 1);
    assert_int_equal(recv(fd, &byte, 1, 0), 1);
    return byte;
}

static void pass(int to, const int fds[2])
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))] = { 0 };
    char byte = 0;
    struct iovec part = { .iov_base = &byte, .iov_len = 1 };
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control
    };
    struct cmsghdr *passed = CMSG_FIRSTHDR(&message);

    passed->cmsg_level = SOL_SOCKET;
    passed->cmsg_type = SCM_RIGHTS;
    passed->cmsg_len = CMSG_LEN(2 * sizeof(int));
    memcpy(CMSG_DATA(passed), fds, 2 * sizeof(int));
    assert_int_equal(sendmsg(to, &message, 0), 1);
}

static int start(void **state)
{
    struct fixture *f = xcalloc(1, sizeof *f);
    const char *build = getenv("EDL_BUILD_DIR");
    char path[PATH_MAX], name[] = "edl-lease-keeper";
    char *argv[] = { name, NULL };
    int table = memfd_create("leases", MFD_CLOEXEC);
    posix_spawn_file_actions_t actions;
    union socket_address address;
    int served, high;

    (void)snprintf(path, sizeof path, "%s/edl-lease-keeper", build != NULL ? build : ".");
    assert_int_equal(ftruncate(table, sizeof *f->table), 0);
    f->table = mmap(NULL, sizeof *f->table, PROT_READ | PROT_WRITE, MAP_SHARED, table, 0);
    assert_ptr_not_equal(f->table, MAP_FAILED);
    assert_int_equal(keep_key_make(f->table->master, NULL), 0);
    served = bound(&address);
    listen_there(f);
    high = fcntl(f->listen, F_DUPFD_CLOEXEC, KEEPER_FD_LISTEN + 1);
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_adddup2(&actions, high, KEEPER_FD_LISTEN);
    assert_int_equal(posix_spawn(&f->pid, path, &actions, NULL, argv, environ), 0);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)safe_close(high);
    f->call = call_it(f);
    assert_int_equal(said(f->call), KEEPER_READY);
    pass(f->call, (const int[]){ table, served });
    (void)safe_close(table);
    (void)safe_close(served);
    f->ask = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(f->ask, &address.any, sizeof address.v4), 0);
    f->asked_us = 1000;
    *state = f;
    return 0;
}

static int stop(void **state)
{
    struct fixture *f = *state;
    int status = -1;

    if (f->pid > 0) {
        assert_int_equal(kill(f->pid, SIGKILL), 0);
        assert_int_equal(waitpid(f->pid, &status, 0), f->pid);
    }
    (void)safe_close(f->call);
    (void)safe_close(f->listen);
    (void)unlink(f->path);
    (void)munmap(f->table, sizeof *f->table);
    (void)safe_close(f->ask);
    free(f);
    return 0;
}

static void make(struct fixture *f, uint32_t slot, uint32_t generation, uint64_t sent_us,
                 uint8_t ret[KEEP_DATAGRAM_BYTES])
{
    struct keep_datagram question = { slot, generation, sent_us };
    uint8_t key[KEEP_KEY_BYTES];

    assert_int_equal(keep_key_of(f->table->master, slot, generation, key), 0);
    assert_int_equal(keep_write(KEEP_ASK, &question, key, ret), 0);
}

static void send_bytes(struct fixture *f, const void *bytes, size_t n)
{
    assert_int_equal(send(f->ask, bytes, n, 0), (ssize_t)n);
}

/* The next answer, which has to be true. */
static struct keep_datagram answer(struct fixture *f)
{
    struct pollfd fd = { .fd = f->ask, .events = POLLIN };
    uint8_t bytes[KEEP_DATAGRAM_BYTES + 1], key[KEEP_KEY_BYTES];
    struct keep_datagram said = { 0 };

    assert_int_equal(poll(&fd, 1, WAIT_MS), 1);
    assert_true(keep_read(KEEP_KEPT, bytes, (size_t)recv(f->ask, bytes, sizeof bytes, 0), &said));
    assert_int_equal(keep_key_of(f->table->master, said.slot, said.generation, key), 0);
    assert_true(keep_is_true(bytes, key));
    return said;
}

/* A question for slot 0 that is to be answered, and is the next that is. */
static void assert_next_is_answered(struct fixture *f)
{
    uint8_t bytes[KEEP_DATAGRAM_BYTES];
    struct keep_datagram said;

    f->asked_us += 1000;
    make(f, 0, kept_generation(f->table->words[0]), f->asked_us, bytes);
    send_bytes(f, bytes, sizeof bytes);
    said = answer(f);
    assert_int_equal(said.slot, 0);
    assert_int_equal(said.sent_us, f->asked_us);
}

static void test_it_says_what_it_noted(void **state)
{
    struct fixture *f = *state;
    uint64_t before_us = clock_read_us(CLOCK_BOOTTIME);

    (void)kept_open(&f->table->words[0], 5000);
    assert_next_is_answered(f);
    assert_in_range(kept_heard_us(f->table->words[0]), before_us - KEPT_UNIT_US,
                    clock_read_us(CLOCK_BOOTTIME));
}

static void test_nobody_is_answered_who_was_not_told(void **state)
{
    struct fixture *f = *state;
    uint8_t good[KEEP_DATAGRAM_BYTES], bytes[2 * KEEP_DATAGRAM_BYTES] = { 0 };

    (void)kept_open(&f->table->words[0], 5000);
    make(f, 1, 0, 3000, bytes); /* nobody opened that slot */
    send_bytes(f, bytes, KEEP_DATAGRAM_BYTES);
    make(f, KEEPER_SLOTS, 0, 3000, bytes); /* there is none */
    send_bytes(f, bytes, KEEP_DATAGRAM_BYTES);
    make(f, UINT32_MAX, 0, 3000, bytes);
    send_bytes(f, bytes, KEEP_DATAGRAM_BYTES);
    make(f, 0, 1, 3000, bytes); /* of another generation */
    send_bytes(f, bytes, KEEP_DATAGRAM_BYTES);
    make(f, 0, 0, 3000, good);
    send_bytes(f, good, sizeof good - 1); /* too short, too long */
    memcpy(bytes, good, sizeof good);
    send_bytes(f, bytes, sizeof good + 1);
    send_bytes(f, good, 0);
    for (size_t i = 0; i < sizeof good; i++) { /* each byte counts */
        memcpy(bytes, good, sizeof good);
        bytes[i] ^= 0x10;
        send_bytes(f, bytes, sizeof good);
    }
    assert_int_equal(kept_heard_us(f->table->words[0]), 5000);
    assert_next_is_answered(f);
}

static void test_nothing_old_is_answered(void **state)
{
    struct fixture *f = *state;
    uint8_t recorded[KEEP_DATAGRAM_BYTES];

    (void)kept_open(&f->table->words[0], 5000);
    f->asked_us += 1000;
    make(f, 0, 0, f->asked_us, recorded);
    send_bytes(f, recorded, sizeof recorded);
    assert_int_equal(answer(f).sent_us, f->asked_us);
    send_bytes(f, recorded, sizeof recorded);
    send_bytes(f, recorded, sizeof recorded);
    assert_next_is_answered(f);
}

static void test_a_closed_word_is_not_opened(void **state)
{
    struct fixture *f = *state;
    uint8_t bytes[KEEP_DATAGRAM_BYTES];
    uint64_t word, closed;

    (void)kept_open(&f->table->words[0], 5000);
    (void)kept_open(&f->table->words[1], 5000);
    make(f, 1, 0, 2000, bytes);
    send_bytes(f, bytes, sizeof bytes);
    assert_int_equal(answer(f).slot, 1);
    word = f->table->words[1];
    assert_true(kept_close(&f->table->words[1], &word));
    closed = f->table->words[1];
    make(f, 1, 0, 3000, bytes);
    send_bytes(f, bytes, sizeof bytes);
    make(f, 1, 1, 3000, bytes);
    send_bytes(f, bytes, sizeof bytes);
    assert_next_is_answered(f);
    assert_int_equal(f->table->words[1], closed);
    /* the node reports again: its next generation may ask, from any instant on */
    assert_int_equal(kept_open(&f->table->words[1], 6000), 1);
    make(f, 1, 1, 100, bytes);
    send_bytes(f, bytes, sizeof bytes);
    assert_int_equal(answer(f).generation, 1);
}

static void make_next(struct fixture *f, uint8_t ret[KEEP_DATAGRAM_BYTES])
{
    f->asked_us += 1000;
    make(f, 0, kept_generation(f->table->words[0]), f->asked_us, ret);
}

static bool anything_said(const struct fixture *f)
{
    uint8_t bytes[KEEP_DATAGRAM_BYTES];

    return recv(f->ask, bytes, sizeof bytes, MSG_DONTWAIT) > 0;
}

static void assert_it_ends(struct fixture *f)
{
    int status = -1;

    assert_int_equal(waitpid(f->pid, &status, 0), f->pid);
    f->pid = 0;
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* The scheduler is restarted, or was killed: leases go on meanwhile. */
static void test_it_answers_on_when_the_scheduler_is_gone(void **state)
{
    struct fixture *f = *state;

    (void)kept_open(&f->table->words[0], 5000);
    assert_next_is_answered(f);
    f->call = safe_close(f->call);
    for (int i = 0; i < 5; i++)
        assert_next_is_answered(f);
}

/* The next one gives leases that hold whatever was promised before it was told so, and nothing that
 * is promised later. */
static void test_it_answers_nobody_once_it_said_that_it_ends(void **state)
{
    struct fixture *f = *state;
    uint8_t bytes[KEEP_DATAGRAM_BYTES];
    uint64_t word;
    int next;

    (void)kept_open(&f->table->words[0], 5000);
    assert_next_is_answered(f);
    assert_int_equal(kill(f->pid, SIGSTOP), 0);
    f->call = safe_close(f->call);
    next = call_it(f);
    assert_int_equal(kill(f->pid, SIGCONT), 0);
    assert_int_equal(said(next), KEEPER_ENDS);
    word = f->table->words[0];
    make_next(f, bytes);
    (void)send(f->ask, bytes, sizeof bytes, 0); /* refused: nobody has that port */
    assert_it_ends(f);
    assert_false(anything_said(f));
    assert_int_equal(f->table->words[0], word);
    (void)safe_close(next);
}

/* Another scheduler, of whatever cluster, does not end it while it is used. */
static void test_the_next_caller_waits_for_the_first(void **state)
{
    struct fixture *f = *state;
    int next = call_it(f);
    char byte;

    (void)kept_open(&f->table->words[0], 5000);
    for (int i = 0; i < 5; i++)
        assert_next_is_answered(f);
    assert_int_equal(recv(next, &byte, 1, MSG_DONTWAIT), -1);
    f->call = safe_close(f->call);
    assert_int_equal(said(next), KEEPER_ENDS);
    (void)safe_close(next);
    assert_it_ends(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_it_says_what_it_noted, start, stop),
        cmocka_unit_test_setup_teardown(test_nobody_is_answered_who_was_not_told, start, stop),
        cmocka_unit_test_setup_teardown(test_nothing_old_is_answered, start, stop),
        cmocka_unit_test_setup_teardown(test_a_closed_word_is_not_opened, start, stop),
        cmocka_unit_test_setup_teardown(test_it_answers_on_when_the_scheduler_is_gone, start, stop),
        cmocka_unit_test_setup_teardown(test_it_answers_nobody_once_it_said_that_it_ends, start,
                                        stop),
        cmocka_unit_test_setup_teardown(test_the_next_caller_waits_for_the_first, start, stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
