/* SPDX-License-Identifier: Apache-2.0 */
/* certificate.c - the cluster's certificate authority, its server certificate, and pins */
#include "shared/certificate.h"

#include <arpa/inet.h>
#include <errno.h>
#include <gnutls/abstract.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

#define BACKDATE_S 86400 /* for machines whose clock is behind */
#define SERIAL_BYTES 16
#define CHAIN_MAX 8 /* certificates of a server that are looked at */
#define PIN_PREFIX "sha256:"

static int broken(struct edl_error *error, int code, const char *what)
{
    return edl_error_set(error, -EIO, "%s: %s", what, gnutls_strerror(code));
}

static gnutls_datum_t datum_of(const char *text)
{
    return (gnutls_datum_t){ .data = (unsigned char *)text, .size = (unsigned)strlen(text) };
}

/* Takes what gnutls allocated; the key among it leaves nothing behind. */
static char *take_text(gnutls_datum_t *take)
{
    char *text = xcalloc(1, take->size + 1);

    memcpy(text, take->data, take->size);
    gnutls_memset(take->data, 0, take->size);
    gnutls_free(take->data);
    return text;
}

void certificate_pair_clear(struct certificate_pair *pair)
{
    if (pair->key != NULL)
        gnutls_memset(pair->key, 0, strlen(pair->key));
    free(pair->key);
    free(pair->certificate);
    *pair = (struct certificate_pair){ 0 };
}

/* --- reading --- */

static int read_key(const char *text, gnutls_x509_privkey_t key, struct edl_error *error)
{
    gnutls_datum_t datum = datum_of(text);

    return gnutls_x509_privkey_import(key, &datum, GNUTLS_X509_FMT_PEM) < 0
               ? edl_error_set(error, -EINVAL, "it does not hold a private key")
               : 0;
}

/* The number of certificates that were read; each is the caller's. */
static int read_list(const char *text, gnutls_x509_crt_t list[CHAIN_MAX], struct edl_error *error)
{
    gnutls_datum_t datum = datum_of(text);
    unsigned n = CHAIN_MAX;
    int r = gnutls_x509_crt_list_import(list, &n, &datum, GNUTLS_X509_FMT_PEM,
                                        GNUTLS_X509_CRT_LIST_IMPORT_FAIL_IF_EXCEED);

    return r <= 0
               ? edl_error_set(error, -EINVAL, "it does not hold 1 to %d certificates", CHAIN_MAX)
               : r;
}

static void free_list(gnutls_x509_crt_t *list, int n)
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
        return broken(error, r, "reading a certificate's key");
    (void)snprintf(ret, CERTIFICATE_PIN_MAX, PIN_PREFIX);
    for (size_t i = 0; i < sizeof digest; i++)
        (void)snprintf(ret + strlen(PIN_PREFIX) + 2 * i, 3, "%02x", digest[i]);
    return 0;
}

int certificate_pin(const char *certificate, char *ret, struct edl_error *error)
{
    gnutls_x509_crt_t list[CHAIN_MAX];
    int n = read_list(certificate, list, error);
    int r;

    if (n < 0)
        return n;
    r = pin_of(list[0], ret, error);
    free_list(list, n);
    return r;
}

