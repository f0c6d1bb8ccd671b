/* SPDX-License-Identifier: Apache-2.0 */
/* layout.c - paths below the state folder and the runtime folder */
#include "agent/layout.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/options.h"
#include "agent/runtime_dir.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/whole_file.h"

static int make_all(const char *path, unsigned mode, struct edl_error *error)
{
    _cleanup_free_ char *copy = xstrdup(path);
    int r = 0;

    for (char *p = copy + 1;; p++) {
        bool last = *p == '\0';

        if (*p != '/' && !last)
            continue;
        *p = '\0';
        if (mkdir(copy, mode) == 0)
            r = name_sync(copy, error);
        else if (errno != EEXIST)
            r = edl_error_errno(error, -errno, "cannot make the folder %s", copy);
        if (r < 0 || last)
            return r;
        *p = '/';
    }
}

/* Most often only the last one is missing: each try on one that is there costs a lock. */
int folder_make(const char *path, unsigned mode, struct edl_error *error)
{
    struct stat st;
    int r = 0;

    if (mkdir(path, mode) == 0)
        return 0;
    if (errno == ENOENT)
        r = make_all(path, mode, error);
    else if (errno != EEXIST)
        r = edl_error_errno(error, -errno, "cannot make the folder %s", path);
    if (r < 0)
        return r;
    if (stat(path, &st) == -1 || !S_ISDIR(st.st_mode))
        return edl_error_set(error, -ENOTDIR, "%s is not a folder", path);
    return 0;
}

int folder_absolute(const char *path, unsigned mode, char **ret, struct edl_error *error)
{
    int r = folder_make(path, mode, error);

    if (r < 0)
        return r;
    *ret = realpath(path, NULL);
    return *ret != NULL ? 0 : edl_error_errno(error, -errno, "cannot resolve %s", path);
}

static int find_program_dir(char **ret, struct edl_error *error)
{
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);

    if (n == -1)
        return edl_error_errno(error, -errno, "cannot find the folder of this program");
    path[n] = '\0';
    *strrchr(path, '/') = '\0';
    *ret = xstrdup(path[0] != '\0' ? path : "/");
    return 0;
}

int folder_protected(const char *path, struct edl_error *error)
{
    struct stat st;

    if (stat(path, &st) == -1)
        return edl_error_errno(error, -errno, "cannot look at %s", path);
    if (st.st_uid != geteuid())
        return edl_error_set(error, -EPERM, "%s belongs to another account", path);
    if ((st.st_mode & 022) != 0)
        return edl_error_set(error, -EPERM, "others may write to %s", path);
    return 0;
}

/* make_state_dir - processes of a root agent run as others, who have to get through to their
 * workspaces and the socket; they cannot list it, and what is not theirs is 0600 or 0700 */
static int make_state_dir(const char *path, char **ret, struct edl_error *error)
{
    mode_t mode = geteuid() == 0 ? 0711 : 0700;
    mode_t umask_before = umask(0066);
    int r = folder_absolute(path, mode, ret, error);

    (void)umask(umask_before);
    if (r == 0) /* who made it may not have; where it lies others may not even look */
        (void)name_sync(*ret, NULL);
    if (r == 0)
        r = folder_protected(*ret, error); /* it holds a credential */
    if (r == 0 && chmod(*ret, mode) == -1)
        r = edl_error_errno(error, -errno, "cannot set the mode of %s", *ret);
    return r;
}

int folder_make_passable(const char *path, struct edl_error *error)
{
    int r = folder_make(path, 0755, error);

    if (r == 0 && geteuid() == 0 && chmod(path, 0711) == -1)
        r = edl_error_errno(error, -errno, "cannot set the mode of %s", path);
    return r;
}

int layout_init(const struct agent_options *options, struct layout *ret, struct edl_error *error)
{
    struct layout l = { 0 };
    int r = make_state_dir(options->state_dir, &l.state_dir, error);

    if (r == 0)
        r = runtime_dir_choose(l.state_dir, options->runtime_dir, &l.runtime_dir, error);
    if (r == 0)
        r = find_program_dir(&l.program_dir, error);
    if (r == 0) {
        _cleanup_free_ char *own = text_format("%s/output", l.state_dir);

        if (options->output_dir == NULL)
            r = folder_make_passable(own, error);
        if (r == 0)
            r = folder_absolute(options->output_dir != NULL ? options->output_dir : own, 0755,
                                &l.output_dir, error);
    }
    if (r == 0) {
        l.processes_dir = text_format("%s/processes", l.runtime_dir);
        l.logs_dir = text_format("%s/logs", l.state_dir);
        l.work_dir = text_format("%s/work", l.state_dir);
        l.workspaces_dir = text_format("%s/workspaces", l.state_dir);
        l.archives_dir = text_format("%s/archives", l.workspaces_dir);
        l.copies_dir = text_format("%s/copies", l.workspaces_dir);
        l.tmp_dir = text_format("%s/tmp", l.state_dir);
        l.socket_path = text_format("%s/socket", l.state_dir);
        l.lease_path = text_format("%s/lease", l.runtime_dir);
        r = folder_make(l.processes_dir, 0700, error);
        if (r == 0)
            r = folder_make_passable(l.work_dir, error);
        if (r == 0)
            r = folder_make_passable(l.workspaces_dir, error);
        if (r == 0)
            r = folder_make_passable(l.tmp_dir, error);
    }
    if (r < 0) {
        layout_done(&l);
        return r;
    }
    *ret = l;
    return 0;
}

void layout_done(struct layout *l)
{
    free(l->node);
    free(l->state_dir);
    free(l->runtime_dir);
    free(l->processes_dir);
    free(l->logs_dir);
    free(l->work_dir);
    free(l->workspaces_dir);
    free(l->archives_dir);
    free(l->copies_dir);
    free(l->tmp_dir);
    free(l->output_dir);
    free(l->socket_path);
    free(l->lease_path);
    free(l->program_dir);
    *l = (struct layout){ 0 };
}

char *layout_process_dir(const struct layout *layout, const struct process_id *id)
{
    char key[PROCESS_KEY_SIZE];

    return text_format("%s/%s", layout->processes_dir, process_id_key(id, key));
}

char *layout_copy_dir(const struct layout *layout, const struct process_id *id)
{
    char key[PROCESS_KEY_SIZE];

    return text_format("%s/%s", layout->copies_dir, process_id_key(id, key));
}

/* Sockets are made below it, and a path of one has 107 bytes. */
char *layout_tmp_dir(const struct layout *layout, const struct process_id *id)
{
    char key[PROCESS_KEY_SIZE];

    return text_format("%s/%s", layout->tmp_dir, process_id_key(id, key));
}

char *layout_archive_link(const struct layout *layout, const struct process_id *id)
{
    char key[PROCESS_KEY_SIZE];

    return text_format("%s/%s.archive", layout->copies_dir, process_id_key(id, key));
}

char *layout_log_path(const struct layout *layout, const struct process_id *id)
{
    return text_format("%s/%llu/%s-%lu.%llu.log", layout->logs_dir, (unsigned long long)id->job_id,
                       id->role, (unsigned long)id->index, (unsigned long long)id->incarnation);
}
