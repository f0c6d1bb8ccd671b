/* SPDX-License-Identifier: Apache-2.0 */
/* workspace_program.c - edl-workspace, started beside this program to read a folder
 *
 * Its complaints stand on stderr as it says them. */
#include "client/workspace_program.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/program_beside.h"
#include "client/text.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

#define ARCHIVE_FD 3 /* in edl-workspace, as /proc/self/fd/3 */

static int spawn(const char *path, const char *const argv[], int archive_fd, int told_fd,
                 pid_t *ret)
{
    posix_spawn_file_actions_t actions;
    int r;

    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_adddup2(&actions, told_fd, STDOUT_FILENO);
    if (archive_fd != -1)
        (void)posix_spawn_file_actions_adddup2(&actions, archive_fd, ARCHIVE_FD);
    /* why the cast: it writes to none of them */
    r = posix_spawn(ret, path, &actions, NULL, (char *const *)(uintptr_t)argv, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    return -r;
}

int workspace_program_start(const char *const argv[], int archive_fd, struct workspace_program *ret,
                            struct edl_error *error)
{
    _cleanup_free_ char *path = NULL;
    _cleanup_close_ int told_fd = -1, own_fd = -1;
    int both[2], r = program_path("edl-workspace", &path, error);

    if (r < 0)
        return r;
    if (pipe2(both, O_CLOEXEC) == -1)
        return edl_error_errno(error, -errno, "making a pipe");
    own_fd = both[0];
    told_fd = both[1];
    r = spawn(path, argv, archive_fd, told_fd, &ret->pid);
    if (r < 0)
        return edl_error_errno(error, r, "starting %s", path);
    ret->told = fdopen(TAKE_FD(own_fd), "r");
    if (ret->told == NULL)
        abort(); /* it is a pipe, and there is memory */
    return 0;
}

int workspace_program_end(struct workspace_program *program, struct edl_error *error)
{
    int status = 0;
    pid_t pid;

    (void)fclose(program->told);
    do
        pid = waitpid(program->pid, &status, 0);
    while (pid == -1 && errno == EINTR);
    if (pid == -1)
        return edl_error_errno(error, -errno, "waiting for edl-workspace");
    if (WIFEXITED(status))
        return WEXITSTATUS(status) != 0;
    return edl_error_set(error, -EIO, "edl-workspace was ended by signal %d", WTERMSIG(status));
}

char *workspace_folder(const char *given)
{
    const char *home = getenv("HOME");

    if (given[0] == '~' && (given[1] == '/' || given[1] == '\0') && home != NULL && home[0] == '/')
        return text_format("%s%s", home, given + 1);
    return xstrdup(given);
}
