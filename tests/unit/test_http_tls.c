/* SPDX-License-Identifier: Apache-2.0 */
/* test_http_tls.c - HTTP over TLS between server and client, and every reason not to believe a
 * server; and the limits for connections that have shown no credential
 *
 * A second server, with TLS, beside the fixture's plain one. */
#include "tests/unit/http_fixture.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "shared/certificate.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/http_guard.h"
#include "shared/http_tls.h"
#include "shared/macro.h"
#include "shared/whole_file.h"
#include "tests/unit/test.h"

#define YEAR_S (365ULL * 86400)
#define BIG_BYTES (3UL * 1024 * 1024)

struct tls {
    struct fixture *plain;
    struct certificate_pair ca, pair;
    char folder[64], ca_path[128];
    struct http_server *server;
    struct http_async *async;
    uint16_t port;
    struct http_request *held;
    sd_event_source *timer;
};

static void hello(struct http_request *request, void *userdata)
{
    (void)userdata;
    http_reply_json(request, 200, json_pack("{s:s}", "hello", "world"));
}

static void echo(struct http_request *request, void *userdata)
{
    size_t size;
    const char *body = http_request_body(request, &size);

    (void)userdata;
    http_reply_bytes(request, 200, "application/octet-stream", body, size);
}

static int on_later(sd_event_source *source, uint64_t time_us, void *userdata)
{
    struct tls *t = userdata;

    (void)source;
    (void)time_us;
    http_reply_json(t->held, 200, json_pack("{s:s}", "hello", "later"));
    return 0;
}

static void later(struct http_request *request, void *userdata)
{
    struct tls *t = userdata;

    http_request_defer(request, NULL, NULL);
    t->held = request;
    (void)sd_event_source_disable_unref(t->timer);
    assert_true(sd_event_add_time_relative(t->plain->event, &t->timer, CLOCK_MONOTONIC,
                                           20 * USEC_PER_MSEC, 1000, on_later, t) >= 0);
}

static const struct http_route routes[] = {
    { "GET", "/hello", hello, .summary = "at once" },
    { "GET", "/later", later, .summary = "later" },
    { "POST", "/echo", echo, .summary = "what came", .max_body_bytes = BIG_BYTES },
};

static uint64_t now_s(void)
{
    return (uint64_t)time(NULL);
}

/* serve - for one name, with a certificate made at made_s; trusting that authority, or ca_path */
static void serve(struct tls *t, const char *name, uint64_t made_s, const char *ca_path)
{
    struct edl_error error = { 0 };
    struct http_server_config config = { .routes = routes, .n_routes = ELEMENTS(routes) };
    char base[64];

    assert_int_equal(certificate_make_ca(NULL, made_s, &t->ca, &error), 0);
    assert_int_equal(certificate_make_server(&t->ca, &name, 1, made_s, &t->pair, &error), 0);
    (void)snprintf(t->folder, sizeof t->folder, "/tmp/edl-test-tls-XXXXXX");
    assert_non_null(mkdtemp(t->folder));
    (void)snprintf(t->ca_path, sizeof t->ca_path, "%s/ca.pem", t->folder);
    assert_int_equal(whole_file_write(t->ca_path, t->ca.certificate, 0644, &error), 0);
    config.userdata = t;
    config.tls_certificates = t->pair.certificate;
    config.tls_key = t->pair.key;
    config.listen_fd = http_listen_tcp("127.0.0.1", 0, &t->port, &error);
    assert_int_equal(http_server_new(t->plain->event, &config, &t->server, &error), 0);
    (void)snprintf(base, sizeof base, "https://127.0.0.1:%u", t->port);
    assert_int_equal(http_async_new(t->plain->event, base, &t->async, &error), 0);
    http_async_trust(t->async, ca_path != NULL ? ca_path : t->ca_path);
}

static int set_up(void **state)
{
    struct tls *t = xcalloc(1, sizeof *t);
    void *plain;

    if (fixture_setup(&plain) < 0)
        return -1;
    t->plain = plain;
    *state = t;
    return 0;
}

