/* SPDX-License-Identifier: Apache-2.0 */
/* test_http.c - the HTTP server: routes, bodies, problems, deferred answers, its end */
#include "tests/unit/http_fixture.h"

#include "shared/cleanup.h"
#include "tests/unit/test.h"

#include <fcntl.h>
#include <sys/stat.h>

TEST_EACH(fixture_setup, fixture_teardown);

TEST(test_headers)
{
    static const char *const wanted[] = { "HTTP/1.1 200 OK\r\n",
                                          "Content-Type: text/plain\r\n",
                                          "X-Content-Type-Options: nosniff\r\n",
                                          "X-Request-Id: ",
                                          "X-Extra: yes\r\n",
                                          "\r\n\r\nhello\n" };
    struct raw raw;

    raw_ask(*state, &raw, "GET /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    for (size_t i = 0; i < ELEMENTS(wanted); i++)
        assert_non_null(strstr(raw.text, wanted[i]));
    raw_ask(*state, &raw, "HEAD /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    assert_non_null(strstr(raw.text, "Content-Length: 6\r\n"));
    assert_null(strstr(raw.text, "hello\n"));
}

TEST(test_params)
{
    struct result result = { 0 };

    ask(*state, "GET", "/items/a%2Fb%20c/parts/7?q=x%26y+z&other", &result);
    assert_int_equal(result.status, 200);
    assert_string_equal(text_of(&result, "name"), "a/b c");
    assert_string_equal(text_of(&result, "part"), "7");
    assert_string_equal(text_of(&result, "q"), "x&y z");
    assert_string_equal(text_of(&result, "path"), "/items/a%2Fb%20c/parts/7");
    assert_string_equal(text_of(&result, "target"), "/items/a%2Fb%20c/parts/7?q=x%26y+z&other");
    ask(*state, "PUT", "/items/+", &result);
    assert_string_equal(text_of(&result, "name"), "+");
    assert_string_equal(text_of(&result, "method"), "PUT");
    assert_string_equal(text_of(&result, "q"), "(none)");
    ask(*state, "GET", "/items/self", &result); /* the first route that matches */
    assert_string_equal(result.body, "hello\n");
    result_clear(&result);
}

TEST(test_paths_that_are_not_there)
{
    static const struct {
        const char *path;
        unsigned status;
    } cases[] = {
        { "/", 404 },
        { "/hello/", 404 },
        { "/hell", 404 },
        { "/helloo", 404 },
        { "//hello", 404 },
        { "/items", 404 },
        { "/items/", 404 },
        { "/items/a/parts", 404 },
        { "/items/a/b", 404 },
        { "/items/a%00b", 400 },
        { "/items/%zz", 400 },
        { "/items/%4", 400 },
        { "/hello?x=%00", 400 },
        { "/hello?%", 400 },
        { "/items/../hello", 404 },
        { "/h%65llo", 200 },
    };
    struct result result = { 0 };

    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        ask(*state, "GET", cases[i].path, &result);
        assert_int_equal(result.status, cases[i].status);
    }
    ask(*state, "GET", "/nowhere", &result);
    assert_int_equal(result.code, -ENOENT);
    assert_string_equal(text_of(&result, "type"), "about:blank");
    assert_string_equal(text_of(&result, "title"), "Not Found");
    assert_int_equal(json_integer_value(json_object_get(result.json, "status")), 404);
    assert_null(json_object_get(result.json, "remedy"));
    assert_null(json_object_get(result.json, "errors"));
    result_clear(&result);
}

TEST(test_method_not_allowed)
{
    struct raw raw;

    raw_ask(*state, &raw, "DELETE /items/x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    assert_non_null(strstr(raw.text, "HTTP/1.1 405 "));
    assert_non_null(strstr(raw.text, "Allow: GET, PUT\r\n"));
    assert_non_null(strstr(raw.text, "Content-Type: application/problem+json\r\n"));
}

TEST(test_query_number)
{
    static const char *const bad[] = { "/number?n=x", "/number?n=", "/number?n=-1",
                                       "/number?n=99999999999999999999" };
    struct result result = { 0 };

    ask(*state, "GET", "/number", &result);
    assert_int_equal(json_integer_value(result.json), 42);
    ask(*state, "GET", "/number?n=7", &result);
    assert_int_equal(json_integer_value(result.json), 7);
    for (size_t i = 0; i < ELEMENTS(bad); i++) {
        ask(*state, "GET", bad[i], &result);
        assert_int_equal(result.status, 400);
        assert_int_equal(result.code, -EINVAL);
    }
    result_clear(&result);
}

/* A caller who is not understood wants nothing done. */
TEST(test_query_keys)
{
    static const struct {
        const char *method, *target, *says, *remedy;
    } cases[] = {
        { "GET", "/number?m=7", "does not know the query key \"m\"", "did you mean \"n\"?" },
        { "GET", "/number?nubmer=7", "\"nubmer\"", "did you mean \"number\"?" },
        { "GET", "/number?n=7&colour=red", "GET /number", "known here: number, n" },
        { "GET", "/number?n=7&n=7", "gives n twice", "once" },
        { "GET", "/number?=7", "query key \"\"", "known here" },
        { "DELETE", "/nothing?dry_run=1", "DELETE /nothing does not know the query key \"dry_run\"",
          "takes no query" },
    };
    struct result result = { 0 };

    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        ask(*state, cases[i].method, cases[i].target, &result);
        if (result.status != 400 || strstr(result.error.text, cases[i].says) == NULL ||
            strstr(result.error.remedy, cases[i].remedy) == NULL)
            fail_msg("%s: %u %s; %s", cases[i].target, result.status, result.error.text,
                     result.error.remedy);
    }
    ask(*state, "GET", "/passed-on?whatever=1&whatever=2", &result);
    assert_int_equal(result.status, 200);
    ask(*state, "GET", "/hello?", &result); /* a query without keys is none */
    assert_int_equal(result.status, 200);
    result_clear(&result);
}

TEST(test_json_body)
{
    static const char *const bad[] = { "",           "{",    "{\"a\":1,\"a\":2}",
                                       "[1,\n2,,3]", "{} x", "\"\xff\"" };
    struct result result = { 0 };
    json_t *body = json_pack("{s:[i,i]}", "a", 1, 2);

    ask_call(*state, &(struct http_call){ .method = "POST", .path = "/echo", .json = body },
             &result);
    assert_int_equal(result.status, 201);
    assert_true(json_equal(result.json, body));
    json_decref(body);
    for (size_t i = 0; i < ELEMENTS(bad); i++) {
        ask_call(*state,
                 &(struct http_call){ .method = "POST",
                                      .path = "/echo",
                                      .body = bad[i],
                                      .body_size = strlen(bad[i]) },
                 &result);
        assert_int_equal(result.status, 400);
        assert_int_equal(result.code, -EINVAL);
    }
    ask_call(*state,
             &(struct http_call){
                 .method = "POST", .path = "/echo", .body = bad[3], .body_size = strlen(bad[3]) },
             &result);
    assert_non_null(strstr(result.error.text, "line 2, column 3"));
    result_clear(&result);
}

TEST(test_problem_is_carried_over)
{
    struct result result = { 0 };

    ask(*state, "GET", "/broken", &result);
    assert_int_equal(result.status, 422);
    assert_int_equal(result.code, EDL_EBADSPEC);
    assert_string_equal(result.error.text, "min ? is 5, max is 2"); /* not UTF-8: replaced */
    assert_string_equal(result.error.pointer, "/spec/trainer/min-instance");
    assert_string_equal(result.error.remedy, "lower min-instance");
    ask(*state, "GET", "/silent", &result);
    assert_int_equal(result.status, 500);
    assert_int_equal(result.code, EDL_EHTTP);
    ask(*state, "DELETE", "/nothing", &result);
    assert_int_equal(result.status, 204);
    assert_int_equal(result.code, 0);
    assert_int_equal(result.body_size, 0);
    result_clear(&result);
}

TEST(test_authorise)
{
    struct http_call call = { .method = "POST", .path = "/secret", .body = "1", .body_size = 1 };
    struct result result = { 0 };

    ask_call(*state, &call, &result);
    assert_int_equal(result.status, 401);
    assert_int_equal(result.code, EDL_EUNAUTHENTICATED);
    call.bearer_token = "wrong";
    ask_call(*state, &call, &result);
    assert_int_equal(result.status, 403);
    call.bearer_token = "right";
    ask_call(*state, &call, &result);
    assert_int_equal(result.status, 201);
    result_clear(&result);
}

TEST(test_body_too_large)
{
    enum { LARGE = 3 * 1024 * 1024 };
    char *data = xcalloc(LARGE, 1);
    struct http_call call = { .method = "POST", .path = "/small", .body = data, .body_size = 100 };
    struct result result = { 0 };
    struct raw raw;

    ask_call(*state, &call, &result);
    assert_int_equal(result.status, 200);
    call.body_size = 101;
    ask_call(*state, &call, &result);
    assert_int_equal(result.status, 413);
    assert_int_equal(result.code, -E2BIG);
    call.body_size = LARGE; /* libcurl asks first, with Expect */
    ask_call(*state, &call, &result);
    assert_int_equal(result.status, 413);
    call.headers[0] = "Expect:"; /* and now it does not */
    ask_call(*state, &call, &result);
    assert_int_equal(result.status, 413);
    call.headers[0] = "Transfer-Encoding: chunked"; /* size not announced */
    ask_call(*state, &call, &result);
    assert_int_equal(result.status, 413);
    raw_ask(*state, &raw,
            "POST /small HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999\r\n\r\nabc");
    assert_non_null(strstr(raw.text, "HTTP/1.1 413 "));
    result_clear(&result);
    free(data);
}

/* A body with few bytes may hold many values, each of which takes memory; and not all callers may
 * send the same. */
TEST(test_body_bounds)
{
    static const struct {
        const char *path, *header, *body, *text;
        unsigned status;
    } rows[] = {
        { "/few", NULL, "[1,2,3]", NULL, 201 },
        { "/few", NULL, "[1,2,3,4]", "the body has more than 4 values", 413 },
        { "/few", NULL, "{\"a\":\"[,{,\\\",\"}", NULL, 201 },
        { "/few", NULL, "[[[[[", "the body has more than 4 values", 413 },
        { "/few", "X-Less: 1", "[      ]", NULL, 201 },
        { "/few", "X-Less: 1", "[       ]", "the body is larger than 8 bytes", 413 },
        { "/few", "X-Less: 1", "[1,2]", "the body has more than 2 values", 413 },
        { "/read-before", NULL, "[1,2,3]", NULL, 201 },
        { "/read-before", NULL, "[1,", "the body is not JSON: line 1, column 3:", 400 },
        { "/read-before", NULL, "", "the body is empty; JSON is expected", 400 },
    };
    struct result result = { 0 };

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        struct http_call call = { .method = "POST",
                                  .path = rows[i].path,
                                  .body = rows[i].body,
                                  .body_size = strlen(rows[i].body),
                                  .headers = { rows[i].header } };

        ask_call(*state, &call, &result);
        assert_int_equal(result.status, rows[i].status);
        if (rows[i].text != NULL)
            assert_ptr_equal(strstr(result.error.text, rows[i].text), result.error.text);
        if (rows[i].status == 413 && rows[i].header != NULL && rows[i].body[1] == ' ')
            assert_string_equal(result.error.remedy, "send fewer");
    }
    result_clear(&result);
}

