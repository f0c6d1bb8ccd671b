/* SPDX-License-Identifier: Apache-2.0 */
/* ssh_digest.c - the digests and base64 that ssh's files and fingerprints are made of */
#include "client/ssh/ssh_digest.h"

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/macro.h"

#define SHA256_BYTES 32

bool ssh_hmac_sha1(const uint8_t *key, size_t key_size, const char *data,
                   uint8_t ret[SSH_SHA1_BYTES])
{
    return gnutls_hmac_fast(GNUTLS_MAC_SHA1, key, key_size, data, strlen(data), ret) == 0;
}

char *ssh_base64_encode(const uint8_t *bytes, size_t size)
{
    gnutls_datum_t in = { .data = (unsigned char *)(uintptr_t)bytes, .size = (unsigned)size };
    gnutls_datum_t out = { 0 };
    char *text;

    if (gnutls_base64_encode2(&in, &out) < 0) /* of memory only */
        abort();
    text = xcalloc(out.size + 1, 1);
    memcpy(text, out.data, out.size);
    gnutls_free(out.data);
    return text;
}

bool ssh_base64_decode(const char *text, size_t length, uint8_t **ret, size_t *ret_size)
{
    gnutls_datum_t in = { .data = (unsigned char *)(uintptr_t)text, .size = (unsigned)length };
    gnutls_datum_t out = { 0 };

    if (length == 0 || length > INT_MAX || gnutls_base64_decode2(&in, &out) < 0)
        return false;
    *ret = xcalloc(out.size, 1);
    if (out.size > 0)
        memcpy(*ret, out.data, out.size);
    *ret_size = out.size;
    gnutls_free(out.data);
    return true;
}

void ssh_fingerprint(const uint8_t *blob, size_t size, char ret[SSH_FINGERPRINT_MAX])
{
    uint8_t digest[SHA256_BYTES];
    char *text;

    if (gnutls_hash_fast(GNUTLS_DIG_SHA256, blob, size, digest) < 0)
        abort();
    text = ssh_base64_encode(digest, sizeof digest);
    text[strcspn(text, "=")] = '\0';
    (void)snprintf(ret, SSH_FINGERPRINT_MAX, "SHA256:%s", text);
    free(text);
}
