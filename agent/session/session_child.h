/* SPDX-License-Identifier: Apache-2.0 */
/* session_child.h - starts a program inside a process: its groups, mounts, folder, account and
 * limits, and no right more
 *
 * Used by: session_program.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct edl_error;
struct session_target;

struct session_start {
    const struct session_target *target; /* borrowed */
    const char *program;                 /* a name is looked for in the PATH of the environment */
    char **argv;                         /* borrowed */
    char **environment;                  /* borrowed */
    int fds[3];                          /* borrowed; its standard descriptors */
    bool terminal;                       /* fds[0] is one: it controls the program's session */
};

struct session_child {
    pid_t pid;
    int pidfd;     /* owned */
    int status_fd; /* owned; readable: session_child_failure knows */
};

/* session_child_start - 0, or negative with error: nothing is left */
int session_child_start(const struct session_start *start, struct session_child *ret,
                        struct edl_error *error);

/* session_child_failure - after status_fd became readable: 0: the program runs; else negative with
 * error, and *ret_code is the status that a shell would give: 127 or 126 for a program that cannot
 * be executed, 255 else */
int session_child_failure(const struct session_child *child, const struct session_start *start,
                          int *ret_code, struct edl_error *error);