TEST(test_large_post)
{
    enum { SIZE = 5 * 1000 * 1000 };
    char *data = xreallocarray(NULL, SIZE, 1);
    struct result result = { 0 };

    memset(data, 3, SIZE);
    for (int i = 0; i < 2; i++) {
        ask_call(*state,
                 &(struct http_call){ .method = "POST",
                                      .path = "/size",
                                      .body = data,
                                      .body_size = SIZE,
                                      .headers = { i == 0 ? "Expect:" : NULL } },
                 &result);
        assert_int_equal(json_integer_value(json_object_get(result.json, "size")), SIZE);
        assert_int_equal(json_integer_value(json_object_get(result.json, "sum")), 3 * SIZE);
    }
    ask(*state, "GET", "/bytes?n=7000000", &result);
    assert_int_equal(result.body_size, 7000000);
    result_clear(&result);
    free(data);
}

TEST(test_body_piece_by_piece)
{
    enum { SIZE = 5 * 1000 * 1000 };
    struct fixture *f = *state;
    char *data = xcalloc(SIZE, 1);
    struct http_call call = { .method = "PUT", .path = "/sink", .body = data, .body_size = SIZE };
    struct result result = { 0 };
    struct raw raw;

    ask_call(f, &call, &result);
    assert_int_equal(json_integer_value(json_object_get(result.json, "bytes")), SIZE);
    assert_true(json_is_true(json_object_get(result.json, "in_pieces")));
    call.body_size = 0;
    ask_call(f, &call, &result);
    assert_int_equal(json_integer_value(json_object_get(result.json, "bytes")), 0);
    run_until(f, &f->n_sinks_ended, 2);

    /* one that is not wanted is not sent, and refusing one in the middle ends it */
    call.body_size = SIZE;
    call.headers[0] = "X-Known: yes";
    ask_call(f, &call, &result);
    assert_string_equal(result.body, "known");
    call.headers[0] = "X-Refuse: yes";
    ask_call(f, &call, &result);
    assert_int_equal(result.status, 403);
    assert_int_equal(f->n_sinks_ended, 2);
    call.headers[0] = "Expect:";
    data[SIZE / 2] = '!';
    ask_call(f, &call, &result);
    assert_int_equal(result.status, 400);
    run_until(f, &f->n_sinks_ended, 3);

    /* whoever leaves in the middle ends it, too */
    raw_send(f, &raw, "PUT /sink HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nabc");
    run_until(f, &f->n_sinks_begun, 4);
    raw.fd = safe_close(raw.fd);
    run_until(f, &f->n_sinks_ended, 4);
    result_clear(&result);
    free(data);
}

