/* SPDX-License-Identifier: Apache-2.0 */
/* store_figures.c - whether the database answers, and its figures for operators
 *
 * Each costs a few calls on files that the database holds open; none reads more than one row. */
#include "scheduler/store/store.h"

#include <errno.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "scheduler/store/store_internal.h"
#include "shared/error.h"

uint64_t store_file_bytes(const char *path)
{
    struct stat st;

    return path != NULL && stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

void store_figures(const struct store *store, struct store_figures *ret)
{
    const char *path = sqlite3_db_filename(store->db, "main");
    struct statvfs disk = { 0 };

    if (statvfs(path, &disk) == -1)
        disk = (struct statvfs){ 0 };
    *ret = (struct store_figures){
        .commits = &store->commits,
        .commit_failures = store->commit_failures,
        .database_bytes = store_file_bytes(path),
        .wal_bytes = store_file_bytes(sqlite3_filename_wal(path)),
        .log_bytes = store_log_bytes(store),
        .disk_free_bytes = (uint64_t)disk.f_bavail * disk.f_frsize,
    };
}

int store_check(struct store *store, struct edl_error *error)
{
    sqlite3_stmt *statement = store->statements[ST_PROBE];
    int moved = 0;
    int r = 0;

    if (store->last_commit < 0)
        return edl_error_set(error, store->last_commit, "the last commit failed");
    if (sqlite3_file_control(store->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK &&
        moved != 0) {
        (void)edl_error_set(error, -ENOENT, "the database file was moved, replaced or removed");
        return edl_error_remedy(error, "put edl.db back into --state-dir, or restore it from a"
                                       " backup and start the scheduler again");
    }
    if (sqlite3_step(statement) != SQLITE_ROW)
        r = store_error(store, "reading", error);
    (void)sqlite3_reset(statement);
    return r;
}
