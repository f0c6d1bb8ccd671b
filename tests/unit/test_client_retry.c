/* SPDX-License-Identifier: Apache-2.0 */
/* test_client_retry.c - `edl` and a server whose answers get lost
 *
 * The server is a forked child that plays a script, one connection a step, and tells in a pipe what
 * key each request had. */
#include <stdint.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/server.h"
#include "client/server_several.h"
#include "client/text.h"
#include "client/verb.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

#define ACCEPTED                                                                                   \
    "HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: 8\r\n"              \
    "Connection: close\r\n\r\n{\"id\":7}"
#define BUSY "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
#define TOO_MANY                                                                                   \
    "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\nContent-Length: 0\r\n"                    \
    "Connection: close\r\n\r\n"
#define STRANGER "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
#define HALF "HTTP/1.1 201 Created\r\nContent-Type: appl"
#define BROKEN "" /* the connection ends without a word */
#define HEALTH(size, words)                                                                        \
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " size                   \
    "\r\nConnection: close\r\n\r\n{\"status\":\"ok\",\"role\":" words "}"
#define STANDS_BY HEALTH("32", "\"standby\"")
#define LEADS HEALTH("40", "\"leader\",\"term\":4")

/* Of a server that begins now: its answer to a look; so many before it leads, and before its first
 * answer to anything else */
static const char *health = STANDS_BY;
static int looks_until_leads, waits_for_looks;

struct script {
    pid_t pid;
    int keys_fd; /* "KEY\n" of each request, "-" without one */
    struct server server;
};

/* The whole request: bodies of the test have a '}', headers hold none, and no GET has a body. */
static void read_request(int fd, char *text, size_t size, bool has_body)
{
    size_t used = 0;

    for (;;) {
        ssize_t n = read(fd, text + used, size - 1 - used);

        if (n <= 0)
            _exit(1);
        used += (size_t)n;
        text[used] = '\0';
        if (strstr(text, "\r\n\r\n") != NULL &&
            (!has_body || strncmp(text, "GET ", 4) == 0 || strchr(text, '}') != NULL))
            return;
    }
}

static void tell_key(int fd, const char *request)
{
    static const char name[] = "Idempotency-Key: ";
    const char *at = strstr(request, name);
    char line[300] = "-\n";

    if (at != NULL)
        (void)snprintf(line, sizeof line, "%.*s\n", (int)strcspn(at + strlen(name), "\r"),
                       at + strlen(name));
    if (write(fd, line, strlen(line)) != (ssize_t)strlen(line))
        _exit(1);
}

static void reply(int take_fd, const char *answer)
{
    if (write(take_fd, answer, strlen(answer)) != (ssize_t)strlen(answer))
        _exit(1);
    (void)safe_close(take_fd);
}

static _Noreturn void play(int listen_fd, int keys_fd, const char *const *steps, bool has_body)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)alarm(120);
    int held_fd = -1;

    while (*steps != NULL) {
        char text[4096];
        int fd = accept(listen_fd, NULL, NULL);

        if (fd == -1)
            _exit(1);
        if (recv(fd, text, 1, MSG_PEEK) <= 0) { /* a look that was given up before it asked */
            (void)safe_close(fd);
            continue;
        }
        read_request(fd, text, sizeof text, has_body);
        if (strncmp(text, "GET /healthz ", 13) == 0) { /* looks depend on the machine's speed */
            reply(fd, health);
            if (looks_until_leads > 0 && --looks_until_leads == 0)
                health = LEADS;
            waits_for_looks -= held_fd != -1;
        } else {
            tell_key(keys_fd, text);
            held_fd = fd;
        }
        if (held_fd != -1 && waits_for_looks <= 0)
            reply(TAKE_FD(held_fd), *steps++);
    }
    _exit(0);
}

/* prepare - its address, before it is begun: a script may name it */
static int prepare(struct script *script)
{
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof to;
    int listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(bind(listen_fd, (struct sockaddr *)&to, size), 0);
    assert_int_equal(listen(listen_fd, 8), 0);
    assert_int_equal(getsockname(listen_fd, (struct sockaddr *)&to, &size), 0);
    script->server =
        (struct server){ .base = text_format("http://127.0.0.1:%u", (unsigned)ntohs(to.sin_port)) };
    return listen_fd;
}

