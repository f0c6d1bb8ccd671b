/* SPDX-License-Identifier: Apache-2.0 */
/* late_gnutls.c - the functions of GnuTLS that `edl` calls (see late_library.h) */
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>

#include "client/late_library.h"

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
