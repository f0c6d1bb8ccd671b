/* SPDX-License-Identifier: Apache-2.0 */
/* keeper_table.h - what edl-scheduler and edl-lease-keeper share: a page of memory, and a call
 *
 *     scheduler                          keeper, at a SEQPACKET socket of the machine
 *        | -- connects ------------------> |
 *        | <---- KEEPER_READY ------------ |  it has served nobody
 *        | -- the table, UDP sockets ----> |  which it answers at from now on
 *        |            ...                  |
 *        | -- ends: the call is over       |  it answers on, KEEPER_ALONE_US at most
 *
 *     next scheduler                       |
 *        | -- connects ------------------> |
 *        | <---- KEEPER_ENDS ------------- |  its sockets are closed, it answers nobody any more
 *        | -- connects, to another one
 *
 * The table is an unnamed file that both have mapped. One caller is served at a time; the next one
 * waits until the call before it is over. */
#pragma once

#include <stdint.h>

#include "scheduler/listen_spec.h"
#include "shared/clock.h"
#include "shared/keep_wire.h"

#define KEEPER_SLOTS 16384
#define KEEPER_FD_LISTEN 3 /* where a keeper is called: it is started with this */

/* Without its scheduler it answers no question that it took later than so long after it saw that
 * one last. */
#define KEEPER_ALONE_US (60 * USEC_PER_SEC)

enum { KEEPER_READY = 'R', KEEPER_ENDS = 'E' };

/* The descriptors that come with the scheduler's only message, a byte. */
enum { KEEPER_PASSED_TABLE, KEEPER_PASSED_SOCKETS, KEEPER_PASSED_MAX = LISTEN_MAX + 1 };

struct keeper_table {
    uint8_t master[KEEP_KEY_BYTES];       /* keep_key_of */
    _Atomic uint64_t words[KEEPER_SLOTS]; /* core/kept_word.h */
};
