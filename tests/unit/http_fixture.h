/* SPDX-License-Identifier: Apache-2.0 */
/* http_fixture.h - for the HTTP tests: a server and a client in one event loop
 *
 * Waiting is for events, with a deadline; fixture_teardown also checks that no descriptor is left.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "shared/clock.h"
#include "shared/error.h"
#include "shared/http_client.h"
#include "shared/http_server.h"
#include "shared/macro.h"

#define DEADLINE_US (120 * USEC_PER_SEC)

enum { HELD_MAX = 256 };

struct fixture {
    sd_event *event;
    struct http_server *server;
    struct http_async *async;
    bool guarded; /* the header X-Owner says whose a connection is */
    uint16_t port;
    char folder[64]; /* "" unless a Unix socket is used */
    char socket_path[128];
    char base[160];
    struct http_request *held[HELD_MAX];
    size_t n_held;
    size_t n_wanted; /* /together answers all when so many wait */
    unsigned n_gone;
    unsigned n_sinks_begun, n_sinks_ended;
    struct http_request *resting; /* for http_request_go_on; NULL: it went away */
    unsigned n_resting;           /* how often one came to rest */
    size_t sunk_bytes;            /* of the last piece's sink */
    sd_event_source *timer;
    int fds_before;
};

struct result {
    unsigned n_answers;
    int failure;
    unsigned status;
    json_t *json;
    char *body;
    size_t body_size;
    int code;
    struct edl_error error;
    struct http_async_call *call;
    struct fixture *fixture;
};

struct raw {
    int fd;
    char text[16384];
    size_t size;
    unsigned n_ends; /* peer closed */
};

/* over TCP; with room for three connections; over a Unix socket */
int fixture_setup(void **state);
int fixture_setup_small(void **state);
/* fixture_setup_guarded - with bounds of owners; "apart" stands apart, with two connections */
#define GUARDED_BODY_BYTES 1000000
#define APART_BODY_BYTES 300000
int fixture_setup_guarded(void **state);
int fixture_setup_unix(void **state);
int fixture_teardown(void **state);

/* run_until - turns the loop until *n reaches wanted; wait_held: until so many are deferred */
void run_until(struct fixture *f, const unsigned *n, unsigned wanted);
void wait_held(struct fixture *f, size_t wanted);

/* answer_held - answers all requests that /forever and /together keep */
int answer_held(sd_event_source *source, uint64_t time_us, void *userdata);

/* ask, ask_call - one call by the loop client, and its answer; on_answer fills a struct result */
void ask(struct fixture *f, const char *method, const char *path, struct result *result);
void ask_call(struct fixture *f, const struct http_call *call, struct result *result);
void on_answer(const struct http_answer *answer, void *userdata);
void result_clear(struct result *result);
const char *text_of(const struct result *result, const char *key);

/* raw_ask - sends text (which asks for the connection's end) and collects what comes back */
void raw_ask(struct fixture *f, struct raw *raw, const char *text);
void raw_send(struct fixture *f, struct raw *raw, const char *text);
void raw_send_bytes(struct fixture *f, struct raw *raw, const char *text, size_t size);
/* raw_more - sends more; raw_collect: what comes back until the peer closes */
void raw_more(const struct raw *raw, const char *text);
void raw_collect(struct fixture *f, struct raw *raw);
