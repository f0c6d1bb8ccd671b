/* SPDX-License-Identifier: Apache-2.0 */
/* ssh_digest.h - the digests and base64 that ssh's files and fingerprints are made of
 *
 * Used by: ssh_known_hosts.c, ssh_key_file.c, ssh_session.c. Tests:
 * tests/unit/test_ssh_known_hosts.c. The only file of client/ssh that includes GnuTLS. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SSH_SHA1_BYTES 20
#define SSH_FINGERPRINT_MAX 52 /* "SHA256:", 43 characters, the end of the text */

/* ssh_hmac_sha1 - of data under key, as a hashed line of known_hosts has it. false: GnuTLS refuses
 * SHA-1 (a system in FIPS mode) */
bool ssh_hmac_sha1(const uint8_t *key, size_t key_size, const char *data,
                   uint8_t ret[SSH_SHA1_BYTES]);

/* ssh_fingerprint - "SHA256:..." of a key's blob, as `ssh-keygen -l` prints it */
void ssh_fingerprint(const uint8_t *blob, size_t size, char ret[SSH_FINGERPRINT_MAX]);

/* ssh_base64_decode - text of length characters; *ret is the caller's. false: it is none */
bool ssh_base64_decode(const char *text, size_t length, uint8_t **ret, size_t *ret_size);

/* ssh_base64_encode - with padding; the caller's */
char *ssh_base64_encode(const uint8_t *bytes, size_t size);
