/* SPDX-License-Identifier: Apache-2.0 */
/* migrate.c - the schema, brought forward one numbered file at a time
 *
 * The files under scheduler/store/sql are built into the program. Each runs in a transaction of its
 * own together with its PRAGMA user_version and its row of schema_migration. So a crash between two
 * leaves a whole schema of one version. A database of a newer program is refused: going back would
 * lose what the newer one wrote. */
#include <errno.h>
#include <stdio.h>

#include "scheduler/store/store_internal.h"
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

static int read_version(struct store *store, int *ret, struct edl_error *error)
{
    sqlite3_stmt *statement = NULL;
    int r = 0;

    if (sqlite3_prepare_v2(store->db, "PRAGMA user_version", -1, &statement, NULL) != SQLITE_OK ||
        sqlite3_step(statement) != SQLITE_ROW)
        r = store_error(store, "reading the schema's version", error);
    else
        *ret = sqlite3_column_int(statement, 0);
    (void)sqlite3_finalize(statement);
    return r;
}

static int record(struct store *store, const struct migration *migration, struct edl_error *error)
{
    sqlite3_stmt *statement = NULL;
    char pragma[48];
    int r = 0;

    /* A pragma takes no bound parameter; the number is the program's own. */
    (void)snprintf(pragma, sizeof pragma, "PRAGMA user_version = %d", migration->version);
    if (sqlite3_exec(store->db, pragma, NULL, NULL, NULL) != SQLITE_OK)
        return store_error(store, "writing the schema's version", error);
    if (sqlite3_prepare_v2(store->db,
                           "INSERT INTO schema_migration (version, name, applied_us)"
                           " VALUES (?1, ?2, ?3)",
                           -1, &statement, NULL) != SQLITE_OK)
        return store_error(store, "recording a migration", error);
    store_bind_u64(statement, 1, (uint64_t)migration->version);
    store_bind_text(statement, 2, migration->name);
    store_bind_u64(statement, 3, clock_read_us(CLOCK_REALTIME));
    if (sqlite3_step(statement) != SQLITE_DONE)
        r = store_error(store, "recording a migration", error);
    (void)sqlite3_finalize(statement);
    return r;
}

static int apply(struct store *store, const struct migration *migration, struct edl_error *error)
{
    int r;

    if (sqlite3_exec(store->db, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK)
        return store_error(store, "starting a migration", error);
    if (sqlite3_exec(store->db, migration->sql, NULL, NULL, NULL) != SQLITE_OK)
        r = store_error(store, migration->name, error);
    else
        r = record(store, migration, error);
    if (r == 0 && sqlite3_exec(store->db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
        r = store_error(store, "committing a migration", error);
    if (r < 0)
        (void)sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    return r;
}

int store_check_newest(struct store *store, struct edl_error *error)
{
    const int newest = migrations[ELEMENTS(migrations) - 1].version;
    int version = 0;
    int r = read_version(store, &version, error);

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
    store->schema_version = newest;
    return 0;
}

bool store_is_current(struct store *store)
{
    int version = 0;

    return read_version(store, &version, NULL) == 0 &&
           version == migrations[ELEMENTS(migrations) - 1].version;
}

int store_migrate(struct store *store, struct edl_error *error)
{
    const int newest = migrations[ELEMENTS(migrations) - 1].version;
    int version = 0;
    int r = read_version(store, &version, error);

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
        r = apply(store, &migrations[i], error);
        if (r < 0)
            return r;
    }
    store->schema_version = newest;
    return 0;
}
