/* SPDX-License-Identifier: Apache-2.0 */
/* late_gnutls.c - the functions of GnuTLS that `edl` calls (see late_library.h) */
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdlib.h>

#include "shared/late_library.h"

static struct late_library gnutls = { .name = LIBGNUTLS_SONAME };

int gnutls_hash_init(gnutls_hash_hd_t *dig, gnutls_digest_algorithm_t algorithm)
{
    return LATE(gnutls, gnutls_hash_init)(dig, algorithm);
}

int gnutls_hash(gnutls_hash_hd_t handle, const void *ptext, size_t ptext_len)
{
    return LATE(gnutls, gnutls_hash)(handle, ptext, ptext_len);
}

void gnutls_hash_output(gnutls_hash_hd_t handle, void *digest)
{
    LATE(gnutls, gnutls_hash_output)(handle, digest);
}

void gnutls_hash_deinit(gnutls_hash_hd_t handle, void *digest)
{
    LATE(gnutls, gnutls_hash_deinit)(handle, digest);
}

const char *gnutls_strerror(int error)
{
    return LATE(gnutls, gnutls_strerror)(error);
}

/* The library's own is free(3) as well: it is never told another. */
gnutls_free_function gnutls_free = free;

void gnutls_memset(void *data, int c, size_t size)
{
    LATE(gnutls, gnutls_memset)(data, c, size);
}

int gnutls_x509_crt_list_import(gnutls_x509_crt_t *certs, unsigned int *cert_max,
                                const gnutls_datum_t *data, gnutls_x509_crt_fmt_t format,
                                unsigned int flags)
{
    return LATE(gnutls, gnutls_x509_crt_list_import)(certs, cert_max, data, format, flags);
}

void gnutls_x509_crt_deinit(gnutls_x509_crt_t cert)
{
    LATE(gnutls, gnutls_x509_crt_deinit)(cert);
}

int gnutls_x509_crt_get_key_id(gnutls_x509_crt_t crt, unsigned int flags, unsigned char *output,
                               size_t *size)
{
    return LATE(gnutls, gnutls_x509_crt_get_key_id)(crt, flags, output, size);
}

int gnutls_x509_crt_get_ca_status(gnutls_x509_crt_t cert, unsigned int *critical)
{
    return LATE(gnutls, gnutls_x509_crt_get_ca_status)(cert, critical);
}

int gnutls_x509_crt_export2(gnutls_x509_crt_t cert, gnutls_x509_crt_fmt_t format,
                            gnutls_datum_t *out)
{
    return LATE(gnutls, gnutls_x509_crt_export2)(cert, format, out);
}

int gnutls_x509_trust_list_init(gnutls_x509_trust_list_t *list, unsigned int size)
{
    return LATE(gnutls, gnutls_x509_trust_list_init)(list, size);
}

void gnutls_x509_trust_list_deinit(gnutls_x509_trust_list_t list, unsigned int all)
{
    LATE(gnutls, gnutls_x509_trust_list_deinit)(list, all);
}

int gnutls_x509_trust_list_add_cas(gnutls_x509_trust_list_t list, const gnutls_x509_crt_t *cas,
                                   unsigned cas_size, unsigned int flags)
{
    return LATE(gnutls, gnutls_x509_trust_list_add_cas)(list, cas, cas_size, flags);
}

int gnutls_x509_trust_list_verify_crt(gnutls_x509_trust_list_t list, gnutls_x509_crt_t *certs,
                                      unsigned int certs_size, unsigned int flags,
                                      unsigned int *voutput, gnutls_verify_output_function func)
{
    return LATE(gnutls, gnutls_x509_trust_list_verify_crt)(list, certs, certs_size, flags, voutput,
                                                           func);
}
