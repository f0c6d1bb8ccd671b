/* SPDX-License-Identifier: Apache-2.0 */
/* store_workspaces.h - archives of workspaces as rows of a database that several schedulers share
 *
 * A row of `workspace` names an archive by its SHA-256. Its bytes are rows of 1 MiB. They are
 * stored before it is, under a name of their own: an archive without all of its bytes is never
 * there. With SQLite there is none of this: the files are on the machine of the database.
 *
 * What deletes or names is a transaction of the engine, and fails in another term (-ESTALE). These
 * block: for a thread, but for the two with a store. Used by: workspaces, leadership. Tests:
 * tests/unit/test_store_workspaces.c, tests/integration/402-standby.sh. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct edl_error;
struct engine;
struct store;

#define WORKSPACE_PIECE_BYTES ((size_t)1 << 20)
#define WORKSPACE_PIECES_SIZE 48 /* a name of bytes, with its NUL */

struct stored_workspace {
    const char *sha256, *sender, *owners; /* as those of struct workspace; borrowed */
    uint64_t bytes;
};
typedef void (*store_workspace_fn)(const struct stored_workspace *row, void *userdata);

/* store_workspaces_make - the tables, unless they are there */
int store_workspaces_make(struct store *store, struct edl_error *error);

/* store_workspaces_each - all archives, without their bytes */
int store_workspaces_each(struct store *store, store_workspace_fn fn, void *userdata,
                          struct edl_error *error);

/* store_workspace_put - the bytes of a piece; numbers begin at 0. 1 MiB at most */
int store_workspace_put(struct engine *engine, const char *pieces, uint64_t number,
                        const void *data, size_t size, struct edl_error *error);

/* store_workspace_name - from now on the archive is there. If it is already, those pieces go, and
 * nothing else changes. -EAGAIN: not all of its bytes are stored */
int store_workspace_name(struct engine *engine, const char *pieces,
                         const struct stored_workspace *row, struct edl_error *error);

/* store_workspace_own - its owners are others now */
int store_workspace_own(struct engine *engine, const char *sha256, const char *owners,
                        struct edl_error *error);

/* store_workspace_get - a piece of an archive; data has room for one. 1; 0: there is none */
int store_workspace_get(struct engine *engine, const char *sha256, uint64_t number, void *data,
                        size_t *ret_size, struct edl_error *error);

/* store_workspace_remove - the archive, then its bytes. store_workspace_drop - bytes that no
 * archive has. store_workspace_tidy - all such: uploads that were cut off with their scheduler */
int store_workspace_remove(struct engine *engine, const char *sha256, struct edl_error *error);
int store_workspace_drop(struct engine *engine, const char *pieces, struct edl_error *error);
int store_workspace_tidy(struct engine *engine, struct edl_error *error);
