/* SPDX-License-Identifier: Apache-2.0 */
/* test_http_duplex.c - a POST and a GET as one stream: all bytes, a peer who is slow, refuses,
 * breaks off or is not there; plain, over a Unix socket, and with TLS
 *
 * The server gives back what comes, as far as its reader takes it. */
#include "tests/unit/http_fixture.h"

#include <dirent.h>
#include <time.h>
#include <unistd.h>

#include "shared/certificate.h"
#include "shared/cleanup.h"
#include "shared/http_duplex.h"
#include "shared/whole_file.h"
#include "tests/unit/test.h"

enum { BIG_BYTES = 6 * 1024 * 1024, RING_BYTES = 64 * 1024 };

enum way { PLAIN, UNIX, TLS };

struct world {
    sd_event *event;
    struct http_server *server;
    struct http_duplex *duplex;
    char folder[64], base[160], ca_path[128], socket_path[128];
    /* the server */
    struct http_stream *stream;
    struct http_request *resting, *body;
    uint8_t *ring;
    size_t ring_size;
    unsigned status;   /* that the POST is answered with; 0: 204 at its end */
    bool deaf;         /* takes nothing */
    bool breaks, ends; /* the GET, when all has gone out */
    unsigned n_bodies;
    /* the client */
    uint8_t *got;
    size_t got_size, sent;
    unsigned n_data, n_rooms, n_sent, n_ends;
    bool frees_in_data, frees_in_end, pours;
    struct edl_error error;
};

/* --- a server that gives back what comes --- */

static void on_room(struct http_stream *stream, void *userdata)
{
    struct world *w = userdata;
    struct http_request *resting = w->resting;

    if (w->deaf)
        return;
    if (w->ring_size > 0)
        http_stream_write(stream, w->ring, w->ring_size);
    w->ring_size = 0;
    w->resting = NULL;
    if (resting != NULL)
        http_request_go_on(resting);
    if (w->breaks)
        http_stream_break(stream);
    if (w->ends)
        http_stream_end(stream);
}

static void on_gone(struct http_stream *stream, void *userdata)
{
    struct world *w = userdata;

    assert_ptr_equal(stream, w->stream);
    w->stream = NULL;
}

static void on_out(struct http_request *request, void *userdata)
{
    struct world *w = userdata;

    w->stream = http_stream_begin(request, 200, "application/octet-stream",
                                  &(struct http_stream_config){ .on_room = on_room,
                                                                .on_gone = on_gone,
                                                                .userdata = w,
                                                                .measured = true });
}

static int sink_begin(struct http_request *request, void *userdata, struct edl_error *error)
{
    struct world *w = userdata;

    w->body = request;
    if (w->status == 0)
        return 0;
    (void)edl_error_set(error, -EACCES, "job 3 is not yours");
    (void)edl_error_remedy(error, "ask its owner");
    return -EACCES;
}

static int sink_take(struct http_request *request, const void *data, size_t size, void *userdata,
                     struct edl_error *error)
{
    struct world *w = userdata;

    (void)error;
    w->ring = xreallocarray(w->ring, w->ring_size + size, 1);
    memcpy(w->ring + w->ring_size, data, size);
    w->ring_size += size;
    if (w->stream != NULL)
        http_stream_wake(w->stream);
    if (w->ring_size < RING_BYTES)
        return 0;
    w->resting = request;
    return 1;
}

static void sink_end(struct http_request *request, void *userdata)
{
    struct world *w = userdata;

    assert_ptr_equal(request, w->body);
    w->body = w->resting = NULL;
}

static const struct http_sink sink = { sink_begin, sink_take, sink_end };

static void on_in(struct http_request *request, void *userdata)
{
    struct world *w = userdata;

    w->n_bodies++;
    http_reply_json(request, 204, NULL);
}

static const struct http_route routes[] = {
    { .method = "POST", .path = "/in", .handler = on_in, .sink = &sink, .max_body_bytes = 1 << 30 },
    { .method = "GET", .path = "/out", .handler = on_out },
};

/* --- the fixture --- */

