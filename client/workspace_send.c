/* SPDX-License-Identifier: Apache-2.0 */
/* workspace_send.c - a folder of this machine as a workspace that every node can fetch
 *
 * The archive is a file without a name, which edl-workspace inherits: nothing is left of it however
 * this ends. What edl-workspace complains of stands on stderr as it says it. */
#include "client/workspace_send.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/report.h"
#include "client/server.h"
#include "client/text.h"
#include "client/verb.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

#define SEND_TIMEOUT_US (24 * 3600 * USEC_PER_SEC)
#define STALL_TIMEOUT_US (60 * USEC_PER_SEC)
#define ARCHIVE_FD 3 /* in edl-workspace, as /proc/self/fd/3 */

static int open_archive(FILE **ret, struct edl_error *error)
{
    const char *folder = getenv("TMPDIR");
    _cleanup_free_ char *path =
        text_format("%s/edl-workspace-XXXXXX", folder != NULL && *folder != '\0' ? folder : "/tmp");
    _cleanup_close_ int fd = mkostemp(path, O_CLOEXEC);

    if (fd != -1 && unlink(path) == 0)
        *ret = fdopen(fd, "r+");
    if (*ret == NULL)
        return edl_error_errno(error, -errno, "making the temporary file %s", path);
    (void)TAKE_FD(fd);
    return 0;
}

static int program_path(char **ret, struct edl_error *error)
{
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

    if (n == -1)
        return edl_error_errno(error, -errno, "finding the folder of this program");
    self[n] = '\0';
    *strrchr(self, '/') = '\0';
    *ret = text_format("%s/edl-workspace", self);
    return 0;
}

static int spawn(const char *program, const char *folder, int archive_fd, int told_fd, pid_t *ret)
{
    const char *argv[] = { "edl-workspace", "pack", folder, "/proc/self/fd/3", NULL };
    posix_spawn_file_actions_t actions;
    int r;

    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_adddup2(&actions, told_fd, STDOUT_FILENO);
    (void)posix_spawn_file_actions_adddup2(&actions, archive_fd, ARCHIVE_FD);
    /* why the cast: it writes to none of them */
    r = posix_spawn(ret, program, &actions, NULL, (char *const *)(uintptr_t)argv, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    return -r;
}

/* pack - hex: of the archive. *ret_told: edl-workspace has said what is wrong */
static int pack(const char *folder, FILE *archive, char hex[WORKSPACE_HEX + 1], bool *ret_told,
                struct edl_error *error)
{
    _cleanup_free_ char *program = NULL;
    _cleanup_fclose_ FILE *told = NULL;
    int both[2], status = 0, r = program_path(&program, error);
    char line[128] = "";
    pid_t pid;

    if (r < 0)
        return r;
    if (pipe2(both, O_CLOEXEC) == -1)
        return edl_error_errno(error, -errno, "making a pipe");
    told = fdopen(both[0], "r");
    r = spawn(program, folder, fileno(archive), both[1], &pid);
    (void)safe_close(both[1]);
    if (r < 0)
        return edl_error_errno(error, r, "starting %s", program);
    if (told == NULL || fgets(line, sizeof line, told) == NULL)
        line[0] = '\0';
    if (waitpid(pid, &status, 0) == -1)
        return edl_error_errno(error, -errno, "waiting for edl-workspace");
    line[strcspn(line, " \n")] = '\0';
    *ret_told = WIFEXITED(status) && WEXITSTATUS(status) == 1;
    if (status != 0 || !workspace_hex_valid(line))
        return edl_error_set(error, -EIO, "edl-workspace cannot pack %s", folder);
    (void)memcpy(hex, line, WORKSPACE_HEX + 1);
    return 0;
}

static int put(struct server *server, FILE *archive, const char *hex)
{
    _cleanup_free_ char *path = text_format("/workspaces/%s", hex);
    struct http_call call = { .method = "PUT",
                              .path = path,
                              .content_type = "application/octet-stream",
                              .headers = { "Expect: 100-continue" }, /* it may be there */
                              .send = archive,
                              .timeout_us = SEND_TIMEOUT_US,
                              .stall_timeout_us = STALL_TIMEOUT_US };
    struct http_answer answer = { 0 };
    int status = server_call(server, &call, &answer);

    if (status != STATUS_OK)
        status = report_answer(&answer);
    http_answer_clear(&answer);
    return status;
}

int workspace_send(struct server *server, const char *folder, char ret[WORKSPACE_NAME_MAX + 1])
{
    _cleanup_fclose_ FILE *archive = NULL;
    char hex[WORKSPACE_HEX + 1];
    struct edl_error error = { 0 };
    bool told = false;
    int r = open_archive(&archive, &error);
    int status;

    if (r == 0)
        r = pack(folder, archive, hex, &told, &error);
    if (r < 0)
        return told ? STATUS_FAILED : report_error(&error);
    status = put(server, archive, hex);
    if (status == STATUS_OK)
        (void)snprintf(ret, WORKSPACE_NAME_MAX + 1, "%s%s", WORKSPACE_PREFIX, hex);
    return status;
}
