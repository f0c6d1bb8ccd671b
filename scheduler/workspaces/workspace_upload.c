/* SPDX-License-Identifier: Apache-2.0 */
/* workspace_upload.c - an archive on its way: taken piece by piece, brought to the disk, then there
 *
 *   taking <-> syncing (each mebibyte)
 *   taking  -> storing (synced whole, under its name, and the folder synced) [-> owning]
 *              with a shared database each mebibyte goes into its rows as well; they are named,
 * then the file is taking  -> owning (it was there already: a later sender has it now, too)
 *
 * A part that waits for the disk is the worker's. While it is at it, nothing else touches the file:
 * no piece is taken (so no more than a mebibyte of an upload is ever unwritten, and its client
 * waits). A dropped upload is left to the end of that. */
#include "scheduler/workspaces/workspace_rows_internal.h"
#include "scheduler/workspaces/workspaces_internal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utlist.h>

#include "shared/cleanup.h"
#include "shared/content_hash.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/whole_file.h"
#include "shared/write_all.h"

#define SYNC_BYTES ((uint64_t)1 << 20)

enum upload_state { UPLOAD_TAKING, UPLOAD_SYNCING, UPLOAD_STORING, UPLOAD_OWNING };

struct workspace_upload {
    struct worker_job job;         /* first */
    struct workspaces *workspaces; /* borrowed */
    char sha256[WORKSPACE_HEX + 1];
    char sender[WORKSPACE_SENDER_MAX + 1];
    char owner[WORKSPACE_SENDER_MAX + 1];
    char
        *owners; /* owned: the bytes that the worker writes; all of the archive, once it is there */
    char name[40]; /* while it is not whole; "" afterwards */
    struct content_hash *hash;
    uint64_t bytes;
    uint64_t unsynced_bytes;
    uint64_t wall_us; /* of the end */
    int fd;
    enum upload_state state;
    struct edl_error why; /* that the worker failed; code 0: it did not */
    uint64_t term;        /* of the rows, and their bytes */
    struct workspace_pieces pieces;
    bool in_rows; /* they are those of an archive, or gone */
    bool named;   /* the worker has given it its name */
    bool left;    /* its owner has dropped it: freed when the worker is done */
    workspace_ready_fn on_ready;
    void *ready_userdata;
    workspace_stored_fn on_stored;
    void *stored_userdata;
    struct workspace_upload *prev, *next; /* workspaces->uploads */
};

uint64_t workspaces_coming_bytes(const struct workspaces *workspaces, const char *sender)
{
    const struct workspace_upload *upload;
    uint64_t bytes = 0;

    DL_FOREACH(workspaces->uploads, upload)
    if (streq(upload->sender, sender))
        bytes += MAX_OF(upload->bytes, (uint64_t)WORKSPACE_COST_LEAST_BYTES);
    return bytes;
}

bool workspaces_is_stored_now(const struct workspaces *workspaces, const char *sha256)
{
    const struct workspace_upload *upload;

    DL_FOREACH(workspaces->uploads, upload)
    {
        if (upload->state >= UPLOAD_STORING && streq(upload->sha256, sha256))
            return true;
    }
    return false;
}

