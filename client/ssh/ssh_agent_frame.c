/* SPDX-License-Identifier: Apache-2.0 */
/* ssh_agent_frame.c - the messages of ssh-agent that are wanted here; pure */
#include "client/ssh/ssh_agent_frame.h"

#include "shared/macro.h"

enum { ASK_LIST = 11, ANSWER_LIST = 12, ASK_SIGN = 13, ANSWER_SIGN = 14 };

uint8_t *ssh_agent_frame_list(size_t *ret_size)
{
    uint8_t *message = xcalloc(5, 1);

    *ssh_wire_put_u32(message, 1) = ASK_LIST;
    *ret_size = 5;
    return message;
}

uint8_t *ssh_agent_frame_sign(const uint8_t *blob, size_t blob_size, const uint8_t *data,
                              size_t data_size, uint32_t flags, size_t *ret_size)
{
    size_t size = 4 + 1 + 4 + blob_size + 4 + data_size + 4;
    uint8_t *message = xcalloc(size, 1), *to = ssh_wire_put_u32(message, (uint32_t)size - 4);

    *to++ = ASK_SIGN;
    to = ssh_wire_put_string(to, blob, blob_size);
    to = ssh_wire_put_string(to, data, data_size);
    (void)ssh_wire_put_u32(to, flags);
    *ret_size = size;
    return message;
}

size_t ssh_agent_frame_size(const uint8_t *bytes, size_t size)
{
    struct ssh_wire wire = { bytes, size };
    uint32_t length;

    if (!ssh_wire_u32(&wire, &length))
        return 0;
    return length == 0 || length > SSH_AGENT_MESSAGE_MAX ? SIZE_MAX : 4 + (size_t)length;
}

/* body - what follows the type of a whole message; false: it is of another type */
static bool body(const uint8_t *message, size_t size, uint8_t type, struct ssh_wire *ret)
{
    struct ssh_wire wire = { message, size };

    if (!ssh_wire_string(&wire, ret) || wire.left > 0 || ret->left < 1 || *ret->at != type)
        return false;
    ret->at++;
    ret->left--;
    return true;
}

bool ssh_agent_frame_keys(const uint8_t *message, size_t size,
                          struct ssh_wire ret[SSH_AGENT_KEYS_MAX], unsigned int *ret_n)
{
    struct ssh_wire wire;
    uint32_t n;
    unsigned int taken = 0;

    if (!body(message, size, ANSWER_LIST, &wire) || !ssh_wire_u32(&wire, &n))
        return false;
    for (uint32_t i = 0; i < n && taken < SSH_AGENT_KEYS_MAX; i++)
        if (!ssh_wire_string(&wire, &ret[taken++]) || !ssh_wire_string(&wire, NULL))
            return false;
    *ret_n = taken;
    return true;
}

bool ssh_agent_frame_signature(const uint8_t *message, size_t size, struct ssh_wire *ret)
{
    struct ssh_wire wire, signature;

    return body(message, size, ANSWER_SIGN, &wire) && ssh_wire_string(&wire, &signature) &&
           ssh_wire_string(&signature, NULL) && ssh_wire_string(&signature, ret) && ret->left > 0;
}

uint8_t *ssh_agent_frame_rsa512(const uint8_t *blob, size_t size, size_t *ret_size)
{
    static const char name[] = "rsa-sha2-512";
    struct ssh_wire wire = { blob, size }, type;
    uint8_t *renamed, *to;

    if (!ssh_wire_string(&wire, &type) || !ssh_wire_is(&type, "ssh-rsa"))
        return NULL;
    *ret_size = 4 + strlen(name) + wire.left;
    renamed = xcalloc(*ret_size, 1);
    to = ssh_wire_put_string(renamed, name, strlen(name));
    memcpy(to, wire.at, wire.left);
    return renamed;
}
