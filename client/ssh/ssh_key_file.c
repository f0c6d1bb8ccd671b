/* SPDX-License-Identifier: Apache-2.0 */
/* ssh_key_file.c - what a user's key file is, without decrypting it; pure */
#include "client/ssh/ssh_key_file.h"

#include <stdlib.h>
#include <string.h>

#include "client/ssh/ssh_digest.h"
#include "client/ssh/ssh_wire.h"
#include "shared/cleanup.h"
#include "shared/macro.h"

#define OPENSSH_BEGIN "-----BEGIN OPENSSH PRIVATE KEY-----"
#define OPENSSH_MAGIC "openssh-key-v1" /* with its NUL */

/* formats whose first line tells all that is wanted */
static const struct {
    const char *begin;
    unsigned int type;
    bool encrypted;
} formats[] = {
    { "-----BEGIN RSA PRIVATE KEY-----", SSH_KEY_RSA, false },
    { "-----BEGIN EC PRIVATE KEY-----", SSH_KEY_ECDSA_256, false },
    { "-----BEGIN DSA PRIVATE KEY-----", SSH_KEY_DSA, false },
    { "-----BEGIN PRIVATE KEY-----", 0, false },
    { "-----BEGIN ENCRYPTED PRIVATE KEY-----", 0, true },
};

/* find - text need not be terminated */
static const char *find(const char *text, size_t size, const char *what)
{
    return memmem(text, size, what, strlen(what));
}

/* decode_body - base64 in lines, up to the END line */
static bool decode_body(const char *text, size_t size, uint8_t **ret, size_t *ret_size)
{
    const char *end = find(text, size, "-----END");
    _cleanup_free_ char *joined = xcalloc(size + 1, 1);
    size_t n = 0;
    bool ok;

    for (const char *c = text; end != NULL && c < end; c++)
        if (strchr(" \t\r\n", *c) == NULL)
            joined[n++] = *c;
    ok = ssh_base64_decode(joined, n, ret, ret_size);
    explicit_bzero(joined, n);
    return ok;
}

static bool read_openssh(const char *text, size_t size, struct ssh_key_file *ret)
{
    uint8_t *body = NULL;
    size_t body_size = 0;
    struct ssh_wire wire, cipher, blob;
    uint32_t n_keys;
    bool ok;

    if (!decode_body(text, size, &body, &body_size))
        return false;
    wire = (struct ssh_wire){ body, body_size };
    ok = body_size > sizeof OPENSSH_MAGIC && memcmp(body, OPENSSH_MAGIC, sizeof OPENSSH_MAGIC) == 0;
    if (ok) {
        wire.at += sizeof OPENSSH_MAGIC;
        wire.left -= sizeof OPENSSH_MAGIC;
    }
    ok = ok && ssh_wire_string(&wire, &cipher) && ssh_wire_string(&wire, NULL) &&
         ssh_wire_string(&wire, NULL) && ssh_wire_u32(&wire, &n_keys) && n_keys == 1 &&
         ssh_wire_string(&wire, &blob) && blob.left > 0;
    if (ok) {
        ret->encrypted = !ssh_wire_is(&cipher, "none");
        ret->type = ssh_blob_type(blob.at, blob.left, NULL);
        ret->blob = xcalloc(blob.left, 1);
        ret->blob_size = blob.left;
        memcpy(ret->blob, blob.at, blob.left);
    }
    explicit_bzero(body, body_size);
    free(body);
    return ok;
}

bool ssh_key_file_read(const char *text, size_t size, struct ssh_key_file *ret)
{
    const char *begin = find(text, size, OPENSSH_BEGIN);

    *ret = (struct ssh_key_file){ 0 };
    if (begin != NULL) {
        begin += strlen(OPENSSH_BEGIN);
        return read_openssh(begin, size - (size_t)(begin - text), ret);
    }
    for (size_t i = 0; i < ELEMENTS(formats); i++) {
        if (find(text, size, formats[i].begin) == NULL)
            continue;
        ret->type = formats[i].type;
        ret->encrypted = formats[i].encrypted || find(text, size, ",ENCRYPTED") != NULL;
        return true;
    }
    return false;
}

bool ssh_key_public_read(const char *text, size_t size, struct ssh_key_file *ret)
{
    const char *space = memchr(text, ' ', size), *key, *end;

    *ret = (struct ssh_key_file){ 0 };
    if (space == NULL)
        return false;
    key = space + 1;
    end = key;
    while (end < text + size && strchr(" \t\r\n", *end) == NULL)
        end++;
    if (!ssh_base64_decode(key, (size_t)(end - key), &ret->blob, &ret->blob_size))
        return false;
    ret->type = ssh_blob_type(ret->blob, ret->blob_size, NULL);
    return true;
}

void ssh_key_file_clear(struct ssh_key_file *file)
{
    free(file->blob);
    *file = (struct ssh_key_file){ 0 };
}
