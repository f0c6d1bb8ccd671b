/* SPDX-License-Identifier: Apache-2.0 */
/* sqlite_backup.c - a copy of the database while it is used, and the conditions for a copy to take
 * its place
 *
 * A copy is made a few pages at a time over the connection that also commits: SQLite then carries
 * later commits into the part that was copied already. So the copy is the state at its end, and
 * never begins again. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "scheduler/core/core.h"
#include "scheduler/store/far/far_internal.h"
#include "scheduler/store/sqlite/sqlite_internal.h"
#include "scheduler/store/store.h"
#include "scheduler/store/store_internal.h"
#include "shared/error.h"

struct store_backup {
    struct sqlite_engine *to; /* owned */
    sqlite3_backup *backup;   /* owned */
};

struct store_backup *store_backup_free(struct store_backup *backup)
{
    if (backup == NULL)
        return NULL;
    (void)sqlite3_backup_finish(backup->backup);
    (void)sqlite_engine_close(backup->to);
    free(backup);
    return NULL;
}

int store_backup_new(struct store *store, const char *path, struct store_backup **ret,
                     struct edl_error *error)
{
    struct store_backup *backup;
    int r;

    if (far_of(store) != NULL) {
        (void)edl_error_set(error, -EINVAL, "the database is not in the state directory");
        return edl_error_remedy(error, "back it up by its own tools: pg_basebackup, pg_dump");
    }
    backup = xcalloc(1, sizeof *backup);
    /* The receiver of the copy brings it to a disk: it is not synced here. */
    r = sqlite_engine_open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &backup->to, error);
    if (r == 0)
        r = sqlite_exec(backup->to, "PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF", path,
                        error);
    if (r == 0) {
        backup->backup = sqlite3_backup_init(backup->to->db, "main",
                                             sqlite_engine_of(store->engine)->db, "main");
        if (backup->backup == NULL)
            r = engine_error(&backup->to->engine, "beginning a backup", error);
    }
    if (r < 0)
        (void)store_backup_free(backup);
    else
        *ret = backup;
    return r;
}

int store_backup_step(struct store_backup *backup, int pages, struct edl_error *error)
{
    int result = sqlite3_backup_step(backup->backup, pages);

    if (result == SQLITE_OK || result == SQLITE_BUSY || result == SQLITE_LOCKED)
        return 1;
    if (result == SQLITE_DONE && sqlite3_backup_finish(backup->backup) == SQLITE_OK) {
        backup->backup = NULL;
        return 0;
    }
    if (result == SQLITE_FULL)
        return edl_error_set(error, -ENOSPC, "there is no room for the copy");
    return edl_error_set(error, -EIO, "making the copy: %s", sqlite3_errstr(result));
}

/* --- a copy takes the place of the database --- */

static int check_all(struct sqlite_engine *sqlite, const char *path, struct edl_error *error)
{
    sqlite3_stmt *statement = NULL;
    int r = 0;

    if (sqlite3_prepare_v2(sqlite->db, "PRAGMA integrity_check(1)", -1, &statement, NULL) !=
            SQLITE_OK ||
        sqlite3_step(statement) != SQLITE_ROW)
        r = engine_error(&sqlite->engine, "checking the copy", error);
    else if (!streq(sqlite_text(statement, 0), "ok"))
        r = edl_error_set(error, EDL_ECORRUPT, "%s is damaged: %.200s", path,
                          sqlite_text(statement, 0));
    (void)sqlite3_finalize(statement);
    if (r == 0 && engine_number(&sqlite->engine,
                                "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND"
                                " name IN ('schema_migration', 'job', 'node', 'event')") != 4)
        r = edl_error_set(error, -EINVAL, "%s is not a database of edl-scheduler", path);
    if (r == 0 &&
        engine_number(&sqlite->engine, "SELECT count(*) FROM pragma_foreign_key_check") != 0)
        r = edl_error_set(error, EDL_ECORRUPT, "%s is damaged: rows refer to missing rows", path);
    return r;
}

int store_check_file(const char *path, struct edl_error *error)
{
    struct sqlite_engine *sqlite;
    int r = sqlite_engine_open(path, SQLITE_OPEN_READWRITE, &sqlite, error);

    if (r < 0)
        return r;
    r = check_all(sqlite, path, error);
    (void)sqlite_engine_close(sqlite);
    return r;
}
