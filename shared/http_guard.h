/* SPDX-License-Identifier: Apache-2.0 */
/* http_guard.h - connections that have not shown a credential: few, and not for long; those of one
 * owner: a part
 *
 * Shared by http_server.c and http_request.c. A connection is *fresh* until a request of it was let
 * through (http_request_proven). However many come and whatever they do - silence, a header now and
 * then, a body byte by byte - fresh ones hold a bounded part of the server's connections: one too
 * many costs a place, the oldest one's of the address that has most, and no fresh one lives longer
 * than its time. Of those that have shown one, a person's hold a bounded part as well, and all
 * people's together: one credential, however little it may do, is no way to keep out the others.
 * Tests: tests/unit/test_http_tls.c, tests/integration/160-flood.sh. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <systemd/sd-event.h>

struct edl_error;
struct http_guard;
struct http_guarded; /* one connection */

struct http_guard_limits {
    unsigned fresh;    /* at once */
    uint64_t fresh_us; /* from the connection to the first request that is let through */
    unsigned owner;    /* of one owner at once; 0: any */
    unsigned owners;   /* of all owners; 0: any */
};

int http_guard_new(sd_event *event, const struct http_guard_limits *limits, struct http_guard **ret,
                   struct edl_error *error);

/* http_guard_free - every connection has to be closed before; accepts NULL, returns NULL */
struct http_guard *http_guard_free(struct http_guard *guard);

/* An address is an IPv4 address or an IPv6 /64; all Unix sockets together are one. */

/* http_guard_open - a connection came; others may be cut off for it (shutdown: whoever owns the
 * descriptor sees its end and closes it). Never NULL; freed by http_guard_close. */
struct http_guarded *http_guard_open(struct http_guard *guard, int fd,
                                     const struct sockaddr *address);

/* http_guard_prove - a request of it was let through, for that owner; NULL: somebody for whom there
 * is always room. false: the owner, or all of them, have as many as they may; it stays what it was.
 * What is used for several in turn counts for the last one. */
bool http_guard_prove(struct http_guard *guard, struct http_guarded *connection, const char *owner);
void http_guard_close(struct http_guard *guard, struct http_guarded *connection);

unsigned http_guard_fresh(const struct http_guard *guard);
uint64_t http_guard_cut_off(const struct http_guard *guard); /* how many, since the start */