static void start(struct script *script, int take_listen_fd, const char *const *steps,
                  bool has_body)
{
    struct edl_error error = { 0 };
    int pipes[2];

    assert_int_equal(pipe(pipes), 0);
    script->pid = fork();
    if (script->pid == 0)
        play(take_listen_fd, pipes[1], steps, has_body);
    (void)safe_close(take_listen_fd);
    (void)safe_close(pipes[1]);
    script->keys_fd = pipes[0];
    assert_int_equal(http_client_new_quick(script->server.base, &script->server.http, &error), 0);
}

static void begin(struct script *script, const char *const *steps, bool has_body)
{
    start(script, prepare(script), steps, has_body);
}

/* Everything that the server told, once it has ended. */
static void end(struct script *script, char *keys, size_t size)
{
    size_t used = 0;
    ssize_t n;
    int status;

    while ((n = read(script->keys_fd, keys + used, size - 1 - used)) > 0)
        used += (size_t)n;
    keys[used] = '\0';
    assert_int_equal(waitpid(script->pid, &status, 0), script->pid);
    assert_int_equal(status, 0);
    (void)safe_close(script->keys_fd);
    server_clear(&script->server);
}

/* n lines, all the same, and a key */
static void assert_same_key(const char *keys, size_t n)
{
    size_t size = strcspn(keys, "\n") + 1;

    assert_true(size > 30);
    assert_int_equal(strncmp(keys, "edl-", 4), 0);
    assert_int_equal(strlen(keys), n * size);
    for (size_t i = 1; i < n; i++)
        assert_int_equal(strncmp(keys, keys + i * size, size), 0);
}

TEST(test_lost_answers_are_asked_for_again_with_the_same_key)
{
    static const char *const steps[] = { BROKEN, HALF, BUSY, ACCEPTED, NULL };
    struct script script;
    json_t *body = json_pack("{s:s}", "name", "a");
    json_t *answer = NULL;
    char keys[2048];

    begin(&script, steps, true);
    assert_int_equal(server_request(&script.server, "POST", "/jobs", body, &answer), STATUS_OK);
    assert_int_equal(json_integer_value(json_object_get(answer, "id")), 7);
    end(&script, keys, sizeof keys);
    assert_same_key(keys, 4);
    json_decref(answer);
    json_decref(body);
}

TEST(test_each_thing_has_its_own_key)
{
    static const char *const steps[] = { ACCEPTED, ACCEPTED, NULL };
    struct script script;
    char keys[2048];
    size_t size;

    begin(&script, steps, false);
    for (int i = 0; i < 2; i++)
        assert_int_equal(server_request(&script.server, "DELETE", "/jobs/a", NULL, NULL),
                         STATUS_OK);
    end(&script, keys, sizeof keys);
    size = strcspn(keys, "\n") + 1;
    assert_true(size > 30);
    assert_int_equal(strlen(keys), 2 * size);
    assert_int_not_equal(strncmp(keys, keys + size, size), 0);
}

TEST(test_reads_have_no_key_and_are_repeated_when_the_server_says_so)
{
    static const char *const busy[] = { BUSY, ACCEPTED, NULL };
    static const char *const broken[] = { HALF, NULL };
    struct script script;
    char keys[2048];

    begin(&script, busy, false);
    assert_int_equal(server_request(&script.server, "GET", "/jobs", NULL, NULL), STATUS_OK);
    end(&script, keys, sizeof keys);
    assert_string_equal(keys, "-\n-\n");
    begin(&script, broken, false);
    assert_int_equal(server_request(&script.server, "GET", "/jobs", NULL, NULL), STATUS_NO_SERVER);
    end(&script, keys, sizeof keys);
    assert_string_equal(keys, "-\n");
}

/* Whether other nodes have its folder is asked for behind it: a scheduler that dies meanwhile takes
 * nothing along. */
TEST(test_the_submission_goes_first)
{
    static const char *const steps[] = { BROKEN, ACCEPTED, BROKEN, NULL };
    const char *argv[] = { "edl",  "submit", "--server", NULL, "--workspace",
                           "/dev", "--",     "true",     NULL };
    struct script script;
    char keys[2048];
    size_t size;

    begin(&script, steps, true);
    argv[3] = script.server.base;
    assert_int_equal(verb_main((int)ELEMENTS(argv) - 1, (char **)(uintptr_t)argv), STATUS_OK);
    end(&script, keys, sizeof keys);
    size = strlen(keys);
    assert_string_equal(keys + size - 2, "-\n");
    keys[size - 2] = '\0';
    assert_same_key(keys, 2);
}