static void use_tls(struct world *w, struct certificate_pair *ca, struct certificate_pair *pair)
{
    struct edl_error error = { 0 };
    const char *name = "127.0.0.1";
    uint64_t now_s = (uint64_t)time(NULL);

    assert_int_equal(certificate_make_ca(NULL, now_s, ca, &error), 0);
    assert_int_equal(certificate_make_server(ca, &name, 1, now_s, pair, &error), 0);
    (void)snprintf(w->ca_path, sizeof w->ca_path, "%s/ca.pem", w->folder);
    assert_int_equal(whole_file_write(w->ca_path, ca->certificate, 0644, &error), 0);
}

static void serve(struct world *w, enum way way)
{
    struct http_server_config config = { .routes = routes,
                                         .n_routes = ELEMENTS(routes),
                                         .userdata = w };
    struct certificate_pair ca = { 0 }, pair = { 0 };
    struct edl_error error = { 0 };
    uint16_t port = 0;

    if (way == UNIX) {
        (void)snprintf(w->socket_path, sizeof w->socket_path, "%s/socket", w->folder);
        (void)snprintf(w->base, sizeof w->base, "unix:%s", w->socket_path);
        config.listen_fd = http_listen_unix(w->socket_path, 0600, &error);
    } else {
        config.listen_fd = http_listen_tcp("127.0.0.1", 0, &port, &error);
        (void)snprintf(w->base, sizeof w->base, "%s://127.0.0.1:%u", way == TLS ? "https" : "http",
                       port);
    }
    if (way == TLS)
        use_tls(w, &ca, &pair);
    config.tls_certificates = pair.certificate;
    config.tls_key = pair.key;
    assert_int_equal(http_server_new(w->event, &config, &w->server, &error), 0);
    certificate_pair_clear(&ca);
    certificate_pair_clear(&pair);
}

static int set_up(void **state)
{
    const enum way *way = *state;
    struct world *w = xcalloc(1, sizeof *w);

    (void)snprintf(w->folder, sizeof w->folder, "/tmp/edl-test-duplex-XXXXXX");
    if (mkdtemp(w->folder) == NULL || sd_event_new(&w->event) < 0)
        return -1;
    serve(w, way != NULL ? *way : PLAIN);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;

    w->duplex = http_duplex_free(w->duplex);
    (void)http_server_free(w->server);
    (void)sd_event_unref(w->event);
    if (w->ca_path[0] != '\0')
        (void)unlink(w->ca_path);
    if (w->socket_path[0] != '\0')
        (void)unlink(w->socket_path);
    assert_int_equal(rmdir(w->folder), 0);
    free(w->ring);
    free(w->got);
    free(w);
    return 0;
}

TEST_EACH(set_up, tear_down);

/* --- the client --- */

static uint8_t byte_at(size_t place)
{
    return (uint8_t)(place * 31 + place / 251);
}

/* Writes as much as there is room for, up to BIG_BYTES in all. */
static void pour(struct world *w)
{
    uint8_t piece[8192];

    while (w->sent < BIG_BYTES && http_duplex_room(w->duplex) >= sizeof piece) {
        for (size_t i = 0; i < sizeof piece; i++)
            piece[i] = byte_at(w->sent + i);
        http_duplex_write(w->duplex, piece, sizeof piece);
        w->sent += sizeof piece;
    }
}

static void on_data(void *userdata, const uint8_t *data, size_t size)
{
    struct world *w = userdata;

    w->n_data++;
    w->got = xreallocarray(w->got, w->got_size + size, 1);
    memcpy(w->got + w->got_size, data, size);
    w->got_size += size;
    if (w->frees_in_data)
        w->duplex = http_duplex_free(w->duplex);
}

static void on_duplex_room(void *userdata)
{
    struct world *w = userdata;

    w->n_rooms++;
    if (w->pours)
        pour(w);
}

static void on_sent(void *userdata)
{
    struct world *w = userdata;

    w->n_sent++;
}

static void on_end(void *userdata, const struct edl_error *error)
{
    struct world *w = userdata;

    w->n_ends++;
    w->error = (struct edl_error){ 0 };
    if (error != NULL)
        w->error = *error;
    if (w->frees_in_end)
        w->duplex = http_duplex_free(w->duplex);
}

