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
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "scheduler/core/kept_word.h"
#include "scheduler/keeper_table.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/macro.h"
#include "shared/socket_address.h"

#define WAIT_MS 20000

struct fixture {
    struct keeper_table *table;
    int alive, ask; /* ask: connected to it */
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

static int start(void **state)
{
    struct fixture *f = xcalloc(1, sizeof *f);
    const char *build = getenv("EDL_BUILD_DIR");
    char path[PATH_MAX], name[] = "edl-lease-keeper", count[] = "1";
    char *argv[] = { name, count, NULL };
    int table = memfd_create("leases", MFD_CLOEXEC);
    posix_spawn_file_actions_t actions;
    union socket_address address;
    int ends[2], served;

    (void)snprintf(path, sizeof path, "%s/edl-lease-keeper", build != NULL ? build : ".");
    assert_int_equal(ftruncate(table, sizeof *f->table), 0);
    f->table = mmap(NULL, sizeof *f->table, PROT_READ | PROT_WRITE, MAP_SHARED, table, 0);
    assert_ptr_not_equal(f->table, MAP_FAILED);
    assert_int_equal(keep_key_make(f->table->master, NULL), 0);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    served = bound(&address);
    const int fds[] = { ends[0], table, served };

    (void)posix_spawn_file_actions_init(&actions);
    for (int i = 0; i < 3; i++) {
        int high = fcntl(fds[i], F_DUPFD_CLOEXEC, KEEPER_FD_END);

        (void)posix_spawn_file_actions_adddup2(&actions, high, KEEPER_FD_ALIVE + i);
    }
    assert_int_equal(posix_spawn(&f->pid, path, &actions, NULL, argv, environ), 0);
    (void)posix_spawn_file_actions_destroy(&actions);
    f->alive = ends[1];
    (void)safe_close(ends[0]);
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

    if (f->alive >= 0)
        (void)safe_close(f->alive);
    assert_int_equal(waitpid(f->pid, &status, 0), f->pid);
    (void)munmap(f->table, sizeof *f->table);
    (void)safe_close(f->ask);
    free(f);
    return status;
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

/* It was stopped; the scheduler ended; a question waited. An answer would promise what the next
 * scheduler does not know of. */
static void test_it_answers_nothing_once_the_scheduler_is_gone(void **state)
{
    struct fixture *f = *state;
    struct pollfd fd = { .fd = f->ask, .events = POLLIN };
    uint8_t bytes[KEEP_DATAGRAM_BYTES];
    siginfo_t info;

    (void)kept_open(&f->table->words[0], 5000);
    assert_next_is_answered(f);
    assert_int_equal(kill(f->pid, SIGSTOP), 0);
    assert_int_equal(waitid(P_PID, (id_t)f->pid, &info, WSTOPPED), 0);
    make(f, 0, 0, f->asked_us + 1000, bytes);
    send_bytes(f, bytes, sizeof bytes);
    (void)safe_close(f->alive);
    f->alive = -1;
    assert_int_equal(kill(f->pid, SIGCONT), 0);
    assert_int_equal(waitid(P_PID, (id_t)f->pid, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(info.si_status, 0);
    assert_int_equal(poll(&fd, 1, 0) == 1 && recv(f->ask, bytes, sizeof bytes, 0) > 0, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_it_says_what_it_noted, start, stop),
        cmocka_unit_test_setup_teardown(test_nobody_is_answered_who_was_not_told, start, stop),
        cmocka_unit_test_setup_teardown(test_nothing_old_is_answered, start, stop),
        cmocka_unit_test_setup_teardown(test_a_closed_word_is_not_opened, start, stop),
        cmocka_unit_test_setup_teardown(test_it_answers_nothing_once_the_scheduler_is_gone, start,
                                        stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
