/* SPDX-License-Identifier: Apache-2.0 */
/* test_session_turns.c - what a pass of the loop moves of sessions, their rings, and what they may
 * be asked for with */
#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "scheduler/api/session_wish.h"
#include "scheduler/nodes/session_moves.h"
#include "scheduler/nodes/session_ring.h"
#include "scheduler/nodes/session_turns.h"
#include "scheduler/nodes/sessions.h"
#include "shared/error.h"
#include "shared/http_server.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

enum { WAITING = 400 };

struct loop {
    sd_event *event;
    struct session_turns turns;
    unsigned went_on[WAITING]; /* who, in order */
    unsigned n;
};

struct one {
    struct session_turn turn;
    struct loop *loop;
    unsigned i;
};

static void on_turn(void *userdata)
{
    struct one *one = userdata;

    one->loop->went_on[one->loop->n++] = one->i;
}

static int on_defer(sd_event_source *source, void *userdata)
{
    (void)source;
    (void)userdata;
    return 0;
}

/* pass - of the loop, which serves somebody */
static void pass(struct loop *loop)
{
    sd_event_source *source = NULL;

    assert_true(sd_event_add_defer(loop->event, &source, on_defer, NULL) >= 0);
    assert_true(sd_event_run(loop->event, 0) > 0);
    (void)sd_event_source_disable_unref(source);
}

static void begin(struct loop *loop)
{
    struct edl_error error = { 0 };

    assert_true(sd_event_new(&loop->event) >= 0);
    assert_int_equal(session_turns_init(&loop->turns, loop->event, &error), 0);
}

static void end(struct loop *loop)
{
    session_turns_done(&loop->turns);
    (void)sd_event_unref(loop->event);
}

TEST(test_a_pass_moves_so_much_and_little_pieces)
{
    struct loop loop = { .n = 0 };
    size_t moved = 0;

    begin(&loop);
    pass(&loop);
    while (session_turns_may(&loop.turns, HTTP_PIECE_BYTES))
        moved += HTTP_PIECE_BYTES;
    assert_int_equal(moved, SESSION_PASS_BYTES);
    assert_true(session_turns_may(&loop.turns, 17)); /* a key */
    assert_false(session_turns_may(&loop.turns, SESSION_LITTLE_BYTES + 1));
    pass(&loop);
    assert_true(session_turns_may(&loop.turns, HTTP_PIECE_BYTES));
    end(&loop);
}

TEST(test_who_waits_goes_on_in_order_some_in_each_pass)
{
    static struct one all[WAITING];
    struct loop loop = { .n = 0 };
    unsigned before = 0, passes = 0;

    begin(&loop);
    for (unsigned i = 0; i < WAITING; i++) {
        all[i] = (struct one){ .turn = { .go_on = on_turn, .userdata = &all[i] }, &loop, i };
        session_turns_wait(&loop.turns, &all[i].turn);
        session_turns_wait(&loop.turns, &all[i].turn); /* waits once */
    }
    session_turns_leave(&loop.turns, &all[7].turn);
    session_turns_leave(&loop.turns, &all[7].turn);
    for (; loop.n < WAITING - 1 && passes < 100; passes++, before = loop.n) {
        pass(&loop);
        assert_true(loop.n - before <= SESSION_PASS_BYTES / HTTP_PIECE_BYTES);
    }
    assert_in_range(passes, WAITING * HTTP_PIECE_BYTES / SESSION_PASS_BYTES, 20);
    for (unsigned i = 0; i < loop.n; i++)
        assert_int_equal(loop.went_on[i], i < 7 ? i : i + 1);
    end(&loop);
}

static int on_last(sd_event_source *source, void *userdata)
{
    struct one *one = userdata;

    session_turns_wait(&one->loop->turns, &one->turn);
    return sd_event_source_set_enabled(source, SD_EVENT_OFF);
}

TEST(test_who_waits_goes_on_though_nothing_else_happens)
{
    struct loop loop = { .n = 0 };
    struct one one = { .loop = &loop };
    sd_event_source *source = NULL;

    begin(&loop);
    one.turn = (struct session_turn){ .go_on = on_turn, .userdata = &one };
    assert_true(sd_event_add_defer(loop.event, &source, on_last, &one) >= 0);
    assert_true(sd_event_run(loop.event, 0) > 0);
    for (unsigned i = 0; i < 2; i++)
        (void)sd_event_run(loop.event, 0);
    assert_int_equal(loop.n, 1);
    assert_int_equal(sd_event_run(loop.event, 0), 0); /* and then it sleeps */
    (void)sd_event_source_disable_unref(source);
    end(&loop);
}

