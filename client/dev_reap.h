/* SPDX-License-Identifier: Apache-2.0 */
/* dev_reap.h - no process is left when `edl dev` ends
 *
 * As a subreaper we become the parent of every descendant whose own parent ends, also of one that
 * forked twice to get away. Children that we had before (a shell that exec'd us may leave some) are
 * spared. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define DEV_SPARED_MAX 64

struct dev_reaper {
    pid_t spared[DEV_SPARED_MAX];
    size_t n_spared;
};

/* dev_reaper_init - becomes a subreaper; what is our child now is spared. -errno; -E2BIG: too many
 * to spare */
int dev_reaper_init(struct dev_reaper *reaper);

/* dev_reaper_kill_all - SIGKILL to child after child until none is left but the spared
 * SIGCHLD must be blocked. Returns how many were killed, or -ETIMEDOUT when some survive
 * timeout_us. */
int dev_reaper_kill_all(struct dev_reaper *reaper, uint64_t timeout_us);

/* dev_reaper_forget - to be called with every pid reaped elsewhere */
void dev_reaper_forget(struct dev_reaper *reaper, pid_t pid);
