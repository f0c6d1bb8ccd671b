/* SPDX-License-Identifier: Apache-2.0 */
/* test_peer.c - accounts at the other end of a Unix socket: how long an account is believed, and an
 * account database that takes its time: only the caller waits for it */
#define TEST_OWN_MAIN

#include "tests/unit/live_scheduler.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <pwd.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "scheduler/calls/peer.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/http_server.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

enum { NOBODY = 65534, ACCOUNTS = 1024 };

#define DEADLINE_US (120 * USEC_PER_SEC) /* a slow machine is no slow database */

/* In the place of libc's. */
static struct {
    pthread_t loop;
    pthread_mutex_t lock; /* of slow */
    pthread_cond_t released;
    bool slow; /* each waits until it is not */
    atomic_uint n_asked, n_answered;
    atomic_int error; /* an errno; 0: none */
    atomic_bool in_loop;
    atomic_char prefix; /* of the names */
} database = { .lock = PTHREAD_MUTEX_INITIALIZER, .released = PTHREAD_COND_INITIALIZER };

int getpwuid_r(uid_t uid, struct passwd *entry, char *buffer, size_t size, struct passwd **ret)
{
    if (pthread_equal(pthread_self(), database.loop))
        database.in_loop = true;
    database.n_asked++;
    (void)pthread_mutex_lock(&database.lock);
    while (database.slow && !database.in_loop)
        (void)pthread_cond_wait(&database.released, &database.lock);
    (void)pthread_mutex_unlock(&database.lock);
    *ret = uid % 2 == 0 ? entry : NULL; /* who is odd has no account */
    entry->pw_name = buffer;
    (void)snprintf(buffer, size, "%c%u", database.prefix, (unsigned)uid);
    database.n_answered++;
    return database.error;
}

static void set_slow(bool slow)
{
    (void)pthread_mutex_lock(&database.lock);
    database.slow = slow;
    (void)pthread_cond_broadcast(&database.released);
    (void)pthread_mutex_unlock(&database.lock);
}

static void reset(void)
{
    database.n_asked = database.n_answered = 0;
    database.error = 0;
    database.in_loop = false;
    database.prefix = 'u';
    set_slow(false);
}

/* Until the thread came to it: a question that is dropped before belongs to no test. */
static void await_asked(unsigned n)
{
    while (database.n_asked < n)
        (void)sched_yield();
}

/* Also of a thread that was left alone. */
static void await_answered(void)
{
    set_slow(false);
    while (database.n_answered < database.n_asked)
        (void)sched_yield();
}

/* --- what is believed --- */

struct world {
    sd_event *event;
    struct peers *peers;
};

struct asker {
    struct peer_waiter waiter; /* first */
    unsigned n_told;
    bool known;
};

static void on_told(struct peer_waiter *waiter, bool known)
{
    struct asker *asker = (struct asker *)waiter;

    asker->n_told++;
    asker->known = known;
}

static int setup(void **state)
{
    struct world *w = xcalloc(1, sizeof *w);

    reset();
    assert_true(sd_event_new(&w->event) >= 0);
    assert_int_equal(peers_new(w->event, DEADLINE_US, &w->peers, NULL), 0);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;

    assert_null(peers_free(w->peers));
    await_answered();
    (void)sd_event_unref(w->event);
    assert_false(database.in_loop);
    free(w);
    return 0;
}

TEST_EACH(setup, teardown);

static void await(struct world *w, const struct asker *asker)
{
    while (asker->n_told == 0)
        assert_true(sd_event_run(w->event, DEADLINE_US) > 0);
}

/* The name as it is after the answer. */
static int name_of(struct world *w, uid_t uid, uint64_t now_us, char ret[64])
{
    struct asker asker = { .waiter.told = on_told };
    int r = peer_name(w->peers, uid, now_us, ret, 64);

    if (r != -EAGAIN)
        return r;
    peer_await(w->peers, uid, &asker.waiter);
    await(w, &asker);
    return asker.known ? peer_name(w->peers, uid, now_us, ret, 64) : -EIO;
}