static int tear_down(void **state)
{
    struct tls *t = *state;
    void *plain = t->plain;

    (void)http_async_free(t->async);
    (void)http_server_free(t->server);
    (void)sd_event_source_disable_unref(t->timer);
    certificate_pair_clear(&t->pair);
    certificate_pair_clear(&t->ca);
    if (t->ca_path[0] != '\0') {
        (void)unlink(t->ca_path);
        assert_int_equal(rmdir(t->folder), 0);
    }
    free(t);
    return fixture_teardown(&plain);
}

TEST_EACH(set_up, tear_down);

static void ask_tls(struct tls *t, const struct http_call *call, struct result *result)
{
    struct edl_error error = { 0 };

    result_clear(result);
    assert_int_equal(http_async_start(t->async, call, on_answer, result, NULL, &error), 0);
    run_until(t->plain, &result->n_answers, 1);
}

TEST(test_answers_come_at_once_later_and_large)
{
    struct tls *t = *state;
    struct result result = { 0 };
    _cleanup_free_ char *big = xcalloc(1, BIG_BYTES);

    for (size_t i = 0; i < BIG_BYTES; i++)
        big[i] = (char)('a' + i % 23);
    serve(t, "127.0.0.1", now_s(), NULL);
    for (int i = 0; i < 3; i++) {
        ask_tls(t, &(struct http_call){ .method = "GET", .path = "/hello" }, &result);
        assert_int_equal(result.status, 200);
        assert_string_equal(text_of(&result, "hello"), "world");
        ask_tls(t, &(struct http_call){ .method = "GET", .path = "/later" }, &result);
        assert_string_equal(text_of(&result, "hello"), "later");
        ask_tls(t,
                &(struct http_call){
                    .method = "POST", .path = "/echo", .body = big, .body_size = BIG_BYTES },
                &result);
        assert_int_equal(result.body_size, BIG_BYTES);
        assert_memory_equal(result.body, big, BIG_BYTES);
    }
    result_clear(&result);
}

/* refused - nothing was sent, and the person is told what is wrong and what to type */
static void refused(struct tls *t, const char *what, const char *next)
{
    struct result result = { 0 };

    ask_tls(t, &(struct http_call){ .method = "GET", .path = "/hello" }, &result);
    assert_int_equal(result.code, EDL_EUNREACHABLE);
    if (strstr(result.error.text, what) == NULL || strstr(result.error.remedy, next) == NULL)
        fail_msg("%s; %s", result.error.text, result.error.remedy);
    result_clear(&result);
}

TEST(test_another_authority)
{
    struct tls *t = *state;
    struct certificate_pair other = { 0 };
    struct edl_error error = { 0 };
    char path[160];

    serve(t, "127.0.0.1", now_s(), NULL);
    assert_int_equal(certificate_make_ca(NULL, now_s(), &other, &error), 0);
    (void)snprintf(path, sizeof path, "%s/other.pem", t->folder);
    assert_int_equal(whole_file_write(path, other.certificate, 0644, &error), 0);
    http_async_trust(t->async, path);
    refused(t, "not signed by the authority", "--ca");
    /* nor any that the system believes */
    http_async_trust(t->async, "/dev/null");
    refused(t, "not signed by the authority", "--ca");
    assert_int_equal(unlink(path), 0);
    certificate_pair_clear(&other);
}

TEST(test_another_name)
{
    serve(*state, "10.9.8.7", now_s(), NULL);
    refused(*state, "for other names", "--name");
}

TEST(test_expired)
{
    serve(*state, "127.0.0.1", now_s() - 3 * YEAR_S, NULL);
    refused(*state, "has expired", "the scheduler's log");
}

TEST(test_not_valid_yet)
{
    serve(*state, "127.0.0.1", now_s() + YEAR_S, NULL);
    refused(*state, "not valid yet", "date");
}

TEST(test_plain_http_to_tls_and_back)
{
    struct tls *t = *state;
    struct edl_error error = { 0 };
    char base[64];

    serve(t, "127.0.0.1", now_s(), NULL);
    t->async = http_async_free(t->async);
    (void)snprintf(base, sizeof base, "http://127.0.0.1:%u", t->port);
    assert_int_equal(http_async_new(t->plain->event, base, &t->async, &error), 0);
    refused(t, "127.0.0.1", "give https://");
    t->async = http_async_free(t->async);
    (void)snprintf(base, sizeof base, "https://127.0.0.1:%u", t->plain->port);
    assert_int_equal(http_async_new(t->plain->event, base, &t->async, &error), 0);
    http_async_trust(t->async, t->ca_path);
    refused(t, "127.0.0.1", "give http://");
}

