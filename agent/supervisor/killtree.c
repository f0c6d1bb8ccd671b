/* SPDX-License-Identifier: Apache-2.0 */
/* killtree.c - the end of everything below a child subreaper
 *
 * Asked: the main child's process group gets its SIGTERM by one call, so that a fork cannot escape
 * it. All are listed before (procfs_tree.h): the others, in sessions and groups of their own, get
 * theirs one by one. A member of the group counts as asked wherever its handler takes it. Processes
 * that the program starts in answer, to save its state perhaps, are not on that list. Whether a
 * member of the group was born after the call is told by its start time, by whole ticks.
 *
 * Forced: a descendant whose parent dies becomes our child, also after setsid, a second fork or
 * daemon(3). So it is enough to kill direct children, reap one, and look again, until waitpid(2)
 * says ECHILD. The numbers of children cannot be recycled ones: only we reap them. Between rounds
 * we block in waitpid(2), so a child in uninterruptible sleep costs no CPU. */
#include "agent/supervisor/killtree.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/machine/procfs.h"
#include "agent/machine/procfs_tree.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/macro.h"

/* pidfd_send_signal(2): to the whole process group; Linux 6.9 */
#define SEND_TO_PROCESS_GROUP (1U << 2)

struct killtree_asked {
    pid_t pid;
    uint64_t start_ticks;
};

static void note(struct killtree_main *main_child, pid_t pid, int status)
{
    if (pid != main_child->pid || main_child->reaped) {
        main_child->orphans +=
            main_child->killing && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
        return;
    }
    main_child->reaped = true;
    main_child->status = status;
}

int killtree_reap(struct killtree_main *main_child)
{
    for (;;) {
        int status;
        pid_t pid = waitpid(-1, &status, WNOHANG | __WALL);

        if (pid > 0)
            note(main_child, pid, status);
        else if (pid == 0)
            return 1;
        else if (errno != EINTR)
            return 0;
    }
}

static void signal_children(int signal_number)
{
    _cleanup_free_ pid_t *children = NULL;
    size_t n = 0;

    if (procfs_children(&children, &n) < 0)
        return;
    for (size_t i = 0; i < n; i++)
        (void)kill(children[i], signal_number);
}

/* ---- to be asked, once each ---- */

static const int questions[] = { SIGTERM, SIGCONT };

static bool is_dead(const struct procfs_stat *process)
{
    return process->state == 'Z' || process->state == 'X';
}

int killtree_find(bool (*is_it)(pid_t pid, const void *userdata), const void *userdata)
{
    _cleanup_free_ struct procfs_stat *list = NULL;
    struct procfs_stat now;
    size_t n = 0;
    int r = procfs_tree(getpid(), &list, &n);

    if (r < 0)
        return r;
    for (size_t i = 0; i < n; i++)
        if (!is_dead(&list[i]) && is_it(list[i].pid, userdata) &&
            procfs_stat(list[i].pid, &now) == 0 && !is_dead(&now))
            return list[i].pid;
    return 0;
}

/* ask_group - the group has the child's number, which stays taken until we reap the child
 * The time is read first: a process that is born while we wait for a CPU is asked twice rather than
 * never. */
static void ask_group(struct killtree_main *main_child, int pidfd)
{
    main_child->group_asked_ticks =
        clock_read_us(CLOCK_BOOTTIME) * (uint64_t)sysconf(_SC_CLK_TCK) / USEC_PER_SEC;
    for (size_t i = 0; i < ELEMENTS(questions); i++)
        if (pidfd_send_signal(pidfd, questions[i], NULL, SEND_TO_PROCESS_GROUP) == -1 &&
            kill(-main_child->pid, questions[i]) == -1) /* no group yet: it has not executed */
            (void)pidfd_send_signal(pidfd, questions[i], NULL, 0);
}

static bool was_asked(const struct killtree_main *main_child, const struct procfs_stat *process)
{
    if (process->pid == main_child->pid && !main_child->reaped)
        return true;
    if (process->pgrp == main_child->pid && process->start_ticks <= main_child->group_asked_ticks)
        return true;
    for (size_t i = 0; i < main_child->n_asked; i++)
        if (main_child->asked[i].pid == process->pid &&
            main_child->asked[i].start_ticks == process->start_ticks)
            return true;
    return false;
}

static void note_asked(struct killtree_main *main_child, const struct procfs_stat *process)
{
    main_child->asked =
        xreallocarray(main_child->asked, main_child->n_asked + 1, sizeof *main_child->asked);
    main_child->asked[main_child->n_asked++] =
        (struct killtree_asked){ .pid = process->pid, .start_ticks = process->start_ticks };
}

/* note_group - its members are about to be asked
 * One that has left it since it was listed is not, and has to be found again later. */
static void note_group(struct killtree_main *main_child, const struct procfs_stat *list, size_t n)
{
    struct procfs_stat now;

    for (size_t i = 0; i < n; i++)
        if (list[i].pgrp == main_child->pid && list[i].pid != main_child->pid &&
            procfs_stat(list[i].pid, &now) == 0 && now.pgrp == main_child->pid)
            note_asked(main_child, &list[i]);
}

static void ask_one(struct killtree_main *main_child, const struct procfs_stat *process)
{
    _cleanup_close_ int fd = procfs_open_verified(process->pid, process->start_ticks);

    for (size_t i = 0; fd >= 0 && i < ELEMENTS(questions); i++)
        (void)pidfd_send_signal(fd, questions[i], NULL, 0);
    note_asked(main_child, process);
}

void killtree_ask(struct killtree_main *main_child, int pidfd)
{
    _cleanup_free_ struct procfs_stat *list = NULL;
    size_t n = 0;

    (void)procfs_tree(getpid(), &list, &n); /* without it the group is asked at least */
    if (!main_child->reaped) {
        note_group(main_child, list, n);
        ask_group(main_child, pidfd);
    }
    for (size_t i = 0; i < n; i++)
        if (list[i].state != 'Z' && !was_asked(main_child, &list[i]))
            ask_one(main_child, &list[i]);
}

void killtree_done(struct killtree_main *main_child)
{
    free(main_child->asked);
    main_child->asked = NULL;
    main_child->n_asked = 0;
}

/* ---- to be killed ---- */

void killtree_kill_all(struct killtree_main *main_child)
{
    main_child->killing = true;
    while (killtree_reap(main_child) > 0) {
        int status;
        pid_t pid;

        signal_children(SIGKILL);
        pid = waitpid(-1, &status, __WALL);
        if (pid > 0)
            note(main_child, pid, status);
    }
}