/* Until a question that nobody waits for is answered. */
static void await_answers(struct world *w, unsigned n, uid_t uid, uint64_t now_us, const char *name)
{
    char now[64] = "";

    while (!streq(now, name)) {
        assert_true(sd_event_run(w->event, DEADLINE_US) > 0);
        assert_int_equal(peer_name(w->peers, uid, now_us, now, sizeof now), 0);
    }
    assert_int_equal(database.n_asked, n);
}

TEST(an_account_is_asked_for_once_a_minute)
{
    const uint64_t minute_us = PEER_FRESH_US;
    struct world *w = *state;
    char name[64];

    assert_int_equal(name_of(w, 8, 1, name), 0);
    assert_string_equal(name, "u8");
    assert_int_equal(name_of(w, 7, 1, name), -ENOENT);
    database.prefix = 'v';
    assert_int_equal(name_of(w, 8, minute_us, name), 0);
    assert_string_equal(name, "u8");
    assert_int_equal(name_of(w, 7, minute_us, name), -ENOENT);
    assert_int_equal(database.n_asked, 2);
    /* then it is asked for again, and nobody waits for the answer */
    set_slow(true);
    assert_int_equal(name_of(w, 8, minute_us + 1, name), 0);
    assert_string_equal(name, "u8");
    assert_int_equal(name_of(w, 8, PEER_KEPT_US, name), 0);
    set_slow(false);
    await_answers(w, 3, 8, minute_us + 1, "v8");
    /* and if nobody called for long, the old one does not count */
    database.prefix = 'w';
    assert_int_equal(name_of(w, 8, minute_us + 1 + PEER_KEPT_US, name), 0);
    assert_string_equal(name, "w8");
    assert_int_equal(peer_name(w->peers, 8, minute_us + 1 + PEER_KEPT_US, name, 2), -ENOENT);
}

/* One that holds what no name may hold could not be kept out, nor be told to anybody. */
TEST(an_account_that_cannot_be_named_is_none)
{
    struct world *w = *state;
    char name[64];

    database.prefix = ':';
    assert_int_equal(name_of(w, 8, 1, name), -ENOENT);
    database.prefix = (char)0xfc; /* Latin 1 */
    assert_int_equal(name_of(w, 10, 1, name), -ENOENT);
    database.prefix = '\\';
    assert_int_equal(name_of(w, 12, 1, name), 0);
    assert_string_equal(name, "\\12");
}

TEST(a_database_that_fails_takes_no_name_away)
{
    struct world *w = *state;
    char name[64];

    assert_int_equal(name_of(w, 8, 1, name), 0);
    database.error = EIO;
    assert_int_equal(name_of(w, 8, 2 + PEER_FRESH_US, name), 0);
    await_asked(2);
    assert_int_equal(name_of(w, 8, 3 + PEER_FRESH_US, name), 0);
    assert_string_equal(name, "u8");
}

/* Who waits hears of it: to ask again at once would go on for as long as the database fails. */
TEST(a_database_that_fails_is_not_asked_all_the_time)
{
    const uint64_t later_us = 1 + PEER_KEPT_US;
    struct world *w = *state;
    char name[64];

    assert_int_equal(name_of(w, 8, 1, name), 0);
    database.error = EIO;
    assert_int_equal(name_of(w, 8, later_us, name), -EIO);
    assert_int_equal(name_of(w, 9, later_us, name), -EIO); /* nobody said that there is none */
    assert_int_equal(database.n_asked, 3);
    assert_int_equal(peer_name(w->peers, 8, later_us + 1, name, sizeof name), -EIO);
    assert_int_equal(peer_name(w->peers, 9, later_us + 1, name, sizeof name), -EIO);
    assert_int_equal(database.n_asked, 3);
    database.error = 0;
    assert_int_equal(name_of(w, 8, later_us + PEER_RETRY_US, name), 0);
    assert_string_equal(name, "u8");
    assert_int_equal(database.n_asked, 4);
}