/* Whoever asks for more than a share is told when to come again, and comes then. */
TEST(test_too_many_is_waited_for_as_long_as_the_server_says)
{
    static const char *const steps[] = { TOO_MANY, TOO_MANY, ACCEPTED, NULL };
    uint64_t began_us = clock_read_us(CLOCK_BOOTTIME);
    struct script script;
    char keys[2048];

    begin(&script, steps, false);
    assert_int_equal(server_request(&script.server, "DELETE", "/jobs/a", NULL, NULL), STATUS_OK);
    assert_true(clock_read_us(CLOCK_BOOTTIME) - began_us >= 2 * USEC_PER_SEC);
    end(&script, keys, sizeof keys);
    assert_same_key(keys, 3);
    begin(&script, steps, false);
    assert_null(http_client_free(script.server.http));
    assert_int_equal(http_client_new(script.server.base, &script.server.http, NULL), 0); /* curl */
    assert_int_equal(server_request(&script.server, "GET", "/jobs", NULL, NULL), STATUS_OK);
    assert_true(clock_read_us(CLOCK_BOOTTIME) - began_us >= 4 * USEC_PER_SEC);
    end(&script, keys, sizeof keys);
}

TEST(test_nobody_there_is_told_at_once)
{
    static const char *const steps[] = { NULL };
    struct script script;
    char keys[2048];
    uint64_t began_us;

    begin(&script, steps, false);
    assert_int_equal(waitid(P_PID, (id_t)script.pid, NULL, WEXITED | WNOWAIT), 0);
    began_us = clock_read_us(CLOCK_BOOTTIME);
    assert_int_equal(server_request(&script.server, "DELETE", "/jobs/a", NULL, NULL),
                     STATUS_NO_SERVER);
    assert_true(clock_read_us(CLOCK_BOOTTIME) - began_us < 30 * USEC_PER_SEC); /* as a lost one */
    end(&script, keys, sizeof keys);
}

/* --- several addresses --- */

#define OTHER_LEADS                                                                                \
    "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nEDL-Leader: http://127.0.0.1:%u\r\n"    \
    "Content-Length: 0\r\nConnection: close\r\n\r\n"

/* The folder of one test with the one file in it. */
static int remove_state(const char *state)
{
    static const char *const folders[] = { ".local/state/edl", ".local/state", ".local" };
    _cleanup_free_ char *file = text_format("%s/.local/state/edl/server", state);

    (void)unlink(file);
    for (size_t i = 0; i < ELEMENTS(folders); i++) {
        _cleanup_free_ char *folder = text_format("%s/%s", state, folders[i]);

        (void)rmdir(folder);
    }
    return rmdir(state);
}

/* Nobody has called it. */
static void end_unasked(struct script *script)
{
    char key;

    assert_int_equal(kill(script->pid, SIGKILL), 0);
    assert_int_equal(waitpid(script->pid, NULL, 0), script->pid);
    assert_int_equal(read(script->keys_fd, &key, 1), 0);
    (void)safe_close(script->keys_fd);
    server_clear(&script->server);
}

static unsigned port_of(const struct script *script)
{
    return (unsigned)strtoul(strrchr(script->server.base, ':') + 1, NULL, 10);
}

/* client_of - of these addresses, in a home of its own where nothing is yet; it calls the first one
 * at first */
static struct server client_of(const char *state, const char *const *bases, size_t n)
{
    struct server server = { 0 };
    _cleanup_free_ char *given =
        text_format("%s,%s%s%s", bases[0], bases[1], n > 2 ? "," : "", n > 2 ? bases[2] : "");

    assert_int_equal(unsetenv("XDG_STATE_HOME"), 0);
    assert_int_equal(setenv("HOME", state, 1), 0);
    assert_int_equal(server_several_take(given, &server, NULL), 0);
    assert_int_equal(http_client_new_quick(server.base, &server.http, NULL), 0);
    return server;
}

static void submit(struct server *server)
{
    json_t *body = json_pack("{s:s}", "name", "a");
    json_t *answer = NULL;

    assert_int_equal(server_request(server, "POST", "/jobs", body, &answer), STATUS_OK);
    assert_int_equal(json_integer_value(json_object_get(answer, "id")), 7);
    json_decref(answer);
    json_decref(body);
}

