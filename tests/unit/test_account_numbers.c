/* SPDX-License-Identifier: Apache-2.0 */
/* test_account_numbers.c - the numbers of accounts: asked beside the loop, and never guessed */
#include <errno.h>
#include <pthread.h>
#include <pwd.h>
#include <stdatomic.h>
#include <string.h>

#include "scheduler/calls/account_numbers.h"
#include "scheduler/calls/peer.h"
#include "shared/clock.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

/* In the place of libc's. */
static struct {
    atomic_uint n_asked;
    atomic_int error; /* an errno; 0: none */
    atomic_uint uid;
    pthread_mutex_t slow; /* who holds it, holds up the answers */
} database = { .slow = PTHREAD_MUTEX_INITIALIZER };

int getpwnam_r(const char *name, struct passwd *entry, char *buffer, size_t size,
               struct passwd **ret)
{
    int error;

    (void)buffer;
    (void)size;
    database.n_asked++;
    (void)pthread_mutex_lock(&database.slow);
    (void)pthread_mutex_unlock(&database.slow);
    error = database.error; /* once: it may become another one meanwhile */
    *ret = error == 0 && !streq(name, "stranger") ? entry : NULL;
    entry->pw_uid = database.uid;
    return error;
}

struct world {
    sd_event *event;
    struct account_numbers *numbers;
    unsigned n_known;
    char known[64];
};

static void on_known(const char *name, void *userdata)
{
    struct world *w = userdata;

    w->n_known++;
    (void)strncpy(w->known, name, sizeof w->known - 1);
}

static struct world *begin(void)
{
    struct world *w = xcalloc(1, sizeof *w);

    database.n_asked = 0;
    database.error = 0;
    database.uid = 1001;
    assert_true(sd_event_new(&w->event) >= 0);
    assert_int_equal(account_numbers_new(w->event, on_known, w, &w->numbers, NULL), 0);
    return w;
}

static void end(struct world *w)
{
    w->numbers = account_numbers_free(w->numbers);
    (void)sd_event_unref(w->event);
    free(w);
}

static void await_known(struct world *w, unsigned n)
{
    while (w->n_known < n)
        assert_true(sd_event_run(w->event, 120 * USEC_PER_SEC) > 0);
}

TEST(test_a_name_is_asked_for_once)
{
    struct world *w = begin();
    uid_t uid = 0;

    assert_int_equal(account_number(w->numbers, "ann", 1, &uid), -EAGAIN);
    assert_int_equal(account_number(w->numbers, "ann", 1, &uid), -EAGAIN);
    await_known(w, 1);
    assert_string_equal(w->known, "ann");
    assert_int_equal(account_number(w->numbers, "ann", 1, &uid), 1);
    assert_int_equal(uid, 1001);
    assert_int_equal(account_number(w->numbers, "stranger", 1, &uid), -EAGAIN);
    await_known(w, 2);
    assert_int_equal(account_number(w->numbers, "stranger", 1, &uid), 0);
    assert_int_equal(database.n_asked, 2);
    /* what cannot be an account is not asked for */
    assert_int_equal(account_number(w->numbers, "no/body", 1, &uid), 0);
    assert_int_equal(account_number(NULL, "ann", 1, &uid), 0);
    assert_int_equal(database.n_asked, 2);
    end(w);
}

/* The answer of before counts until the next one is there. */
TEST(test_an_old_answer_is_asked_for_again)
{
    struct world *w = begin();
    uid_t uid = 0;

    (void)account_number(w->numbers, "ann", 1, &uid);
    await_known(w, 1);
    database.uid = 1002;
    assert_int_equal(account_number(w->numbers, "ann", ACCOUNT_NUMBER_FRESH_US, &uid), 1);
    assert_int_equal(uid, 1001);
    assert_int_equal(account_number(w->numbers, "ann", ACCOUNT_NUMBER_FRESH_US + 1, &uid), 1);
    while (uid == 1001) {
        assert_true(sd_event_run(w->event, 120 * USEC_PER_SEC) > 0);
        assert_int_equal(account_number(w->numbers, "ann", ACCOUNT_NUMBER_FRESH_US + 1, &uid), 1);
    }
    assert_int_equal(uid, 1002);
    assert_int_equal(w->n_known, 1); /* nobody waited for it */
    end(w);
}

/* Nothing is guessed meanwhile. */
TEST(test_a_database_that_fails_is_asked_again)
{
    struct world *w = begin();
    uid_t uid = 0;

    database.error = EIO;
    assert_int_equal(account_number(w->numbers, "ann", 1, &uid), -EAGAIN);
    while (database.n_asked < 2) {
        assert_true(sd_event_run(w->event, 120 * USEC_PER_SEC) > 0);
        assert_int_equal(account_number(w->numbers, "ann", 1, &uid), -EAGAIN);
    }
    database.error = 0;
    await_known(w, 1);
    assert_int_equal(account_number(w->numbers, "ann", 1, &uid), 1);
    assert_int_equal(uid, 1001);
    end(w);
}

/* Who calls on the Unix socket is let in while a directory server thinks about another name. */
TEST(test_a_slow_name_holds_up_no_caller)
{
    struct world *w = begin();
    struct peers *peers = NULL;
    char name[64];
    uid_t uid;
    int r;

    assert_int_equal(peers_new(w->event, PEER_WAIT_US, &peers, NULL), 0);
    (void)pthread_mutex_lock(&database.slow);
    assert_int_equal(account_number(w->numbers, "ann", 1, &uid), -EAGAIN);
    while ((r = peer_name(peers, 0, 1, name, sizeof name)) == -EAGAIN)
        assert_true(sd_event_run(w->event, 120 * USEC_PER_SEC) > 0);
    assert_int_equal(r, 0);
    assert_int_equal(account_number(w->numbers, "ann", 1, &uid), -EAGAIN);
    (void)pthread_mutex_unlock(&database.slow);
    await_known(w, 1);
    peers = peers_free(peers);
    end(w);
}
