/* SPDX-License-Identifier: Apache-2.0 */
/* ssh_alias.c - see ssh_alias.h */
#include "client/ssh_alias.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/macro.h"

#define KEY "hostname "

extern char **environ;

/* start - `ssh -G NAME`, whose output comes from *ret_fd; 0 or a negative errno */
static int start(const char *name, pid_t *ret_pid, int *ret_fd)
{
    char *argv[] = { (char *)"ssh", (char *)"-G", (char *)"--", (char *)(uintptr_t)name, NULL };
    posix_spawn_file_actions_t actions;
    int ends[2], r;

    if (pipe2(ends, O_CLOEXEC) == -1)
        return -errno;
    r = posix_spawn_file_actions_init(&actions);
    if (r == 0)
        r = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (r == 0)
        r = posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    if (r == 0)
        r = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    if (r == 0)
        r = posix_spawnp(ret_pid, "ssh", &actions, NULL, argv, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)safe_close(ends[1]);
    if (r != 0)
        (void)safe_close(ends[0]);
    *ret_fd = ends[0];
    return -r;
}

char *ssh_alias_host(const char *name)
{
    _cleanup_free_ char *line = NULL;
    char *host = NULL;
    size_t size = 0;
    pid_t pid = 0;
    FILE *file;
    int fd = -1;

    if (name[0] == '-' || start(name, &pid, &fd) < 0)
        return NULL;
    file = fdopen(fd, "r");
    while (file != NULL && getline(&line, &size, file) >= 0)
        if (host == NULL && strncmp(line, KEY, strlen(KEY)) == 0) {
            line[strcspn(line, "\r\n")] = '\0';
            host = xstrdup(line + strlen(KEY));
        }
    if (file != NULL)
        (void)fclose(file);
    else
        (void)safe_close(fd);
    while (waitpid(pid, NULL, 0) == -1 && errno == EINTR)
        continue;
    if (host != NULL && strcasecmp(host, name) == 0) {
        free(host);
        host = NULL;
    }
    return host;
}
