/* SPDX-License-Identifier: Apache-2.0 */
/* http_client.h - HTTP calls: blocking for commands and trainers, on the event loop for daemons
 *
 * libcurl, named in shared/http_*.c only. Base is "https://host:port", "http://host:port" or
 * "unix:/path/to/socket". Of an https server the certificate is checked, always. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <systemd/sd-event.h>

struct edl_error;

#define HTTP_ADDRESS_MAX 64 /* of a peer, in digits */
#define HTTP_LEADER_MAX 256 /* of the header EDL-Leader, with its end */

/* An answer with any status. json is NULL when the body is none or not JSON; body is
 * NUL-terminated. Owned by the receiver of the callback only during it. */
struct http_answer {
    int failure; /* 0: an HTTP answer came; else a negative code, EDL_EUNREACHABLE or -ETIMEDOUT */
    bool
        sent; /* of a failure: there was a connection, so the server may have done what was asked */
    unsigned status;
    unsigned retry_after_s;       /* the header Retry-After in seconds; 0: it does not say */
    char leader[HTTP_LEADER_MAX]; /* the header EDL-Leader: base of the scheduler that leads; "" */
    json_t *json;
    char *body;
    size_t body_size;
    char local[HTTP_ADDRESS_MAX]; /* of this machine in the connection; "": a Unix socket */
    char text[256];               /* transport failure in words */
    char remedy[160];             /* what to do about it, "" when nothing can be said */
    char *each; /* of a call to one of several servers: the fault of each other one, in lines, for
                   people; NULL: there is none to tell */
};

struct http_call {
    const char *method;
    const char *path;         /* "/jobs?x=1" */
    const char *bearer_token; /* NULL: none */
    const char *headers[4];   /* "Name: value", NULL-terminated unless full */
    const json_t *json;       /* body, or NULL; borrowed for the call */
    const char *body;         /* raw body instead of json, or NULL */
    size_t body_size;
    const char *content_type; /* of body; default application/json */
    FILE *send;               /* a regular file instead, all of it; borrowed for the call */
    /* told how much of it was read so far; may be NULL */
    void (*on_sent)(void *userdata, uint64_t bytes);
    void *sent_userdata;
    uint64_t timeout_us;       /* 0 = 30 s */
    uint64_t stall_timeout_us; /* given up when nothing comes for so long; 0 = never */
    FILE *save;    /* the body of a success goes there and not into the answer; borrowed */
    size_t *saved; /* so many bytes of it went there, more and more; NULL: not counted. Borrowed */
};

void http_answer_clear(struct http_answer *answer);

/* http_answer_error - turns a transport failure or a problem+json answer (status >= 300) into error
 * Returns 0 when the answer is a success, else error's code (negative). Pointer and remedy are
 * carried over. */
int http_answer_error(const struct http_answer *answer, struct edl_error *error);

/* Blocking client: one connection kept alive. */
struct http_client;
int http_client_new(const char *base, struct http_client **ret, struct edl_error *error);
struct http_client *http_client_free(struct http_client *client);

/* http_client_new_quick - as http_client_new, for a process of a few calls: those to a server on
 * this machine are made without libcurl where they can be (http_plain.h), each over a connection of
 * its own; libcurl is started with the first call that needs it */
int http_client_new_quick(const char *base, struct http_client **ret, struct edl_error *error);

/* http_client_trust - believe https servers of this authority (a PEM file) and of no other; without
 * it the authorities of the system are believed */
void http_client_trust(struct http_client *client, const char *ca_path);

/* http_client_call - blocks; ret_answer is always valid (clear it). Returns ret_answer->failure. */
int http_client_call(struct http_client *client, const struct http_call *call,
                     struct http_answer *ret_answer);

/* Loop client: any number of calls in flight; those beyond so many wait for a connection. */
#define HTTP_ASYNC_CONNECTIONS 1024
struct http_async;
struct http_async_call;
typedef void (*http_answer_fn)(const struct http_answer *answer, void *userdata);
int http_async_new(sd_event *event, const char *base, struct http_async **ret,
                   struct edl_error *error);
struct http_async *http_async_free(struct http_async *async); /* cancels all, no callbacks */
void http_async_trust(struct http_async *async, const char *ca_path); /* as http_client_trust */

/* http_async_hurry - before the first call: what it waits for goes before what has the priority of
 * most (SD_EVENT_PRIORITY_IMPORTANT): its peer hears of us, and its answers are read, while a
 * hundred processes end at once. Not for what may be large: that would keep out all else. */
void http_async_hurry(struct http_async *async);

/* http_async_renew - the machine has moved: connections that there are lead nowhere. Calls use none
 * that is older; those under way go on */
void http_async_renew(struct http_async *async);

/* http_async_start - arguments are copied; on_answer is called exactly once unless cancelled */
int http_async_start(struct http_async *async, const struct http_call *call,
                     http_answer_fn on_answer, void *userdata, struct http_async_call **ret_call,
                     struct edl_error *error);
void http_async_cancel(struct http_async_call *call); /* NULL is accepted */

/* http_async_abandon - each call in flight fails now, with EDL_EUNREACHABLE and why as its text:
 * nobody waits for a server any more that others have taken over from */
void http_async_abandon(struct http_async *async, const char *why);

/* http_peer_chain - the certificates that an https server shows, as PEM text, the caller's
 * Nothing is checked, and nothing is sent: for whoever knows what to look for in them
 * (certificate_pick). address: this machine's, at which that server answers. Blocks for timeout_us
 * at most. EDL_EUNREACHABLE */
#define HTTP_CHAIN_TIMEOUT_US (UINT64_C(10) * 1000000)
int http_peer_chain(const char *base, uint64_t timeout_us, char **ret,
                    char address[HTTP_ADDRESS_MAX], struct edl_error *error);
