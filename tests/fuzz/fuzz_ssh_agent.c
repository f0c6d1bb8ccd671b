/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_ssh_agent.c - any bytes as an agent's answer; its parts lie inside of it */
#include <stdlib.h>

#include "client/ssh/ssh_agent_frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void inside(const struct ssh_wire *piece, const uint8_t *data, size_t size)
{
    if (piece->at < data || piece->left > size || piece->at + piece->left > data + size)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ssh_wire keys[SSH_AGENT_KEYS_MAX], signature;
    unsigned int n = 0;
    size_t renamed_size;
    uint8_t *renamed;

    if (ssh_agent_frame_size(data, size) == size && ssh_agent_frame_keys(data, size, keys, &n) &&
        n > SSH_AGENT_KEYS_MAX)
        abort();
    for (unsigned int i = 0; i < n; i++)
        inside(&keys[i], data, size);
    if (ssh_agent_frame_signature(data, size, &signature))
        inside(&signature, data, size);
    renamed = ssh_agent_frame_rsa512(data, size, &renamed_size);
    if (renamed != NULL && renamed_size != size + strlen("rsa-sha2-512") - strlen("ssh-rsa"))
        abort();
    free(renamed);
    return 0;
}
