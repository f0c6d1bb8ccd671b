/* SPDX-License-Identifier: Apache-2.0 */
/* rounds.h - synchronous SGD: rounds of gradients, by trainers that come and go
 *
 * A trainer that enters is a member until it leaves or its connection ends. Each member owes one
 * push of each round, from the one at which it entered. A round is over when no member owes a push
 * of it: then the sum of all that came is one update. So a trainer that dies stalls nobody, and one
 * that has no data now leaves for a while.
 *
 * Several servers have the same rounds without knowing each other. A trainer that enters hears from
 * each server which round is now there, and no server can go beyond it without that trainer. So it
 * enters once more at the latest of these rounds, and owes nothing of those before.
 *
 * Pure. Source of the meaning: the barriers of ParameterServer2 in PaddlePaddle 0.11, which wait
 * for a fixed number of trainers. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rounds_member {
    uint32_t trainer;
    uint64_t owes; /* its next push is of this round */
    bool pushed;   /* of the present round */
    bool leaves;   /* behind that push */
};

struct rounds {
    uint64_t now;
    struct rounds_member *members; /* by trainer; owned */
    size_t n_members, room;
    uint32_t *met; /* trainers that ever entered, as long as some are awaited; owned */
    uint32_t n_met;
    uint32_t awaited; /* no round is over before so many trainers have entered; 0: none are */
};

/* rounds_await - no round is over before so many trainers have entered once */
void rounds_await(struct rounds *rounds, uint32_t trainers);
void rounds_clear(struct rounds *rounds);

/* rounds_enter - a member from now on; it owes pushes from that round on, or from the present one
 * where that is later. One that is a member already has pushed nothing of the present round. */
void rounds_enter(struct rounds *rounds, uint32_t trainer, uint64_t from);

/* rounds_push - leaves: it owes no other one. EDL_ESTALE: it is no member, or owes a push of
 * another round */
int rounds_push(struct rounds *rounds, uint32_t trainer, uint64_t round, bool leaves);

/* rounds_leave - what it has pushed of the present round does not count; no member: nothing */
void rounds_leave(struct rounds *rounds, uint32_t trainer);

/* rounds_is_over - somebody is a member, and nobody owes a push of the present round */
bool rounds_is_over(const struct rounds *rounds);

/* rounds_next - of one that is over: the next round of which a member owes a push is there */
void rounds_next(struct rounds *rounds);
