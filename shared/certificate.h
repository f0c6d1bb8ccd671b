/* SPDX-License-Identifier: Apache-2.0 */
/* certificate.h - the cluster's certificate authority, its server certificate, and pins
 *
 * ECDSA on P-256, everything in PEM text. No clock and no file: the caller gives the time and keeps
 * what is made. A pin is "sha256:" and the SHA-256 of the public key (its SubjectPublicKeyInfo) in
 * hex: it names the key, so a certificate that is made anew for it keeps its pin.
 * Used by: scheduler, agent. Tests: tests/unit/test_certificate.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct edl_error;

#define CERTIFICATE_PIN_MAX 72 /* with its NUL */

/* How long what is made is good for, and when a server certificate is due for the next one. */
#define CERTIFICATE_CA_S (10ULL * 365 * 86400)
#define CERTIFICATE_SERVER_S (2ULL * 365 * 86400)
#define CERTIFICATE_RENEW_S (365ULL * 86400) /* with less than this left */

/* PEM text, owned. */
struct certificate_pair {
    char *certificate; /* of a server: its own, then the authority's */
    char *key;
};

void certificate_pair_clear(struct certificate_pair *pair); /* wipes the key */

/* certificate_make_ca - an authority, good for CERTIFICATE_CA_S from now_s
 * key: that of an authority whose certificate was lost, so that its pin and what it signed stay
 * good; NULL: a new one. Errors: -EINVAL when key cannot be read, -EIO */
int certificate_make_ca(const char *key, uint64_t now_s, struct certificate_pair *ret,
                        struct edl_error *error);

/* certificate_make_server - a server certificate for host names and numeric addresses */
int certificate_make_server(const struct certificate_pair *ca, const char *const *names,
                            size_t n_names, uint64_t now_s, struct certificate_pair *ret,
                            struct edl_error *error);

/* certificate_check_server - 0 when it can be used from now_s for another CERTIFICATE_RENEW_S
 * -EINVAL with error (why a new one is needed): damaged, of another authority, for other names, too
 * old. */
int certificate_check_server(const struct certificate_pair *server, const char *ca,
                             const char *const *names, size_t n_names, uint64_t now_s,
                             struct edl_error *error);

/* certificate_check_ca - -EINVAL with error when certificate and key do not belong together or are
 * no authority's; ret_left_s: how long it is still good */
int certificate_check_ca(const struct certificate_pair *ca, uint64_t now_s, uint64_t *ret_left_s,
                         struct edl_error *error);

/* certificate_end_s - when the first certificate of a PEM text expires, since 1970; 0: it cannot be
 * read */
uint64_t certificate_end_s(const char *certificate);

/* certificate_pin - of the first certificate of a PEM text; ret holds CERTIFICATE_PIN_MAX */
int certificate_pin(const char *certificate, char *ret, struct edl_error *error);

/* certificate_pin_valid - whether a text has the form of a pin */
int certificate_pin_valid(const char *text, struct edl_error *error);

/* certificate_pick - the authority that a pin names, out of what a server showed
 * chain is whatever came from there: nothing in it is believed but the certificate whose key the
 * pin names, and that only if it is an authority's and the server's own is signed by it. *ret_ca:
 * PEM, owned by the caller. Errors: -EINVAL (no certificates, a malformed pin), -EACCES. */
int certificate_pick(const char *chain, const char *pin, char **ret_ca, struct edl_error *error);

/* certificate_shown - the pin of the authority that a server shows and whose its certificate is
 * Nobody vouches for it: a person is to compare it. -EACCES: it shows none */
int certificate_shown(const char *chain, char pin[CERTIFICATE_PIN_MAX], struct edl_error *error);
