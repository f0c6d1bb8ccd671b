/* SPDX-License-Identifier: Apache-2.0 */
/* killtree.h - the end of everything below a child subreaper: asked for once, then forced
 *
 * The caller has PR_SET_CHILD_SUBREAPER set, one thread, and reaps through these functions only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct killtree_asked;

/* The one child whose status matters, and what else below us was asked to end. */
struct killtree_main {
    pid_t pid;
    bool reaped;
    int status; /* as from waitpid, when reaped */
    bool killing;
    uint64_t orphans; /* others than it that killtree_kill_all had to kill */
    /* killtree_ask keeps these; killtree_done frees them */
    struct killtree_asked *asked; /* but for the main child */
    size_t n_asked;
    uint64_t group_asked_ticks; /* since boot, before that group was asked; 0: it was not */
};

/* killtree_reap - reaps what is dead already, without blocking
 * Returns 1 while children are left, 0 when there are none. */
int killtree_reap(struct killtree_main *main_child);

/* killtree_ask - SIGTERM to everything below us, in whatever session it is, and SIGCONT, so that a
 * stopped one can act on it. Nobody is asked twice: a later call asks those who were born since.
 * pidfd: of the main child, not used once that is reaped. */
void killtree_ask(struct killtree_main *main_child, int pidfd);

/* killtree_kill_all - SIGKILL until nothing is left; blocks (only on processes that die) */
void killtree_kill_all(struct killtree_main *main_child);

/* killtree_find - one below us, dead ones aside, of which is_it is true; 0: none, or -errno when
 * /proc cannot be read */
int killtree_find(bool (*is_it)(pid_t pid, const void *userdata), const void *userdata);

/* killtree_done - frees what killtree_ask has kept */
void killtree_done(struct killtree_main *main_child);
