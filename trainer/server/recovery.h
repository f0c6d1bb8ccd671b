/* SPDX-License-Identifier: Apache-2.0 */
/* recovery.h - a server of a job comes back: what it asks its trainers for, and what is lost
 *
 * A server that is started again has the values of its checkpoint, or none. Its trainers have the
 * values that they pulled last. So each of them tells, when it connects, from which life of the
 * server its values are and how many updates are in them. A server without a checkpoint asks for
 * the values with the most updates: of two trainers both may set theirs, the better ones last.
 * While nobody has set any, it serves none to a job that has been trained: its trainers wait.
 * Values without an update are as good as any, if the trainer that pulled them knows of no training
 * since: the server died before its first update. Then it asks the other trainers for the sparse
 * rows that nobody has brought yet, as a trainer has only rows that it pulled. A server with a
 * checkpoint asks for nothing. Optimizer states are not with the trainers: without a checkpoint
 * they begin anew.
 *
 * Either way it knows how many updates there were before, as far as a trainer has seen them, and so
 * how many are lost. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "trainer/wire/wire.h"

enum recovery_source { RECOVERED_START, RECOVERED_CHECKPOINT, RECOVERED_TRAINERS };

struct recovery {
    uint64_t life; /* of this server, not 0 */
    bool restored; /* there was a checkpoint, whatever was in it */
    enum recovery_source source;
    uint64_t base;    /* updates in the values that it began with */
    uint64_t seen;    /* the most that a trainer saw of an earlier life; 0: there was none */
    uint64_t dropped; /* updates of this life that better values replaced */
};

/* A table beside it, as far as that counts. */
struct recovery_now {
    uint64_t updates;
    bool awaits;           /* it has no values yet */
    uint64_t rows_missing; /* sparse rows that have start values since values were set */
};

/* recovery_init - restored: its values, with base updates, come from a checkpoint; one without
 * updates has start values, and is as good as none */
void recovery_init(struct recovery *recovery, uint64_t life, bool restored, uint64_t base);

/* recovery_meet - a trainer tells of its values; returns whether the server is to serve none before
 * they are set: its job was trained, and it has only start values */
bool recovery_meet(struct recovery *recovery, const struct wire_past *past,
                   const struct recovery_now *now);

/* recovery_wish - what it asks this trainer for */
enum wire_wish recovery_wish(const struct recovery *recovery, const struct wire_past *past,
                             const struct recovery_now *now);

/* recovery_seeded - a trainer has set its values, instead of what was there after so many updates
 */
void recovery_seeded(struct recovery *recovery, const struct wire_past *past,
                     uint64_t updates_replaced);

/* recovery_lost - updates that are in no values any more; *ret_of: of so many */
uint64_t recovery_lost(const struct recovery *recovery, uint64_t *ret_of);
