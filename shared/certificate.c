/* SPDX-License-Identifier: Apache-2.0 */
/* certificate.c - the cluster's certificate authority, its server certificate, and pins */
#include "shared/certificate_internal.h"

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
    gnutls_datum_t datum = certificate_datum(text);

    return gnutls_x509_privkey_import(key, &datum, GNUTLS_X509_FMT_PEM) < 0
               ? edl_error_set(error, -EINVAL, "it does not hold a private key")
               : 0;
}

uint64_t certificate_end_s(const char *certificate)
{
    gnutls_x509_crt_t list[CHAIN_MAX];
    int n = certificate_list(certificate, list, NULL);
    time_t end;

    if (n < 0)
        return 0;
    end = gnutls_x509_crt_get_expiration_time(list[0]);
    certificate_list_free(list, n);
    return end > 0 ? (uint64_t)end : 0;
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

/* --- making --- */

static int make_key(const char *text, gnutls_x509_privkey_t key, struct edl_error *error)
{
    int r;

    if (text != NULL)
        return read_key(text, key, error);
    r = gnutls_x509_privkey_generate(key, GNUTLS_PK_ECDSA,
                                     GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0);
    return r < 0 ? certificate_broken(error, r, "making a key") : 0;
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
        return certificate_broken(error, r, "writing a certificate");
    ret->certificate = certificate_take_text(&text);
    r = gnutls_x509_privkey_export2_pkcs8(key, GNUTLS_X509_FMT_PEM, NULL, GNUTLS_PKCS_PLAIN, &text);
    if (r < 0) {
        certificate_pair_clear(ret);
        return certificate_broken(error, r, "writing a key");
    }
    ret->key = certificate_take_text(&text);
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
        r = code < 0 ? certificate_broken(error, code, "making the authority's certificate")
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
    gnutls_datum_t datum = certificate_datum(ca->certificate);

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
        r = code < 0 ? certificate_broken(error, code, "making the server's certificate")
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

    if (!certificate_signed_by(leaf, ca))
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
    int n = certificate_list(server->certificate, list, error);
    int n_authority;
    int r;

    if (n < 0)
        return n;
    n_authority = certificate_list(ca, authority, error);
    if (n_authority < 0) {
        certificate_list_free(list, n);
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
    certificate_list_free(authority, n_authority);
    certificate_list_free(list, n);
    return r;
}
