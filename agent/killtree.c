/* SPDX-License-Identifier: Apache-2.0 */
/* killtree.c - the end of everything below a child subreaper
 *
 * A descendant whose parent dies becomes our child, also after setsid, a second fork or daemon(3).
 * So it is enough to kill direct children, reap one, and look again, until waitpid(2) says ECHILD.
 * Children are found by ppid in /proc (/proc/PID/task/TID/children is not in every kernel). They
 * cannot be recycled numbers: only we reap them; the pidfd makes that visible in the code. Between
 * rounds we block in waitpid(2), so a child in uninterruptible sleep costs no CPU. */
#include "agent/killtree.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/procfs.h"
#include "shared/cleanup.h"

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

static void signal_child(pid_t pid, int signal_number)
{
    _cleanup_close_ int fd = pidfd_open(pid, 0);
    struct procfs_stat stat;

    if (fd != -1 && procfs_stat(pid, &stat) == 0 && stat.ppid == getpid())
        (void)pidfd_send_signal(fd, signal_number, NULL, 0);
}

void killtree_signal_children(int signal_number)
{
    _cleanup_free_ struct procfs_stat *list = NULL;
    size_t n = 0;

    if (procfs_list(&list, &n) < 0)
        return;
    for (size_t i = 0; i < n; i++)
        if (list[i].ppid == getpid() && list[i].state != 'Z')
            signal_child(list[i].pid, signal_number);
}

void killtree_kill_all(struct killtree_main *main_child)
{
    main_child->killing = true;
    while (killtree_reap(main_child) > 0) {
        int status;
        pid_t pid;

        killtree_signal_children(SIGKILL);
        pid = waitpid(-1, &status, __WALL);
        if (pid > 0)
            note(main_child, pid, status);
    }
}