/* Modules that have no such account say so by an errno, and so do some whose server is down. */
TEST(an_errno_takes_no_name_away)
{
    struct world *w = *state;
    char name[64];

    assert_int_equal(name_of(w, 8, 1, name), 0);
    database.error = ENOENT;
    assert_int_equal(name_of(w, 10, 1, name), -ENOENT);
    assert_int_equal(name_of(w, 8, 2 + PEER_FRESH_US, name), 0);
    await_asked(3);
    assert_int_equal(name_of(w, 8, 3 + PEER_FRESH_US, name), 0);
    assert_string_equal(name, "u8");
}

TEST(they_do_not_pile_up)
{
    struct world *w = *state;
    char name[64];

    for (uid_t uid = 1; uid <= 2 * ACCOUNTS; uid++)
        assert_int_equal(name_of(w, uid, 1, name), uid % 2 == 0 ? 0 : -ENOENT);
    assert_int_equal(name_of(w, 2 * ACCOUNTS, 1, name), 0); /* who called last is known */
    assert_int_equal(database.n_asked, 2 * ACCOUNTS);
    assert_int_equal(name_of(w, 2, 1, name), 0);
    assert_int_equal(database.n_asked, 2 * ACCOUNTS + 1);
    /* nor do questions */
    set_slow(true);
    for (uid_t uid = 1; uid <= ACCOUNTS; uid++)
        assert_int_equal(peer_name(w->peers, 10000 + uid, 1, name, sizeof name), -EAGAIN);
    assert_int_equal(peer_name(w->peers, 20000, 1, name, sizeof name), -EBUSY);
    assert_int_equal(peer_name(w->peers, 10001, 1, name, sizeof name), -EAGAIN);
    await_asked(2 * ACCOUNTS + 2);
}

TEST(who_waits_is_told_or_leaves)
{
    struct world *w = *state;
    struct asker stays = { .waiter.told = on_told }, leaves = stays;
    char name[64];
    int r;

    w->peers = peers_free(w->peers);
    assert_int_equal(peers_new(w->event, USEC_PER_MSEC, &w->peers, NULL), 0);
    set_slow(true);
    for (int i = 0; i < 2; i++) { /* late, twice: it is one question */
        stays.n_told = 0;
        stays.known = true;
        assert_int_equal(peer_name(w->peers, 8, 1, name, sizeof name), -EAGAIN);
        peer_await(w->peers, 8, &stays.waiter);
        peer_await(w->peers, 8, &leaves.waiter);
        peer_leave(w->peers, &leaves.waiter);
        await(w, &stays);
        assert_false(stays.known);
        assert_int_equal(leaves.n_told, 0);
    }
    set_slow(false);
    while ((r = name_of(w, 8, 1, name)) == -EIO)
        continue; /* it may be late once more */
    assert_int_equal(r, 0);
    assert_int_equal(database.n_asked, 1);
}

TEST(the_kernel_names_the_other_end)
{
    int local[2];
    int remote = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    uid_t uid = 0;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, local), 0);
    assert_int_equal(peer_uid(local[0], &uid), 0);
    assert_int_equal(uid, geteuid());
    assert_int_equal(peer_uid(remote, &uid), -ENOTSOCK);
    (void)safe_close(local[0]);
    (void)safe_close(local[1]);
    (void)safe_close(remote);
}

/* --- calls over the socket --- */

struct call {
    int fd;
    char text[4096]; /* what came back so far */
    size_t size;
};

/* As another account; only root can. */
static struct call call_as_nobody(const struct live *live)
{
    static const char text[] = "GET /whoami HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    struct call call = { .fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0) };
    struct sockaddr_un to = { .sun_family = AF_UNIX };
    char path[128];
    int fd;

