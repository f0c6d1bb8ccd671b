/* SPDX-License-Identifier: Apache-2.0 */
/* sqlite_internal.h - shared by the files of scheduler/store/sqlite only; they alone know SQLite */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "scheduler/store/engine.h"
#include "scheduler/store/sqlite/sqlite_engine.h"

#define SQLITE_RESTORE_REMEDY                                                                      \
    "stop the scheduler and take a backup: edl admin restore FILE --state-dir DIR; without one,"   \
    " sqlite3 edl.db .recover"

struct sqlite_engine {
    struct engine engine;                     /* the first member */
    sqlite3 *db;                              /* owned */
    sqlite3_stmt *begin, *commit, *roll_back; /* owned; NULL until they are used */
    int schema_version;                       /* once it is the newest */
    bool (*is_late)(void *userdata);          /* sqlite_engine_open_reader */
    void *userdata;
};

/* sqlite_engine_of - what is behind the engine of a store that sqlite_open.c opened */
struct sqlite_engine *sqlite_engine_of(struct engine *engine);

/* sqlite_engine_open - with SQLite's flags. Errors: as engine_error */
int sqlite_engine_open(const char *name, int flags, struct sqlite_engine **ret,
                       struct edl_error *error);
struct sqlite_engine *sqlite_engine_close(struct sqlite_engine *sqlite); /* accepts NULL */

/* sqlite_exec - statements without parameters; doing: for people */
int sqlite_exec(struct sqlite_engine *sqlite, const char *sql, const char *doing,
                struct edl_error *error);

/* sqlite_text - a column, "" for NULL */
const char *sqlite_text(sqlite3_stmt *statement, int column);

/* sqlite_says_ok - a PRAGMA that checks; EDL_ECORRUPT with its finding */
int sqlite_says_ok(struct sqlite_engine *sqlite, const char *pragma, struct edl_error *error);

/* sqlite_file_bytes - 0 when it cannot be looked at */
uint64_t sqlite_file_bytes(const char *path);

/* sqlite_read_only_uri - a file for reading alone, without a lock; characters with a meaning in a
 * URI are escaped. The caller frees it. */
char *sqlite_read_only_uri(const char *path);

/* sqlite_is_current - the schema is the newest: no row is going to be rewritten */
bool sqlite_is_current(struct sqlite_engine *sqlite);

/* sqlite_migrate - brings the schema from PRAGMA user_version to the newest */
int sqlite_migrate(struct sqlite_engine *sqlite, struct edl_error *error);

/* sqlite_check_newest - -EINVAL unless the schema is the newest already; writes nothing */
int sqlite_check_newest(struct sqlite_engine *sqlite, struct edl_error *error);
