/* SPDX-License-Identifier: Apache-2.0 */
/* ssh_wire.h - the two kinds of values that ssh's keys and its agent's messages are made of
 *
 * RFC 4251, section 5: numbers of four bytes, most significant first; strings behind their length.
 * Used by: ssh_key_file.c, ssh_agent_frame.c. Tests: theirs. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Bytes that are still to be read; borrowed. */
struct ssh_wire {
    const uint8_t *at;
    size_t left;
};

/* ssh_wire_u32 - false: too few bytes; wire is untouched then, here and below */
static inline bool ssh_wire_u32(struct ssh_wire *wire, uint32_t *ret)
{
    if (wire->left < 4)
        return false;
    *ret = (uint32_t)wire->at[0] << 24 | (uint32_t)wire->at[1] << 16 | (uint32_t)wire->at[2] << 8 |
           wire->at[3];
    wire->at += 4;
    wire->left -= 4;
    return true;
}

/* ssh_wire_string - ret NULL: it is skipped */
static inline bool ssh_wire_string(struct ssh_wire *wire, struct ssh_wire *ret)
{
    struct ssh_wire rest = *wire;
    uint32_t length;

    if (!ssh_wire_u32(&rest, &length) || length > rest.left)
        return false;
    if (ret != NULL)
        *ret = (struct ssh_wire){ rest.at, length };
    wire->at = rest.at + length;
    wire->left = rest.left - length;
    return true;
}

static inline bool ssh_wire_is(const struct ssh_wire *string, const char *text)
{
    return string->left == strlen(text) && memcmp(string->at, text, string->left) == 0;
}

/* ssh_wire_put_u32, ssh_wire_put_string - write, and return where the next value goes */
static inline uint8_t *ssh_wire_put_u32(uint8_t *to, uint32_t value)
{
    to[0] = (uint8_t)(value >> 24);
    to[1] = (uint8_t)(value >> 16);
    to[2] = (uint8_t)(value >> 8);
    to[3] = (uint8_t)value;
    return to + 4;
}

static inline uint8_t *ssh_wire_put_string(uint8_t *to, const void *bytes, size_t size)
{
    to = ssh_wire_put_u32(to, (uint32_t)size);
    if (size > 0)
        memcpy(to, bytes, size);
    return to + size;
}
