/* SPDX-License-Identifier: Apache-2.0 */
/* http_fixture.c - for the HTTP tests: a server and a client in one event loop */
#include "tests/unit/http_fixture.h"

#include "shared/cleanup.h"
#include "shared/document_bounds.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

enum { NEEDS_TOKEN = 1 };

static int count_fds(void)
{
    _cleanup_closedir_ DIR *folder = opendir("/proc/self/fd");
    int n = 0;

    assert_non_null(folder);
    while (readdir(folder) != NULL)
        n++;
    return n;
}

/* ---- routes ---- */

static void on_hello(struct http_request *request, void *userdata)
{
    (void)userdata;
    http_reply_header(request, "X-Extra", "yes");
    http_reply_header(request, "EDL-Leader", "https://b.example:7010");
    http_reply_text(request, 200, "text/plain", "hello\n");
}

static void on_item(struct http_request *request, void *userdata)
{
    const char *q = http_request_query(request, "q");

    (void)userdata;
    http_reply_json(request, 200,
                    json_pack("{s:s,s:s?,s:s,s:s,s:s?,s:s}", "name",
                              http_request_param(request, "name"), "part",
                              http_request_param(request, "part"), "path",
                              http_request_path(request), "target", http_request_target(request),
                              "q", q, "method", http_request_method(request)));
    assert_null(http_request_param(request, "nam"));
}

/* A file of n bytes of which more= are told that are not there. */
static void on_file(struct http_request *request, void *userdata)
{
    struct edl_error error = { 0 };
    uint64_t n = 0, more = 0;
    int fd = memfd_create("file", MFD_CLOEXEC);

    (void)userdata;
    assert_int_equal(http_request_query_u64(request, "n", 0, &n, &error), 0);
    assert_int_equal(http_request_query_u64(request, "more", 0, &more, &error), 0);
    assert_int_equal(ftruncate(fd, (off_t)n), 0);
    http_reply_file(request, 200, "application/octet-stream", fd, n + more);
}

/* What a sink got, and how often one ended. */
struct taken {
    size_t pieces, bytes;
};

static int sink_begin(struct http_request *request, void *userdata, struct edl_error *error)
{
    struct fixture *f = userdata;

    if (http_request_header(request, "X-Known") != NULL) {
        http_reply_text(request, 200, "text/plain", "known");
        return 0;
    }
    if (http_request_header(request, "X-Refuse") != NULL)
        return edl_error_set(error, -EACCES, "not this one");
    http_request_set_data(request, xcalloc(1, sizeof(struct taken)));
    f->n_sinks_begun++;
    return 0;
}

static int sink_take(struct http_request *request, const void *data, size_t size, void *userdata,
                     struct edl_error *error)
{
    struct taken *taken = http_request_data(request);
    struct fixture *f = userdata;

    if (memchr(data, '!', size) != NULL)
        return edl_error_set(error, -EINVAL, "no exclamations");
    taken->pieces++;
    taken->bytes += size;
    f->sunk_bytes = taken->bytes;
    if (memchr(data, '?', size) == NULL)
        return 0;
    f->resting = request;
    f->n_resting++;
    return 1;
}

static void sink_end(struct http_request *request, void *userdata)
{
    struct fixture *f = userdata;

    free(http_request_data(request));
    f->n_sinks_ended++;
}

static const struct http_sink sink = { sink_begin, sink_take, sink_end };

static void on_sunk(struct http_request *request, void *userdata)
{
    const struct taken *taken = http_request_data(request);

    (void)userdata;
    http_reply_json(request, 200,
                    json_pack("{s:I,s:b}", "bytes", (json_int_t)taken->bytes, "in_pieces",
                              taken->pieces > 1));
}

static void on_number(struct http_request *request, void *userdata)
{
    struct edl_error error = { 0 };
    uint64_t n;

    (void)userdata;
    if (http_request_query_u64(request, "n", 42, &n, &error) < 0)
        http_reply_error(request, &error);
    else
        http_reply_json(request, 200, json_integer((json_int_t)n));
}

