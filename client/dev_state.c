/* SPDX-License-Identifier: Apache-2.0 */
/* dev_state.c - the folder that a dev cluster keeps its state in */
#include "client/dev_state.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/text.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

/* The longest path below it that is a Unix socket: nodes/node-100/socket, of sun_path's 108 bytes.
 */
#define PATH_MAX_BYTES 80

static int make_folder(const char *path, struct edl_error *error)
{
    if (mkdir(path, 0700) == -1 && errno != EEXIST)
        return edl_error_errno(error, -errno, "making the folder %s", path);
    return 0;
}

int dev_state_folder(const struct dev_state *state, const char *name, char **ret,
                     struct edl_error *error)
{
    _cleanup_free_ char *path = text_format("%s/%s", state->path, name);
    int r = make_folder(path, error);

    if (r == 0)
        *ret = TAKE_PTR(path);
    return r;
}

static int choose(const char *given, struct dev_state *state, struct edl_error *error)
{
    const char *temporary = getenv("TMPDIR");

    if (given != NULL) {
        int r = make_folder(given, error);

        if (r < 0)
            return r;
        state->path = realpath(given, NULL);
        if (state->path == NULL)
            return edl_error_errno(error, -errno, "finding the folder %s", given);
        return 0;
    }
    state->path = text_format("%s/edl-dev-XXXXXX",
                              temporary != NULL && temporary[0] == '/' ? temporary : "/tmp");
    if (mkdtemp(state->path) == NULL)
        return edl_error_errno(error, -errno, "making the folder %s", state->path);
    state->temporary = true;
    return 0;
}

static int check(struct dev_state *state, struct edl_error *error)
{
    if (strlen(state->path) > PATH_MAX_BYTES) {
        (void)edl_error_set(error, -EINVAL, "the path %s is too long for the sockets in it",
                            state->path);
        return edl_error_remedy(error, "a --state-dir of at most %d bytes", PATH_MAX_BYTES);
    }

    _cleanup_free_ char *lock = text_format("%s/dev.lock", state->path);

    state->lock_fd = open(lock, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (state->lock_fd == -1)
        return edl_error_errno(error, -errno, "opening %s", lock);
    if (flock(state->lock_fd, LOCK_EX | LOCK_NB) == -1)
        return edl_error_set(error, -EBUSY, "another edl dev uses %s", state->path);
    return 0;
}

int dev_state_open(const char *given, struct dev_state *ret, struct edl_error *error)
{
    static const char *const folders[] = { "scheduler", "nodes", "output" };
    struct dev_state state = { .lock_fd = -1 };
    int r = choose(given, &state, error);

    if (r == 0)
        r = check(&state, error);
    for (size_t i = 0; r == 0 && i < ELEMENTS(folders); i++) {
        _cleanup_free_ char *path = NULL;

        r = dev_state_folder(&state, folders[i], &path, error);
    }
    if (r < 0)
        dev_state_close(&state, false);
    else
        *ret = state;
    return r;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path) == -1 ? errno : 0;
}

int dev_state_remove_tree(const char *path)
{
    int r = nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);

    return r == -1 ? -errno : -r;
}

void dev_state_close(struct dev_state *state, bool keep)
{
    if (state->temporary && !keep && state->path != NULL)
        (void)dev_state_remove_tree(state->path);
    state->lock_fd = safe_close(state->lock_fd);
    free(state->path);
    state->path = NULL;
}
