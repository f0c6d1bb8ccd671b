/* SPDX-License-Identifier: Apache-2.0 */
/* stuck.c - why a process that was killed is still there
 *
 * SIGKILL works when the process leaves the kernel. One that waits in there for a device or a
 * server that does not answer (state D) stays as long as it waits. All that it holds stays with it.
 * Only stat, comm and wchan are read: cmdline and others can wait for the same lock. */
#include "agent/processes/stuck.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/machine/procfs_tree.h"
#include "shared/cleanup.h"

/* read_word - the first line of a file of the process; "?" when there is none */
static void read_word(pid_t pid, const char *name, char *ret, size_t size)
{
    char path[64];
    _cleanup_close_ int fd = -1;
    ssize_t n;

    (void)snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    n = fd != -1 ? read(fd, ret, size - 1) : -1;
    ret[n > 0 ? n : 0] = '\0';
    ret[strcspn(ret, "\n")] = '\0';
    if (ret[0] == '\0' || (ret[0] == '0' && ret[1] == '\0'))
        (void)snprintf(ret, size, "?");
}

static void say(const struct procfs_stat *process, char text[static STUCK_TEXT_SIZE])
{
    char name[40], waits_in[60];

    read_word(process->pid, "comm", name, sizeof name);
    read_word(process->pid, "wchan", waits_in, sizeof waits_in);
    if (process->state == 'D')
        (void)snprintf(text, STUCK_TEXT_SIZE,
                       "process %d (%s) was killed and waits in the kernel (%s)", (int)process->pid,
                       name, waits_in);
    else
        (void)snprintf(text, STUCK_TEXT_SIZE, "process %d (%s) was killed and is still there",
                       (int)process->pid, name);
}

void stuck_say(pid_t supervisor_pid, char text[static STUCK_TEXT_SIZE])
{
    _cleanup_free_ struct procfs_stat *all = NULL;
    const struct procfs_stat *found = NULL;
    size_t n = 0;

    (void)procfs_tree(supervisor_pid, &all, &n);
    for (size_t i = 0; i < n && (found == NULL || found->state != 'D'); i++)
        if (all[i].state != 'Z' && (found == NULL || all[i].state == 'D'))
            found = &all[i];
    if (found != NULL)
        say(found, text);
    else
        (void)snprintf(text, STUCK_TEXT_SIZE, "its end is not seen");
}