static void on_echo(struct http_request *request, void *userdata)
{
    struct edl_error error = { 0 };
    json_t *value;

    (void)userdata;
    if (http_request_json(request, &value, &error) < 0)
        http_reply_error(request, &error);
    else
        http_reply_json(request, 201, value);
}

/* As somebody else would, who has the body for a while. */
static void on_read_before(struct http_request *request, void *userdata)
{
    struct edl_error error = { 0 };
    json_t *value = NULL;
    char *body;
    size_t size;

    (void)http_request_body(request, &size);
    body = http_request_lend_body(request);
    (void)http_body_read(body, size, http_request_bounds(request), &value, &error);
    http_request_return_body(request, body);
    http_request_set_read(request, value, &error);
    assert_true(http_request_was_read(request));
    assert_true(size == 0 || http_request_body(request, NULL) == body);
    on_echo(request, userdata);
}

static void on_size(struct http_request *request, void *userdata)
{
    size_t size;
    const char *body = http_request_body(request, &size);
    uint64_t sum = 0;

    (void)userdata;
    for (size_t i = 0; i < size; i++)
        sum += (unsigned char)body[i];
    http_reply_json(request, 200,
                    json_pack("{s:I,s:I}", "size", (json_int_t)size, "sum", (json_int_t)sum));
}

static void on_bytes(struct http_request *request, void *userdata)
{
    uint64_t n;
    char *data;

    (void)userdata;
    assert_int_equal(http_request_query_u64(request, "n", 0, &n, NULL), 0);
    data = xcalloc(n, 1);
    http_reply_bytes(request, 200, "application/octet-stream", data, n);
    free(data);
}

static void on_broken(struct http_request *request, void *userdata)
{
    struct edl_error error = { 0 };

    (void)userdata;
    (void)edl_error_at(&error, EDL_EBADSPEC, "/spec/trainer/min-instance",
                       "min \xff is 5, max is 2");
    (void)edl_error_remedy(&error, "lower min-instance");
    http_reply_error(request, &error);
}

static void on_silent(struct http_request *request, void *userdata)
{
    (void)request;
    (void)userdata;
}

static void on_nothing(struct http_request *request, void *userdata)
{
    (void)userdata;
    http_reply_json(request, 204, NULL);
}

static void on_deferred_at_once(struct http_request *request, void *userdata)
{
    (void)userdata;
    http_request_defer(request, NULL, NULL);
    http_reply_text(request, 200, "text/plain", "now");
    http_reply_text(request, 500, "text/plain", "the second answer does not count");
}

static void on_gone(struct http_request *request, void *userdata)
{
    struct fixture *f = userdata;

    assert_ptr_equal(http_request_data(request), f);
    f->n_gone++;
}

static void on_forever(struct http_request *request, void *userdata)
{
    struct fixture *f = userdata;

    http_request_set_data(request, f);
    http_request_defer(request, on_gone, f);
    f->held[f->n_held++] = request;
}

static void on_watched(struct http_request *request, void *userdata)
{
    on_forever(request, userdata);
    http_request_watch(request);
}

int answer_held(sd_event_source *source, uint64_t time_us, void *userdata)
{
    struct fixture *f = userdata;

    (void)source;
    (void)time_us;
    for (size_t i = 0; i < f->n_held; i++)
        http_reply_json(f->held[i], 200, json_pack("{s:I}", "held", (json_int_t)i));
    f->n_held = 0;
    return 0;
}

/* Answered by a timer, 20 ms after the last of n_wanted requests came in. */
static void on_together(struct http_request *request, void *userdata)
{
    struct fixture *f = userdata;

    http_request_defer(request, NULL, NULL);
    f->held[f->n_held++] = request;
    if (f->n_held < f->n_wanted)
        return;
    assert_true(sd_event_source_set_time_relative(f->timer, 20 * USEC_PER_MSEC) >= 0);
    assert_true(sd_event_source_set_enabled(f->timer, SD_EVENT_ONESHOT) >= 0);
}

