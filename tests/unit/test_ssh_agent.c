/* SPDX-License-Identifier: Apache-2.0 */
/* test_ssh_agent.c - messages to and from ssh-agent; an agent that answers in pieces, or not at all
 */
#include <stdint.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "client/ssh/ssh_agent.h"
#include "client/ssh/ssh_agent_frame.h"
#include "shared/cleanup.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

#define HANG_US (120 * USEC_PER_SEC) /* only a hang takes so long */
#define KEYS                                                                                       \
    "\0\0\0\x1a\x0c\0\0\0\x02\0\0\0\x03"                                                           \
    "abc\0\0\0\x01"                                                                                \
    "c\0\0\0\x01"                                                                                  \
    "d\0\0\0\0"
#define SIGNATURE "\0\0\0\x15\x0e\0\0\0\x10\0\0\0\x03rsa\0\0\0\x05sig45"

TEST(test_questions)
{
    static const uint8_t sign[] = "\0\0\0\x12\x0d\0\0\0\x02kk\0\0\0\x03"
                                  "ddd\0\0\0\x04";
    size_t size;
    _cleanup_free_ uint8_t *list = ssh_agent_frame_list(&size), *question = NULL;

    assert_int_equal(size, 5);
    assert_memory_equal(list, "\0\0\0\x01\x0b", 5);
    question = ssh_agent_frame_sign((const uint8_t *)"kk", 2, (const uint8_t *)"ddd", 3,
                                    SSH_AGENT_RSA_SHA512, &size);
    assert_int_equal(size, sizeof sign - 1);
    assert_memory_equal(question, sign, size);
}

TEST(test_keys)
{
    const uint8_t *message = (const uint8_t *)KEYS;
    struct ssh_wire keys[SSH_AGENT_KEYS_MAX];
    unsigned int n;

    assert_true(ssh_agent_frame_keys(message, sizeof KEYS - 1, keys, &n));
    assert_int_equal(n, 2);
    assert_true(ssh_wire_is(&keys[0], "abc"));
    assert_true(ssh_wire_is(&keys[1], "d"));
    for (size_t size = 0; size < sizeof KEYS - 1; size++)
        assert_false(ssh_agent_frame_keys(message, size, keys, &n));
    assert_false(ssh_agent_frame_keys((const uint8_t *)SIGNATURE, sizeof SIGNATURE - 1, keys, &n));
    /* more keys than it has */
    assert_false(
        ssh_agent_frame_keys((const uint8_t *)"\0\0\0\x05\x0c\xff\xff\xff\xff", 9, keys, &n));
}

TEST(test_signature)
{
    const uint8_t *message = (const uint8_t *)SIGNATURE;
    struct ssh_wire signature;

    assert_true(ssh_agent_frame_signature(message, sizeof SIGNATURE - 1, &signature));
    assert_true(ssh_wire_is(&signature, "sig45"));
    for (size_t size = 0; size < sizeof SIGNATURE - 1; size++)
        assert_false(ssh_agent_frame_signature(message, size, &signature));
    assert_false(ssh_agent_frame_signature((const uint8_t *)"\0\0\0\x01\x05", 5, &signature));
}

TEST(test_sizes)
{
    assert_int_equal(ssh_agent_frame_size((const uint8_t *)"\0\0\0", 3), 0);
    assert_int_equal(ssh_agent_frame_size((const uint8_t *)"\0\0\0\x05", 4), 9);
    assert_true(ssh_agent_frame_size((const uint8_t *)"\0\0\0\0", 4) == SIZE_MAX);
    assert_true(ssh_agent_frame_size((const uint8_t *)"\0\x04\0\x01", 4) == SIZE_MAX);
}

TEST(test_rsa)
{
    static const char wanted[] = "\0\0\0\x0crsa-sha2-512\0\0\0\x01\x03";
    const uint8_t *key = (const uint8_t *)"\0\0\0\x07ssh-rsa\0\0\0\x01\x03";
    size_t size;
    _cleanup_free_ uint8_t *renamed = ssh_agent_frame_rsa512(key, 16, &size);

    assert_int_equal(size, sizeof wanted - 1);
    assert_memory_equal(renamed, wanted, size);
    assert_null(ssh_agent_frame_rsa512((const uint8_t *)"\0\0\0\x07ssh-dss", 11, &size));
}

