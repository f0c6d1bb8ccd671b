/* SPDX-License-Identifier: Apache-2.0 */
/* child.h - starts the program of a process: session, folder, environment, log
 *
 * Two steps, so that the supervisor's record is on disk before the program runs: child_fork makes a
 * child that waits, child_release lets it execute. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

struct edl_error;

struct child_spec {
    char **argv;           /* borrowed, NULL-terminated */
    char **environment;    /* borrowed, NULL-terminated, "NAME=value"; nothing else is passed on */
    const char *workspace; /* borrowed; absolute */
    int log_fd;            /* borrowed; standard output and error */
};

struct child {
    pid_t pid;
    int pidfd;     /* owned */
    int go_fd;     /* owned; one byte lets it go on, closing it ends it */
    int status_fd; /* owned; a struct child_failure comes when it could not execute */
};

/* child_fork - the child exists and waits; on failure nothing is left */
int child_fork(const struct child_spec *spec, struct child *ret, struct edl_error *error);

/* child_release - it executes now */
void child_release(struct child *child);

/* child_failure - after the child's end: why it never ran the program; 0 when it did
 * Else negative with error set ("cannot execute train: No such file or directory"). */
int child_failure(struct child *child, const struct child_spec *spec, struct edl_error *error);

void child_close(struct child *child);