static void connect_anew(struct tls *t, const char *ca_path)
{
    struct edl_error error = { 0 };
    char base[64];

    t->async = http_async_free(t->async);
    (void)snprintf(base, sizeof base, "https://127.0.0.1:%u", t->port);
    assert_int_equal(http_async_new(t->plain->event, base, &t->async, &error), 0);
    http_async_trust(t->async, ca_path);
}

/* Whoever is there goes on; whoever comes is shown the new one, of another authority to tell them
 * apart. */
TEST(test_the_certificate_is_replaced)
{
    static const char *const name = "127.0.0.1";
    struct tls *t = *state;
    struct certificate_pair ca = { 0 }, pair = { 0 };
    struct edl_error error = { 0 };
    struct result result = { 0 }, held = { 0 };
    char path[160];

    serve(t, name, now_s(), NULL);
    (void)snprintf(path, sizeof path, "%s/other.pem", t->folder);
    assert_int_equal(certificate_make_ca(NULL, now_s(), &ca, &error), 0);
    assert_int_equal(certificate_make_server(&ca, &name, 1, now_s(), &pair, &error), 0);
    assert_int_equal(whole_file_write(path, ca.certificate, 0644, &error), 0);
    assert_int_equal(http_async_start(t->async,
                                      &(struct http_call){ .method = "GET", .path = "/later" },
                                      on_answer, &held, NULL, &error),
                     0);
    while (t->held == NULL)
        assert_true(sd_event_run(t->plain->event, USEC_PER_SEC) >= 0);
    /* one that does not fit its key changes nothing */
    assert_int_equal(http_server_replace_certificate(t->server, pair.certificate, t->pair.key,
                                                     &error),
                     -EINVAL);
    assert_int_equal(http_server_replace_certificate(t->server, "none", pair.key, &error), -EINVAL);
    for (int i = 0; i < 3; i++) /* also when it comes again and again */
        assert_int_equal(http_server_replace_certificate(t->server, pair.certificate, pair.key,
                                                         &error),
                         0);
    certificate_pair_clear(&pair); /* they are not kept */
    run_until(t->plain, &held.n_answers, 1);
    assert_string_equal(text_of(&held, "hello"), "later");
    ask_tls(t, &(struct http_call){ .method = "GET", .path = "/hello" }, &result);
    assert_string_equal(text_of(&result, "hello"), "world");
    connect_anew(t, t->ca_path);
    refused(t, "not signed by the authority", "--ca");
    connect_anew(t, path);
    ask_tls(t, &(struct http_call){ .method = "GET", .path = "/hello" }, &result);
    assert_string_equal(text_of(&result, "hello"), "world");
    result_clear(&held);
    result_clear(&result);
    assert_int_equal(unlink(path), 0);
    certificate_pair_clear(&ca);
}

/* --- the guard --- */

enum { FRESH = 6 };

struct guarded {
    int ours, theirs;
    struct http_guarded *connection;
};

static struct guarded come(struct http_guard *guard, const char *address)
{
    struct sockaddr_in v4 = { .sin_family = AF_INET };
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
    const struct sockaddr *from = NULL;
    struct guarded one;
    int pair[2];

    if (inet_pton(AF_INET, address, &v4.sin_addr) == 1)
        from = (const struct sockaddr *)&v4;
    else if (inet_pton(AF_INET6, address, &v6.sin6_addr) == 1)
        from = (const struct sockaddr *)&v6;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
    one = (struct guarded){ .ours = pair[0], .theirs = pair[1] };
    one.connection = http_guard_open(guard, one.ours, from);
    return one;
}

/* owner: NULL: there is always room for it */
static bool prove(struct http_guard *guard, const struct guarded *one, const char *owner)
{
    return http_guard_prove(guard, one->connection, &(struct http_owner){ .name = owner });
}

static bool is_cut_off(const struct guarded *one)
{
    char byte;

    return read(one->theirs, &byte, 1) == 0;
}