uint64_t certificate_end_s(const char *certificate)
{
    gnutls_x509_crt_t list[CHAIN_MAX];
    int n = read_list(certificate, list, NULL);
    time_t end;

    if (n < 0)
        return 0;
    end = gnutls_x509_crt_get_expiration_time(list[0]);
    free_list(list, n);
    return end > 0 ? (uint64_t)end : 0;
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

/* The key itself, to compare: certificate and private key give the same for the same key. */
static bool same_key(gnutls_x509_crt_t certificate, gnutls_x509_privkey_t key)
{
    unsigned char a[32], b[32];
    size_t a_size = sizeof a, b_size = sizeof b;

    return gnutls_x509_crt_get_key_id(certificate, GNUTLS_KEYID_USE_SHA256, a, &a_size) == 0 &&
           gnutls_x509_privkey_get_key_id(key, GNUTLS_KEYID_USE_SHA256, b, &b_size) == 0 &&
           a_size == b_size && memcmp(a, b, a_size) == 0;
}

/* Whether issuer signed it. Times are not looked at: that is the caller's, who has the clock. */
static bool signed_by(gnutls_x509_crt_t certificate, gnutls_x509_crt_t issuer)
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

/* --- making --- */

static int make_key(const char *text, gnutls_x509_privkey_t key, struct edl_error *error)
{
    int r;

    if (text != NULL)
        return read_key(text, key, error);
    r = gnutls_x509_privkey_generate(key, GNUTLS_PK_ECDSA,
                                     GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0);
    return r < 0 ? broken(error, r, "making a key") : 0;
}

/* What every certificate has. */
static int fill_common(gnutls_x509_crt_t certificate, gnutls_x509_privkey_t key, uint64_t now_s,
                       uint64_t for_s)
{
    unsigned char serial[SERIAL_BYTES];
    unsigned char id[64];
    size_t id_size = sizeof id;
    int r = gnutls_rnd(GNUTLS_RND_NONCE, serial, sizeof serial);

    serial[0] &= 0x7f; /* a serial number is positive */
    if (r >= 0)
        r = gnutls_x509_crt_set_version(certificate, 3);
    if (r >= 0)
        r = gnutls_x509_crt_set_serial(certificate, serial, sizeof serial);
    if (r >= 0)
        r = gnutls_x509_crt_set_key(certificate, key);
    if (r >= 0)
        r = gnutls_x509_crt_set_activation_time(certificate, (time_t)(now_s - BACKDATE_S));
    if (r >= 0)
        r = gnutls_x509_crt_set_expiration_time(certificate, (time_t)(now_s + for_s));
    if (r >= 0)
        r = gnutls_x509_crt_get_key_id(certificate, GNUTLS_KEYID_USE_SHA1, id, &id_size);
    if (r >= 0)
        r = gnutls_x509_crt_set_subject_key_id(certificate, id, id_size);
    return r;
}

/* An authority's name says which one it is: two clusters' must not be taken for each other. */
static int fill_ca(gnutls_x509_crt_t certificate)
{
    char name[64] = "edl cluster ";
    unsigned char id[32];
    size_t id_size = sizeof id;
    int r = gnutls_x509_crt_get_key_id(certificate, GNUTLS_KEYID_USE_SHA256, id, &id_size);

    for (size_t i = 0, used = strlen(name); r >= 0 && i < 4; i++)
        (void)snprintf(name + used + 2 * i, 3, "%02x", id[i]);
    if (r >= 0)
        r = gnutls_x509_crt_set_dn_by_oid(certificate, GNUTLS_OID_X520_COMMON_NAME, 0, name,
                                          (unsigned)strlen(name));
    if (r >= 0)
        r = gnutls_x509_crt_set_basic_constraints(certificate, 1, 0);
    if (r >= 0)
        r = gnutls_x509_crt_set_key_usage(certificate, GNUTLS_KEY_KEY_CERT_SIGN);
    return r;
}

static int add_name(gnutls_x509_crt_t certificate, const char *name)
{
    unsigned char address[16];
    bool v4 = inet_pton(AF_INET, name, address) == 1;

    if (v4 || inet_pton(AF_INET6, name, address) == 1)
        return gnutls_x509_crt_set_subject_alt_name(certificate, GNUTLS_SAN_IPADDRESS, address,
                                                    v4 ? 4 : 16, GNUTLS_FSAN_APPEND);
    return gnutls_x509_crt_set_subject_alt_name(certificate, GNUTLS_SAN_DNSNAME, name,
                                                (unsigned)strlen(name), GNUTLS_FSAN_APPEND);
}

static int fill_server(gnutls_x509_crt_t certificate, gnutls_x509_crt_t ca,
                       const char *const *names, size_t n_names)
{
    static const char name[] = "edl-scheduler";
    unsigned char id[64];
    size_t id_size = sizeof id;
    int r = gnutls_x509_crt_set_dn_by_oid(certificate, GNUTLS_OID_X520_COMMON_NAME, 0, name,
                                          sizeof name - 1);

    for (size_t i = 0; r >= 0 && i < n_names; i++)
        r = add_name(certificate, names[i]);
    if (r >= 0)
        r = gnutls_x509_crt_set_basic_constraints(certificate, 0, -1);
    if (r >= 0)
        r = gnutls_x509_crt_set_key_usage(certificate, GNUTLS_KEY_DIGITAL_SIGNATURE);
    if (r >= 0)
        r = gnutls_x509_crt_set_key_purpose_oid(certificate, GNUTLS_KP_TLS_WWW_SERVER, 0);
    if (r >= 0)
        r = gnutls_x509_crt_get_subject_key_id(ca, id, &id_size, NULL);
    if (r >= 0)
        r = gnutls_x509_crt_set_authority_key_id(certificate, id, id_size);
    return r;
}

static int export_pair(gnutls_x509_crt_t certificate, gnutls_x509_privkey_t key,
                       struct certificate_pair *ret, struct edl_error *error)
{
    gnutls_datum_t text;
    int r = gnutls_x509_crt_export2(certificate, GNUTLS_X509_FMT_PEM, &text);

    if (r < 0)
        return broken(error, r, "writing a certificate");
    ret->certificate = take_text(&text);
    r = gnutls_x509_privkey_export2_pkcs8(key, GNUTLS_X509_FMT_PEM, NULL, GNUTLS_PKCS_PLAIN, &text);
    if (r < 0) {
        certificate_pair_clear(ret);
        return broken(error, r, "writing a key");
    }
    ret->key = take_text(&text);
    return 0;
}

int certificate_make_ca(const char *key_text, uint64_t now_s, struct certificate_pair *ret,
                        struct edl_error *error)
{
    gnutls_x509_privkey_t key;
    gnutls_x509_crt_t certificate;
    int r;

    if (gnutls_x509_privkey_init(&key) < 0 || gnutls_x509_crt_init(&certificate) < 0)
        abort();
    r = make_key(key_text, key, error);
    if (r == 0) {
        int code = fill_common(certificate, key, now_s, CERTIFICATE_CA_S);

        if (code >= 0)
            code = fill_ca(certificate);
        if (code >= 0)
            code = gnutls_x509_crt_sign2(certificate, certificate, key, GNUTLS_DIG_SHA256, 0);
        r = code < 0 ? broken(error, code, "making the authority's certificate")
                     : export_pair(certificate, key, ret, error);
    }
    gnutls_x509_crt_deinit(certificate);
    gnutls_x509_privkey_deinit(key);
    return r;
}

/* The authority, read back: certificate and key are the caller's also after an error. */
static int read_ca(const struct certificate_pair *ca, gnutls_x509_crt_t certificate,
                   gnutls_x509_privkey_t key, struct edl_error *error)
{
    gnutls_datum_t datum = datum_of(ca->certificate);

    if (gnutls_x509_crt_import(certificate, &datum, GNUTLS_X509_FMT_PEM) < 0)
        return edl_error_set(error, -EINVAL, "it does not hold a certificate");
    if (gnutls_x509_crt_get_ca_status(certificate, NULL) <= 0)
        return edl_error_set(error, -EINVAL, "the certificate is not an authority's");
    if (read_key(ca->key, key, error) < 0)
        return -EINVAL;
    if (!same_key(certificate, key))
        return edl_error_set(error, -EINVAL, "certificate and key do not belong together");
    return 0;
}

int certificate_check_ca(const struct certificate_pair *ca, uint64_t now_s, uint64_t *ret_left_s,
                         struct edl_error *error)
{
    gnutls_x509_privkey_t key;
    gnutls_x509_crt_t certificate;
    int r;

    if (gnutls_x509_privkey_init(&key) < 0 || gnutls_x509_crt_init(&certificate) < 0)
        abort();
    r = read_ca(ca, certificate, key, error);
    if (r == 0) {
        uint64_t end_s = (uint64_t)gnutls_x509_crt_get_expiration_time(certificate);

        *ret_left_s = end_s > now_s ? end_s - now_s : 0;
    }
    gnutls_x509_crt_deinit(certificate);
    gnutls_x509_privkey_deinit(key);
    return r;
}

static int make_server(gnutls_x509_crt_t ca, gnutls_x509_privkey_t ca_key, const char *const *names,
                       size_t n_names, uint64_t now_s, struct certificate_pair *ret,
                       struct edl_error *error)
{
    gnutls_x509_privkey_t key;
    gnutls_x509_crt_t certificate;
    int r;

    if (gnutls_x509_privkey_init(&key) < 0 || gnutls_x509_crt_init(&certificate) < 0)
        abort();
    r = make_key(NULL, key, error);
    if (r == 0) {
        int code = fill_common(certificate, key, now_s, CERTIFICATE_SERVER_S);

        if (code >= 0)
            code = fill_server(certificate, ca, names, n_names);
        if (code >= 0)
            code = gnutls_x509_crt_sign2(certificate, ca, ca_key, GNUTLS_DIG_SHA256, 0);
        r = code < 0 ? broken(error, code, "making the server's certificate")
                     : export_pair(certificate, key, ret, error);
    }
    gnutls_x509_crt_deinit(certificate);
    gnutls_x509_privkey_deinit(key);
    return r;
}

int certificate_make_server(const struct certificate_pair *ca, const char *const *names,
                            size_t n_names, uint64_t now_s, struct certificate_pair *ret,
                            struct edl_error *error)
{
    gnutls_x509_privkey_t key;
    gnutls_x509_crt_t certificate;
    struct certificate_pair made = { 0 };
    int r;

    if (gnutls_x509_privkey_init(&key) < 0 || gnutls_x509_crt_init(&certificate) < 0)
        abort();
    r = read_ca(ca, certificate, key, error);
    if (r == 0)
        r = make_server(certificate, key, names, n_names, now_s, &made, error);
    gnutls_x509_crt_deinit(certificate);
    gnutls_x509_privkey_deinit(key);
    if (r < 0)
        return r;
    /* With the authority behind it: whoever joins by a pin finds there what the pin names. */
    if (asprintf(&ret->certificate, "%s%s", made.certificate, ca->certificate) == -1)
        abort();
    ret->key = TAKE_PTR(made.key);
    certificate_pair_clear(&made);
    return 0;
}

/* --- checking --- */

static int check_leaf(gnutls_x509_crt_t leaf, gnutls_x509_crt_t ca, const char *const *names,
                      size_t n_names, uint64_t now_s, struct edl_error *error)
{
    time_t from = gnutls_x509_crt_get_activation_time(leaf);
    time_t until = gnutls_x509_crt_get_expiration_time(leaf);

    if (!signed_by(leaf, ca))
        return edl_error_set(error, -EINVAL, "it is not signed by this cluster's authority");
    if ((uint64_t)from > now_s)
        return edl_error_set(error, -EINVAL, "it is not valid yet (the clock was set back)");
    if ((uint64_t)until < now_s + CERTIFICATE_RENEW_S)
        return edl_error_set(error, -EINVAL, "%s",
                             (uint64_t)until < now_s ? "it has expired" : "it is about to expire");
    for (size_t i = 0; i < n_names; i++)
        if (gnutls_x509_crt_check_hostname(leaf, names[i]) == 0)
            return edl_error_set(error, -EINVAL, "it is not for %s", names[i]);
    return 0;
}

int certificate_check_server(const struct certificate_pair *server, const char *ca,
                             const char *const *names, size_t n_names, uint64_t now_s,
                             struct edl_error *error)
{
    gnutls_x509_crt_t list[CHAIN_MAX], authority[CHAIN_MAX];
    gnutls_x509_privkey_t key;
    int n = read_list(server->certificate, list, error);
    int n_authority;
    int r;

    if (n < 0)
        return n;
    n_authority = read_list(ca, authority, error);
    if (n_authority < 0) {
        free_list(list, n);
        return n_authority;
    }
    if (gnutls_x509_privkey_init(&key) < 0)
        abort();
    r = read_key(server->key, key, error);
    if (r == 0 && !same_key(list[0], key))
        r = edl_error_set(error, -EINVAL, "certificate and key do not belong together");
    if (r == 0)
        r = check_leaf(list[0], authority[0], names, n_names, now_s, error);
    gnutls_x509_privkey_deinit(key);
    free_list(authority, n_authority);
    free_list(list, n);
    return r;
}

/* The place in the list of the certificate that the pin names; -EACCES */
static int find_pinned(gnutls_x509_crt_t *list, int n, const char *pin, struct edl_error *error)
{
    char found[CERTIFICATE_PIN_MAX];

    for (int i = 0; i < n; i++)
        if (pin_of(list[i], found, NULL) == 0 && streq(found, pin))
            return i;
    (void)edl_error_set(error, -EACCES,
                        "the server is not the one that the pin names: none of its %d certificates "
                        "has the key %s",
                        n, pin);
    return edl_error_remedy(error, "make a new join line with `edl node add` on the scheduler; if "
                                   "it says the same pin, somebody else answers at this address");
}

static int check_picked(gnutls_x509_crt_t *list, int at, struct edl_error *error)
{
    if (gnutls_x509_crt_get_ca_status(list[at], NULL) <= 0)
        return edl_error_set(error, -EACCES,
                             "the certificate that the pin names is no authority's");
    if (!signed_by(list[0], list[at]))
        return edl_error_set(error, -EACCES,
                             "the server's certificate is not signed by the authority that the "
                             "pin names");
    return 0;
}

int certificate_pick(const char *chain, const char *pin, char **ret_ca, struct edl_error *error)
{
    gnutls_x509_crt_t list[CHAIN_MAX];
    gnutls_datum_t text;
    int r = certificate_pin_valid(pin, error);
    int n = r < 0 ? r : read_list(chain, list, error);

    if (n < 0)
        return n;
    r = find_pinned(list, n, pin, error);
    if (r >= 0) {
        int at = r;

        r = check_picked(list, at, error);
        if (r == 0) {
            int code = gnutls_x509_crt_export2(list[at], GNUTLS_X509_FMT_PEM, &text);

            r = code < 0 ? broken(error, code, "writing a certificate") : 0;
        }
    }
    free_list(list, n);
    if (r < 0)
        return r;
    *ret_ca = take_text(&text);
    return 0;
}