TEST(test_address_where_nobody_listens_is_passed_over_and_the_other_is_kept)
{
    static const char *const steps[] = { ACCEPTED, ACCEPTED, NULL };
    char home[] = "/tmp/edl-several-XXXXXX";
    struct script script;
    struct server server;
    char keys[2048];

    assert_non_null(mkdtemp(home));
    begin(&script, steps, true);

    const char *bases[] = { "http://127.0.0.1:1", script.server.base };

    server = client_of(home, bases, 2);
    assert_string_equal(server.base, bases[0]);
    submit(&server);
    assert_string_equal(server.base, bases[1]);
    server_clear(&server);
    server = client_of(home, bases, 2); /* the next command */
    assert_string_equal(server.base, bases[1]);
    submit(&server);
    server_clear(&server);
    end(&script, keys, sizeof keys);
    (void)remove_state(home);
}

TEST(test_standby_that_names_the_leader_is_followed_with_the_same_key)
{
    static const char *const leader_steps[] = { ACCEPTED, NULL };
    char home[] = "/tmp/edl-several-XXXXXX";
    struct script standby, other, leader;
    struct server server;
    char told[300], keys[2][2048];
    const char *standby_steps[] = { told, NULL };

    assert_non_null(mkdtemp(home));
    begin(&leader, leader_steps, true);
    begin(&other, leader_steps, true);
    (void)snprintf(told, sizeof told, OTHER_LEADS, port_of(&leader));
    begin(&standby, standby_steps, true);

    const char *bases[] = { standby.server.base, other.server.base, leader.server.base };

    server = client_of(home, bases, 3);
    submit(&server);
    server_clear(&server);
    end(&standby, keys[0], sizeof keys[0]);
    end(&leader, keys[1], sizeof keys[1]);
    assert_string_equal(keys[0], keys[1]);
    end_unasked(&other);
    (void)remove_state(home);
}

/* Nobody's token goes where a header points. */
TEST(test_leader_that_nobody_listed_is_not_called)
{
    static const char *const steps[] = { ACCEPTED, NULL };
    char home[] = "/tmp/edl-several-XXXXXX";
    struct script standby, leader, stranger;
    struct server server;
    char told[300], keys[2048];
    const char *standby_steps[] = { told, NULL };

    assert_non_null(mkdtemp(home));
    begin(&stranger, steps, true);
    begin(&leader, steps, true);
    (void)snprintf(told, sizeof told, OTHER_LEADS, port_of(&stranger));
    begin(&standby, standby_steps, true);

    const char *bases[] = { standby.server.base, leader.server.base };

    server = client_of(home, bases, 2);
    submit(&server);
    assert_string_equal(server.base, bases[1]);
    server_clear(&server);
    end(&standby, keys, sizeof keys);
    end(&leader, keys, sizeof keys);
    end_unasked(&stranger);
    (void)remove_state(home);
}

/* Two that name each other, as while one takes over, are asked twice; then it is waited. */
TEST(test_two_that_name_each_other_are_not_asked_without_end)
{
    char home[] = "/tmp/edl-several-XXXXXX";
    struct script a, b;
    struct server server;
    char says_b[300], says_a[300], keys[2048];
    const char *a_steps[] = { says_b, says_b, ACCEPTED, NULL };
    const char *b_steps[] = { says_a, NULL };
    int fds[2];

    assert_non_null(mkdtemp(home));
    fds[0] = prepare(&a);
    fds[1] = prepare(&b);
    (void)snprintf(says_b, sizeof says_b, OTHER_LEADS, port_of(&b));
    (void)snprintf(says_a, sizeof says_a, OTHER_LEADS, port_of(&a));
    start(&a, fds[0], a_steps, true);
    start(&b, fds[1], b_steps, true);

    const char *bases[] = { a.server.base, b.server.base };

    server = client_of(home, bases, 2);
    submit(&server);
    server_clear(&server);
    end(&a, keys, sizeof keys);
    end(&b, keys, sizeof keys);
    (void)remove_state(home);
}

/* One whose process or machine stands still: it listens, and nobody answers. What came is read once
 * the call is over. */
struct frozen {
    int listen_fd;
    char *base; /* owned */
};

