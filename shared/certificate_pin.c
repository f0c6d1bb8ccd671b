/* SPDX-License-Identifier: Apache-2.0 */
/* certificate_pin.c - reading certificates: pins, and the authority of a chain
 *
 * Apart from certificate.c: the command `edl` needs this half alone. */
#include "shared/certificate_internal.h"

#include <errno.h>
#include <gnutls/abstract.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/error.h"
#include "shared/macro.h"

#define PIN_PREFIX "sha256:"

int certificate_broken(struct edl_error *error, int code, const char *what)
{
    return edl_error_set(error, -EIO, "%s: %s", what, gnutls_strerror(code));
}

gnutls_datum_t certificate_datum(const char *text)
{
    return (gnutls_datum_t){ .data = (unsigned char *)text, .size = (unsigned)strlen(text) };
}

/* Takes what gnutls allocated; the key among it leaves nothing behind. */
char *certificate_take_text(gnutls_datum_t *take)
{
    char *text = xcalloc(1, take->size + 1);

    memcpy(text, take->data, take->size);
    gnutls_memset(take->data, 0, take->size);
    gnutls_free(take->data);
    return text;
}

/* The number of certificates that were read; each is the caller's. */
int certificate_list(const char *text, gnutls_x509_crt_t list[CHAIN_MAX], struct edl_error *error)
{
    gnutls_datum_t datum = certificate_datum(text);
    unsigned n = CHAIN_MAX;
    int r = gnutls_x509_crt_list_import(list, &n, &datum, GNUTLS_X509_FMT_PEM,
                                        GNUTLS_X509_CRT_LIST_IMPORT_FAIL_IF_EXCEED);

    return r <= 0
               ? edl_error_set(error, -EINVAL, "it does not hold 1 to %d certificates", CHAIN_MAX)
               : r;
}

void certificate_list_free(gnutls_x509_crt_t *list, int n)
{
    for (int i = 0; i < n; i++)
        gnutls_x509_crt_deinit(list[i]);
}

static int pin_of(gnutls_x509_crt_t certificate, char *ret, struct edl_error *error)
{
    unsigned char digest[32];
    size_t size = sizeof digest;
    int r = gnutls_x509_crt_get_key_id(certificate, GNUTLS_KEYID_USE_SHA256, digest, &size);

    if (r < 0 || size != sizeof digest)
        return certificate_broken(error, r, "reading a certificate's key");
    (void)snprintf(ret, CERTIFICATE_PIN_MAX, PIN_PREFIX);
    for (size_t i = 0; i < sizeof digest; i++)
        (void)snprintf(ret + strlen(PIN_PREFIX) + 2 * i, 3, "%02x", digest[i]);
    return 0;
}

int certificate_pin(const char *certificate, char *ret, struct edl_error *error)
{
    gnutls_x509_crt_t list[CHAIN_MAX];
    int n = certificate_list(certificate, list, error);
    int r;

    if (n < 0)
        return n;
    r = pin_of(list[0], ret, error);
    certificate_list_free(list, n);
    return r;
}

/* certificate_signed_by - see certificate_internal.h */
bool certificate_signed_by(gnutls_x509_crt_t certificate, gnutls_x509_crt_t issuer)
{
    gnutls_x509_trust_list_t trust;
    unsigned status = 1;
    bool good;

    if (gnutls_x509_trust_list_init(&trust, 0) < 0)
        abort();
    good = gnutls_x509_trust_list_add_cas(trust, &issuer, 1, 0) == 1 &&
           gnutls_x509_trust_list_verify_crt(trust, &certificate, 1,
                                             GNUTLS_VERIFY_DISABLE_TIME_CHECKS, &status, NULL) == 0;
    gnutls_x509_trust_list_deinit(trust, 0); /* 0: issuer stays the caller's */
    return good && status == 0;
}

int certificate_pin_valid(const char *text, struct edl_error *error)
{
    size_t prefix = strlen(PIN_PREFIX);

    if (strncmp(text, PIN_PREFIX, prefix) == 0 && strlen(text) == prefix + 64 &&
        strspn(text + prefix, "0123456789abcdef") == 64)
        return 0;
    (void)edl_error_set(error, -EINVAL, "\"%.80s\" is not a pin", text);
    return edl_error_remedy(error, "a pin is sha256: and 64 hex digits, as `edl node add` says it");
}

/* The place in the list of the certificate that the pin names; -EACCES */
static int find_pinned(gnutls_x509_crt_t *list, int n, const char *pin, struct edl_error *error)
{
    char found[CERTIFICATE_PIN_MAX];

    for (int i = 0; i < n; i++)
        if (pin_of(list[i], found, NULL) == 0 && streq(found, pin))
            return i;
    (void)edl_error_set(error, -EACCES,
                        "the server is not the one that the pin names: of its certificates, %d, "
                        "none has the key %s",
                        n, pin);
    return edl_error_remedy(
        error, "make a new line with `edl node add` or `edl user add` on the "
               "scheduler; if it says the same pin, somebody else answers at this address");
}

static int export(gnutls_x509_crt_t certificate, char **ret, struct edl_error *error)
{
    gnutls_datum_t text;
    int code = gnutls_x509_crt_export2(certificate, GNUTLS_X509_FMT_PEM, &text);

    if (code < 0)
        return certificate_broken(error, code, "writing a certificate");
    *ret = certificate_take_text(&text);
    return 0;
}

static int check_picked(gnutls_x509_crt_t *list, int at, struct edl_error *error)
{
    if (gnutls_x509_crt_get_ca_status(list[at], NULL) <= 0)
        return edl_error_set(error, -EACCES,
                             "the certificate that the pin names is no authority's");
    if (!certificate_signed_by(list[0], list[at]))
        return edl_error_set(error, -EACCES,
                             "the server's certificate is not signed by the authority that the "
                             "pin names");
    return 0;
}

int certificate_pick(const char *chain, const char *pin, char **ret_ca, struct edl_error *error)
{
    gnutls_x509_crt_t list[CHAIN_MAX];
    int r = certificate_pin_valid(pin, error);
    int n = r < 0 ? r : certificate_list(chain, list, error);
    int at;

    if (n < 0)
        return n;
    at = find_pinned(list, n, pin, error);
    r = at < 0 ? at : check_picked(list, at, error);
    if (r == 0)
        r = export(list[at], ret_ca, error);
    certificate_list_free(list, n);
    return r;
}

int certificate_shown(const char *chain, char pin[CERTIFICATE_PIN_MAX], struct edl_error *error)
{
    gnutls_x509_crt_t list[CHAIN_MAX];
    int n = certificate_list(chain, list, error);
    int r = -EACCES;

    if (n < 0)
        return n;
    for (int at = n - 1; r < 0 && at > 0; at--)
        r = check_picked(list, at, error) == 0 ? pin_of(list[at], pin, error) : -EACCES;
    certificate_list_free(list, n);
    return r == 0
               ? 0
               : edl_error_set(error, -EACCES, "the server shows no authority of its certificate");
}
