/* SPDX-License-Identifier: Apache-2.0 */
/* handshake.h - what a trainer and a parameter server prove to each other; pure
 *
 *     trainer                                       server
 *     HELLO {who it is, its nonce}           ->
 *                                            <-     CHALLENGE {who it is, its nonce, its proof}
 *     PROOF                                  ->
 *                                            <-     HELLO_OK
 *
 * The server proves itself first, so a trainer gives nothing to a program that took over the
 * port of a server that is gone. Each proof answers a nonce of the other end: one that was
 * overheard is good for no other connection. The roles differ, so neither end can send a proof
 * back as its own. */
#pragma once

#include "shared/job_secret.h"

struct wire_challenge;
struct wire_hello;

/* handshake_server_claim, handshake_trainer_claim - what the proof of either end is about; borrows
 * the nonces of both. Of the challenge all but the proof counts. */
struct job_claim handshake_server_claim(const struct wire_hello *hello,
                                        const struct wire_challenge *challenge);
struct job_claim handshake_trainer_claim(const struct wire_hello *hello,
                                         const struct wire_challenge *challenge);
