/* SPDX-License-Identifier: Apache-2.0 */
/* test_http_plain.c - the call without libcurl: the same outcome as with it, with any answer of a
 * server
 *
 * The server is a forked child that says the same thing to two connections, which are one call with
 * libcurl and one without. */

#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/http_plain.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

#define OK "HTTP/1.1 200 OK\r\nConnection: close\r\n"
#define HELD "held"   /* nothing is said until the client goes */
#define RESET "reset" /* the connection is reset */

struct peer {
    pid_t pid;
    char base[160];
    char folder[64]; /* "" unless it listens at a Unix socket */
};

static void say(int fd, const char *text)
{
    const struct linger now = { .l_onoff = 1 };
    char byte;

    if (streq(text, HELD))
        (void)!read(fd, &byte, 1);
    else if (streq(text, RESET))
        (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    else if (write(fd, text, strlen(text)) != (ssize_t)strlen(text))
        _exit(1);
}

/* The request has no body. */
static void read_request(int fd)
{
    char text[4096];
    size_t used = 0;

    do {
        ssize_t n = read(fd, text + used, sizeof text - 1 - used);

        if (n <= 0)
            _exit(1);
        used += (size_t)n;
        text[used] = '\0';
    } while (strstr(text, "\r\n\r\n") == NULL);
}

static _Noreturn void play(int listen_fd, const char *text)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int i = 0; i < 2; i++) {
        int fd = accept(listen_fd, NULL, NULL);

        if (fd == -1)
            _exit(1);
        read_request(fd);
        say(fd, text);
        (void)safe_close(fd);
    }
    _exit(0);
}

static int listen_tcp(struct peer *peer)
{
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof to;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(bind(fd, (struct sockaddr *)&to, size), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&to, &size), 0);
    (void)snprintf(peer->base, sizeof peer->base, "http://127.0.0.1:%u",
                   (unsigned)ntohs(to.sin_port));
    return fd;
}

static int listen_unix(struct peer *peer)
{
    struct sockaddr_un to = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)snprintf(peer->folder, sizeof peer->folder, "/tmp/edl-plain-XXXXXX");
    assert_non_null(mkdtemp(peer->folder));
    (void)snprintf(to.sun_path, sizeof to.sun_path, "%s/socket", peer->folder);
    assert_int_equal(bind(fd, (struct sockaddr *)&to, sizeof to), 0);
    (void)snprintf(peer->base, sizeof peer->base, "unix:%.120s", to.sun_path);
    return fd;
}

static void begin(struct peer *peer, bool over_unix, const char *text)
{
    int fd;

    *peer = (struct peer){ 0 };
    fd = over_unix ? listen_unix(peer) : listen_tcp(peer);
    assert_int_equal(listen(fd, 8), 0);
    peer->pid = fork();
    if (peer->pid == 0)
        play(fd, text);
    (void)safe_close(fd);
}

static void remove_peer(struct peer *peer)
{
    if (peer->folder[0] != '\0') {
        assert_int_equal(unlink(peer->base + strlen("unix:")), 0);
        assert_int_equal(rmdir(peer->folder), 0);
    }
}

static void end(struct peer *peer)
{
    int status;

    assert_int_equal(waitpid(peer->pid, &status, 0), peer->pid);
    assert_int_equal(status, 0);
    remove_peer(peer);
}

/* Of calls that gave up: on a busy machine before they came to it. */
static void end_waiting(struct peer *peer)
{
    assert_int_equal(kill(peer->pid, SIGKILL), 0);
    assert_int_equal(waitpid(peer->pid, NULL, 0), peer->pid);
    remove_peer(peer);
}

static void call_curl(const char *base, const struct http_call *call, struct http_answer *ret)
{
    struct http_client *client;

    assert_int_equal(http_client_new(base, &client, NULL), 0);
    (void)http_client_call(client, call, ret);
    (void)http_client_free(client);
}

static bool call_plain(const char *text, const struct http_call *call, struct http_answer *ret)
{
    struct http_base base;
    bool made;

    assert_int_equal(http_base_parse(text, &base, NULL), 0);
    made = http_plain_call(&base, call, NULL, ret);
    http_base_clear(&base);
    return made;
}

