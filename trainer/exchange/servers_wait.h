/* SPDX-License-Identifier: Apache-2.0 */
/* servers_wait.h - tries something at the parameter servers until it succeeds, or its time is over:
 * to connect to them, to find that they have values */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct edl_error;

struct servers_wait {
    int (*attempt)(void *userdata, struct edl_error *error); /* sets error when it fails */
    bool (*may_come)(int code); /* whether another try may end otherwise */
    void *userdata;
    const char *what; /* "the parameter servers": what the log says it waits for */
    uint64_t wait_us;
    const volatile sig_atomic_t *stop;
};

/* servers_wait - blocks; tells of the wait in the log, now and then
 * Returns what the last try gave, with its error; *ret_late: that was one more try when the time
 * was over. -EINTR: told to stop */
int servers_wait(const struct servers_wait *wait, bool *ret_late, struct edl_error *error);