static struct frozen freeze(void)
{
    struct script script;
    struct frozen frozen = { .listen_fd = prepare(&script) };

    frozen.base = TAKE_PTR(script.server.base);
    return frozen;
}

/* heard_by - how many requests but looks it got; the last one is in text */
static int heard_by(struct frozen *frozen, char *text, size_t size)
{
    char told[4096];
    int n = 0, fd;

    assert_int_equal(fcntl(frozen->listen_fd, F_SETFL, O_NONBLOCK), 0);
    while ((fd = accept(frozen->listen_fd, NULL, NULL)) != -1) {
        ssize_t got = read(fd, told, sizeof told - 1);

        (void)safe_close(fd);
        told[MAX_OF(got, 0)] = '\0';
        if (got <= 0 || strncmp(told, "GET /healthz ", 13) == 0)
            continue;
        n++;
        (void)snprintf(text, size, "%s", told);
    }
    (void)safe_close(frozen->listen_fd);
    free(frozen->base);
    return n;
}

TEST(test_one_that_stands_still_is_left_for_the_leader_with_the_same_key)
{
    static const char *const steps[] = { ACCEPTED, ACCEPTED, NULL };
    char home[] = "/tmp/edl-several-XXXXXX", keys[2048], text[4096] = "", key[300];
    struct frozen frozen = freeze();
    struct script leader;
    struct server server;

    assert_non_null(mkdtemp(home));
    health = LEADS;
    begin(&leader, steps, true);
    health = STANDS_BY;

    const char *bases[] = { frozen.base, leader.server.base };

    server = client_of(home, bases, 2);
    submit(&server);
    assert_string_equal(server.base, bases[1]);
    server_clear(&server);
    server = client_of(home, bases, 2); /* the next command begins at the one that led */
    assert_string_equal(server.base, bases[1]);
    submit(&server);
    server_clear(&server);
    end(&leader, keys, sizeof keys);
    (void)snprintf(key, sizeof key, "\r\nIdempotency-Key: %.*s\r\n", (int)strcspn(keys, "\n"),
                   keys);
    assert_int_equal(heard_by(&frozen, text, sizeof text), 1);
    assert_non_null(strstr(text, key));
    (void)remove_state(home);
}

/* Nobody leads yet: the one that stands still is waited for, and the other one is asked again. */
TEST(test_one_that_takes_over_later_is_found)
{
    static const char *const steps[] = { ACCEPTED, NULL };
    char home[] = "/tmp/edl-several-XXXXXX", keys[2048], text[4096] = "";
    struct frozen frozen = freeze();
    struct script leader;
    struct server server;

    assert_non_null(mkdtemp(home));
    looks_until_leads = 2;
    begin(&leader, steps, true);
    looks_until_leads = 0;

    const char *bases[] = { frozen.base, leader.server.base };

    server = client_of(home, bases, 2);
    assert_int_equal(server_request(&server, "GET", "/jobs", NULL, NULL), STATUS_OK);
    assert_string_equal(server.base, bases[1]);
    server_clear(&server);
    end(&leader, keys, sizeof keys);
    assert_string_equal(keys, "-\n");
    assert_int_equal(heard_by(&frozen, text, sizeof text), 1);
    (void)remove_state(home);
}

/* A leader that is well, and answers late: its long poll stays, and is asked for once. */
TEST(test_long_poll_of_a_leader_stays_where_it_is)
{
    static const char *const steps[] = { ACCEPTED, NULL };
    char home[] = "/tmp/edl-several-XXXXXX", keys[2048];
    struct script leader, standby;
    struct server server;

    assert_non_null(mkdtemp(home));
    begin(&standby, steps, true);
    health = LEADS;
    waits_for_looks = 1;
    begin(&leader, steps, true);
    waits_for_looks = 0;
    health = STANDS_BY;

    const char *bases[] = { leader.server.base, standby.server.base };

    server = client_of(home, bases, 2);
    assert_int_equal(server_request(&server, "GET", "/events", NULL, NULL), STATUS_OK);
    assert_string_equal(server.base, bases[0]);
    server_clear(&server);
    end(&leader, keys, sizeof keys);
    assert_string_equal(keys, "-\n");
    end_unasked(&standby);
    (void)remove_state(home);
}

