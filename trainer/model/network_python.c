/* SPDX-License-Identifier: Apache-2.0 */
/* network_python.c - a network that a program in Python describes */
#include "trainer/model/network_python.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

#define PYTHON "/usr/bin/python3" /* for which the package python3-edl puts its modules */

extern char **environ;

bool network_python_wants(const char *config)
{
    const size_t size = config != NULL ? strlen(config) : 0;

    return size > 3 && streq(config + size - 3, ".py");
}

static int make_folder(struct network_python *python, struct edl_error *error)
{
    const char *named = getenv("TMPDIR");
    const char *parent = named != NULL && *named != '\0' ? named : "/tmp";

    if ((size_t)snprintf(python->folder, sizeof python->folder, "%s/edl-config-XXXXXX", parent) >=
        sizeof python->folder) {
        python->folder[0] = '\0';
        return edl_error_set(error, -ENAMETOOLONG, "TMPDIR is too long: %s", parent);
    }
    if (mkdtemp(python->folder) == NULL) {
        python->folder[0] = '\0';
        return edl_error_errno(error, -errno, "cannot make a folder in %s", parent);
    }
    (void)snprintf(python->network, sizeof python->network, "%s/network.json", python->folder);
    (void)snprintf(python->data, sizeof python->data, "%s/data", python->folder);
    return 0;
}

static int start(const char *const argv[], int stderr_fd, pid_t *ret, struct edl_error *error)
{
    posix_spawn_file_actions_t actions;
    int r;

    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    (void)posix_spawn_file_actions_adddup2(&actions, stderr_fd, STDERR_FILENO);
    (void)fflush(stdout);
    r = posix_spawnp(ret, argv[0], &actions, NULL, (char *const *)(uintptr_t)argv, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    if (r == 0)
        return 0;
    r = edl_error_errno(error, -r, "cannot start %s", argv[0]);
    (void)edl_error_remedy(error, "apt-get install python3-edl; EDL_PYTHON names another Python");
    return r;
}

/* Passes on what the program says as an error, but for its last line. */
static void pass_on(FILE *from, char **ret_last)
{
    _cleanup_free_ char *line = NULL;
    size_t room = 0;

    while (getline(&line, &room, from) >= 0) {
        if (*ret_last != NULL)
            (void)fputs(*ret_last, stderr);
        free(*ret_last);
        *ret_last = line;
        line = NULL;
        room = 0;
    }
}

static int refuse(const char *config, char *last, struct edl_error *error)
{
    if (last != NULL)
        last[strcspn(last, "\n")] = '\0';
    if (last == NULL || *last == '\0')
        return edl_error_set(error, -EINVAL, "%s ended without a word", config);
    (void)edl_error_set(error, -EINVAL, "%s", last);
    if (strstr(last, "No module named 'edl") != NULL || strstr(last, "module named edl") != NULL)
        return edl_error_remedy(error, "its names come with python3-edl: apt-get install "
                                       "python3-edl");
    return -EINVAL;
}

/* Waits until the program has ended; one that is to stop is ended. */
static int finish(pid_t pid, FILE *from, const char *config, const volatile sig_atomic_t *stop,
                  struct edl_error *error)
{
    _cleanup_free_ char *last = NULL;
    int status = 0;

    pass_on(from, &last);
    if (*stop)
        (void)kill(pid, SIGTERM);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        if (*stop)
            (void)kill(pid, SIGTERM);
    if (*stop)
        return edl_error_set(error, -EINTR, "told to stop while %s ran", config);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return refuse(config, last, error);
    if (last != NULL)
        (void)fputs(last, stderr);
    return 0;
}

static int run(const char *const argv[], const char *config, const volatile sig_atomic_t *stop,
               struct edl_error *error)
{
    _cleanup_fclose_ FILE *from = NULL;
    pid_t pid;
    int ends[2], r;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return edl_error_errno(error, -errno, "cannot make a pipe");
    r = start(argv, ends[1], &pid, error);
    safe_close(ends[1]);
    from = fdopen(ends[0], "r");
    if (r < 0)
        return r;
    return finish(pid, from, config, stop, error);
}

int network_python_open(const char *config, const char *arguments, bool with_data,
                        const volatile sig_atomic_t *stop, struct network_python *ret,
                        struct edl_error *error)
{
    const char *named = getenv("EDL_PYTHON"), *argv[12];
    size_t n = 0;
    int r;

    *ret = (struct network_python){ 0 };
    r = make_folder(ret, error);
    if (r < 0)
        return r;
    argv[n++] = named != NULL && *named != '\0' ? named : PYTHON;
    argv[n++] = "-m";
    argv[n++] = "edl.trainer_config";
    argv[n++] = "--out";
    argv[n++] = ret->folder;
    if (!with_data)
        argv[n++] = "--no-data";
    if (arguments != NULL) {
        argv[n++] = "--config_args";
        argv[n++] = arguments;
    }
    argv[n++] = "--";
    argv[n++] = config;
    argv[n] = NULL;
    r = run(argv, config, stop, error);
    if (access(ret->data, F_OK) < 0)
        ret->data[0] = '\0';
    if (r < 0)
        network_python_close(ret);
    return r;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *at)
{
    (void)status, (void)kind, (void)at;
    (void)remove(path);
    return 0;
}

void network_python_close(struct network_python *python)
{
    if (python->folder[0] != '\0')
        (void)nftw(python->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
    *python = (struct network_python){ 0 };
}
