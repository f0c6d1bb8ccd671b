/* SPDX-License-Identifier: Apache-2.0 */
/* handshake.c - what a trainer and a parameter server prove to each other */
#include "trainer/wire/handshake.h"

#include "trainer/wire/wire.h"

#define PROTOCOL "edl-pserver"

struct job_claim handshake_server_claim(const struct wire_hello *hello,
                                        const struct wire_challenge *challenge)
{
    return (struct job_claim){ .protocol = PROTOCOL,
                               .job_id = hello->job_id,
                               .role = "pserver",
                               .index = challenge->shard,
                               .incarnation = challenge->incarnation,
                               .nonce = hello->nonce,
                               .peer_nonce = challenge->nonce };
}

struct job_claim handshake_trainer_claim(const struct wire_hello *hello,
                                         const struct wire_challenge *challenge)
{
    return (struct job_claim){ .protocol = PROTOCOL,
                               .job_id = hello->job_id,
                               .role = "trainer",
                               .index = hello->trainer,
                               .incarnation = hello->incarnation,
                               .nonce = challenge->nonce,
                               .peer_nonce = hello->nonce };
}
