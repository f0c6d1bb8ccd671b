/* SPDX-License-Identifier: Apache-2.0 */
/* store_backup.c - a copy of the database while it is used, and the conditions for a copy to take
 * its place
 *
 * A copy is made a few pages at a time over the connection that also commits: SQLite then carries
 * later commits into the part that was copied already. So the copy is the state at its end, and
 * never begins again. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "scheduler/core/core.h"
#include "scheduler/store/store.h"
#include "scheduler/store/store_internal.h"
#include "shared/error.h"

struct store_backup {
    struct store *from;     /* borrowed */
    struct store to;        /* only its db is used, which is owned */
    sqlite3_backup *backup; /* owned */
};

struct store_backup *store_backup_free(struct store_backup *backup)
{
    if (backup == NULL)
        return NULL;
    (void)sqlite3_backup_finish(backup->backup);
    (void)sqlite3_close(backup->to.db);
    free(backup);
    return NULL;
}

int store_backup_new(struct store *store, const char *path, struct store_backup **ret,
                     struct edl_error *error)
{
    struct store_backup *backup = xcalloc(1, sizeof *backup);
    int r = 0;

    backup->from = store;
    /* The receiver of the copy brings it to a disk: it is not synced here. */
    if (sqlite3_open_v2(path, &backup->to.db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) !=
            SQLITE_OK ||
        sqlite3_exec(backup->to.db, "PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF", NULL,
                     NULL, NULL) != SQLITE_OK)
        r = store_error(&backup->to, path, error);
    if (r == 0) {
        backup->backup = sqlite3_backup_init(backup->to.db, "main", store->db, "main");
        if (backup->backup == NULL)
            r = store_error(&backup->to, "beginning a backup", error);
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

int64_t store_number(struct store *store, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    int64_t number = -1;

    if (sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW)
        number = sqlite3_column_int64(statement, 0);
    (void)sqlite3_finalize(statement);
    return number;
}

static int check_all(struct store *store, const char *path, struct edl_error *error)
{
    sqlite3_stmt *statement = NULL;
    int r = 0;

    if (sqlite3_prepare_v2(store->db, "PRAGMA integrity_check(1)", -1, &statement, NULL) !=
            SQLITE_OK ||
        sqlite3_step(statement) != SQLITE_ROW)
        r = store_error(store, "checking the copy", error);
    else if (!streq(store_column_text(statement, 0), "ok"))
        r = edl_error_set(error, EDL_ECORRUPT, "%s is damaged: %.200s", path,
                          store_column_text(statement, 0));
    (void)sqlite3_finalize(statement);
    if (r == 0 && store_number(store, "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND"
                                      " name IN ('schema_migration', 'job', 'node', 'event')") != 4)
        r = edl_error_set(error, -EINVAL, "%s is not a database of edl-scheduler", path);
    if (r == 0 && store_number(store, "SELECT count(*) FROM pragma_foreign_key_check") != 0)
        r = edl_error_set(error, EDL_ECORRUPT, "%s is damaged: rows refer to missing rows", path);
    return r;
}

int store_check_file(const char *path, struct edl_error *error)
{
    struct store store = { 0 };
    int r;

    if (sqlite3_open_v2(path, &store.db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
        r = store_error(&store, path, error);
    else
        r = check_all(&store, path, error);
    (void)sqlite3_close(store.db);
    return r;
}

uint64_t store_epoch(struct store *store)
{
    int64_t epoch = store_number(store, "SELECT coalesce(max(epoch), 0) FROM epoch");

    return epoch > 0 ? (uint64_t)epoch : 0;
}

uint64_t store_first_number(struct store *store)
{
    return store_epoch(store) << EPOCH_SHIFT;
}

bool store_epoch_numbers(struct store *store, struct epoch_numbers *ret)
{
    uint64_t epoch = store_epoch(store);
    int64_t first_job = store_number(store, "SELECT first_job FROM epoch ORDER BY epoch DESC");

    ret->first = ret->first_job = epoch << EPOCH_SHIFT;
    ret->first_incarnation = 1;
    if (first_job > 0) {
        ret->first_job = (uint64_t)first_job;
        ret->first_incarnation = epoch_first_incarnation(epoch);
    }
    return epoch > 0;
}

void store_known(struct store *store, struct epoch_known *ret)
{
    *ret = STORE_KNOWN(store, "main.");
}

#define KNOWN STORE_KNOWN_UNTIL("main.") ", " STORE_LAST_TOKEN("main.")

int store_begin_epoch(struct store *store, uint64_t epoch, uint64_t first_job, uint64_t wall_us,
                      struct edl_error *error)
{
    char sql[1240];

    /* Not of answers and the audit log: old rows there go by their number. Join tokens are good
     * once, and which of them were used since nobody knows. */
    (void)snprintf(sql, sizeof sql,
                   "BEGIN IMMEDIATE;"
                   "INSERT INTO epoch (epoch, began_wall_us, first_job, known_until_us,"
                   " last_token) VALUES (%" PRIu64 ", %" PRIu64 ", %" PRIu64 ", " KNOWN ");"
                   "DELETE FROM sqlite_sequence WHERE name IN ('event', 'token');"
                   "INSERT INTO sqlite_sequence (name, seq) VALUES ('event', %" PRIu64
                   "), ('token', %" PRIu64 ");"
                   "UPDATE join_token SET expires_wall_us = min(expires_wall_us, %" PRIu64
                   ") WHERE used_wall_us = 0;"
                   "COMMIT",
                   epoch, wall_us, first_job, epoch << EPOCH_SHIFT, epoch << EPOCH_SHIFT, wall_us);
    if (sqlite3_exec(store->db, sql, NULL, NULL, NULL) != SQLITE_OK)
        return store_error(store, "beginning an epoch", error);
    return 0;
}