/* Whichever is asked last: one that says that it does not lead now will, or another one. */
TEST(test_standby_beside_one_that_is_gone_is_waited_for)
{
    static const char *const steps[] = { BUSY, ACCEPTED, NULL };

    for (size_t first = 0; first < 2; first++) {
        char home[] = "/tmp/edl-several-XXXXXX", keys[2048];
        struct script standby;
        struct server server;

        assert_non_null(mkdtemp(home));
        begin(&standby, steps, true);

        const char *bases[2] = { "http://127.0.0.1:1", "http://127.0.0.1:1" };

        bases[first] = standby.server.base;
        server = client_of(home, bases, 2);
        assert_int_equal(server_request(&server, "GET", "/jobs", NULL, NULL), STATUS_OK);
        server_clear(&server);
        end(&standby, keys, sizeof keys);
        assert_string_equal(keys, "-\n-\n");
        (void)remove_state(home);
    }
}

/* Of a port that speaks TLS nothing comes, and another cluster does not know the token. */
TEST(test_download_of_which_nothing_is_out_goes_on_elsewhere)
{
    static const char *const steps[][2] = { { BROKEN, NULL }, { STRANGER, NULL }, { LEADS, NULL } };

    for (size_t i = 0; i < 2; i++) {
        char home[] = "/tmp/edl-several-XXXXXX", keys[2048];
        struct http_call call = { .method = "GET", .path = "/backup", .save = tmpfile() };
        struct http_answer answer = { 0 };
        struct script first, leader;
        struct server server;

        assert_non_null(mkdtemp(home));
        begin(&first, steps[i], false);
        begin(&leader, steps[2], false);
        server = client_of(home, (const char *[]){ first.server.base, leader.server.base }, 2);
        assert_int_equal(server_call(&server, &call, &answer), STATUS_OK);
        assert_int_equal(ftell(call.save), 40);
        (void)fclose(call.save);
        http_answer_clear(&answer);
        server_clear(&server);
        end(&first, keys, sizeof keys);
        end(&leader, keys, sizeof keys);
        (void)remove_state(home);
    }
}

/* Of the other one nothing comes: the refusal is told, and no call waits for its limit of time. */
TEST(test_refusal_of_a_token_is_told_beside_one_that_stands_still)
{
    static const char *const steps[] = { STRANGER, STRANGER, NULL };
    FILE *saves[] = { NULL, stdout }; /* nothing goes there */

    for (size_t i = 0; i < 2; i++) {
        struct http_call call = { .method = "GET", .path = "/jobs", .save = saves[i] };
        char home[] = "/tmp/edl-several-XXXXXX", keys[2048];
        struct frozen frozen = freeze();
        struct http_answer answer = { 0 };
        struct script leader;
        struct server server;

        assert_non_null(mkdtemp(home));
        health = LEADS;
        begin(&leader, steps, false);
        health = STANDS_BY;
        server = client_of(home, (const char *[]){ leader.server.base, frozen.base }, 2);
        assert_int_equal(server_call(&server, &call, &answer), STATUS_FAILED);
        assert_int_equal(answer.status, 401);
        http_answer_clear(&answer);
        server_clear(&server);
        end(&leader, keys, sizeof keys);
        assert_int_equal(heard_by(&frozen, keys, sizeof keys), 1);
        (void)remove_state(home);
    }
}

TEST(test_each_address_is_told_with_its_fault)
{
    static const char *const refused[] = { "http://127.0.0.1:1", "https://127.0.0.1:2" };
    char home[] = "/tmp/edl-several-XXXXXX";
    struct http_call call = { .method = "GET", .path = "/jobs" };
    struct http_answer answer = { 0 };
    struct server server;
    const char *line;

    assert_non_null(mkdtemp(home));
    server = client_of(home, refused, 2);
    assert_int_equal(server_call(&server, &call, &answer), STATUS_NO_SERVER);
    assert_string_equal(answer.text, "no scheduler can be reached at any of these addresses");
    assert_int_equal(strncmp(answer.each, "http://127.0.0.1:1: ", 20), 0);
    line = strchr(answer.each, '\n');
    assert_non_null(line);
    assert_int_equal(strncmp(line + 1, "https://127.0.0.1:2: ", 21), 0);
    assert_null(strchr(line + 1, '\n'));
    http_answer_clear(&answer);
    server_clear(&server);
    (void)remove_state(home);
}
