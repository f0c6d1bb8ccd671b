/* SPDX-License-Identifier: Apache-2.0 */
/* ssh_keys.h - which of a user's keys are offered to a host, and in which order
 *
 * A host hangs up after six wrong keys, so at most four are offered: those of the agent that
 * IdentityFile names, then the agent's others, then files that need no passphrase.
 * Used by: ssh_libssh2_login.c. Tests: tests/integration/320-ssh.sh. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/ssh/ssh_config.h"
#include "client/ssh/ssh_wire.h"

#define SSH_KEYS_MAX 4
#define SSH_KEYS_PATH_MAX 1024

struct ssh_key {
    bool of_agent;
    bool renamed;  /* an RSA key of the agent, under the name rsa-sha2-512 */
    uint8_t *blob; /* owned; of the agent always, of a file where its format tells it */
    size_t blob_size;
    uint8_t *offered; /* what the host is told; owned; NULL: blob */
    size_t offered_size;
    char *path;     /* owned; NULL: of the agent only */
    char label[90]; /* "ED25519 SHA256:..." or the path, for people */
};

struct ssh_keys {
    struct ssh_key keys[SSH_KEYS_MAX];
    unsigned int n;
    unsigned int left_out;             /* because there are too many */
    char unfit[120];                   /* one that only the program ssh can use; "": none */
    char encrypted[SSH_KEYS_PATH_MAX]; /* a file with a passphrase that no agent has; "": none */
};

/* ssh_keys_choose - agent_keys: blobs, n_agent of them. renames: the server takes the name
 * rsa-sha2-512 for a key's type. Reads the files of IdentityFile. ret need not be cleared */
void ssh_keys_choose(const struct ssh_config *config, const struct ssh_wire *agent_keys,
                     unsigned int n_agent, bool renames, struct ssh_keys *ret);

void ssh_keys_clear(struct ssh_keys *keys);