static void on_peer(struct http_request *request, void *userdata)
{
    struct ucred peer;
    socklen_t size = sizeof peer;

    (void)userdata;
    assert_int_equal(getsockopt(http_request_peer_fd(request), SOL_SOCKET, SO_PEERCRED, &peer,
                                &size),
                     0);
    http_reply_json(request, 200, json_integer(peer.pid));
}

/* Who says so may send less. */
static void on_narrow(const struct http_request *request, void *userdata,
                      struct document_bounds *bounds)
{
    (void)userdata;
    if (http_request_header(request, "X-Less") == NULL)
        return;
    bounds->bytes = 8;
    bounds->values = 2;
}

static const struct http_route routes[] = {
    { .method = "GET", .path = "/hello", .handler = on_hello },
    { .method = "GET", .path = "/items/self", .handler = on_hello },
    { .method = "GET", .path = "/items/{name}", .handler = on_item },
    { .method = "PUT", .path = "/items/{name}", .handler = on_item },
    { .method = "GET",
      .path = "/items/{name}/parts/{part}",
      .handler = on_item,
      .query = "other q" },
    { .method = "GET", .path = "/number", .handler = on_number, .query = "number n" },
    { .method = "POST", .path = "/echo", .handler = on_echo },
    { .method = "POST", .path = "/size", .handler = on_size, .max_body_bytes = 8 * 1024 * 1024 },
    { .method = "POST", .path = "/small", .handler = on_size, .max_body_bytes = 100 },
    { .method = "GET", .path = "/bytes", .handler = on_bytes, .query = "n" },
    { .method = "GET", .path = "/broken", .handler = on_broken },
    { .method = "GET", .path = "/silent", .handler = on_silent },
    { .method = "GET", .path = "/passed-on", .handler = on_hello, .query = HTTP_QUERY_ANY },
    { .method = "DELETE", .path = "/nothing", .handler = on_nothing },
    { .method = "GET", .path = "/at-once", .handler = on_deferred_at_once },
    { .method = "GET", .path = "/forever", .handler = on_forever },
    { .method = "GET", .path = "/together", .handler = on_together },
    { .method = "GET", .path = "/peer", .handler = on_peer },
    { .method = "PUT",
      .path = "/sink",
      .handler = on_sunk,
      .max_body_bytes = 8 * 1024 * 1024,
      .sink = &sink },
    { .method = "GET", .path = "/file", .handler = on_file, .query = "n more" },
    { .method = "POST", .path = "/secret", .handler = on_echo, .flags = NEEDS_TOKEN },
    { .method = "GET", .path = "/watched", .handler = on_watched },
    { .method = "PUT",
      .path = "/secret-sink",
      .handler = on_sunk,
      .flags = NEEDS_TOKEN,
      .max_body_bytes = 1024,
      .sink = &sink },
    { .method = "POST",
      .path = "/few",
      .handler = on_echo,
      .max_values = 4,
      .narrow = on_narrow,
      .too_large = "send fewer" },
    { .method = "POST", .path = "/read-before", .handler = on_read_before },
};

static void on_resting_gone(struct http_request *request, void *userdata)
{
    struct fixture *f = userdata;

    assert_ptr_equal(request, f->resting);
    f->resting = NULL;
    f->n_gone++;
}

static int check_owner(struct http_request *request, struct edl_error *error)
{
    const char *name = http_request_header(request, "X-Owner");
    bool apart = name != NULL && streq(name, "apart");
    const struct http_owner owner = {
        .name = name, .connections = 2, .body_bytes = APART_BODY_BYTES, .apart = apart
    };

    return http_request_proven(request, &owner)
               ? 0
               : edl_error_set(error, EDL_ETOOMANY, "too many connections");
}

