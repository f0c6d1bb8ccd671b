/* SPDX-License-Identifier: Apache-2.0 */
/* certificate_internal.h - what the files of certificate.h share: GnuTLS objects of PEM text */
#pragma once

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdbool.h>

#include "shared/certificate.h"

#define CHAIN_MAX 8 /* certificates of a server that are looked at */

/* certificate_broken - -EIO with error: the step, and the words of GnuTLS */
int certificate_broken(struct edl_error *error, int code, const char *what);

/* certificate_datum - borrowed */
gnutls_datum_t certificate_datum(const char *text);

/* certificate_take_text - takes what GnuTLS allocated; a key among it leaves nothing behind */
char *certificate_take_text(gnutls_datum_t *take);

/* certificate_list - the number of certificates that were read; each is the caller's. -EINVAL */
int certificate_list(const char *text, gnutls_x509_crt_t list[CHAIN_MAX], struct edl_error *error);
void certificate_list_free(gnutls_x509_crt_t *list, int n);

/* certificate_signed_by - whether issuer signed it. The caller has the clock and looks at times */
bool certificate_signed_by(gnutls_x509_crt_t certificate, gnutls_x509_crt_t issuer);
