/* SPDX-License-Identifier: Apache-2.0 */
/* ssh_known_hosts.h - what files of known_hosts say of a host and its key; pure
 *
 * One judgement goes through all lines of all files. ssh_known_hosts_begin, then
 * ssh_known_hosts_read for each file, then the verdict. Lines that are no lines are skipped, as ssh
 * does. Format: sshd(8), SSH_KNOWN_HOSTS FILE FORMAT.
 * Used by: ssh_session.c, ssh_libssh2.c. Tests: tests/unit/test_ssh_known_hosts.c,
 * tests/fuzz/fuzz_ssh_known_hosts.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/ssh/ssh_digest.h"

#define SSH_KNOWN_NAME_MAX 300 /* "[host]:port" with the end of the text */

enum ssh_known {
    SSH_KNOWN_NEW,     /* no line has this host */
    SSH_KNOWN_SAME,    /* a line has this key for it */
    SSH_KNOWN_CHANGED, /* lines have another key of this type */
    SSH_KNOWN_OTHER,   /* lines have keys of other types only */
    SSH_KNOWN_CA,      /* lines have an authority only */
    SSH_KNOWN_REVOKED, /* a line revokes this key; it beats all others */
};

/* types of plain keys: bit, name in a key's blob, name for people */
#define SSH_KEY_TYPE_MAP(XX)                                                                       \
    XX(SSH_KEY_ED25519, 0, "ssh-ed25519", "ED25519")                                               \
    XX(SSH_KEY_ECDSA_256, 1, "ecdsa-sha2-nistp256", "ECDSA")                                       \
    XX(SSH_KEY_ECDSA_384, 2, "ecdsa-sha2-nistp384", "ECDSA")                                       \
    XX(SSH_KEY_ECDSA_521, 3, "ecdsa-sha2-nistp521", "ECDSA")                                       \
    XX(SSH_KEY_RSA, 4, "ssh-rsa", "RSA")                                                           \
    XX(SSH_KEY_SK_ED25519, 5, "sk-ssh-ed25519@openssh.com", "ED25519-SK")                          \
    XX(SSH_KEY_SK_ECDSA, 6, "sk-ecdsa-sha2-nistp256@openssh.com", "ECDSA-SK")                      \
    XX(SSH_KEY_DSA, 7, "ssh-dss", "DSA")

enum ssh_key_type {
#define XX(name, bit, wire, text) name = 1u << (bit),
    SSH_KEY_TYPE_MAP(XX)
#undef XX
        SSH_KEY_STRANGE = 1u << 8, /* certificates, and whatever is not listed above */
};

struct ssh_known_hosts {
    /* what is asked */
    char name[SSH_KNOWN_NAME_MAX];
    const uint8_t *key; /* borrowed until the verdict; NULL: only the types are asked */
    size_t key_size;
    /* what the lines said */
    unsigned int types; /* enum ssh_key_type of all plain keys of this host */
    bool authority, same, changed, revoked;
    /* the line that decided: of the same key, of the revoked one, else the first one */
    const char *file; /* borrowed from ssh_known_hosts_read; NULL: no line */
    unsigned int line;
    char fingerprint[SSH_FINGERPRINT_MAX]; /* of that line's key */
};

/* ssh_known_hosts_name - under which name a host is looked up and written: lower-cased, with the
 * port where it is not 22. An alias (HostKeyAlias) takes no port. false: it is too long */
bool ssh_known_hosts_name(const char *host, uint16_t port, const char *alias,
                          char ret[SSH_KNOWN_NAME_MAX]);

/* ssh_known_hosts_begin - name comes from ssh_known_hosts_name */
void ssh_known_hosts_begin(struct ssh_known_hosts *known, const char *name, const uint8_t *key,
                           size_t key_size);

/* ssh_known_hosts_read - one file's bytes; file is its name and stays valid until the verdict */
void ssh_known_hosts_read(struct ssh_known_hosts *known, const char *file, const char *bytes,
                          size_t size);

enum ssh_known ssh_known_hosts_verdict(const struct ssh_known_hosts *known);

/* ssh_known_hosts_line - a line for this name and key, with its newline; the caller's. salt NULL:
 * the name stands there as it is, else hashed. NULL: SHA-1 is not to be had */
char *ssh_known_hosts_line(const char *name, const uint8_t *key, size_t key_size,
                           const uint8_t salt[SSH_SHA1_BYTES]);

/* ssh_blob_type - the type of a key's blob, for people in *ret_text ("ED25519"); NULL is fine */
enum ssh_key_type ssh_blob_type(const uint8_t *blob, size_t size, const char **ret_text);

/* ssh_blob_word - the first string of a blob, its type's name on the wire; false: no blob.
 * *ret is borrowed and not terminated */
bool ssh_blob_word(const uint8_t *blob, size_t size, const char **ret, size_t *ret_length);
