/* SPDX-License-Identifier: Apache-2.0 */
/* sqlite_open.c - opening the database: settings, check after an unclean stop, schema, statements
 *
 * The last connection that closes a database in WAL mode removes the write-ahead log. One that is
 * there at the start was left by a process that was killed or a machine that failed: then the file
 * is looked through before anything is built on it; one that is too large for that, while it is
 * used.
 *
 * A full or read-only disk has no room for the log's index either. For reading, the index can be
 * kept in memory (locking_mode EXCLUSIVE) by the VFS that takes no lock (unix-none): that is safe
 * as its opener has locked the state directory. */
#include "scheduler/store/store.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "scheduler/store/sqlite/sqlite_engine.h"
#include "scheduler/store/sqlite/sqlite_internal.h"
#include "scheduler/store/store_internal.h"
#include "shared/cleanup.h"
#include "shared/error.h"

#define BUSY_TIMEOUT_MS 5000 /* somebody reads along with the sqlite3 shell */

/* The first column of the first row of a statement, as text; false: there is none. */
static bool first_text(struct sqlite_engine *sqlite, const char *sql, char *ret, size_t size)
{
    sqlite3_stmt *statement = NULL;
    bool found = false;

    if (sqlite3_prepare_v2(sqlite->db, sql, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW) {
        (void)snprintf(ret, size, "%s", sqlite_text(statement, 0));
        found = true;
    }
    (void)sqlite3_finalize(statement);
    return found;
}

struct setting {
    const char *name, *value, *expected;
};

/* Written, and read back: a file system without shared memory silently stays out of WAL. */
static int set_and_check(struct sqlite_engine *sqlite, const struct setting *setting,
                         struct edl_error *error)
{
    char text[80];
    char found[32] = "";
    int r;

    (void)snprintf(text, sizeof text, "PRAGMA %s = %s", setting->name, setting->value);
    r = sqlite_exec(sqlite, text, text, error);
    if (r < 0)
        return r;
    (void)snprintf(text, sizeof text, "PRAGMA %s", setting->name);
    (void)first_text(sqlite, text, found, sizeof found);
    if (streq(found, setting->expected))
        return 0;
    (void)edl_error_set(error, -EINVAL, "the database does not take %s = %s (it says \"%s\")",
                        setting->name, setting->value, found);
    (void)edl_error_remedy(error, "keep --state-dir on a local file system");
    return -EINVAL;
}

static int set_all(struct sqlite_engine *sqlite, const struct setting *settings, size_t n,
                   struct edl_error *error)
{
    for (size_t i = 0; i < n; i++) {
        int r = set_and_check(sqlite, &settings[i], error);

        if (r < 0)
            return r;
    }
    return 0;
}

/* Asked of the VFS, which knows where its files are. */
static bool was_left_open(const char *path)
{
    size_t size = strlen(path) + sizeof "-wal";
    _cleanup_free_ char *wal = xcalloc(size, 1);
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
    int there = 0;

    (void)snprintf(wal, size, "%s-wal", path);
    return vfs->xAccess(vfs, wal, SQLITE_ACCESS_EXISTS, &there) == SQLITE_OK && there != 0;
}

int sqlite_says_ok(struct sqlite_engine *sqlite, const char *pragma, struct edl_error *error)
{
    char found[200] = "";

    if (!first_text(sqlite, pragma, found, sizeof found))
        return engine_error(&sqlite->engine, "checking the database", error);
    if (streq(found, "ok"))
        return 0;
    return edl_error_set(error, EDL_ECORRUPT, "the database is damaged: %s", found);
}

static int check_whole(struct sqlite_engine *sqlite, struct edl_error *error)
{
    int r = sqlite_says_ok(sqlite, "PRAGMA quick_check(1)", error);

    return r == EDL_ECORRUPT ? edl_error_remedy(error, SQLITE_RESTORE_REMEDY) : r;
}

static int open_file(const char *name, int flags, struct sqlite_engine **ret,
                     struct edl_error *error)
{
    int r = sqlite_engine_open(name, flags, ret, error);

    if (r == 0)
        (void)sqlite3_busy_timeout((*ret)->db, BUSY_TIMEOUT_MS);
    return r;
}

/* The store of a connection, whose settings and schema are as they ought to be. */
static int give_store(struct sqlite_engine *sqlite, const char *path, bool read_only,
                      struct store **ret, struct edl_error *error)
{
    struct store *store = store_new();
    int r;

    store->engine = &sqlite->engine;
    store->schema_version = sqlite->schema_version;
    store->read_only = read_only;
    sqlite_reader_source(path, &store->readers);
    r = store_prepare_all(store, error);
    if (r == 0)
        r = store_need_sums(store, error);
    if (r < 0)
        (void)store_free(store);
    else
        *ret = store;
    return r;
}

/* SQLite opens a file that it may not write for reading, and says so only when asked. */
static int check_writable(struct sqlite_engine *sqlite, struct edl_error *error)
{
    if (sqlite3_db_readonly(sqlite->db, "main") == 0)
        return 0;
    return edl_error_set(error, -EROFS, "the database cannot be opened for writing");
}

bool store_wants_check(const struct store *store)
{
    return store->wants_check;
}

int store_check_pages(const char *path, struct edl_error *error)
{
    struct sqlite_engine *sqlite;
    int r = open_file(path, SQLITE_OPEN_READONLY, &sqlite, error);

    if (r < 0)
        return r;
    r = check_whole(sqlite, error);
    (void)sqlite_engine_close(sqlite);
    return r;
}

void store_stay_open(struct store *store)
{
    (void)sqlite3_db_config(sqlite_engine_of(store->engine)->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE,
                            1, NULL);
}

int store_open(const char *path, struct store **ret, struct edl_error *error)
{
    /* EXTRA for the way to WAL: it makes a rollback journal, and one that a loss of power brings
     * back would undo the new file under the log. */
    static const struct setting settings[] = {
        { "synchronous", "EXTRA", "3" },
        { "journal_mode", "WAL", "wal" },
        { "synchronous", "FULL", "2" },
        { "foreign_keys", "ON", "1" },
        { "cache_size", "-512", "-512" }, /* KiB: rows are read just once */
        /* bytes of the write-ahead log that a checkpoint leaves: without it a log that was once
         * large stays so; usual ones (1000 pages) are written over, which is cheaper */
        { "journal_size_limit", "8388608", "8388608" },
    };
    bool left_open = was_left_open(path);
    bool wants_check;
    struct sqlite_engine *sqlite;
    int r = open_file(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &sqlite, error);

    if (r < 0)
        return r;
    r = check_writable(sqlite, error);
    if (r == 0)
        r = set_all(sqlite, settings, ELEMENTS(settings), error);
    /* a migration rewrites rows, so the rows that it reads are checked first, however large they
     * are */
    wants_check =
        left_open && sqlite_file_bytes(path) > STORE_CHECK_BYTES && sqlite_is_current(sqlite);
    if (r == 0 && left_open && !wants_check)
        r = check_whole(sqlite, error);
    if (r == 0)
        r = sqlite_migrate(sqlite, error);
    if (r < 0) {
        (void)sqlite_engine_close(sqlite);
        return r;
    }
    r = give_store(sqlite, path, false, ret, error);
    if (r == 0)
        (*ret)->wants_check = wants_check;
    return r;
}

char *sqlite_read_only_uri(const char *path)
{
    static const char end[] = "?mode=ro&vfs=unix-none";
    size_t size = sizeof "file:" + 3 * strlen(path) + sizeof end;
    char *uri = xcalloc(size, 1);
    size_t used = (size_t)snprintf(uri, size, "file:");

    for (const char *p = path; *p != '\0'; p++)
        used += (size_t)snprintf(uri + used, size - used,
                                 strchr("%?#", *p) != NULL ? "%%%02X" : "%c", (unsigned char)*p);
    (void)snprintf(uri + used, size - used, "%s", end);
    return uri;
}

int store_open_read_only(const char *path, struct store **ret, struct edl_error *error)
{
    static const struct setting settings[] = { { "locking_mode", "EXCLUSIVE", "exclusive" } };
    _cleanup_free_ char *uri = sqlite_read_only_uri(path);
    struct sqlite_engine *sqlite;
    int r = open_file(uri, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, &sqlite, error);

    if (r < 0)
        return r;
    (void)sqlite3_db_config(sqlite->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    r = set_all(sqlite, settings, ELEMENTS(settings), error);
    if (r == 0)
        r = check_whole(sqlite, error);
    if (r == 0)
        r = sqlite_check_newest(sqlite, error);
    if (r == 0)
        return give_store(sqlite, path, true, ret, error);
    (void)sqlite_engine_close(sqlite);
    return r;
}

bool store_is_read_only(const struct store *store)
{
    return store->read_only;
}