int workspace_upload_new(struct workspaces *workspaces, const char *sha256, const char *owner,
                         const char *sender, uint64_t bytes, workspace_ready_fn on_ready,
                         void *userdata, struct workspace_upload **ret, struct edl_error *error)
{
    struct workspace_upload *upload = xcalloc(1, sizeof *upload);
    int r = content_hash_new(&upload->hash, error);

    if (workspaces->rows != NULL) {
        upload->term = workspace_rows_term(workspaces->rows);
        workspace_rows_new_name(workspaces->rows, upload->pieces.name);
    }
    if (r == 0)
        r = workspaces_make_folder(workspaces, error);
    if (r == 0)
        r = workspaces_check_disk(workspaces, bytes, error);
    if (r == 0)
        r = workspaces_check_sender(workspaces, sender,
                                    MAX_OF(bytes, (uint64_t)WORKSPACE_COST_LEAST_BYTES), error);
    upload->workspaces = workspaces;
    upload->fd = -1;
    upload->on_ready = on_ready;
    upload->ready_userdata = userdata;
    (void)snprintf(upload->sha256, sizeof upload->sha256, "%s", sha256);
    (void)snprintf(upload->sender, sizeof upload->sender, "%s", sender);
    (void)snprintf(upload->owner, sizeof upload->owner, "%s", owner);
    DL_APPEND(workspaces->uploads, upload);
    if (r == 0) {
        (void)snprintf(upload->name, sizeof upload->name, ".new.%llu",
                       (unsigned long long)workspaces->n_uploads++);
        upload->fd = openat(workspaces->dir_fd, upload->name,
                            O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (upload->fd == -1)
            r = edl_error_errno(error, -errno, "making a file for the archive");
    }
    if (r < 0) {
        (void)workspace_upload_free(upload);
        return r;
    }
    *ret = upload;
    return 0;
}

int workspace_write(int fd, const char *data, size_t size, struct edl_error *error)
{
    int r = write_all(fd, data, size);

    return r < 0 ? edl_error_errno(error, r, "writing the archive of a workspace") : 0;
}

/* ---- the worker ---- */

/* send_rows - what came of it into the database, if there is a shared one; all: also the rest */
static int send_rows(struct workspace_upload *upload, bool all)
{
    struct workspace_rows *rows = upload->workspaces->rows;
    const struct stored_workspace row = { upload->sha256, upload->sender, upload->owners,
                                          upload->bytes };
    int r;

    if (rows == NULL)
        return 0;
    r = workspace_rows_send(rows, upload->term, &upload->pieces, upload->fd, upload->bytes, all,
                            &upload->why);
    if (r == 0 && all)
        r = workspace_rows_name(rows, upload->term, upload->pieces.name, &row, &upload->why);
    upload->in_rows = r == 0 && all;
    return r;
}

static void run_sync(struct worker_job *job)
{
    struct workspace_upload *upload = (struct workspace_upload *)job;

    if (fdatasync(upload->fd) == -1)
        (void)edl_error_errno(&upload->why, -errno, "writing the archive of a workspace");
    else
        (void)send_rows(upload, false);
}

/* why: where there are no attributes it is known until the next start only */
static void write_owners(const struct workspace_upload *upload, int fd)
{
    (void)fsetxattr(fd, WORKSPACE_OWNERS_ATTRIBUTE, upload->owners, strlen(upload->owners), 0);
}

static void run_own(struct worker_job *job)
{
    struct workspace_upload *upload = (struct workspace_upload *)job;
    _cleanup_close_ int fd =
        openat(upload->workspaces->dir_fd, upload->sha256, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

    if (upload->workspaces->rows != NULL)
        (void)workspace_rows_own(upload->workspaces->rows, upload->term, upload->sha256,
                                 upload->owners, &upload->why);
    if (fd == -1)
        return;
    write_owners(upload, fd);
    (void)fsync(fd);
}

static void run_store(struct worker_job *job)
{
    struct workspace_upload *upload = (struct workspace_upload *)job;
    int r, dir_fd = upload->workspaces->dir_fd;

    write_owners(upload, upload->fd);
    if (upload->sender[0] != '\0')
        (void)fsetxattr(upload->fd, WORKSPACE_SENDER_ATTRIBUTE, upload->sender,
                        strlen(upload->sender), 0);
    if (fsync(upload->fd) == -1) {
        (void)edl_error_errno(&upload->why, -errno, "storing the archive");
        return;
    }
    if (send_rows(upload, true) < 0)
        return;
    upload->named = renameat(dir_fd, upload->name, dir_fd, upload->sha256) == 0;
    r = upload->named && fsync(dir_fd) == 0 ? 0 : -errno;
    if (r == 0) /* of the folder, which may have been made for this one */
        r = name_sync(upload->workspaces->path, NULL);
    if (r < 0)
        (void)edl_error_errno(&upload->why, r, "storing the archive");
}

/* ---- and the loop ---- */

static void on_synced(struct worker_job *job)
{
    struct workspace_upload *upload = (struct workspace_upload *)job;

    upload->state = UPLOAD_TAKING;
    if (upload->left)
        (void)workspace_upload_free(upload);
    else
        upload->on_ready(upload->ready_userdata);
}

static struct workspace *enter(struct workspace_upload *upload)
{
    struct workspaces *workspaces = upload->workspaces;
    struct workspace *workspace = workspaces_find(workspaces, upload->sha256);

    if (workspace == NULL) { /* else another upload of the same was faster */
        workspace = workspaces_insert(workspaces, upload->sha256, upload->bytes, upload->wall_us);
        memcpy(workspace->sender, upload->sender, sizeof workspace->sender);
        upload->bytes = 0; /* they count for the workspace now */
    }
    if (upload->named) {
        workspace->far = false;
        workspace->kept = upload->in_rows;
    }
    workspace_give(workspace, upload->owner);
    workspaces_use(workspaces, workspace, upload->wall_us);
    return workspace;
}

static void start(struct workspace_upload *upload, enum upload_state state,
                  void (*run)(struct worker_job *), void (*done)(struct worker_job *))
{
    upload->state = state;
    upload->job = (struct worker_job){ .run = run, .done = done };
    worker_start(upload->workspaces->rows != NULL ? workspace_rows_worker(upload->workspaces->rows)
                                                  : upload->workspaces->worker,
                 &upload->job);
}

/* workspace NULL: it is not there, because of error. */
static void tell(struct workspace_upload *upload, struct workspace *workspace,
                 const struct edl_error *error)
{
    upload->state = UPLOAD_TAKING;
    upload->on_stored(workspace, error, upload->stored_userdata);
    if (upload->left)
        (void)workspace_upload_free(upload);
}

static void on_owned(struct worker_job *job)
{
    struct workspace_upload *upload = (struct workspace_upload *)job;
    struct workspace *workspace = workspaces_find(upload->workspaces, upload->sha256);
    struct edl_error error = upload->why;

    if (workspace == NULL) /* no sweep takes it meanwhile, but somebody may */
        (void)edl_error_set(&error, -ENOENT, "the archive was removed");
    tell(upload, error.code == 0 ? workspace : NULL, &error);
}

/* own - all owners as they are now; the worker does one after the other, so the last writes all */
static void own(struct workspace_upload *upload, const struct workspace *workspace)
{
    free(upload->owners);
    upload->owners = xstrdup(workspace->owners);
    start(upload, UPLOAD_OWNING, run_own, on_owned);
}

static void on_stored(struct worker_job *job)
{
    struct workspace_upload *upload = (struct workspace_upload *)job;
    struct workspaces *workspaces = upload->workspaces;
    struct edl_error error = upload->why;
    struct workspace *workspace = NULL;

    upload->state = UPLOAD_TAKING;
    if (upload->named)
        upload->name[0] = '\0';
    if (error.code == 0)
        workspace = enter(upload);
    if (workspace == NULL && upload->named && workspaces_find(workspaces, upload->sha256) == NULL &&
        !workspaces_is_stored_now(workspaces, upload->sha256)) /* nor is it another's by now */
        (void)workspaces_unlink(workspaces,
                                upload->sha256); /* it may not outlive a loss of power */
    if (workspace != NULL && !streq(workspace->owners, upload->owners))
        own(upload, workspace); /* those of the file whose place this one took */
    else
        tell(upload, workspace, &error);
}

static int refuse(const struct workspace_upload *upload, struct edl_error *error)
{
    if (error != NULL)
        *error = upload->why;
    return upload->why.code;
}

int workspace_upload_add(struct workspace_upload *upload, const void *data, size_t size,
                         struct edl_error *error)
{
    struct workspaces *workspaces = upload->workspaces;

    assert(upload->state == UPLOAD_TAKING);
    if (upload->why.code != 0)
        return refuse(upload, error);
    if (workspaces_check_disk(workspaces, size, error) < 0)
        return error->code;
    workspaces->bytes += size;
    upload->bytes += size;
    upload->unsynced_bytes += size;
    content_hash_add(upload->hash, data, size);
    if (workspace_write(upload->fd, data, size, error) < 0)
        return error->code;
    if (upload->unsynced_bytes < SYNC_BYTES)
        return 0;
    upload->unsynced_bytes = 0;
    if (workspaces_check_sender(workspaces, upload->sender, 0, error) < 0)
        return error->code;
    start(upload, UPLOAD_SYNCING, run_sync, on_synced);
    return 1;
}

int workspace_upload_finish(struct workspace_upload *upload, uint64_t wall_us,
                            workspace_stored_fn stored, void *userdata, struct edl_error *error)
{
    char hex[WORKSPACE_HEX + 1];

    assert(upload->state == UPLOAD_TAKING);
    if (upload->why.code != 0)
        return refuse(upload, error);
    content_hash_end(upload->hash, hex);
    if (!streq(hex, upload->sha256)) {
        (void)edl_error_set(error, -EINVAL, "the SHA-256 of the sent bytes is %s", hex);
        return edl_error_remedy(error, "send it to the path with its own SHA-256");
    }
    upload->wall_us = wall_us;
    upload->on_stored = stored;
    upload->stored_userdata = userdata;
    if (workspaces_find(upload->workspaces, upload->sha256) != NULL) {
        own(upload, enter(upload));
        return 0;
    }
    upload->owners = xcalloc(1, sizeof upload->owner + 1);
    (void)snprintf(upload->owners, sizeof upload->owner + 1, "%s\n", upload->owner);
    start(upload, UPLOAD_STORING, run_store, on_stored);
    return 0;
}

struct workspace_upload *workspace_upload_free(struct workspace_upload *upload)
{
    if (upload == NULL)
        return NULL;
    if (upload->state != UPLOAD_TAKING) {
        upload->left = true;
        return NULL;
    }
    DL_DELETE(upload->workspaces->uploads, upload);
    upload->workspaces->bytes -= upload->bytes;
    if (upload->name[0] != '\0')
        (void)workspaces_unlink(upload->workspaces, upload->name);
    if (upload->pieces.n > 0 && !upload->in_rows)
        workspace_rows_drop(upload->workspaces->rows, upload->term, upload->pieces.name);
    (void)safe_close(upload->fd);
    (void)content_hash_free(upload->hash);
    free(upload->owners);
    free(upload);
    return NULL;
}
