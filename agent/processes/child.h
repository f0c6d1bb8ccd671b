/* SPDX-License-Identifier: Apache-2.0 */
/* child.h - starts the program of a process: session, folder, environment, log
 *
 * The child itself writes the supervisor's record before it executes the program: nobody has to
 * wait for anybody. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "shared/start_fault.h"

struct account;
struct edl_error;

struct child_spec {
    char **argv;           /* borrowed, NULL-terminated */
    char **environment;    /* borrowed, NULL-terminated, "NAME=value"; nothing else is passed on */
    const char *workspace; /* borrowed; absolute */
    int input_fd;          /* borrowed; standard input; -1: none (/dev/null) */
    int output_fd;         /* borrowed; standard output and error */
    mode_t umask;
    const struct account *account; /* borrowed; whose process it is; NULL: ours */
    /* borrowed; folders that another account's does not see (hidden.h); NULL: nothing is hidden */
    const char *const *hidden;
    const char *shm; /* borrowed; the folder that is its /dev/shm; NULL: the machine's */
    /* boot time; killed when its program does not run by then; 0: no limit. Only where child_fork
     * waits for that, which it need not with a group. */
    uint64_t start_by_us;
    int group_fd; /* borrowed; folder of the control group that it is made in; -1: ours */
    /* both run in the child before the program does; a negative result ends it. The second one is
     * the last that it does with our rights: behind it, it has its share of the cores, which may be
     * next to none, so that it holds no lock then that others wait for.
     * in_group: it is in that group; else it has to enter it, which takes the kernel much longer */
    int (*announce)(void *userdata, struct edl_error *error);
    int (*confine)(bool in_group, void *userdata);
    void *userdata; /* of both; borrowed */
};

struct child {
    pid_t pid;
    int pidfd;     /* owned */
    int status_fd; /* owned; a struct child_failure comes when it could not execute */
    /* after child_failure: */
    bool no_workspace; /* it could not be entered there, or not in time */
    /* why it did not get as far as its program; of a workspace that is not there: as if the node
     * had made it, which the caller knows */
    enum start_fault fault;
    bool late; /* start_by_us was over before its program ran: it was killed */
};

/* child_fork - without a group it returns when the program runs, or never will; on failure nothing
 * is left */
int child_fork(const struct child_spec *spec, struct child *ret, struct edl_error *error);

/* child_failure - after the child's end: why it never ran the program; 0 when it did
 * Else negative with error set ("cannot execute train: No such file or directory"). */
int child_failure(struct child *child, const struct child_spec *spec, struct edl_error *error);

/* child_be_killable - in the child: a unit's supervisor is not killed when memory runs out
 * (unit_plan.c); what it starts is. Where nothing can be exempt (in a container without
 * CAP_SYS_RESOURCE, where systemd goes on without) it goes first at least. */
void child_be_killable(void);

void child_close(struct child *child);
