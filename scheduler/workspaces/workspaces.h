/* SPDX-License-Identifier: Apache-2.0 */
/* workspaces.h - archives of workspaces in the state directory, each under its SHA-256
 *
 * A file is there whole and on disk, or not at all. An archive that no job needs any more goes a
 * day after it was last needed or sent, sooner when there is no room. Nothing of it is in a
 * database that one scheduler has alone (else: workspace_rows.h): the name says the contents of a
 * file, its mtime when it was last needed, extended attributes its sender and its owners (where the
 * file system has none, that is forgotten with a restart: a user who wants it again sends it
 * again).
 *
 * Its name is no secret, as jobs tell it: an archive belongs to each user who has sent all of it.
 *
 * Used by: scheduler. Tests: tests/unit/test_workspaces.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uthash.h>

#include "scheduler/worker.h"
#include "shared/account_name.h"
#include "shared/workspace_id.h"

struct edl_error;
struct workspace_rows;
struct workspace_upload;

#define WORKSPACE_KEEP_US (24 * 3600 * USEC_PER_SEC) /* beyond the last need */
/* At the least, also when there is no room: its sender is about to submit its job. */
#define WORKSPACE_KEEP_LEAST_US (600 * USEC_PER_SEC)

#define WORKSPACE_SENDER_MAX ACCOUNT_NAME_MAX
#define WORKSPACE_RESERVE_AUTO UINT64_MAX

struct workspace {
    char sha256[WORKSPACE_HEX + 1];
    char sender[WORKSPACE_SENDER_MAX + 1]; /* "": not known, or somebody without a quota */
    uint64_t bytes;
    uint64_t used_wall_us;
    bool needed;  /* by a job that is not over, at the last look */
    bool kept;    /* rows of a shared database have it (workspace_rows.h), */
    bool far;     /* and no file of the folder yet */
    char *owners; /* owned: "ann\nbob\n", the newest last; NULL: nobody is known */
    UT_hash_handle hh;
};

struct workspace_limits {
    uint64_t max_bytes; /* of all archives */
    /* that uploads leave free on the file system, for the database above all;
     * WORKSPACE_RESERVE_AUTO: 5 % of it, but 1 GiB at least, but no more than a quarter of it */
    uint64_t reserve_bytes;
    uint64_t sender_bytes; /* of archives of one sender that no job needs; 0: any */
};

struct workspaces {
    struct workspace *all; /* owned; uthash by sha256 */
    uint64_t bytes;        /* of all, and of those that are coming in */
    struct workspace_limits limits;
    int dir_fd;                       /* -1: there was no room to make the folder */
    char *path;                       /* owned: of the folder */
    struct workspace_upload *uploads; /* list of those under way; their owners own them */
    uint64_t n_uploads;
    struct worker *worker;       /* owned; waits for the disk */
    unsigned n_closing;          /* files without a name that it is to close */
    struct workspace_rows *rows; /* owned; NULL: the files are all there is */
};

/* workspaces_open - the files in the folder, which is made; leftovers of an upload that was cut off
 * are removed */
int workspaces_open(sd_event *event, const char *path, const struct workspace_limits *limits,
                    struct workspaces *ret, struct edl_error *error);

/* workspaces_close - waits for the disk; every upload has to have been freed */
void workspaces_close(struct workspaces *workspaces);

/* workspaces_find - NULL: it is not there */
struct workspace *workspaces_find(const struct workspaces *workspaces, const char *sha256);

/* workspaces_use - it is needed now; also on disk */
void workspaces_use(struct workspaces *workspaces, struct workspace *workspace, uint64_t wall_us);

/* workspace_is_of - whether user has sent it, or a job of its uses it */
bool workspace_is_of(const struct workspace *workspace, const char *user);

/* workspace_give - it is user's, too, until the next start; of very many the first loses it */
void workspace_give(struct workspace *workspace, const char *user);

/* workspaces_file - opened for reading; -ENOENT when somebody removed it, or it is far */
int workspaces_file(const struct workspaces *workspaces, const struct workspace *workspace,
                    struct edl_error *error);

/* workspaces_sweep - removes what is not needed, nor just being sent again, and was last used
 * before before_wall_us (the caller has just set workspace.needed); of that sender only, NULL: of
 * anybody; the number of them */
size_t workspaces_sweep(struct workspaces *workspaces, const char *sender, uint64_t before_wall_us);

/* workspaces_check_disk, _check_sender - whether so many more bytes may come; -ENOSPC, -EDQUOT with
 * remedy. The latter is linear in the archives. */
int workspaces_check_disk(const struct workspaces *workspaces, uint64_t bytes,
                          struct edl_error *error);
int workspaces_check_sender(const struct workspaces *workspaces, const char *sender, uint64_t bytes,
                            struct edl_error *error);

/* An upload: begun, added to piece by piece, then finished or dropped. The disk is waited for
 * beside the loop (worker.h): an upload rests meanwhile. owner: whose it is then. sender: whose
 * quota counts; "": nobody's. bytes: announced; 0: not known. Errors as those of the checks, which
 * are made here and again for each mebibyte that comes. */
typedef void (*workspace_ready_fn)(void *userdata);
int workspace_upload_new(struct workspaces *workspaces, const char *sha256, const char *owner,
                         const char *sender, uint64_t bytes, workspace_ready_fn on_ready,
                         void *userdata, struct workspace_upload **ret, struct edl_error *error);

/* workspace_upload_add - 0; 1: the bytes are being brought to the disk, as every mebibyte is:
 * nothing may be added before on_ready was called; -ENOSPC, -EDQUOT: more than there is room for,
 * or errors of writing */
int workspace_upload_add(struct workspace_upload *upload, const void *data, size_t size,
                         struct edl_error *error);

/* workspace_upload_finish - -EINVAL when it does not have that SHA-256. 0: on_stored is called
 * once, also when the upload is freed before, with the workspace, which is then on disk under its
 * name, or with NULL and the error. */
typedef void (*workspace_stored_fn)(struct workspace *workspace, const struct edl_error *error,
                                    void *userdata);
int workspace_upload_finish(struct workspace_upload *upload, uint64_t wall_us,
                            workspace_stored_fn on_stored, void *userdata, struct edl_error *error);

/* workspace_upload_free - finished or not, also while the disk is waited for: on_ready is then not
 * called any more; an unfinished one leaves nothing. Accepts NULL, returns NULL. */
struct workspace_upload *workspace_upload_free(struct workspace_upload *upload);
