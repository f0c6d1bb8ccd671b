/* SPDX-License-Identifier: Apache-2.0 */
/* listeners.h - the servers of a scheduler: one for each --listen, all with the same routes */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "scheduler/calls/inherited.h"
#include "scheduler/calls/listen_spec.h"
#include "scheduler/calls/tls_files.h"

struct edl_error;
struct http_server;
struct scheduler;

#define LISTEN_URL_MAX 160

struct listeners {
    struct http_server *servers[LISTEN_MAX]; /* owned */
    struct listen_spec specs[LISTEN_MAX];    /* with the ports that were taken */
    bool kept[LISTEN_MAX];                   /* its socket outlives us */
    size_t n;
    struct inherited inherited;
    struct tls_files tls;     /* owned; empty when none of them speaks TLS */
    sd_event_source *renewal; /* owned; NULL when none of them speaks TLS */
    char url[LISTEN_URL_MAX]; /* how nodes reach this scheduler, see listeners_look */
};

/* listeners_open - listens at every place of the options, or at none; with the service manager's
 * socket where it passed one
 * The certificate is on disk before anybody sees it. The files that this process may have open are
 * raised to the system's limit, and the servers take no more connections than fit. */
int listeners_open(struct scheduler *scheduler, struct edl_error *error);

/* renewal_init - from now on the certificate is made anew when it is due (certificate.h), and shown
 * to callers that connect then; connections that are there go on. A failure is logged, and tried
 * again every hour. */
int renewal_init(struct scheduler *scheduler, struct edl_error *error);

/* listeners_renew - now, if it is due
 * Errors: as tls_files_open; -EINVAL when the authority's files were replaced. The certificate is
 * then shown as before. */
int listeners_renew(struct scheduler *scheduler, struct edl_error *error);

/* listeners_look - how nodes reach this scheduler now; "" when only by a Unix socket
 * At an address that it was not started with the certificate is made anew first, as it would be at
 * a start: a network may come up late. Errors: as listeners_renew. */
int listeners_look(struct scheduler *scheduler, const char **ret_url, struct edl_error *error);

/* listeners_log - tells where, of which authority, and when the certificate ends */
void listeners_log(const struct listeners *listeners);

/* listeners_close - answers 503 to requests that still wait */
void listeners_close(struct listeners *listeners);

/* Figures for operators, in sum. route and status_class as in http_server_answers. */
uint64_t listeners_connections(const struct listeners *listeners);
uint64_t listeners_waiting(const struct listeners *listeners);
uint64_t listeners_cut_off(const struct listeners *listeners);
/* listeners_shut_out - TLS handshakes that were refused, as too many came at once */
uint64_t listeners_shut_out(const struct listeners *listeners);
uint64_t listeners_answers(const struct listeners *listeners, size_t route, unsigned status_class);
