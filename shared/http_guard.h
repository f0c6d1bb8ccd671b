/* SPDX-License-Identifier: Apache-2.0 */
/* http_guard.h - connections that have not shown a credential: few, and not for long; those of one
 * owner: a part
 *
 * Shared by http_server.c and http_request.c. A connection is *fresh* until a request of it was let
 * through (http_request_proven). Any number may come and do anything - silence, a header now and
 * then, a body byte by byte. Fresh ones hold a bounded part of the server's connections: one too
 * many costs a place, the oldest one's of the address that has most, and no fresh one lives longer
 * than its time. Of those that have shown one, an owner's hold a bounded part as well, all owners'
 * together too, and so do their bodies: one credential, however little it may do, is no way to keep
 * out the others. Callers that have to get in at all times stand apart, with bounds of their own.
 * Tests: tests/unit/test_http_tls.c, tests/integration/160-flood.sh. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <systemd/sd-event.h>

struct edl_error;
struct http_guard;
struct http_owner;
struct http_guarded; /* one connection */

struct http_guard_limits {
    unsigned fresh;      /* at once */
    uint64_t fresh_us;   /* from the connection to the first request that is let through */
    unsigned owner;      /* of one owner at once, who says nothing else; 0: any */
    unsigned owners;     /* of all owners, in fair shares (fair_share.h); 0: any */
    uint64_t body_bytes; /* that bodies of all owners hold, in fair shares; 0: any */
};

int http_guard_new(sd_event *event, const struct http_guard_limits *limits, struct http_guard **ret,
                   struct edl_error *error);

/* http_guard_free - every connection has to be closed before; accepts NULL, returns NULL */
struct http_guard *http_guard_free(struct http_guard *guard);

/* An address is an IPv4 address, an IPv6 /64, or an account at the other end of a Unix socket. */

/* http_guard_open - a connection came; others may be cut off for it (shutdown: whoever owns the
 * descriptor sees its end and closes it). Never NULL; freed by http_guard_close. */
struct http_guarded *http_guard_open(struct http_guard *guard, int fd,
                                     const struct sockaddr *address);

/* http_guard_prove - a request of it was let through, for that owner (http_server.h). false: the
 * owner, or all of them, have as many as they may; it stays what it was. What is used for several
 * in turn counts for the last one. */
bool http_guard_prove(struct http_guard *guard, struct http_guarded *connection,
                      const struct http_owner *owner);

/* http_guard_hold - its body takes so many bytes now; false: they are more than its owner may hold,
 * and it holds what it held. http_guard_may_hold: only whether. http_guard_release: none any more
 */
bool http_guard_hold(struct http_guard *guard, struct http_guarded *connection, uint64_t bytes);
bool http_guard_may_hold(const struct http_guard *guard, const struct http_guarded *connection,
                         uint64_t bytes);
void http_guard_release(struct http_guard *guard, struct http_guarded *connection);
void http_guard_close(struct http_guard *guard, struct http_guarded *connection);

unsigned http_guard_fresh(const struct http_guard *guard);
uint64_t http_guard_cut_off(const struct http_guard *guard); /* how many, since the start */
