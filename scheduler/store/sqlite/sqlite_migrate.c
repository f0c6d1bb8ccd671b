/* SPDX-License-Identifier: Apache-2.0 */
/* sqlite_migrate.c - the schema, brought forward one numbered file at a time
 *
 * The files under scheduler/store/sql are built into the program. Each runs in a transaction of its
 * own together with its PRAGMA user_version and its row of schema_migration. So a crash between two
 * leaves a whole schema of one version. A database of a newer program is refused: going back would
 * lose what the newer one wrote. */
#include <errno.h>
#include <stdio.h>

#include "scheduler/store/sqlite/sqlite_internal.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/macro.h"

struct migration {
    int version;
    const char *name;
    const char *sql;
};

static const struct migration migrations[] = {
#include "scheduler/store/migrations.inc"
};

static int read_version(struct sqlite_engine *sqlite, int *ret, struct edl_error *error)
{
    sqlite3_stmt *statement = NULL;
    int r = 0;

    if (sqlite3_prepare_v2(sqlite->db, "PRAGMA user_version", -1, &statement, NULL) != SQLITE_OK ||
        sqlite3_step(statement) != SQLITE_ROW)
        r = engine_error(&sqlite->engine, "reading the schema's version", error);
    else
        *ret = sqlite3_column_int(statement, 0);
    (void)sqlite3_finalize(statement);
    return r;
}

static int record(struct sqlite_engine *sqlite, const struct migration *migration,
                  struct edl_error *error)
{
    sqlite3_stmt *statement = NULL;
    char pragma[48];
    int r = 0;

    /* A pragma takes no bound parameter; the number is the program's own. */
    (void)snprintf(pragma, sizeof pragma, "PRAGMA user_version = %d", migration->version);
    if (sqlite3_exec(sqlite->db, pragma, NULL, NULL, NULL) != SQLITE_OK)
        return engine_error(&sqlite->engine, "writing the schema's version", error);
    if (sqlite3_prepare_v2(sqlite->db,
                           "INSERT INTO schema_migration (version, name, applied_us)"
                           " VALUES (?1, ?2, ?3)",
                           -1, &statement, NULL) != SQLITE_OK)
        return engine_error(&sqlite->engine, "recording a migration", error);
    (void)sqlite3_bind_int64(statement, 1, migration->version);
    (void)sqlite3_bind_text(statement, 2, migration->name, -1, SQLITE_STATIC);
    (void)sqlite3_bind_int64(statement, 3, (sqlite3_int64)clock_read_us(CLOCK_REALTIME));
    if (sqlite3_step(statement) != SQLITE_DONE)
        r = engine_error(&sqlite->engine, "recording a migration", error);
    (void)sqlite3_finalize(statement);
    return r;
}

static int apply(struct sqlite_engine *sqlite, const struct migration *migration,
                 struct edl_error *error)
{
    int r;

    if (sqlite3_exec(sqlite->db, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK)
        return engine_error(&sqlite->engine, "starting a migration", error);
    if (sqlite3_exec(sqlite->db, migration->sql, NULL, NULL, NULL) != SQLITE_OK)
        r = engine_error(&sqlite->engine, migration->name, error);
    else
        r = record(sqlite, migration, error);
    if (r == 0 && sqlite3_exec(sqlite->db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
        r = engine_error(&sqlite->engine, "committing a migration", error);
    if (r < 0)
        (void)sqlite3_exec(sqlite->db, "ROLLBACK", NULL, NULL, NULL);
    return r;
}

int sqlite_check_newest(struct sqlite_engine *sqlite, struct edl_error *error)
{
    const int newest = migrations[ELEMENTS(migrations) - 1].version;
    int version = 0;
    int r = read_version(sqlite, &version, error);

    if (r < 0)
        return r;
    if (version != newest) {
        (void)edl_error_set(error, -EINVAL,
                            "the database has schema %d, this program needs %d, and nothing can be"
                            " written",
                            version, newest);
        return edl_error_remedy(error, "make room on the disk of --state-dir, or mount it"
                                       " read-write");
    }
    sqlite->schema_version = newest;
    return 0;
}

bool sqlite_is_current(struct sqlite_engine *sqlite)
{
    int version = 0;

    return read_version(sqlite, &version, NULL) == 0 &&
           version == migrations[ELEMENTS(migrations) - 1].version;
}

int sqlite_migrate(struct sqlite_engine *sqlite, struct edl_error *error)
{
    const int newest = migrations[ELEMENTS(migrations) - 1].version;
    int version = 0;
    int r = read_version(sqlite, &version, error);

    if (r < 0)
        return r;
    if (version > newest) {
        (void)edl_error_set(error, -EINVAL,
                            "the database has schema %d, and this program knows schemas up to %d",
                            version, newest);
        (void)edl_error_remedy(error, "start the newer edl-scheduler, or give another --state-dir");
        return -EINVAL;
    }
    for (size_t i = 0; i < ELEMENTS(migrations); i++) {
        if (migrations[i].version <= version)
            continue;
        r = apply(sqlite, &migrations[i], error);
        if (r < 0)
            return r;
    }
    sqlite->schema_version = newest;
    return 0;
}
