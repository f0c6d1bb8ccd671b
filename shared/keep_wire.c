/* SPDX-License-Identifier: Apache-2.0 */
/* keep_wire.c - the datagrams by which an agent has its lease kept (see keep_wire.h) */
#include "shared/keep_wire.h"

#include <errno.h>
#include <string.h>

#include "shared/job_secret.h"
#include "shared/macro.h"

_Static_assert(KEEP_KEY_BYTES == JOB_SECRET_BYTES, "both are keys of HMAC-SHA-256");

#define LABEL_BYTES 8
#define SIGNED_BYTES (LABEL_BYTES + 4 + 4 + 8)
_Static_assert(SIGNED_BYTES + JOB_PROOF_BYTES == KEEP_DATAGRAM_BYTES, "label, numbers, proof");

/* Another encoding takes other labels. */
static const char labels[][LABEL_BYTES + 1] = { [KEEP_ASK] = "EDLask 1", [KEEP_KEPT] = "EDLkept1" };
static const char key_label[] = "EDL key of a lease 1";

static uint8_t *put(uint8_t *out, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        *out++ = (uint8_t)(value >> 8 * i);
    return out;
}

static uint64_t get(const uint8_t *in, size_t bytes)
{
    uint64_t value = 0;

    for (size_t i = bytes; i > 0; i--)
        value = value << 8 | in[i - 1];
    return value;
}

int keep_key_make(uint8_t ret[KEEP_KEY_BYTES], struct edl_error *error)
{
    return job_secret_make(ret, error);
}

int keep_key_of(const uint8_t master[KEEP_KEY_BYTES], uint32_t slot, uint32_t generation,
                uint8_t ret[KEEP_KEY_BYTES])
{
    uint8_t message[sizeof key_label + 8];
    uint8_t *out = message + sizeof key_label;

    memcpy(message, key_label, sizeof key_label);
    (void)put(put(out, slot, 4), generation, 4);
    return job_hmac(master, message, sizeof message, ret, NULL);
}

int keep_write(enum keep_kind kind, const struct keep_datagram *datagram,
               const uint8_t key[KEEP_KEY_BYTES], uint8_t ret[KEEP_DATAGRAM_BYTES])
{
    uint8_t *out = ret + LABEL_BYTES;

    memcpy(ret, labels[kind], LABEL_BYTES);
    out = put(out, datagram->slot, 4);
    out = put(out, datagram->generation, 4);
    out = put(out, datagram->sent_us, 8);
    return job_hmac(key, ret, SIGNED_BYTES, out, NULL);
}

bool keep_read(enum keep_kind kind, const uint8_t *bytes, size_t n, struct keep_datagram *ret)
{
    if (n != KEEP_DATAGRAM_BYTES || memcmp(bytes, labels[kind], LABEL_BYTES) != 0)
        return false;
    ret->slot = (uint32_t)get(bytes + LABEL_BYTES, 4);
    ret->generation = (uint32_t)get(bytes + LABEL_BYTES + 4, 4);
    ret->sent_us = get(bytes + LABEL_BYTES + 8, 8);
    return true;
}

bool keep_is_true(const uint8_t bytes[KEEP_DATAGRAM_BYTES], const uint8_t key[KEEP_KEY_BYTES])
{
    uint8_t expected[JOB_PROOF_BYTES];
    uint8_t differs = 0;

    if (job_hmac(key, bytes, SIGNED_BYTES, expected, NULL) < 0)
        return false;
    for (size_t i = 0; i < sizeof expected; i++)
        differs |= expected[i] ^ bytes[SIGNED_BYTES + i];
    return differs == 0;
}
