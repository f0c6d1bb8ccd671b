/* SPDX-License-Identifier: Apache-2.0 */
/* server.h - the scheduler that a verb talks to: finding it, its token, and calls to it */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "shared/http_client.h"
#include "shared/server_list.h"

struct common_options;
struct edl_error;
struct server_calls;

struct server {
    char *base;                 /* "http://host:port" or "unix:/path", owned: whom it calls */
    struct server_list servers; /* all addresses that were given; n 0: base alone */
    size_t current, kept;       /* of those: base; the one that answered last, as it is on disk */
    char *faults[SERVERS_MAX];  /* of those: why it was of no use; NULL: nothing is known. Owned */
    struct server_calls *calls; /* to several, owned; NULL: none was made */
    char *token;                /* NULL: none found, owned */
    char *ca;          /* file with the authority of an https server; NULL: the system's, owned */
    char *virtual_env; /* of Python, that the running `edl dev` was started in and its jobs see;
                          NULL: none, or another server. Owned */
    struct http_client *http;
    bool verbatim; /* answers are handed on as they are (--json, logs); else without control
                      characters. What a refusal says has none in any case. */
};

/* Of the scheduler that is a service of this machine. */
#define LOCAL_SOCKET "/run/edl/scheduler.sock"

/* server_locate - fills base, token and ca: of options and environment, the caller's running `edl
 * dev`, the caller's own file (client_conf.h), the scheduler of this machine, the file of this
 * machine, in this order. A token that a file names goes only to the server that it names. Errors:
 * -ENOENT no server known, -EINVAL, and what reading the files gives. */
int server_locate(const struct common_options *options, struct server *ret,
                  struct edl_error *error);

/* server_locate_below - the same with the files of a machine whose root is there; for tests */
int server_locate_below(const char *root, const struct common_options *options, struct server *ret,
                        struct edl_error *error);

/* server_token_read - the token in a file; *ret is the caller's. -EINVAL: it holds none */
int server_token_read(const char *path, char **ret, struct edl_error *error);

/* server_open - locate and prepare calls; prints what is wrong. Returns enum status; on STATUS_OK
 * the caller clears *ret. */
int server_open(const struct common_options *options, struct server *ret);

/* server_open_agent - the agent that answers the processes of jobs at this socket, without a token;
 * as server_open */
int server_open_agent(const char *socket_path, bool verbatim, struct server *ret);
void server_clear(struct server *server);

#define IDEMPOTENCY_HEADER "Idempotency-Key: "

/* server_call - call with our token; ret_answer is always valid. Returns enum status, prints no
 * failure. Whatever is not GET is sent with an Idempotency-Key, and again for 30 s when the
 * connection breaks or the server asks to try again: it is done once. The key is a new one, unless
 * the call's first header is one. */
int server_call(struct server *server, struct http_call *call, struct http_answer *ret_answer);

/* server_report_away - prints that the server was not reached, and of several each with its fault;
 * returns STATUS_NO_SERVER */
int server_report_away(const struct server *server);

/* server_request - one JSON call; prints the failure. *ret (may be NULL): new reference on
 * STATUS_OK, never NULL */
int server_request(struct server *server, const char *method, const char *path, const json_t *body,
                   json_t **ret);

/* As server_request with a path made on the spot. */
int server_get(struct server *server, json_t **ret, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* server_list - every page of a list as one answer: path has a query already; member names the
 * array. Errors as server_request */
int server_list(struct server *server, const char *path, const char *member, json_t **ret);

/* server_pages - fn sees every page of a list, which is gone behind it; path and errors as above */
int server_pages(struct server *server, const char *path,
                 void (*fn)(const json_t *page, void *userdata), void *userdata);

/* server_event_revision - newest revision of GET /events, to wait from */
int server_event_revision(struct server *server, uint64_t *ret_revision);

/* server_event_wait - until something changes after *revision (moved on) or timeout_us have passed
 * Returns 1 (news), 0 (time passed) or a negative code when the server did not answer; then it has
 * waited a moment, so that a caller who tries again does not spin. */
int server_event_wait(struct server *server, uint64_t *revision, uint64_t timeout_us);
