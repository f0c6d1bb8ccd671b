/* SPDX-License-Identifier: Apache-2.0 */
/* ssh_agent_frame.h - the messages of ssh-agent that are wanted here; pure
 *
 * Protocol: draft-miller-ssh-agent. A message is a length, a type and the data of that type. Used
 * by: ssh_agent.c, ssh_libssh2_login.c. Tests: tests/unit/test_ssh_agent.c,
 * tests/fuzz/fuzz_ssh_agent.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/ssh/ssh_wire.h"

#define SSH_AGENT_MESSAGE_MAX (256 * 1024) /* OpenSSH's own bound */
#define SSH_AGENT_KEYS_MAX 64              /* more are left out */
#define SSH_AGENT_RSA_SHA512 4             /* flag: an RSA key signs with SHA-512 */

/* ssh_agent_frame_list, ssh_agent_frame_sign - whole messages; the caller's */
uint8_t *ssh_agent_frame_list(size_t *ret_size);
uint8_t *ssh_agent_frame_sign(const uint8_t *blob, size_t blob_size, const uint8_t *data,
                              size_t data_size, uint32_t flags, size_t *ret_size);

/* ssh_agent_frame_size - of a whole message, as its first four bytes tell. 0: they are not all
 * here. SIZE_MAX: it is longer than any agent's */
size_t ssh_agent_frame_size(const uint8_t *bytes, size_t size);

/* ssh_agent_frame_keys - the blobs of an answer to list, borrowed from it; false: it is none */
bool ssh_agent_frame_keys(const uint8_t *message, size_t size,
                          struct ssh_wire ret[SSH_AGENT_KEYS_MAX], unsigned int *ret_n);

/* ssh_agent_frame_signature - the signature itself, without its algorithm's name; borrowed. false:
 * the agent refused, or it is no answer to sign */
bool ssh_agent_frame_signature(const uint8_t *message, size_t size, struct ssh_wire *ret);

/* ssh_agent_frame_rsa512 - an RSA key's blob under the name rsa-sha2-512; the caller's. NULL: it is
 * no RSA key */
uint8_t *ssh_agent_frame_rsa512(const uint8_t *blob, size_t size, size_t *ret_size);