static void open_paths(struct world *w, const char *in_path, const char *out_path)
{
    struct http_duplex_config config = { .event = w->event,
                                         .base = w->base,
                                         .ca_path = w->ca_path[0] != '\0' ? w->ca_path : NULL,
                                         .in_path = in_path,
                                         .out_path = out_path,
                                         .on_data = on_data,
                                         .on_room = on_duplex_room,
                                         .on_sent = on_sent,
                                         .on_end = on_end,
                                         .userdata = w };
    struct edl_error error = { 0 };

    if (http_duplex_open(&config, &w->duplex, &error) < 0)
        fail_msg("%s", error.text);
}

static void open_duplex(struct world *w)
{
    open_paths(w, "/in", "/out");
}

#define RUN_WHILE(w, condition)                                                                    \
    do {                                                                                           \
        uint64_t end_us_ = clock_read_us(CLOCK_BOOTTIME) + DEADLINE_US;                            \
                                                                                                   \
        while (condition) {                                                                        \
            assert_true(clock_read_us(CLOCK_BOOTTIME) < end_us_);                                  \
            assert_true(sd_event_run((w)->event, 100 * USEC_PER_MSEC) >= 0);                       \
        }                                                                                          \
    } while (0)

static void say(struct world *w, const char *text)
{
    http_duplex_write(w->duplex, text, strlen(text));
}

TEST(test_words_go_to_and_fro)
{
    struct world *w = *state;

    open_duplex(w);
    for (size_t i = 1; i <= 20; i++) {
        say(w, "word ");
        RUN_WHILE(w, w->got_size < 5 * i);
    }
    http_duplex_finish(w->duplex);
    assert_int_equal(http_duplex_room(w->duplex), 0);
    RUN_WHILE(w, w->n_sent == 0);
    assert_int_equal(w->n_bodies, 1);
    assert_int_equal(w->n_ends, 0); /* the other direction goes on */
    w->ends = true;
    http_stream_wake(w->stream);
    RUN_WHILE(w, w->n_ends == 0);
    assert_int_equal(w->error.code, 0);
    assert_memory_equal(w->got, "word word word ", 15);
}

TEST(test_every_byte_comes_back_in_its_place)
{
    struct world *w = *state;

    w->pours = true;
    open_duplex(w);
    pour(w);
    RUN_WHILE(w, w->got_size < BIG_BYTES);
    assert_int_equal(w->sent, BIG_BYTES);
    assert_int_equal(w->got_size, BIG_BYTES);
    for (size_t i = 0; i < BIG_BYTES; i++)
        if (w->got[i] != byte_at(i))
            fail_msg("byte %zu is wrong", i);
}

static enum way over_unix = UNIX, over_tls = TLS;
TEST_AGAIN(test_words_go_to_and_fro, unix, .setup = set_up, .teardown = tear_down,
           .initial_state = &over_unix);
TEST_AGAIN(test_words_go_to_and_fro, tls, .setup = set_up, .teardown = tear_down,
           .initial_state = &over_tls);
TEST_AGAIN(test_every_byte_comes_back_in_its_place, unix, .setup = set_up, .teardown = tear_down,
           .initial_state = &over_unix);
TEST_AGAIN(test_every_byte_comes_back_in_its_place, tls, .setup = set_up, .teardown = tear_down,
           .initial_state = &over_tls);

/* Its writer is told to stop, and to go on; nothing is lost. */
TEST(test_a_peer_that_takes_nothing_bounds_its_writer)
{
    struct world *w = *state;
    uint8_t piece[4096] = { 0 };
    size_t sent = 0;
    unsigned n;
    int r = 0;

    w->deaf = true;
    open_duplex(w);
    while (w->resting == NULL || http_duplex_room(w->duplex) >= sizeof piece || r > 0) {
        while (http_duplex_room(w->duplex) >= sizeof piece) {
            http_duplex_write(w->duplex, piece, sizeof piece);
            sent += sizeof piece;
        }
        r = sd_event_run(w->event, 200 * USEC_PER_MSEC); /* 0: all sockets are full */
        assert_true(r >= 0);
    }
    assert_true(sent < (size_t)32 * 1024 * 1024);
    assert_int_equal(w->got_size, 0);
    n = w->n_rooms;
    w->deaf = false;
    http_stream_wake(w->stream);
    RUN_WHILE(w, w->got_size < sent);
    assert_true(w->n_rooms > n);
    assert_int_equal(w->got_size, sent);
}

