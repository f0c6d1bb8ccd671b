/* SPDX-License-Identifier: Apache-2.0 */
/* group_frame.h - the head of each message between two ranks of a group; pure
 *
 *     dialler                                acceptor (the lower rank)
 *     HELLO {its state, its nonce, its signature}  ->
 *                               <-   CHALLENGE {its state, its nonce, its proof, its signature}
 *     PROOF                             ->
 *     then STATE, REDUCE, GATHER and the rest, both ways
 *
 * A link is of one generation, and messages on their way end with it. All numbers are
 * little-endian. A receiver knows the bytes of a message by its kind, and by the sizes that both
 * ends compared in their hellos. So a frame never makes anybody allocate. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libedl/group_plan.h"
#include "shared/job_claim.h"
#include "shared/job_secret.h"

enum { GROUP_FRAME_BYTES = 128, GROUP_VERSION = 3 };

/* A signature as it is sent: what must be the same in all ranks, and zeros behind it. */
enum { GROUP_SIGNATURE_BYTES = 1024 };

#define GROUP_FRAME_KIND_MAP(XX)                                                                   \
    XX(HELLO, 1)     /* to a lower rank; nonce, signature */                                       \
    XX(CHALLENGE, 2) /* its answer; nonce, proof, signature */                                     \
    XX(PROOF, 3)                                                                                   \
    XX(STATE, 4)   /* all of it, from the donor of the plan */                                     \
    XX(REDUCE, 5)  /* the sender's gradient of the receiver's slice */                             \
    XX(GATHER, 6)  /* the sum of the sender's slice */                                             \
    XX(BYTES, 7)   /* of a collective of the program */                                            \
    XX(FOLLOW, 8)  /* as HELLO, of one who is no member yet */                                     \
    XX(SUM, 9)     /* of a whole step, to a follower */                                            \
    XX(END, 10)    /* to a follower: the generation ends behind this step */                       \
    XX(WINDOW, 11) /* whether the sender sees the window of the receiver */                        \
    XX(NODE, 12)   /* to all: whether the sender and all others of its machine see each other */

enum group_frame_kind {
#define XX(name, value) GROUP_##name = (value),
    GROUP_FRAME_KIND_MAP(XX)
#undef XX
};

/* How the numbers of a part come. */
enum group_form { GROUP_NOTHING, GROUP_F32, GROUP_I64, GROUP_FORMS };

enum {
    GROUP_LEAVES = 1 << 0,
    GROUP_EXACT = 1 << 1,
    GROUP_SHARED = 1 << 2,
    GROUP_FLAGS = GROUP_LEAVES | GROUP_EXACT | GROUP_SHARED
};

struct group_frame {
    enum group_frame_kind kind;
    uint64_t job, generation, step;
    uint64_t bytes; /* behind the frame */
    uint32_t rank;  /* of the sender */
    uint32_t flags; /* GROUP_LEAVES: all leave behind this step; GROUP_EXACT of a hello;
                       GROUP_SHARED: no bytes follow, they lie in the window of the sender */
    uint32_t count; /* of micro-batches in a sum; of a collective: the number of it in the step */
    enum group_form form;
    uint64_t values;          /* of a hello: of the gradient; all ranks have the same */
    uint64_t state_bytes;     /* of a hello */
    uint64_t machine, window; /* of a hello: where the sender runs (0: it shares nothing), and the
                                 name of its window there */
    struct group_hello hello;
};

void group_frame_encode(const struct group_frame *frame, uint8_t ret[GROUP_FRAME_BYTES]);

struct edl_error;

/* group_frame_decode - -EBADMSG: it is none; -EPROTO: of another version, or has a value that
 * cannot be */
int group_frame_decode(const uint8_t bytes[GROUP_FRAME_BYTES], struct group_frame *ret,
                       struct edl_error *error);

/* group_frame_bytes - how many bytes may be behind a frame of the beginning of a link, for which
 * nothing has been compared yet; 0 for other kinds */
uint64_t group_frame_greeting_bytes(enum group_frame_kind kind);

const char *group_frame_kind_to_string(enum group_frame_kind kind);