static void leave(struct http_guard *guard, struct guarded *one)
{
    http_guard_close(guard, one->connection);
    one->ours = safe_close(one->ours);
    one->theirs = safe_close(one->theirs);
}

static struct http_guard *new_guard(sd_event *event, uint64_t fresh_us)
{
    const struct http_guard_limits limits = { FRESH, fresh_us, .owner = 3, .owners = 7 };
    struct http_guard *guard;
    struct edl_error error = { 0 };

    assert_int_equal(http_guard_new(event, &limits, &guard, &error), 0);
    return guard;
}

/* Six have room; whoever has most loses the oldest one first. */
TEST(test_a_flood_displaces_itself)
{
    static const struct {
        const char *address;
        int displaces; /* which one, in the order in which they came; -1: none */
    } cases[] = {
        { "10.0.0.1", -1 },       { "10.0.0.2", -1 }, { "10.0.0.2", -1 },   { "10.0.0.2", -1 },
        { "10.0.0.2", -1 },       { "10.0.0.3", -1 }, { "10.0.0.2", 1 },    { "10.0.0.2", 2 },
        { "10.0.0.4", 3 },        { "10.0.0.5", 4 },  { "2001:db8::1", 6 }, /* now one of each */
        { "2001:db8::2", 10 },                                              /* the same site */
        { "2001:db8:0:1::1", 0 },
    };
    struct guarded all[ELEMENTS(cases)];
    struct tls *t = *state;
    struct http_guard *guard = new_guard(t->plain->event, USEC_PER_SEC * 60);
    uint64_t gone = 0; /* a bit each */

    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        all[i] = come(guard, cases[i].address);
        if (cases[i].displaces >= 0)
            gone |= UINT64_C(1) << cases[i].displaces;
        for (size_t k = 0; k <= i; k++)
            if (is_cut_off(&all[k]) != ((gone >> k & 1) != 0))
                fail_msg("after %zu came, %zu is wrong", i, k);
    }
    for (size_t i = 0; i < ELEMENTS(cases); i++)
        leave(guard, &all[i]);
    assert_int_equal(http_guard_fresh(guard), 0);
    (void)http_guard_free(guard);
}

TEST(test_those_with_a_credential_stay)
{
    struct tls *t = *state;
    struct http_guard *guard = new_guard(t->plain->event, USEC_PER_SEC * 60);
    struct guarded proven = come(guard, "10.0.0.1");
    struct guarded waits = come(guard, "10.0.0.9");
    struct guarded flood[64];

    assert_true(prove(guard, &proven, NULL));
    for (size_t i = 0; i < ELEMENTS(flood); i++) { /* each from an address of its own */
        char address[32];

        (void)snprintf(address, sizeof address, "10.1.%zu.1", i);
        flood[i] = come(guard, address);
        assert_true(http_guard_fresh(guard) <= FRESH);
        /* whoever is quick has room however many come: the oldest goes */
        assert_false(is_cut_off(&flood[i]));
    }
    assert_false(is_cut_off(&proven));
    assert_true(is_cut_off(&waits));
    for (size_t i = 0; i < ELEMENTS(flood); i++)
        leave(guard, &flood[i]);
    leave(guard, &waits);
    leave(guard, &proven);
    assert_int_equal(http_guard_fresh(guard), 0);
    (void)http_guard_free(guard);
}

/* A credential is no way to have all connections: three are each owner's, seven all owners', and
 * nobody has more than are left. */