static void assert_same(const struct http_answer *a, const struct http_answer *b, const char *what)
{
    if (a->failure != b->failure || a->sent != b->sent || a->status != b->status ||
        a->body_size != b->body_size || !streq(a->remedy, b->remedy) ||
        (a->json == NULL) != (b->json == NULL))
        fail_msg("%s: %d sent %d status %u size %zu \"%s\" \"%s\", and without libcurl "
                 "%d sent %d status %u size %zu \"%s\" \"%s\"",
                 what, a->failure, a->sent, a->status, a->body_size, a->text, a->remedy, b->failure,
                 b->sent, b->status, b->body_size, b->text, b->remedy);
    if (a->failure == 0)
        assert_memory_equal(a->body, b->body, a->body_size + 1);
    if (a->json != NULL)
        assert_true(json_equal(a->json, b->json));
}

static void call_both(const struct http_call *call, const char *text, bool over_unix,
                      struct http_answer *with, struct http_answer *without)
{
    struct peer peer;

    begin(&peer, over_unix, text);
    call_curl(peer.base, call, with);
    if (!call_plain(peer.base, call, without))
        fail_msg("%s: not called without libcurl", text);
    if (streq(text, HELD))
        end_waiting(&peer);
    else
        end(&peer);
}

TEST(test_outcome_is_the_same)
{
    static const struct {
        const char *text;
        int failure;
        const char *method; /* NULL: GET */
    } cases[] = {
        { OK "Content-Type: application/json\r\nContent-Length: 8\r\n\r\n{\"id\":7}", 0, NULL },
        { OK "Content-Type: application/json\r\nContent-Length: 3\r\n\r\n{]}", 0, NULL },
        { OK "Content-Length: 2\r\n\r\nhi and more", 0, NULL },
        { OK "Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n1\r\n!\r\n0\r\n\r\n", 0, NULL },
        { OK "\r\nuntil the end", 0, NULL },
        { OK "Content-Length: 7\r\n\r\n", 0, "HEAD" },
        { OK "Content-Length: 0\r\n\r\n", 0, "POST" },
        { "HTTP/1.1 204 No Content\r\n\r\n", 0, "DELETE" },
        { "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n", 0,
          NULL },
        { "HTTP/1.1 100 Continue\r\n\r\n" OK "Content-Length: 1\r\n\r\nx", 0, NULL },
        { "HTTP/1.0 422 Unprocessable\r\nContent-Type: application/problem+json\r\n\r\n{}", 0,
          NULL },
        { "", EDL_EUNREACHABLE, NULL },
        { "HTTP/1.1 201 Created\r\nContent-Type: appl", EDL_EUNREACHABLE, NULL },
        { OK "Content-Length: 5\r\n\r\nhi", EDL_EUNREACHABLE, NULL },
        { OK "Transfer-Encoding: chunked\r\n\r\n5\r\nhi", EDL_EUNREACHABLE, NULL },
        { OK "Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n", EDL_EUNREACHABLE, NULL },
        { OK "Transfer-Encoding: chunked\r\n\r\nxyz\r\n", EDL_EUNREACHABLE, NULL },
        { RESET, EDL_EUNREACHABLE, NULL },
        { HELD, -ETIMEDOUT, NULL },
    };

    for (size_t i = 0; i < 2 * ELEMENTS(cases); i++) {
        struct http_call call = { .method = "GET", .path = "/", .timeout_us = 120 * USEC_PER_SEC };
        const char *text = cases[i / 2].text;
        struct http_answer with, without;

        if (cases[i / 2].method != NULL)
            call.method = cases[i / 2].method;
        if (streq(text, HELD))
            call.timeout_us = 50 * USEC_PER_MSEC;
        call_both(&call, text, i % 2 == 1, &with, &without);
        while (streq(text, HELD) && !(with.sent && without.sent)) { /* a busy machine */
            http_answer_clear(&with);
            http_answer_clear(&without);
            call.timeout_us *= 2;
            call_both(&call, text, i % 2 == 1, &with, &without);
        }
        if (without.failure != cases[i / 2].failure)
            fail_msg("%s: %d, %s", text, without.failure, without.text);
        assert_same(&with, &without, text);
        if (without.failure == EDL_EUNREACHABLE && strstr(text, "xyz") == NULL)
            assert_string_equal(with.text, without.text);
        http_answer_clear(&with);
        http_answer_clear(&without);
    }
}