TEST(test_body_from_a_file)
{
    enum { SIZE = 5 * 1000 * 1000 };
    struct fixture *f = *state;
    FILE *file = tmpfile();
    struct http_call call = { .method = "PUT", .path = "/sink", .send = file };
    struct result result = { 0 };

    assert_non_null(file);
    assert_int_equal(ftruncate(fileno(file), SIZE), 0);
    for (int i = 0; i < 2; i++) { /* all of it, each time */
        ask_call(f, &call, &result);
        assert_int_equal(json_integer_value(json_object_get(result.json, "bytes")), SIZE);
    }
    assert_int_equal(ftruncate(fileno(file), 0), 0);
    ask_call(f, &call, &result);
    assert_int_equal(json_integer_value(json_object_get(result.json, "bytes")), 0);
    result_clear(&result);
    (void)fclose(file);
}

TEST(test_answer_from_a_file)
{
    static const struct {
        const char *path;
        size_t size;
        bool whole;
    } rows[] = { { "/file?n=0", 0, true },
                 { "/file?n=1", 1, true },
                 { "/file?n=5000000", 5000000, true },
                 { "/file?n=70000&more=1", 0, false } };
    struct result result = { 0 };

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        ask(*state, "GET", rows[i].path, &result);
        if (rows[i].whole) {
            assert_int_equal(result.status, 200);
            assert_int_equal(result.body_size, rows[i].size);
        } else {
            assert_int_not_equal(result.failure, 0); /* never taken for the whole of it */
        }
    }
    result_clear(&result);
}