/* Nothing is to be said, and nothing turns the loop. */
TEST(test_a_stream_at_rest_does_not_spin)
{
    struct world *w = *state;
    uint64_t before, after, end_us;

    open_duplex(w);
    say(w, "x");
    RUN_WHILE(w, w->got_size < 1);
    assert_true(sd_event_get_iteration(w->event, &before) >= 0);
    end_us = clock_read_us(CLOCK_BOOTTIME) + 500 * USEC_PER_MSEC;
    while (clock_read_us(CLOCK_BOOTTIME) < end_us)
        assert_true(sd_event_run(w->event, 100 * USEC_PER_MSEC) >= 0);
    assert_true(sd_event_get_iteration(w->event, &after) >= 0);
    assert_true(after - before < 30);
}

TEST(test_a_refusal_is_told_with_its_remedy)
{
    struct world *w = *state;

    w->status = 403;
    open_duplex(w);
    say(w, "x");
    RUN_WHILE(w, w->n_ends == 0);
    assert_string_equal(w->error.text, "job 3 is not yours");
    assert_string_equal(w->error.remedy, "ask its owner");
    assert_int_equal(http_duplex_room(w->duplex), 0);
    say(w, "nobody takes it"); /* and nothing happens */
    assert_int_equal(w->n_ends, 1);
}

/* What the other end said last comes first. */
TEST(test_a_refused_post_lets_the_get_end)
{
    struct world *w = *state;

    w->status = 403;
    w->frees_in_end = true;
    open_duplex(w);
    RUN_WHILE(w, w->stream == NULL);
    w->ring = (uint8_t *)xstrdup("last words");
    w->ring_size = 10;
    w->ends = true;
    http_stream_wake(w->stream);
    RUN_WHILE(w, w->n_ends == 0);
    assert_int_equal(w->got_size, 10);
}

TEST(test_a_path_that_is_not_there)
{
    struct world *w = *state;

    w->frees_in_end = true;
    open_paths(w, "/in", "/nowhere");
    RUN_WHILE(w, w->n_ends == 0);
    assert_non_null(strstr(w->error.text, "/nowhere"));
    assert_int_equal(w->n_data, 0); /* the text of a refusal is none of the stream's */
    assert_null(w->duplex);
}

TEST(test_a_get_that_breaks_off_is_no_clean_end)
{
    struct world *w = *state;

    open_duplex(w);
    say(w, "first");
    RUN_WHILE(w, w->got_size < 5);
    w->breaks = true;
    http_stream_wake(w->stream);
    RUN_WHILE(w, w->n_ends == 0);
    assert_int_equal(w->error.code, EDL_EUNREACHABLE);
    assert_int_equal(w->n_ends, 1);
}

TEST(test_a_server_that_goes_away)
{
    struct world *w = *state;

    w->frees_in_end = true;
    open_duplex(w);
    say(w, "first");
    RUN_WHILE(w, w->got_size < 5);
    w->server = http_server_free(w->server);
    RUN_WHILE(w, w->n_ends == 0);
    assert_true(w->error.code < 0);
}

TEST(test_nobody_listens)
{
    struct world *w = *state;

    w->server = http_server_free(w->server);
    open_duplex(w);
    RUN_WHILE(w, w->n_ends == 0);
    assert_int_equal(w->error.code, EDL_EUNREACHABLE);
}

TEST(test_it_is_freed_from_within)
{
    struct world *w = *state;

    w->frees_in_data = true;
    open_duplex(w);
    say(w, "x");
    RUN_WHILE(w, w->got_size < 1);
    assert_null(w->duplex);
    assert_int_equal(w->n_ends, 0);
}

TEST(test_an_address_that_is_none)
{
    struct world *w = *state;
    struct edl_error error = { 0 };
    struct http_duplex_config config = {
        .event = w->event, .base = "nonsense", .in_path = "/in", .out_path = "/out"
    };

    assert_int_equal(http_duplex_open(&config, &w->duplex, &error), -EINVAL);
    assert_null(w->duplex);
    config.base = w->base;
    config.out_path = "no path";
    assert_int_equal(http_duplex_open(&config, &w->duplex, &error), -EINVAL);
    assert_null(w->duplex);
}
