/* SPDX-License-Identifier: Apache-2.0 */
/* server_clock.h - the scheduler's elapsed time: stored, and held to what really goes by */
#pragma once

#include "shared/clock.h"
#include "shared/elapsed_clock.h"

struct sim;

struct server_clock {
    struct elapsed_clock elapsed;
    struct elapsed_record stored; /* on disk; boot_id "": none yet */
    struct instant looked;        /* at the last commit, */
    uint64_t looked_boot_us;      /* in the boot that began then */
};

/* server_begin_clock - it starts */
void server_begin_clock(struct sim *sim);

/* server_store_clock - with a commit, now and then; and checks that what goes by for the core is
 * what goes by */
void server_store_clock(struct sim *sim);
