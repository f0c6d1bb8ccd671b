/* SPDX-License-Identifier: Apache-2.0 */
/* workspace_fetch.c - an archive of the database becomes a file of the folder
 *
 * A thread writes some mebibytes, then others have their turn with it. The file gets its name when
 * its digest is right and it is on disk: half of one is never seen. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <utlist.h>

#include "scheduler/workspaces/workspace_rows_internal.h"
#include "scheduler/workspaces/workspaces_internal.h"
#include "shared/cleanup.h"
#include "shared/content_hash.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/write_all.h"

#define PIECES_AT_ONCE 8

struct fetch_waiter {
    workspace_fetched_fn fetched;
    void *userdata;
    struct fetch_waiter *next;
};

struct workspace_fetch {
    struct worker_job job; /* first */
    struct workspace_rows *rows;
    uint64_t term;
    char sha256[WORKSPACE_HEX + 1];
    char name[40]; /* until it has its own */
    int fd;
    struct content_hash *hash;
    uint64_t n; /* pieces that are written */
    bool whole;
    struct edl_error error;
    struct fetch_waiter *waiters; /* owned list */
    struct workspace_fetch *prev, *next;
};

static int write_piece(struct workspace_fetch *fetch, const char *data, size_t size)
{
    int r = write_all(fetch->fd, data, size);

    content_hash_add(fetch->hash, data, size);
    return r < 0 ? edl_error_errno(&fetch->error, r, "writing the archive") : 0;
}

static int end_file(struct workspace_fetch *fetch)
{
    int dir_fd = fetch->rows->workspaces->dir_fd;
    char hex[WORKSPACE_HEX + 1];

    content_hash_end(fetch->hash, hex);
    if (!streq(hex, fetch->sha256)) {
        (void)edl_error_set(&fetch->error, fetch->n == 0 ? -ENOENT : EDL_ECORRUPT,
                            "the database has not the bytes of the workspace %s", fetch->sha256);
        return edl_error_remedy(&fetch->error, "send it again");
    }
    if (fsync(fetch->fd) == -1 || renameat(dir_fd, fetch->name, dir_fd, fetch->sha256) == -1)
        return edl_error_errno(&fetch->error, -errno, "storing the archive");
    fetch->name[0] = '\0';
    fetch->whole = true;
    return 0;
}

static void run_fetch(struct worker_job *job)
{
    struct workspace_fetch *fetch = (struct workspace_fetch *)job;
    _cleanup_free_ char *data = xcalloc(WORKSPACE_PIECE_BYTES, 1);
    struct engine *engine;
    int r = workspace_rows_engine(fetch->rows, fetch->term, &engine, &fetch->error);

    for (int i = 0; r >= 0 && !fetch->whole && i < PIECES_AT_ONCE; i++) {
        size_t size = 0;

        r = store_workspace_get(engine, fetch->sha256, fetch->n, data, &size, &fetch->error);
        if (r == 0) {
            r = end_file(fetch);
        } else if (r == 1) {
            r = write_piece(fetch, data, size);
            fetch->n += r == 0;
        }
    }
    (void)workspace_rows_end_call(fetch->rows, r);
}

static void fetch_free(struct workspace_fetch *fetch)
{
    struct fetch_waiter *waiter;

    DL_DELETE(fetch->rows->fetches, fetch);
    while ((waiter = fetch->waiters) != NULL) {
        fetch->waiters = waiter->next;
        waiter->fetched(fetch->error.code != 0 ? &fetch->error : NULL, waiter->userdata);
        free(waiter);
    }
    (void)safe_close(fetch->fd);
    (void)content_hash_free(fetch->hash);
    free(fetch);
}

static void on_fetched(struct worker_job *job)
{
    struct workspace_fetch *fetch = (struct workspace_fetch *)job;
    struct workspaces *workspaces = fetch->rows->workspaces;
    struct workspace *workspace = workspaces_find(workspaces, fetch->sha256);

    if (fetch->error.code == 0 && !fetch->whole) {
        worker_start(fetch->rows->worker, &fetch->job);
        return;
    }
    if (fetch->name[0] != '\0')
        (void)workspaces_unlink(workspaces, fetch->name);
    if (workspace != NULL && (fetch->error.code == -ENOENT || fetch->error.code == EDL_ECORRUPT)) {
        workspace_rows_remove(fetch->rows, fetch->sha256); /* so that it can be sent again */
        workspaces_forget(workspaces, workspace);
    } else if (fetch->whole && workspace == NULL) { /* nobody needed it any more */
        (void)workspaces_unlink(workspaces, fetch->sha256);
        (void)edl_error_set(&fetch->error, -ENOENT, "the archive was removed");
    } else if (fetch->whole) {
        workspace->far = false;
    }
    fetch_free(fetch);
}

static int open_file(struct workspace_fetch *fetch)
{
    struct workspaces *workspaces = fetch->rows->workspaces;
    int r = content_hash_new(&fetch->hash, &fetch->error);

    if (r == 0)
        r = workspaces_make_folder(workspaces, &fetch->error);
    if (r < 0)
        return r;
    (void)snprintf(fetch->name, sizeof fetch->name, ".new.%llu",
                   (unsigned long long)workspaces->n_uploads++);
    fetch->fd = openat(workspaces->dir_fd, fetch->name,
                       O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fetch->fd != -1)
        return 0;
    fetch->name[0] = '\0';
    return edl_error_errno(&fetch->error, -errno, "making a file for the archive");
}

static struct workspace_fetch *fetch_of(struct workspace_rows *rows, const char *sha256)
{
    struct workspace_fetch *fetch;

    DL_FOREACH(rows->fetches, fetch)
    if (streq(fetch->sha256, sha256))
        return fetch;
    return NULL;
}

static struct workspace_fetch *fetch_new(struct workspace_rows *rows, const char *sha256)
{
    struct workspace_fetch *fetch = xcalloc(1, sizeof *fetch);

    fetch->job = (struct worker_job){ .run = run_fetch, .done = on_fetched };
    fetch->rows = rows;
    fetch->term = rows->term;
    fetch->fd = -1;
    (void)snprintf(fetch->sha256, sizeof fetch->sha256, "%s", sha256);
    DL_APPEND(rows->fetches, fetch);
    return fetch;
}

void workspace_rows_fetch(struct workspace_rows *rows, const struct workspace *workspace,
                          workspace_fetched_fn fetched, void *userdata)
{
    struct workspace_fetch *fetch = fetch_of(rows, workspace->sha256);
    struct fetch_waiter *waiter = xcalloc(1, sizeof *waiter);
    bool is_new = fetch == NULL;

    *waiter = (struct fetch_waiter){ fetched, userdata, NULL };
    if (is_new)
        fetch = fetch_new(rows, workspace->sha256);
    LL_PREPEND(fetch->waiters, waiter);
    if (is_new && open_file(fetch) < 0)
        fetch_free(fetch);
    else if (is_new)
        worker_start(rows->worker, &fetch->job);
}
