/* SPDX-License-Identifier: Apache-2.0 */
/* procfs.h - what /proc says about processes, in one place
 *
 * Numbers read here say what was true a moment ago. A caller that wants to signal holds a pidfd and
 * asks again after opening it. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define BOOT_ID_SIZE 40

struct procfs_stat {
    pid_t pid;
    pid_t ppid;
    pid_t pgrp;           /* its process group */
    char state;           /* 'Z' is a zombie */
    uint64_t start_ticks; /* since boot; with the boot id it tells a recycled pid */
    uint64_t cpu_ticks;   /* user and system, with that of children waited for */
    uint64_t resident_bytes;
    uint64_t threads;
};

/* procfs_stat - one process; -ENOENT or -ESRCH when it is gone, -EINVAL when unreadable */
int procfs_stat(pid_t pid, struct procfs_stat *ret);

/* procfs_parent - of one process; negative as procfs_stat. Unlike that it never waits for a process
 * that executes just now. */
pid_t procfs_parent(pid_t pid);

/* procfs_started_us - boot time at which it was forked, by whole ticks; 0: it is gone */
uint64_t procfs_started_us(pid_t pid);

/* procfs_list - all processes of the machine, in no order; *ret is freed by the caller */
int procfs_list(struct procfs_stat **ret, size_t *ret_n);

/* procfs_open_verified - pidfd of the process that has this pid and start time
 * The start time is read again once the pidfd is held: it cannot be somebody else's after that.
 * Returns the pidfd, or -ESRCH when it is gone or another process has its number. */
int procfs_open_verified(pid_t pid, uint64_t start_ticks);