/* Of what libcurl takes for an answer of its own kind, all that counts is that it is none. */
TEST(test_what_is_no_answer)
{
    static const struct {
        const char *text;
        int failure;
    } cases[] = {
        { "SSH-2.0-OpenSSH_9.2\r\n", EDL_EUNREACHABLE },
        { "\x15\x03\x01\x00\x02\x02\x46", EDL_EUNREACHABLE }, /* a TLS server's alert, cut short */
        { OK "Content-Length: 99999999999\r\n\r\n", -E2BIG },
        { OK "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\nhi", EDL_EUNREACHABLE },
    };

    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        struct http_call call = { .method = "GET", .path = "/" };
        struct http_answer answer;
        struct peer peer;

        begin(&peer, false, cases[i].text);
        for (int j = 0; j < 2; j++) {
            assert_true(call_plain(peer.base, &call, &answer));
            if (answer.failure != cases[i].failure || !answer.sent)
                fail_msg("%s: %d, %s", cases[i].text, answer.failure, answer.text);
            assert_true(answer.failure == -E2BIG || streq(answer.remedy, HTTP_REMEDY_TLS));
            http_answer_clear(&answer);
        }
        end(&peer);
    }
}

TEST(test_what_is_left_to_libcurl)
{
    static char large[65537];
    static const struct {
        const char *base;
        struct http_call call;
    } cases[] = {
        { "https://127.0.0.1:1", { .path = "/" } },
        { "http://example.invalid:1", { .path = "/" } },
        { "http://10.0.0.1:1", { .path = "/" } },
        { "http://[::1]:1", { .path = "/" } },
        { "http://127.0.0.1:0", { .path = "/" } },
        { "http://127.0.0.1:65536", { .path = "/" } },
        { "http://127.0.0.1:1/below", { .path = "/" } },
        { "http://localhost/below", { .path = "/" } },
        { "http://127.0.0.1:1", { .path = "/" } }, /* nobody listens */
        { "unix:/nonexistent/socket", { .path = "/" } },
        { "HERE", { .path = "none" } },
        { "HERE", { .path = "/", .bearer_token = "a\r\nX: y" } },
        { "HERE", { .path = "/", .headers = { "A: b\nC: d" } } },
        { "HERE", { .path = "/", .body = large, .body_size = sizeof large } },
        { "HERE", { .path = "/", .save = (FILE *)large } },
    };
    struct peer here = { 0 };
    _cleanup_close_ int fd = listen_tcp(&here);

    assert_int_equal(listen(fd, 8), 0);
    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        struct http_answer answer = { .status = 42 };
        struct http_call call = cases[i].call;

        call.method = "GET";
        if (call_plain(streq(cases[i].base, "HERE") ? here.base : cases[i].base, &call, &answer))
            fail_msg("%s, case %zu, was called", cases[i].base, i);
        assert_int_equal(answer.status, 42);
    }
}

/* "after 12 ms": how long it took */
static void forget_time(char *text)
{
    char *at = strstr(text, " after ");

    assert_non_null(at);
    at += strlen(" after ");
    (void)memmove(at, at + strspn(at, "0123456789"), strlen(at + strspn(at, "0123456789")) + 1);
}

TEST(test_nobody_listens)
{
    static const char *const bases[] = { "http://127.0.0.1:1", "http://localhost:1",
                                         "unix:/nonexistent/socket" };

    for (size_t i = 0; i < ELEMENTS(bases); i++) {
        struct http_call call = { .method = "POST", .path = "/", .body = "x", .body_size = 1 };
        struct http_client *client;
        struct http_answer with, quick;

        call_curl(bases[i], &call, &with);
        assert_int_equal(http_client_new_quick(bases[i], &client, NULL), 0);
        assert_int_equal(http_client_call(client, &call, &quick), EDL_EUNREACHABLE);
        assert_same(&with, &quick, bases[i]);
        assert_false(quick.sent);
        assert_non_null(strstr(with.text, bases[i]));
        forget_time(with.text);
        forget_time(quick.text);
        assert_string_equal(with.text, quick.text);
        http_answer_clear(&with);
        http_answer_clear(&quick);
        (void)http_client_free(client);
    }
}