    (void)snprintf(path, sizeof path, "%s/socket", live->folder);
    fd = open(path, O_PATH | O_CLOEXEC); /* the folder is closed to others */
    assert_true(fd >= 0);
    (void)snprintf(to.sun_path, sizeof to.sun_path, "/proc/self/fd/%d", fd);
    assert_int_equal(seteuid(NOBODY), 0);
    assert_int_equal(connect(call.fd, (struct sockaddr *)&to, sizeof to), 0);
    assert_int_equal(seteuid(0), 0);
    (void)safe_close(fd);
    assert_int_equal(write(call.fd, text, strlen(text)), (ssize_t)strlen(text));
    return call;
}

static void step(struct live *live, uint64_t end_us)
{
    assert_true(clock_read_us(CLOCK_BOOTTIME) < end_us);
    assert_true(sd_event_run(live->scheduler->event, 20 * USEC_PER_MSEC) >= 0);
}

static void collect(struct live *live, struct call *call)
{
    uint64_t end_us = clock_read_us(CLOCK_BOOTTIME) + DEADLINE_US;
    ssize_t n = -1;

    while (n != 0) {
        step(live, end_us);
        n = read(call->fd, call->text + call->size, sizeof call->text - 1 - call->size);
        call->size += n > 0 ? (size_t)n : 0;
    }
    call->fd = safe_close(call->fd);
}

static void await_waiting(struct live *live, unsigned wanted)
{
    uint64_t end_us = clock_read_us(CLOCK_BOOTTIME) + DEADLINE_US;

    while (http_server_waiting(live->scheduler->listeners.servers[1]) != wanted)
        step(live, end_us);
}

static void wait_for_names(struct live *live, uint64_t wait_us)
{
    live->scheduler->peers = peers_free(live->scheduler->peers);
    assert_int_equal(peers_new(live->scheduler->event, wait_us, &live->scheduler->peers, NULL), 0);
}

static int setup_live(void **state)
{
    reset();
    return live_setup_local(state);
}

static int teardown_live(void **state)
{
    await_answered();
    assert_false(database.in_loop);
    return live_teardown(state);
}

TEST_WITH(nobody_else_waits_for_a_name, .setup = setup_live, .teardown = teardown_live)
{
    struct live *live = *state;
    struct call one, other;
    struct reply reply = { 0 };

    if (geteuid() != 0)
        skip();
    wait_for_names(live, DEADLINE_US);
    set_slow(true);
    one = call_as_nobody(live);
    other = call_as_nobody(live);
    await_waiting(live, 2);
    assert_int_equal(live_ask(live, "GET", "/whoami", NULL, NULL, &reply), 200);
    assert_int_equal(read(one.fd, one.text, 1), -1);
    await_asked(1);
    assert_int_equal(database.n_asked, 1); /* for both */
    /* who leaves is noticed */
    other.fd = safe_close(other.fd);
    await_waiting(live, 1);
    set_slow(false);
    collect(live, &one);
    assert_non_null(strstr(one.text, "HTTP/1.1 200 "));
    assert_non_null(strstr(one.text, "\"u65534\""));
    /* now it is known */
    set_slow(true);
    one = call_as_nobody(live);
    collect(live, &one);
    assert_non_null(strstr(one.text, "\"u65534\""));
    assert_int_equal(database.n_asked, 1);
    reply_clear(&reply);
}

TEST_WITH(a_name_that_does_not_come_is_waited_for_no_longer, .setup = setup_live,
          .teardown = teardown_live)
{
    struct live *live = *state;
    struct call call;

    if (geteuid() != 0)
        skip();
    wait_for_names(live, USEC_PER_MSEC);
    set_slow(true);
    call = call_as_nobody(live);
    collect(live, &call);
    assert_non_null(strstr(call.text, "HTTP/1.1 503 "));
    assert_non_null(strstr(call.text, "who uid 65534 is"));
    /* nor does the end of the scheduler wait */
    call = call_as_nobody(live);
    await_waiting(live, 1);
    await_asked(1);
    live_restart(live);
    (void)safe_close(call.fd);
}

int main(int argc, char **argv)
{
    database.loop = pthread_self();
    return tests_main(argc, argv);
}
