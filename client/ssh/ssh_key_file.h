/* SPDX-License-Identifier: Apache-2.0 */
/* ssh_key_file.h - what a user's key file is, without decrypting it; pure
 *
 * Used by: ssh_libssh2_login.c. Tests: tests/unit/test_ssh_key_file.c,
 * tests/fuzz/fuzz_ssh_key_file.c.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/ssh/ssh_known_hosts.h"

#define SSH_KEY_FILE_MAX 65536

struct ssh_key_file {
    bool encrypted;
    unsigned int type; /* enum ssh_key_type; 0: the format does not tell it without decoding */
    uint8_t *blob;     /* the public half; owned; NULL: the format does not tell it */
    size_t blob_size;
};

/* ssh_key_file_read - a private key as OpenSSH, PEM or PKCS8; false: it is none of these */
bool ssh_key_file_read(const char *text, size_t size, struct ssh_key_file *ret);

/* ssh_key_public_read - "TYPE BASE64 COMMENT" of a .pub file; false: it is none */
bool ssh_key_public_read(const char *text, size_t size, struct ssh_key_file *ret);

void ssh_key_file_clear(struct ssh_key_file *file);
