/* SPDX-License-Identifier: Apache-2.0 */
/* http_tls.c - the certificate that an HTTP server shows, which can be replaced while it runs */
#include "shared/http_tls.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/macro.h"

#define CHAIN_MAX 8

/* What is shown. gnutls borrows it for a handshake. */
struct shown {
    gnutls_pcert_st certificates[CHAIN_MAX];
    unsigned n;
    gnutls_privkey_t key;
};

/* A handshake takes some 100 us. In a pass of the daemon that has computed for so long none is
 * begun any more: whoever comes with hundreds at once is asked to come again, and those who are in
 * are heard.
 */
#define HANDSHAKES_US (20 * USEC_PER_MSEC)

struct http_tls {
    struct shown *now, *before; /* owned; before may be NULL */
    uint64_t entered_us; /* CLOCK_THREAD_CPUTIME_ID: what others compute meanwhile is no reason */
    uint64_t refused;    /* handshakes */
    gnutls_session_t refused_last;
};

static struct http_tls *entered; /* one thread, and no daemon runs inside another */

static struct shown *shown_free(struct shown *shown)
{
    if (shown == NULL)
        return NULL;
    for (unsigned i = 0; i < shown->n; i++)
        gnutls_pcert_deinit(&shown->certificates[i]);
    gnutls_privkey_deinit(shown->key);
    free(shown);
    return NULL;
}

static bool same_key(gnutls_pcert_st *certificate, gnutls_privkey_t key)
{
    unsigned char a[32], b[32];
    size_t a_size = sizeof a, b_size = sizeof b;
    gnutls_pubkey_t public;
    bool same;

    if (gnutls_pubkey_init(&public) < 0)
        abort();
    same =
        gnutls_pubkey_import_privkey(public, key, 0, 0) >= 0 &&
        gnutls_pubkey_get_key_id(public, GNUTLS_KEYID_USE_SHA256, a, &a_size) >= 0 &&
        gnutls_pubkey_get_key_id(certificate->pubkey, GNUTLS_KEYID_USE_SHA256, b, &b_size) >= 0 &&
        a_size == b_size && memcmp(a, b, a_size) == 0;
    gnutls_pubkey_deinit(public);
    return same;
}

static int shown_new(const char *certificates, const char *key, struct shown **ret,
                     struct edl_error *error)
{
    struct shown *shown = xcalloc(1, sizeof *shown);
    const gnutls_datum_t chain = { (unsigned char *)certificates, (unsigned)strlen(certificates) };
    const gnutls_datum_t secret = { (unsigned char *)key, (unsigned)strlen(key) };
    unsigned n = CHAIN_MAX;

    if (gnutls_privkey_init(&shown->key) < 0)
        abort();
    if (gnutls_pcert_list_import_x509_raw(shown->certificates, &n, &chain, GNUTLS_X509_FMT_PEM,
                                          0) >= 0)
        shown->n = n;
    if (shown->n == 0 ||
        gnutls_privkey_import_x509_raw(shown->key, &secret, GNUTLS_X509_FMT_PEM, NULL, 0) < 0 ||
        !same_key(&shown->certificates[0], shown->key)) {
        (void)shown_free(shown);
        return edl_error_set(error, -EINVAL, "the server's certificate or its key is not taken");
    }
    *ret = shown;
    return 0;
}

int http_tls_new(const char *certificates, const char *key, struct http_tls **ret,
                 struct edl_error *error)
{
    struct shown *shown;
    int r = shown_new(certificates, key, &shown, error);

    if (r < 0)
        return r;
    *ret = xcalloc(1, sizeof **ret);
    (*ret)->now = shown;
    return 0;
}

int http_tls_replace(struct http_tls *tls, const char *certificates, const char *key,
                     struct edl_error *error)
{
    struct shown *shown;
    int r = shown_new(certificates, key, &shown, error);

    if (r < 0)
        return r;
    (void)shown_free(tls->before);
    tls->before = tls->now;
    tls->now = shown;
    return 0;
}

struct http_tls *http_tls_free(struct http_tls *tls)
{
    if (tls == NULL)
        return NULL;
    (void)shown_free(tls->now);
    (void)shown_free(tls->before);
    free(tls);
    return NULL;
}

struct http_tls *http_tls_enter(struct http_tls *tls)
{
    struct http_tls *before = entered;

    entered = tls;
    if (tls != NULL)
        tls->entered_us = clock_read_us(CLOCK_THREAD_CPUTIME_ID);
    return before;
}

int http_tls_pick(gnutls_session_t session, const gnutls_datum_t *authorities, int n_authorities,
                  const gnutls_pk_algorithm_t *algorithms, int n_algorithms,
                  gnutls_pcert_st **ret_certificates, unsigned *ret_n, gnutls_privkey_t *ret_key)
{
    (void)authorities;
    (void)n_authorities;
    (void)algorithms;
    (void)n_algorithms;
    if (entered == NULL)
        return -1;
    if (clock_read_us(CLOCK_THREAD_CPUTIME_ID) - entered->entered_us > HANDSHAKES_US) {
        entered->refused += session != entered->refused_last; /* gnutls may ask again */
        entered->refused_last = session;
        return -1;
    }
    *ret_certificates = entered->now->certificates;
    *ret_n = entered->now->n;
    *ret_key = entered->now->key;
    return 0;
}

uint64_t http_tls_refused(const struct http_tls *tls)
{
    return tls->refused;
}

bool http_tls_pending(gnutls_session_t session)
{
    return gnutls_record_check_pending(session) > 0;
}
