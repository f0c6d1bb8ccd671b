/* SPDX-License-Identifier: Apache-2.0 */
/* ps_client_internal.h - a trainer's connections to its servers, from inside */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trainer/exchange/ps_client.h"
#include "trainer/exchange/ps_link.h"
#include "trainer/parameters/shard.h"

/* What a server's reply begins with. */
struct ps_counts {
    uint64_t updates, samples, round;
};
_Static_assert(sizeof(struct ps_counts) == WIRE_PUSH_PULL_OK_HEAD_BYTES, "as it lies in memory");

/* What one server gets and gives of the sparse parameters in one exchange: packed for the wire. */
struct packed {
    uint8_t *out; /* ids and rows pushed, ids pulled */
    size_t out_capacity;
    float *in; /* rows pulled */
    size_t in_capacity;
    struct ps_counts counts; /* of its last reply */
};

/* Of one server, in a job. */
struct ps_held {
    struct wire_past past; /* the values of it that the trainer has; trained: not used */
    uint64_t life;         /* of the server that is connected */
    enum wire_wish wish;   /* its last one */
};

struct ps_client {
    struct ps_client_config config;
    struct shard_shape *shapes; /* [n_servers] */
    struct ps_link *links;
    struct packed *packed;
    struct ps_held *held;
    bool *rows_held[DECLARATION_PARAMS_MAX]; /* rows of a sparse parameter that were ever pulled;
                                                NULL: it is dense, or nobody asks for them */
    bool trained;                            /* its job, as the trainer was told */
    bool connected;
    bool entered;       /* synchronous SGD: it owes a push of the round */
    uint64_t round;     /* that it owes */
    bool unproved;      /* the last try to connect failed by a proof */
    const char *lost;   /* name of a server that began again, NULL: none */
    const char *awaits; /* of one that has no values yet, NULL: none */
};

/* ps_client_ask_all - the same kind of small request to every server, whose body lies in the head
 * of its link; replies[s] are reply_bytes each, if any */
int ps_client_ask_all(struct ps_client *client, enum wire_type type, size_t head_bytes,
                      enum wire_type expected, uint8_t *replies, size_t reply_bytes,
                      struct edl_error *error);

/* ps_client_prepare - starts the exchange with one server; flags: more than follow from it, and the
 * round of those that name one */
int ps_client_prepare(struct ps_client *client, uint32_t server, const struct exchange *exchange,
                      uint32_t flags, uint64_t round, struct edl_error *error);

/* ps_client_past_open, ps_client_past_close - with the client
 * ps_client_past_tell - what it has, and so what each server wishes
 * ps_client_past_note - an exchange was answered: what it has since then */
void ps_client_past_open(struct ps_client *client);
void ps_client_past_close(struct ps_client *client);
int ps_client_past_tell(struct ps_client *client, struct edl_error *error);
void ps_client_past_note(struct ps_client *client, const struct exchange *exchange);

/* ps_client_disconnect - from all servers */
void ps_client_disconnect(struct ps_client *client);
