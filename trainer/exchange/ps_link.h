/* SPDX-License-Identifier: Apache-2.0 */
/* ps_link.h - one request and reply on one connection to a server, driven by poll */
#pragma once

#include "trainer/wire/wire.h"

#include <stdbool.h>
#include <signal.h>
#include <stdint.h>
#include <sys/uio.h>

struct edl_error;

#define PS_LINK_PARTS (DECLARATION_PARAMS_MAX + BLOCK_PLACEMENT_BLOCKS_MAX + 3)
#define PS_LINK_HEAD (WIRE_HEADER_BYTES + WIRE_DECLARE_MAX)

enum ps_link_state { PS_LINK_IDLE, PS_LINK_SENDING, PS_LINK_RECEIVING };

struct ps_link {
    int fd;
    char name[300]; /* "server 1 at 127.0.0.1:20001" */
    enum ps_link_state state;
    uint64_t sequence;
    enum wire_type expected;
    uint64_t expected_bytes;
    int low_water; /* of the socket: low_water.h */

    uint8_t head[PS_LINK_HEAD];
    struct iovec out[PS_LINK_PARTS];
    size_t n_out;
    uint8_t in_header[WIRE_HEADER_BYTES];
    size_t in_header_got;
    bool refused;
    struct wire_refused refusal;
    uint8_t refusal_bytes[WIRE_REFUSED_MAX];
    struct iovec in[PS_LINK_PARTS];
    size_t n_in;
};

/* ps_link_start - link->out[1..n_out) and link->in[0..n_in) are set by the caller; out[0] is built
 * here from type and head_bytes already in link->head + WIRE_HEADER_BYTES */
void ps_link_start(struct ps_link *link, enum wire_type type, size_t head_bytes,
                   enum wire_type expected);

/* A wait for other trainers. */
struct ps_wait {
    const volatile sig_atomic_t *stop; /* once it is set the wait takes some seconds at most */
    void (*on_wait)(void *userdata);   /* called each second meanwhile; NULL: nobody is */
    void *userdata;
};

/* ps_links_run - all started links until every reply has come
 * wait: NULL: nothing ends it before, and nobody hears of it. Returns 0,
 * -ETIMEDOUT after timeout_us without any progress, EDL_EUNREACHABLE when one breaks, -EINTR when
 * it is stopped, or the code with which a server refused. */
int ps_links_run(struct ps_link *links, uint32_t n, uint64_t timeout_us, const struct ps_wait *wait,
                 struct edl_error *error);
