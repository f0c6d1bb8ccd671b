/* SPDX-License-Identifier: Apache-2.0 */
/* dev_state.h - the folder that a dev cluster keeps its state in */
#pragma once

#include <stdbool.h>

struct edl_error;

struct dev_state {
    char *path;     /* absolute, owned */
    bool temporary; /* ours to remove */
    int lock_fd;    /* no two clusters in one folder; -1: none */
};

/* dev_state_open - given NULL: a fresh folder below $TMPDIR or /tmp; else that one, made when
 * absent Makes DIR, DIR/scheduler and DIR/output. -EBUSY: another cluster lives in it. */
int dev_state_open(const char *given, struct dev_state *ret, struct edl_error *error);

/* dev_state_close - removes a temporary folder unless keep */
void dev_state_close(struct dev_state *state, bool keep);

/* dev_state_remove_tree - follows no link and leaves no file system; 0 or -errno of the first
 * failure */
int dev_state_remove_tree(const char *path);

/* dev_state_folder - makes DIR/name; new string with its path */
int dev_state_folder(const struct dev_state *state, const char *name, char **ret,
                     struct edl_error *error);