TEST(test_a_ring_gives_what_it_got)
{
    struct session_ring ring = { 0 };
    uint8_t piece[HTTP_PIECE_BYTES], next_in = 0, next_out = 0;
    size_t sizes[] = { 1, 16384, 777, 9000, 16384, 16383, 3 };
    size_t size;

    for (unsigned i = 0; i < 5000; i++) {
        size_t n = MIN_OF(sizes[i % ELEMENTS(sizes)], session_ring_room(&ring));
        const uint8_t *data;

        for (size_t k = 0; k < n; k++)
            piece[k] = next_in++;
        session_ring_put(&ring, piece, n);
        data = session_ring_look(&ring, sizes[i * 3 % ELEMENTS(sizes)], &size);
        for (size_t k = 0; k < size; k++)
            assert_int_equal(data[k], next_out++);
        session_ring_drop(&ring, size);
    }
    assert_true(ring.n <= SESSION_RING_BYTES);
    session_ring_clear(&ring);
    assert_null(session_ring_look(&ring, 10, &size));
    assert_int_equal(size, 0);
}

TEST(test_a_few_keys_move_something_also_after_hours)
{
    const uint64_t idle_us = 8 * 3600 * USEC_PER_SEC, beat_us = 15050 * USEC_PER_MSEC;
    struct session_moves moves = { .moved_us = 0 };
    uint64_t now = 1000 * USEC_PER_SEC, bytes = 0, typed;

    session_moves_begin(&moves, now);
    for (unsigned i = 0; i < 1200; i++) { /* five hours of pings */
        now += beat_us;
        bytes += SESSION_PING_BYTES;
        assert_false(session_moves_look(&moves, bytes, now, idle_us));
    }
    assert_int_equal(session_moves_idle_us(&moves, now), 1200 * beat_us);
    typed = now += beat_us;
    bytes += SESSION_PING_BYTES + 3 * (9 + 9); /* and what a terminal answers */
    assert_false(session_moves_look(&moves, bytes, now, idle_us));
    assert_int_equal(session_moves_idle_us(&moves, now), 0);
    for (now += beat_us; !session_moves_look(&moves, bytes, now, idle_us); now += beat_us)
        bytes += SESSION_PING_BYTES;
    assert_in_range(now - typed, idle_us, idle_us + beat_us);
}

static int read_wish(const char *text, struct session_wish *ret, const char **ret_process,
                     struct edl_error *error)
{
    json_error_t where;
    json_t *body = json_loads(text, 0, &where);
    int r;

    assert_non_null(body);
    *ret = (struct session_wish){ .members = json_object() };
    *ret_process = NULL;
    r = session_wish_read(body, ret, ret_process, error);
    if (*ret_process != NULL) /* it is borrowed */
        *ret_process = "there";
    json_decref(body);
    return r;
}

TEST(test_good_wishes)
{
    static const struct {
        const char *body, *members;
        enum session_kind kind;
    } good[] = {
        { "{\"kind\":\"exec\",\"command\":[\"id\",\"\"]}", "{\"command\":[\"id\",\"\"]}",
          SESSION_EXEC },
        { "{\"kind\":\"shell\",\"process\":\"trainer-0\",\"pty\":{}}",
          "{\"pty\":{\"rows\":24,\"columns\":80,\"term\":\"xterm\"}}", SESSION_SHELL },
        { "{\"kind\":\"attach\",\"pty\":{\"rows\":40,\"columns\":120,\"term\":\"vt100\"}}",
          "{\"pty\":{\"rows\":40,\"columns\":120,\"term\":\"vt100\"}}", SESSION_ATTACH },
        { "{\"kind\":\"forward\",\"port\":65535,\"ends_job\":true}", "{\"port\":65535}",
          SESSION_FORWARD },
        { "{\"kind\":\"ssh\",\"key\":\"ecdsa-sha2-nistp256 AAAA\"}",
          "{\"key\":\"ecdsa-sha2-nistp256 AAAA\"}", SESSION_SSH },
    };

    for (size_t i = 0; i < ELEMENTS(good); i++) {
        json_t *wanted = json_loads(good[i].members, 0, NULL);
        struct edl_error error = { 0 };
        struct session_wish wish;
        const char *process;

        assert_int_equal(read_wish(good[i].body, &wish, &process, &error), 0);
        assert_int_equal(wish.kind, good[i].kind);
        assert_true(json_equal(wish.members, wanted));
        assert_int_equal(wish.ends_job, strstr(good[i].body, "ends_job") != NULL);
        assert_int_equal(process != NULL, strstr(good[i].body, "process") != NULL);
        json_decref(wish.members);
        json_decref(wanted);
    }
}

