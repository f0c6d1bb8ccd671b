/* SPDX-License-Identifier: Apache-2.0 */
/* store_open.c - opening the database: settings, check after an unclean stop, schema, statements
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

#include "scheduler/store/store_internal.h"
#include "shared/cleanup.h"
#include "shared/error.h"

#define BUSY_TIMEOUT_MS 5000 /* somebody reads along with the sqlite3 shell */

/* The first column of the first row of a statement, as text; false: there is none. */
static bool first_text(struct store *store, const char *sql, char *ret, size_t size)
{
    sqlite3_stmt *statement = NULL;
    bool found = false;

    if (sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW) {
        (void)snprintf(ret, size, "%s", store_column_text(statement, 0));
        found = true;
    }
    (void)sqlite3_finalize(statement);
    return found;
}

struct setting {
    const char *name, *value, *expected;
};

/* Written, and read back: a file system without shared memory silently stays out of WAL. */
static int set_and_check(struct store *store, const struct setting *setting,
                         struct edl_error *error)
{
    char text[80];
    char found[32] = "";

    (void)snprintf(text, sizeof text, "PRAGMA %s = %s", setting->name, setting->value);
    if (sqlite3_exec(store->db, text, NULL, NULL, NULL) != SQLITE_OK)
        return store_error(store, text, error);
    (void)snprintf(text, sizeof text, "PRAGMA %s", setting->name);
    (void)first_text(store, text, found, sizeof found);
    if (streq(found, setting->expected))
        return 0;
    (void)edl_error_set(error, -EINVAL, "the database does not take %s = %s (it says \"%s\")",
                        setting->name, setting->value, found);
    (void)edl_error_remedy(error, "keep --state-dir on a local file system");
    return -EINVAL;
}

static int set_all(struct store *store, const struct setting *settings, size_t n,
                   struct edl_error *error)
{
    for (size_t i = 0; i < n; i++) {
        int r = set_and_check(store, &settings[i], error);

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

int store_says_ok(struct store *store, const char *pragma, struct edl_error *error)
{
    char found[200] = "";

    if (!first_text(store, pragma, found, sizeof found))
        return store_error(store, "checking the database", error);
    if (streq(found, "ok"))
        return 0;
    return edl_error_set(error, EDL_ECORRUPT, "the database is damaged: %s", found);
}

static int check_whole(struct store *store, struct edl_error *error)
{
    int r = store_says_ok(store, "PRAGMA quick_check(1)", error);

    return r == EDL_ECORRUPT ? edl_error_remedy(error, STORE_RESTORE_REMEDY) : r;
}

static int open_file(const char *name, int flags, struct store **ret, struct edl_error *error)
{
    struct store *store = xcalloc(1, sizeof *store);

    if (sqlite3_open_v2(name, &store->db, flags, NULL) != SQLITE_OK) {
        int r = store_error(store, name, error);

        (void)store_free(store);
        return r;
    }
    (void)sqlite3_busy_timeout(store->db, BUSY_TIMEOUT_MS);
    store->sweeping = true;
    histogram_init(&store->commits, histogram_work_us);
    *ret = store;
    return 0;
}

/* SQLite opens a file that it may not write for reading, and says so only when asked. */
static int check_writable(struct store *store, struct edl_error *error)
{
    if (sqlite3_db_readonly(store->db, "main") == 0)
        return 0;
    return edl_error_set(error, -EROFS, "the database cannot be opened for writing");
}

bool store_wants_check(const struct store *store)
{
    return store->wants_check;
}

int store_check_pages(const char *path, struct edl_error *error)
{
    struct store *store;
    int r = open_file(path, SQLITE_OPEN_READONLY, &store, error);

    if (r < 0)
        return r;
    r = check_whole(store, error);
    (void)store_free(store);
    return r;
}

void store_stay_open(struct store *store)
{
    (void)sqlite3_db_config(store->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
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
    struct store *store;
    int r = open_file(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &store, error);

    if (r < 0)
        return r;
    r = check_writable(store, error);
    if (r == 0)
        r = set_all(store, settings, ELEMENTS(settings), error);
    /* a migration rewrites rows, so the rows that it reads are checked first, however large they
     * are */
    store->wants_check =
        left_open && store_file_bytes(path) > STORE_CHECK_BYTES && store_is_current(store);
    if (r == 0 && left_open && !store->wants_check)
        r = check_whole(store, error);
    if (r == 0)
        r = store_migrate(store, error);
    if (r == 0)
        r = store_prepare_all(store, error);
    if (r < 0)
        (void)store_free(store);
    else
        *ret = store;
    return r;
}

char *store_read_only_uri(const char *path)
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
    _cleanup_free_ char *uri = store_read_only_uri(path);
    struct store *store;
    int r = open_file(uri, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, &store, error);

    if (r < 0)
        return r;
    store->read_only = true;
    (void)sqlite3_db_config(store->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    r = set_all(store, settings, ELEMENTS(settings), error);
    if (r == 0)
        r = check_whole(store, error);
    if (r == 0)
        r = store_check_newest(store, error);
    if (r == 0)
        r = store_prepare_all(store, error);
    if (r < 0)
        (void)store_free(store);
    else
        *ret = store;
    return r;
}

bool store_is_read_only(const struct store *store)
{
    return store->read_only;
}

/* The schema's version, as it is: it stands in the first page, which is written anew. */
int store_probe(struct store *store, struct edl_error *error)
{
    char text[48];
    int r = 0;

    (void)snprintf(text, sizeof text, "PRAGMA user_version = %d", store->schema_version);
    if (sqlite3_exec(store->db, text, NULL, NULL, NULL) != SQLITE_OK)
        r = store_error(store, "writing", error);
    if (r == 0)
        store->last_commit = 0;
    return r;
}
