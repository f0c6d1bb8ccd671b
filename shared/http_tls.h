/* SPDX-License-Identifier: Apache-2.0 */
/* http_tls.h - the certificate that an HTTP server shows, which can be replaced while it runs
 *
 * libmicrohttpd takes a certificate once, at its start, or asks a function for it at every
 * handshake. That function is told the session only, so a server says before it runs its daemon
 * that it is the one (http_tls_enter). Used by: http_server.c. Tests: tests/unit/test_http_tls.c.
 */
#pragma once

#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <stdbool.h>
#include <stdint.h>

struct edl_error;
struct http_tls;

/* http_tls_new - PEM; the server's own certificate first. -EINVAL: it is not taken */
int http_tls_new(const char *certificates, const char *key, struct http_tls **ret,
                 struct edl_error *error);

/* http_tls_replace - for the handshakes that begin from now on
 * What was there before stays until the next time: a handshake may be in the middle of it. After an
 * error it is as it was. */
int http_tls_replace(struct http_tls *tls, const char *certificates, const char *key,
                     struct edl_error *error);

/* http_tls_free - accepts NULL; returns NULL */
struct http_tls *http_tls_free(struct http_tls *tls);

/* http_tls_enter - whose handshakes are served from here on; returns whose they were
 * A pass begins: once it has computed for 20 ms, handshakes fail that it would have to begin. */
struct http_tls *http_tls_enter(struct http_tls *tls);

/* http_tls_refused - how many have, since the start */
uint64_t http_tls_refused(const struct http_tls *tls);

/* http_tls_pick - a gnutls_certificate_retrieve_function2 */
int http_tls_pick(gnutls_session_t session, const gnutls_datum_t *authorities, int n_authorities,
                  const gnutls_pk_algorithm_t *algorithms, int n_algorithms,
                  gnutls_pcert_st **ret_certificates, unsigned *ret_n, gnutls_privkey_t *ret_key);

/* http_tls_pending - whether something that came was taken from the socket and not yet read */
bool http_tls_pending(gnutls_session_t session);