static int authorise(struct http_request *request, const struct http_route *route, void *userdata,
                     struct edl_error *error)
{
    const char *given = http_request_header(request, "authorization");
    struct fixture *f = userdata;

    if (f->guarded)
        return check_owner(request, error);

    if (!(route->flags & NEEDS_TOKEN))
        return 0;
    if (given == NULL)
        return edl_error_set(error, EDL_EUNAUTHENTICATED, "a token is needed");
    if (streq(given, "Bearer later") && f->resting == NULL) { /* known when it is asked again */
        f->resting = request;
        f->n_resting++;
        http_request_defer(request, on_resting_gone, f);
        http_request_watch(request);
        return 1;
    }
    if (!streq(given, "Bearer right") && !streq(given, "Bearer later"))
        return edl_error_set(error, -EACCES, "the token is not good for this");
    return 0;
}

/* ---- fixture ---- */

static void start(struct fixture *f, int fd, unsigned max_connections)
{
    struct http_server_config config = {
        .listen_fd = fd,
        .routes = routes,
        .n_routes = ELEMENTS(routes),
        .userdata = f,
        .authorise = authorise,
        .max_connections = max_connections,
        .fresh_timeout_s = f->guarded ? 60 : 0,
        .body_bytes = GUARDED_BODY_BYTES,
    };
    struct edl_error error = { 0 };

    assert_true(fd >= 0);
    assert_int_equal(http_server_new(f->event, &config, &f->server, &error), 0);
    assert_int_equal(http_async_new(f->event, f->base, &f->async, &error), 0);
    assert_true(sd_event_add_time(f->event, &f->timer, CLOCK_MONOTONIC, 0, 1000, answer_held, f) >=
                0);
    assert_true(sd_event_source_set_enabled(f->timer, SD_EVENT_OFF) >= 0);
}

static struct fixture *fixture_new(void)
{
    struct fixture *f = xcalloc(1, sizeof *f);

    f->fds_before = count_fds();
    assert_true(sd_event_new(&f->event) >= 0);
    return f;
}

static void start_tcp(struct fixture *f, unsigned max_connections)
{
    struct edl_error error = { 0 };
    int fd = http_listen_tcp("127.0.0.1", 0, &f->port, &error);

    (void)snprintf(f->base, sizeof f->base, "http://127.0.0.1:%u", f->port);
    start(f, fd, max_connections);
}

int fixture_setup(void **state)
{
    struct fixture *f = fixture_new();

    start_tcp(f, 0);
    *state = f;
    return 0;
}

int fixture_setup_guarded(void **state)
{
    struct fixture *f = fixture_new();

    f->guarded = true;
    start_tcp(f, 0);
    *state = f;
    return 0;
}

int fixture_setup_small(void **state)
{
    struct fixture *f = fixture_new();

    start_tcp(f, 3);
    *state = f;
    return 0;
}

