/* SPDX-License-Identifier: Apache-2.0 */
/* content_hash.c - SHA-256 of bytes that come piece by piece */
#include "shared/content_hash.h"

#include <errno.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>

#include "shared/error.h"
#include "shared/macro.h"

#define DIGEST_BYTES (WORKSPACE_HEX / 2)

struct content_hash {
    gnutls_hash_hd_t state;
};

int content_hash_new(struct content_hash **ret, struct edl_error *error)
{
    struct content_hash *hash = xcalloc(1, sizeof *hash);
    int r = gnutls_hash_init(&hash->state, GNUTLS_DIG_SHA256);

    if (r < 0) {
        free(hash);
        return edl_error_set(error, -EIO, "SHA-256: %s", gnutls_strerror(r));
    }
    *ret = hash;
    return 0;
}

void content_hash_add(struct content_hash *hash, const void *data, size_t size)
{
    (void)gnutls_hash(hash->state, data, size);
}

void content_hash_end(struct content_hash *hash, char ret[WORKSPACE_HEX + 1])
{
    static const char digits[] = "0123456789abcdef";
    unsigned char digest[DIGEST_BYTES];

    gnutls_hash_output(hash->state, digest); /* which begins anew */
    for (size_t i = 0; i < sizeof digest; i++) {
        ret[2 * i] = digits[digest[i] >> 4];
        ret[2 * i + 1] = digits[digest[i] & 15];
    }
    ret[WORKSPACE_HEX] = '\0';
}

struct content_hash *content_hash_free(struct content_hash *hash)
{
    if (hash != NULL)
        gnutls_hash_deinit(hash->state, NULL);
    free(hash);
    return NULL;
}