/* ---- an agent of ours ---- */

struct fixture {
    sd_event *event;
    char dir[40], path[60];
    int listener, peer;
    struct ssh_agent *agent;
    unsigned int answers;
    char answer[100]; /* the last one */
    size_t size;
    bool lost;
};

static void on_answer(void *userdata, const uint8_t *message, size_t size)
{
    struct fixture *f = userdata;

    f->answers++;
    f->lost = message == NULL;
    f->size = size;
    if (message != NULL)
        memcpy(f->answer, message, MIN_OF(size, sizeof f->answer));
}

static int setup(void **state)
{
    struct fixture *f = xcalloc(1, sizeof *f);
    struct sockaddr_un address = { .sun_family = AF_UNIX };

    (void)snprintf(f->dir, sizeof f->dir, "/tmp/edl-test-agent.XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    (void)snprintf(f->path, sizeof f->path, "%s/agent", f->dir);
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", f->path);
    f->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(f->listener, (const struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(f->listener, 5), 0);
    assert_true(sd_event_new(&f->event) >= 0);
    assert_int_equal(ssh_agent_open(f->event, f->path, on_answer, f, &f->agent), 0);
    f->peer = accept4(f->listener, NULL, NULL, SOCK_CLOEXEC);
    assert_true(f->peer >= 0);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    (void)ssh_agent_free(f->agent);
    (void)safe_close(f->peer);
    (void)safe_close(f->listener);
    (void)unlink(f->path);
    (void)rmdir(f->dir);
    sd_event_unref(f->event);
    free(f);
    return 0;
}

TEST_EACH(setup, teardown);

static void ask(struct fixture *f)
{
    char question[5];
    size_t size;
    uint8_t *list = ssh_agent_frame_list(&size);

    ssh_agent_ask(f->agent, list, size);
    assert_true(sd_event_run(f->event, HANG_US) > 0);
    assert_int_equal(recv(f->peer, question, sizeof question, MSG_WAITALL), 5);
    assert_memory_equal(question, "\0\0\0\x01\x0b", 5);
}

static void say(struct fixture *f, const void *bytes, size_t size)
{
    assert_int_equal(send(f->peer, bytes, size, MSG_NOSIGNAL), size);
    assert_true(sd_event_run(f->event, HANG_US) > 0);
}

/* one byte after another, and a second question on the same connection */
TEST(test_pieces)
{
    struct fixture *f = *state;

    for (unsigned int round = 1; round <= 2; round++) {
        ask(f);
        for (size_t i = 0; i < sizeof KEYS - 1; i++) {
            assert_int_equal(f->answers, round - 1);
            say(f, KEYS + i, 1);
        }
        assert_int_equal(f->answers, round);
        assert_int_equal(f->size, sizeof KEYS - 1);
        assert_memory_equal(f->answer, KEYS, f->size);
    }
}

TEST(test_too_long)
{
    struct fixture *f = *state;

    ask(f);
    say(f, "\x7f\xff\xff\xff\x0c", 5);
    assert_int_equal(f->answers, 1);
    assert_true(f->lost);
}

TEST(test_hangs_up)
{
    struct fixture *f = *state;

    ask(f);
    say(f, KEYS, 9);
    f->peer = safe_close(f->peer);
    assert_true(sd_event_run(f->event, HANG_US) > 0);
    assert_int_equal(f->answers, 1);
    assert_true(f->lost);
}

/* nothing is waited for: the loop has nothing to do until it says something */
TEST(test_silent)
{
    struct fixture *f = *state;

    ask(f);
    assert_int_equal(sd_event_run(f->event, 0), 0);
    assert_int_equal(f->answers, 0);
}

TEST_PLAIN(test_no_agent)
{
    char path[300];
    struct ssh_agent *agent = NULL;

    assert_int_equal(ssh_agent_open(NULL, "/nonexistent/agent", on_answer, NULL, &agent), -ENOENT);
    memset(path, 'a', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    assert_int_equal(ssh_agent_open(NULL, path, on_answer, NULL, &agent), -ENAMETOOLONG);
}