int fixture_setup_unix(void **state)
{
    struct fixture *f = fixture_new();
    struct edl_error error = { 0 };

    (void)snprintf(f->folder, sizeof f->folder, "/tmp/test-http-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    (void)snprintf(f->socket_path, sizeof f->socket_path, "%s/socket", f->folder);
    (void)snprintf(f->base, sizeof f->base, "unix:%s", f->socket_path);
    start(f, http_listen_unix(f->socket_path, 0600, &error), 0);
    *state = f;
    return 0;
}

int fixture_teardown(void **state)
{
    struct fixture *f = *state;

    f->async = http_async_free(f->async);
    f->server = http_server_free(f->server);
    (void)sd_event_source_disable_unref(f->timer);
    (void)sd_event_unref(f->event);
    if (f->folder[0] != '\0') {
        (void)unlink(f->socket_path);
        assert_int_equal(rmdir(f->folder), 0);
    }
    assert_int_equal(count_fds(), f->fds_before);
    free(f);
    return 0;
}

void run_until(struct fixture *f, const unsigned *n, unsigned wanted)
{
    uint64_t end_us = clock_read_us(CLOCK_BOOTTIME) + DEADLINE_US;

    while (*n < wanted) {
        assert_true(clock_read_us(CLOCK_BOOTTIME) < end_us);
        assert_true(sd_event_run(f->event, 100 * USEC_PER_MSEC) >= 0);
    }
}

void on_answer(const struct http_answer *answer, void *userdata)
{
    struct result *result = userdata;

    result->n_answers++;
    result->failure = answer->failure;
    result->status = answer->status;
    result->json = json_incref(answer->json);
    result->body_size = answer->body_size;
    result->body = answer->body != NULL ? xstrdup(answer->body) : NULL;
    result->code = http_answer_error(answer, &result->error);
}

void result_clear(struct result *result)
{
    json_decref(result->json);
    free(result->body);
    *result = (struct result){ 0 };
}

void ask_call(struct fixture *f, const struct http_call *call, struct result *result)
{
    struct edl_error error = { 0 };

    result_clear(result);
    assert_int_equal(http_async_start(f->async, call, on_answer, result, NULL, &error), 0);
    run_until(f, &result->n_answers, 1);
    assert_int_equal(result->n_answers, 1);
}

void ask(struct fixture *f, const char *method, const char *path, struct result *result)
{
    ask_call(f, &(struct http_call){ .method = method, .path = path, .timeout_us = DEADLINE_US },
             result);
}

const char *text_of(const struct result *result, const char *key)
{
    const char *text = json_string_value(json_object_get(result->json, key));

    return text != NULL ? text : "(none)";
}

static int on_raw(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    struct raw *raw = userdata;
    ssize_t n = read(fd, raw->text + raw->size, sizeof raw->text - 1 - raw->size);

    (void)events;
    if (n <= 0) {
        raw->n_ends++;
        return sd_event_source_set_enabled(source, SD_EVENT_OFF);
    }
    raw->size += (size_t)n;
    raw->text[raw->size] = '\0';
    return 0;
}

void raw_send_bytes(struct fixture *f, struct raw *raw, const char *text, size_t size)
{
    struct sockaddr_un path = { .sun_family = AF_UNIX };
    struct sockaddr_in port = { .sin_family = AF_INET,
                                .sin_port = htons(f->port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    bool local = f->socket_path[0] != '\0';

    *raw = (struct raw){ .fd = socket(local ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) };
    memcpy(path.sun_path, f->socket_path, strnlen(f->socket_path, sizeof path.sun_path - 1));
    assert_int_equal(connect(raw->fd, local ? (struct sockaddr *)&path : (struct sockaddr *)&port,
                             local ? sizeof path : sizeof port),
                     0);
    assert_int_equal(write(raw->fd, text, size), (ssize_t)size);
}

void raw_send(struct fixture *f, struct raw *raw, const char *text)
{
    raw_send_bytes(f, raw, text, strlen(text));
}

void raw_more(const struct raw *raw, const char *text)
{
    assert_int_equal(write(raw->fd, text, strlen(text)), (ssize_t)strlen(text));
}

void raw_collect(struct fixture *f, struct raw *raw)
{
    sd_event_source *source = NULL;

    assert_true(sd_event_add_io(f->event, &source, raw->fd, EPOLLIN, on_raw, raw) >= 0);
    run_until(f, &raw->n_ends, 1);
    (void)sd_event_source_disable_unref(source);
    raw->fd = safe_close(raw->fd);
}

void raw_ask(struct fixture *f, struct raw *raw, const char *text)
{
    raw_send(f, raw, text);
    raw_collect(f, raw);
}

void wait_held(struct fixture *f, size_t wanted)
{
    uint64_t end_us = clock_read_us(CLOCK_BOOTTIME) + DEADLINE_US;

    while (f->n_held < wanted) {
        assert_true(clock_read_us(CLOCK_BOOTTIME) < end_us);
        assert_true(sd_event_run(f->event, 100 * USEC_PER_MSEC) >= 0);
    }
}