TEST(test_an_owner_has_a_part)
{
    static const struct {
        const char *owner; /* NULL: there is always room for it */
        bool good;
    } cases[] = {
        { "ann", true },  { "ann", true }, { "ann", true },  { "ann", false }, { "bob", true },
        { "bob", true },  { NULL, true },  { "bob", false }, { "eve", true },  { NULL, true },
        { "eve", false }, { "joe", true }, { "zoe", false },
    };
    struct guarded all[ELEMENTS(cases)];
    struct tls *t = *state;
    struct http_guard *guard = new_guard(t->plain->event, USEC_PER_SEC * 60);

    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        all[i] = come(guard, "10.0.0.1");
        if (prove(guard, &all[i], cases[i].owner) != cases[i].good)
            fail_msg("case %zu", i);
    }
    assert_int_equal(http_guard_fresh(guard), 4); /* who is refused has no place of its own */
    assert_true(prove(guard, &all[0], "ann"));    /* the next call */
    assert_false(prove(guard, &all[3], "ann"));
    /* what is used for another in turn makes room */
    assert_true(prove(guard, &all[0], NULL));
    assert_false(prove(guard, &all[3], "ann")); /* two, and one is left */
    assert_true(prove(guard, &all[1], "eve"));
    assert_true(prove(guard, &all[12], "zoe"));
    assert_false(prove(guard, &all[3], "joe"));
    leave(guard, &all[4]);
    assert_false(prove(guard, &all[3], "joe"));
    assert_true(prove(guard, &all[3], "max"));
    for (size_t i = 0; i < ELEMENTS(cases); i++)
        if (i != 4)
            leave(guard, &all[i]);
    assert_int_equal(http_guard_fresh(guard), 0);
    (void)http_guard_free(guard);
}

TEST(test_no_fresh_one_grows_old)
{
    struct tls *t = *state;
    struct http_guard *guard = new_guard(t->plain->event, 20 * USEC_PER_MSEC);
    struct guarded proven = come(guard, "127.0.0.1");
    struct guarded slow = come(guard, "127.0.0.1");
    uint64_t end_us = clock_read_us(CLOCK_BOOTTIME) + DEADLINE_US;

    assert_true(prove(guard, &proven, "ann"));
    while (http_guard_cut_off(guard) == 0) {
        assert_true(clock_read_us(CLOCK_BOOTTIME) < end_us);
        assert_true(sd_event_run(t->plain->event, 100 * USEC_PER_MSEC) >= 0);
    }
    assert_true(is_cut_off(&slow));
    assert_false(is_cut_off(&proven));
    leave(guard, &slow);
    leave(guard, &proven);
    (void)http_guard_free(guard);
}

/* What a pass is busy with. */
static void compute(uint64_t us)
{
    uint64_t end_us = clock_read_us(CLOCK_THREAD_CPUTIME_ID) + us;

    while (clock_read_us(CLOCK_THREAD_CPUTIME_ID) < end_us)
        continue;
}

/* Hundreds that come at the same moment are not all served in it: who is in waits for them. */
TEST_PLAIN(test_a_pass_that_takes_long_begins_no_more_handshakes)
{
    const char *name = "127.0.0.1";
    struct certificate_pair ca = { 0 }, pair = { 0 };
    struct edl_error error = { 0 };
    struct http_tls *tls;
    gnutls_session_t session;
    gnutls_pcert_st *shown;
    gnutls_privkey_t key;
    unsigned n;

    assert_int_equal(certificate_make_ca(NULL, now_s(), &ca, &error), 0);
    assert_int_equal(certificate_make_server(&ca, &name, 1, now_s(), &pair, &error), 0);
    assert_int_equal(http_tls_new(pair.certificate, pair.key, &tls, &error), 0);
    assert_int_equal(gnutls_init(&session, GNUTLS_SERVER), 0);
    assert_null(http_tls_enter(tls));
    assert_int_equal(http_tls_pick(session, NULL, 0, NULL, 0, &shown, &n, &key), 0);
    assert_int_equal(poll(NULL, 0, 25), 0); /* what takes long, but no time of the processor */
    assert_int_equal(http_tls_pick(session, NULL, 0, NULL, 0, &shown, &n, &key), 0);
    compute(25 * USEC_PER_MSEC);
    for (int again = 0; again < 2; again++)
        assert_int_equal(http_tls_pick(session, NULL, 0, NULL, 0, &shown, &n, &key), -1);
    assert_int_equal(http_tls_refused(tls), 1);
    assert_ptr_equal(http_tls_enter(tls), tls); /* the next one */
    assert_int_equal(http_tls_pick(session, NULL, 0, NULL, 0, &shown, &n, &key), 0);
    assert_ptr_equal(http_tls_enter(NULL), tls);
    gnutls_deinit(session);
    assert_null(http_tls_free(tls));
    certificate_pair_clear(&pair);
    certificate_pair_clear(&ca);
}