TEST(test_keep_alive_and_pipelining)
{
    struct raw raw;
    unsigned n = 0;

    raw_ask(*state, &raw,
            "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n"
            "GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n"
            "POST /small HTTP/1.1\r\nHost: x\r\nContent-Length: 102\r\n\r\n"
            "0123456789012345678901234567890123456789012345678901234567890123456789"
            "01234567890123456789012345678901"
            "GET /at-once HTTP/1.1\r\nHost: x\r\n\r\n"
            "GET /number HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    for (const char *p = raw.text; (p = strstr(p, "HTTP/1.1 ")) != NULL; p++)
        n++;
    assert_int_equal(n, 5);
    assert_non_null(strstr(raw.text, "HTTP/1.1 404 "));
    assert_non_null(strstr(raw.text, "HTTP/1.1 413 "));
    assert_non_null(strstr(raw.text, "\r\n\r\nnow"));
    assert_string_equal(raw.text + raw.size - 2, "42");
}

TEST(test_deferred_from_a_timer)
{
    struct fixture *f = *state;
    struct result result = { 0 };
    uint64_t end_us = clock_read_us(CLOCK_BOOTTIME) + 120 * USEC_PER_SEC, began_us;

    f->n_wanted = 1;
    ask(f, "GET", "/together", &result);
    /* on a kept connection it is sent when answered, not at the daemon's next timeout (60 s), nor
     * at its next second; a busy machine may be late with any of them */
    do {
        began_us = clock_read_us(CLOCK_BOOTTIME);
        assert_true(began_us < end_us);
        ask(f, "GET", "/together", &result);
        assert_int_equal(result.status, 200);
    } while (clock_read_us(CLOCK_BOOTTIME) - began_us > USEC_PER_SEC / 2);
    result_clear(&result);
}

static void on_counted(const struct http_answer *answer, void *userdata)
{
    assert_int_equal(answer->failure, 0);
    assert_int_equal(answer->status, 200);
    (*(unsigned *)userdata)++;
}

TEST(test_who_waits_and_leaves_is_noticed)
{
    struct http_call call = { .method = "GET", .path = "/watched" };
    struct http_async_call *waits;
    struct fixture *f = *state;
    unsigned n_answers = 0;
    uint64_t end_us;

    for (unsigned round = 1; round <= 3; round++) {
        assert_int_equal(http_async_start(f->async, &call, on_counted, &n_answers, &waits, NULL),
                         0);
        wait_held(f, 1);
        assert_int_equal(http_server_waiting(f->server), 1);
        f->n_held = 0;
        http_async_cancel(waits);
        end_us = clock_read_us(CLOCK_BOOTTIME) + 120 * USEC_PER_SEC;
        while (f->n_gone < round) {
            assert_true(clock_read_us(CLOCK_BOOTTIME) < end_us);
            assert_true(sd_event_run(f->event, 100 * USEC_PER_MSEC) >= 0);
        }
        assert_int_equal(http_server_waiting(f->server), 0);
    }
    /* one that is answered was watched in vain */
    assert_int_equal(http_async_start(f->async, &call, on_counted, &n_answers, NULL, NULL), 0);
    wait_held(f, 1);
    (void)answer_held(NULL, 0, f);
    run_until(f, &n_answers, 1);
    assert_int_equal(f->n_gone, 3);
}

TEST(test_many_deferred)
{
    enum { MANY = 200 };
    struct http_call call = { .method = "GET", .path = "/together" };
    struct fixture *f = *state;
    unsigned n_answers = 0;

    f->n_wanted = MANY;
    for (int round = 1; round <= 2; round++) {
        for (int i = 0; i < MANY; i++)
            assert_int_equal(http_async_start(f->async, &call, on_counted, &n_answers, NULL, NULL),
                             0);
        run_until(f, &n_answers, (unsigned)(round * MANY));
    }
    assert_int_equal(f->n_held, 0);
}

TEST(test_server_free_answers)
{
    struct http_call call = { .method = "GET", .path = "/forever" };
    struct result results[5] = { 0 };
    struct fixture *f = *state;

    for (size_t i = 0; i < ELEMENTS(results); i++)
        assert_int_equal(http_async_start(f->async, &call, on_answer, &results[i], NULL, NULL), 0);
    wait_held(f, ELEMENTS(results));
    f->server = http_server_free(f->server);
    assert_int_equal(f->n_gone, ELEMENTS(results));
    for (size_t i = 0; i < ELEMENTS(results); i++) {
        run_until(f, &results[i].n_answers, 1);
        assert_int_equal(results[i].status, 503);
        assert_int_equal(results[i].code, -EAGAIN);
        result_clear(&results[i]);
    }
    ask(f, "GET", "/hello", &results[0]); /* nobody listens any more */
    assert_int_equal(results[0].failure, EDL_EUNREACHABLE);
    result_clear(&results[0]);
}

TEST_WITH(test_too_many_deferred, .setup = fixture_setup_small, .teardown = fixture_teardown)
{
    struct http_call call = { .method = "GET", .path = "/forever" };
    struct result results[3] = { 0 };
    struct result extra = { 0 };
    struct fixture *f = *state;

    for (size_t i = 0; i < ELEMENTS(results); i++)
        assert_int_equal(http_async_start(f->async, &call, on_answer, &results[i], NULL, NULL), 0);
    wait_held(f, ELEMENTS(results));
    ask(f, "GET", "/forever", &extra);
    assert_int_equal(extra.status, 503);
    assert_int_equal(f->n_held, 3);
    (void)answer_held(NULL, 0, f);
    for (size_t i = 0; i < ELEMENTS(results); i++) {
        run_until(f, &results[i].n_answers, 1);
        assert_int_equal(results[i].status, 200);
        result_clear(&results[i]);
    }
    ask(f, "GET", "/hello", &extra);
    assert_int_equal(extra.status, 200);
    result_clear(&extra);
}

/* A peer that leaves while its request waits must not hurt the answer that comes later. */

TEST(test_peer_leaves)
{
    struct fixture *f = *state;
    struct result result = { 0 };
    struct raw raw;

    raw_send(f, &raw, "GET /forever HTTP/1.1\r\nHost: x\r\n\r\n");
    wait_held(f, 1);
    (void)safe_close(raw.fd);
    ask(f, "GET", "/hello", &result);
    (void)answer_held(NULL, 0, f);
    ask(f, "GET", "/hello", &result);
    assert_int_equal(result.status, 200);
    result_clear(&result);
    raw_send(f, &raw, "POST /size HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\nabc");
    ask(f, "GET", "/hello", &result);
    (void)safe_close(raw.fd); /* in the middle of its body */
    ask(f, "GET", "/hello", &result);
    result_clear(&result);
}

TEST_WITH(test_unix_socket, .setup = fixture_setup_unix, .teardown = fixture_teardown)
{
    struct fixture *f = *state;
    struct result result = { 0 };
    struct stat st;

    assert_int_equal(stat(f->socket_path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    ask(f, "GET", "/peer", &result);
    assert_int_equal(json_integer_value(result.json), getpid());
    result_clear(&result);
}

TEST_WITH(test_listen_refuses, .setup = fixture_setup_unix, .teardown = fixture_teardown)
{
    struct fixture *f = *state;
    struct edl_error error = { 0 };
    char path[300];
    int fd;

    assert_int_equal(http_listen_tcp("localhost", 0, NULL, &error), -EINVAL);
    (void)snprintf(path, sizeof path, "%s/file", f->folder);
    fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    (void)safe_close(fd);
    assert_int_equal(http_listen_unix(path, 0600, &error), -EEXIST); /* not a socket: kept */
    assert_int_equal(unlink(path), 0);
    memset(path, 'x', sizeof path);
    path[sizeof path - 1] = '\0';
    assert_int_equal(http_listen_unix(path, 0600, &error), -EINVAL);
    fd = http_listen_unix(f->socket_path, 0660, &error); /* a stale socket is replaced */
    assert_true(fd >= 0);
    (void)safe_close(fd);
}

static int on_idle_end(sd_event_source *source, uint64_t time_us, void *userdata)
{
    (void)source;
    (void)time_us;
    (*(unsigned *)userdata)++;
    return 0;
}

/* An idle kept connection has a timeout; waiting for it must not turn the loop. */
TEST(test_idle_does_not_spin)
{
    struct fixture *f = *state;
    sd_event_source *end = NULL;
    struct result result = { 0 };
    uint64_t before;
    uint64_t after;
    unsigned n_ends = 0;

    ask(f, "GET", "/hello", &result);
    result_clear(&result);
    assert_true(sd_event_add_time_relative(f->event, &end, CLOCK_MONOTONIC, 300 * USEC_PER_MSEC,
                                           1000, on_idle_end, &n_ends) >= 0);
    assert_true(sd_event_get_iteration(f->event, &before) >= 0);
    run_until(f, &n_ends, 1);
    assert_true(sd_event_get_iteration(f->event, &after) >= 0);
    assert_true(after - before < 20);
    (void)sd_event_source_disable_unref(end);
}

TEST(test_answers_are_counted)
{
    static const struct {
        const char *method, *path;
        size_t route; /* its place in the fixture's table */
        unsigned status_class;
    } calls[] = {
        { "GET", "/hello", 0, 2 },    { "GET", "/hello", 0, 2 },    { "GET", "/items/x", 2, 2 },
        { "PUT", "/items/x", 3, 2 },  { "GET", "/broken", 10, 4 },  { "GET", "/silent", 11, 5 },
        { "POST", "/secret", 20, 4 }, { "GET", "/no-such", 25, 4 }, { "DELETE", "/hello", 25, 4 },
        { "GET", "/at-once", 14, 2 },
    };
    struct fixture *f = *state;
    uint64_t counted[26][HTTP_STATUS_CLASSES] = { 0 };

    for (size_t i = 0; i < ELEMENTS(calls); i++) {
        struct result result = { 0 };

        ask(f, calls[i].method, calls[i].path, &result);
        result_clear(&result);
        counted[calls[i].route][calls[i].status_class - 1]++;
    }
    for (size_t route = 0; route < ELEMENTS(counted); route++)
        for (unsigned c = 1; c <= HTTP_STATUS_CLASSES; c++)
            if (http_server_answers(f->server, route, c) != counted[route][c - 1])
                fail_msg("route %zu, %uxx: %llu", route, c,
                         (unsigned long long)http_server_answers(f->server, route, c));
    assert_int_equal(http_server_answers(f->server, ELEMENTS(counted), 2), 0);
    assert_int_equal(http_server_answers(f->server, 0, 0), 0);
    assert_true(http_server_connections(f->server) >= 1); /* the client keeps its own */
    assert_int_equal(http_server_waiting(f->server), 0);
}

TEST(test_waiting_requests_are_told)
{
    struct fixture *f = *state;
    struct raw raw = { 0 };

    raw_send(f, &raw, "GET /forever HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    wait_held(f, 1);
    assert_int_equal(http_server_waiting(f->server), 1);
    (void)answer_held(NULL, 0, f);
    assert_int_equal(http_server_waiting(f->server), 0);
    (void)safe_close(raw.fd);
}
