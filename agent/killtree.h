/* SPDX-License-Identifier: Apache-2.0 */
/* killtree.h - the end of everything below a child subreaper
 *
 * The caller has PR_SET_CHILD_SUBREAPER set, one thread, and reaps through these functions only. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The one child whose status matters. */
struct killtree_main {
    pid_t pid;
    bool reaped;
    int status; /* as from waitpid, when reaped */
    bool killing;
    uint64_t orphans; /* others than it that killtree_kill_all had to kill */
};

/* killtree_reap - reaps what is dead already, without blocking
 * Returns 1 while children are left, 0 when there are none. */
int killtree_reap(struct killtree_main *main_child);

/* killtree_signal_children - to all direct children, which are also the orphans below us */
void killtree_signal_children(int signal_number);

/* killtree_kill_all - SIGKILL until nothing is left; blocks (only on processes that die) */
void killtree_kill_all(struct killtree_main *main_child);