TEST(test_bad_wishes_say_where)
{
    static const struct {
        const char *body, *pointer, *word;
    } bad[] = {
        { "{}", "/kind", "missing" },
        { "{\"kind\":\"telnet\"}", "/kind", "known: exec, shell" },
        { "{\"kind\":7}", "/kind", "" },
        { "{\"kind\":\"exec\"}", "", "needs a command" },
        { "{\"kind\":\"exec\",\"command\":[]}", "/command", "names no program" },
        { "{\"kind\":\"exec\",\"command\":[\"\",\"x\"]}", "/command", "names no program" },
        { "{\"kind\":\"exec\",\"command\":\"id\"}", "/command", "" },
        { "{\"kind\":\"exec\",\"command\":[\"id\",7]}", "/command", "list of words" },
        { "{\"kind\":\"exec\",\"command\":[\"id\"],\"port\":80}", "/port", "has no port" },
        { "{\"kind\":\"attach\",\"command\":[\"id\"]}", "/command", "takes: pty" },
        { "{\"kind\":\"shell\",\"pty\":7}", "/pty", "not an object" },
        { "{\"kind\":\"shell\",\"pty\":{\"rows\":-1}}", "/pty/rows", "" },
        { "{\"kind\":\"shell\",\"pty\":{\"rows\":65536}}", "/pty/rows", "" },
        { "{\"kind\":\"shell\",\"pty\":{\"columns\":\"80\"}}", "/pty/columns", "" },
        { "{\"kind\":\"shell\",\"pty\":{\"colums\":80}}", "/pty/colums", "" },
        { "{\"kind\":\"shell\",\"pty\":{\"term\":\"a\\nb\"}}", "/pty/term", "" },
        { "{\"kind\":\"forward\",\"port\":0}", "/port", "from 1 to 65535" },
        { "{\"kind\":\"forward\",\"port\":65536}", "/port", "" },
        { "{\"kind\":\"ssh\"}", "", "needs a key" },
        { "{\"kind\":\"ssh\",\"key\":\"command=\\\"x\\\" ssh-rsa A\"}", "/key", "OpenSSH" },
        { "{\"kind\":\"ssh\",\"key\":\"ssh-rsa A\\nssh-rsa B\"}", "/key", "" },
        { "{\"kind\":\"shell\",\"ends_job\":1}", "/ends_job", "" },
        { "{\"kind\":\"shell\",\"surely\":1}", "/surely", "" },
    };

    for (size_t i = 0; i < ELEMENTS(bad); i++) {
        struct edl_error error = { 0 };
        struct session_wish wish;
        const char *process;
        bool says;

        assert_true(read_wish(bad[i].body, &wish, &process, &error) < 0);
        says = strstr(error.text, bad[i].word) != NULL || strstr(error.remedy, bad[i].word) != NULL;
        if (!streq(error.pointer, bad[i].pointer) || !says)
            fail_msg("%s: %s %s; %s", bad[i].body, error.pointer, error.text, error.remedy);
        json_decref(wish.members);
    }
}

TEST(test_a_command_fits_into_orders)
{
    static char body[100000];
    struct edl_error error = { 0 };
    struct session_wish wish;
    const char *process;
    size_t n = (size_t)snprintf(body, sizeof body, "{\"kind\":\"exec\",\"command\":[\"");

    for (unsigned i = 0; i < 11000; i++) /* of one byte each */
        n += (size_t)snprintf(body + n, sizeof body - n, "\\u0001");
    (void)snprintf(body + n, sizeof body - n, "\"]}");
    assert_int_equal(read_wish(body, &wish, &process, &error), -E2BIG);
    assert_string_equal(error.pointer, "/command");
    assert_non_null(strstr(error.text, "bytes in JSON"));
    json_decref(wish.members);
}
