/* SPDX-License-Identifier: Apache-2.0 */
/* keeper_table.h - what edl-scheduler and edl-lease-keeper share: a page of memory, and descriptors
 *
 * The table is an unnamed file that both have mapped; the keeper is started with it. */
#pragma once

#include <stdint.h>

#include "scheduler/listen_spec.h"
#include "shared/keep_wire.h"

#define KEEPER_SLOTS 16384

/* What the keeper's descriptors are called; from FIRST_SOCKET on as many as its argument says. */
enum {
    KEEPER_FD_ALIVE = 3,
    KEEPER_FD_TABLE,
    KEEPER_FD_FIRST_SOCKET,
    KEEPER_FD_END = KEEPER_FD_FIRST_SOCKET + LISTEN_MAX
};

struct keeper_table {
    uint8_t master[KEEP_KEY_BYTES];       /* keep_key_of */
    _Atomic uint64_t words[KEEPER_SLOTS]; /* core/kept_word.h */
};
