/* SPDX-License-Identifier: Apache-2.0 */
/* sqlite_engine.c - the calls of an engine, by SQLite */
#include "scheduler/store/sqlite/sqlite_engine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "scheduler/store/reader_source.h"
#include "scheduler/store/sqlite/sqlite_internal.h"
#include "shared/error.h"
#include "shared/macro.h"

#define WHAT_MAX 100            /* of a statement's text in an error */
#define OPS_BETWEEN_LOOKS 10000 /* of SQLite's machine: some 0.1 ms */
#define READER_BUSY_TIMEOUT_MS 1000

struct sqlite_statement {
    struct prepared prepared; /* the first member */
    sqlite3_stmt *handle;     /* owned */
};

struct sqlite_engine *sqlite_engine_of(struct engine *engine)
{
    return (struct sqlite_engine *)engine; /* why: it is the first member */
}

static sqlite3_stmt *handle_of(struct prepared *statement)
{
    return ((struct sqlite_statement *)statement)->handle; /* why: the same */
}

/* --- errors --- */

static const struct {
    int primary; /* SQLite's primary result code */
    int code;
} codes[] = {
    { SQLITE_FULL, -ENOSPC },         { SQLITE_IOERR, -EIO },     { SQLITE_CANTOPEN, -EIO },
    { SQLITE_BUSY, -EAGAIN },         { SQLITE_LOCKED, -EAGAIN }, { SQLITE_PROTOCOL, -EAGAIN },
    { SQLITE_READONLY, -EROFS },      { SQLITE_PERM, -EACCES },   { SQLITE_NOMEM, -ENOMEM },
    { SQLITE_INTERRUPT, -ETIMEDOUT },
};

static bool is_damaged(int sqlite_code)
{
    return (sqlite_code & 0xff) == SQLITE_CORRUPT || (sqlite_code & 0xff) == SQLITE_NOTADB;
}

/* The system's words are nearer to the fault: a full disk may be told as an I/O error. */
static int error_code(sqlite3 *db)
{
    int primary = sqlite3_errcode(db) & 0xff;
    int system = sqlite3_system_errno(db);

    if (primary == SQLITE_IOERR || primary == SQLITE_CANTOPEN) {
        if (system == ENOSPC || system == EDQUOT)
            return -ENOSPC;
        if (system == EROFS)
            return -EROFS;
    }
    for (size_t i = 0; i < ELEMENTS(codes); i++)
        if (codes[i].primary == primary)
            return codes[i].code;
    return EDL_ECORRUPT;
}

static int error_of(struct engine *engine, const char *what, struct edl_error *error)
{
    sqlite3 *db = sqlite_engine_of(engine)->db;
    int code = error_code(db);

    /* The reason first: the statement may be longer than an error's text. */
    (void)edl_error_set(error, code, "the database: %.200s (%.*s%s)", sqlite3_errmsg(db), WHAT_MAX,
                        what, strlen(what) > WHAT_MAX ? "..." : "");
    if (code == -ENOSPC)
        (void)edl_error_remedy(error, "make room on the disk of the scheduler's --state-dir");
    else if (is_damaged(sqlite3_errcode(db)))
        (void)edl_error_remedy(error, SQLITE_RESTORE_REMEDY);
    return code;
}

static int failed(struct engine *engine)
{
    return error_code(sqlite_engine_of(engine)->db);
}

/* --- statements --- */

static int prepare(struct engine *engine, const char *text, struct prepared **ret)
{
    struct sqlite_statement *statement = xcalloc(1, sizeof *statement);

    statement->prepared.engine = engine;
    if (sqlite3_prepare_v3(sqlite_engine_of(engine)->db, text, -1, SQLITE_PREPARE_PERSISTENT,
                           &statement->handle, NULL) != SQLITE_OK) {
        free(statement);
        return failed(engine);
    }
    *ret = &statement->prepared;
    return 0;
}

static struct prepared *finish(struct prepared *statement)
{
    if (statement == NULL)
        return NULL;
    (void)sqlite3_finalize(handle_of(statement));
    free(statement);
    return NULL;
}

static void bind_text(struct prepared *statement, int at, const char *text,
                      void (*release)(void *text))
{
    (void)sqlite3_bind_text(handle_of(statement), at, text, -1,
                            release != NULL ? release : SQLITE_STATIC);
}

static void bind_i64(struct prepared *statement, int at, int64_t value)
{
    (void)sqlite3_bind_int64(handle_of(statement), at, value);
}

static void bind_real(struct prepared *statement, int at, double value)
{
    (void)sqlite3_bind_double(handle_of(statement), at, value);
}

/* The code is asked for first: with a reset the connection may have another. */
static int run(struct prepared *statement)
{
    sqlite3_stmt *handle = handle_of(statement);

    if (sqlite3_step(handle) == SQLITE_DONE) {
        (void)sqlite3_reset(handle);
        return 0;
    }
    (void)sqlite3_reset(handle); /* it gives the error of the step again */
    return failed(statement->engine);
}

static int next(struct prepared *statement)
{
    int step = sqlite3_step(handle_of(statement));

    return step == SQLITE_ROW ? 1 : step == SQLITE_DONE ? 0 : failed(statement->engine);
}

static void reset(struct prepared *statement)
{
    (void)sqlite3_reset(handle_of(statement));
}

const char *sqlite_text(sqlite3_stmt *statement, int column)
{
    const unsigned char *text = sqlite3_column_text(statement, column);

    return text != NULL ? (const char *)text : "";
}

static const char *column_text(struct prepared *statement, int column)
{
    return (const char *)sqlite3_column_text(handle_of(statement), column);
}

static int64_t column_i64(struct prepared *statement, int column)
{
    return sqlite3_column_int64(handle_of(statement), column);
}

static double column_real(struct prepared *statement, int column)
{
    return sqlite3_column_double(handle_of(statement), column);
}

static bool column_is_null(struct prepared *statement, int column)
{
    return sqlite3_column_type(handle_of(statement), column) == SQLITE_NULL;
}

static const char *column_name(struct prepared *statement, int column)
{
    return sqlite3_column_name(handle_of(statement), column);
}

static uint64_t changes(struct engine *engine)
{
    return (uint64_t)sqlite3_changes(sqlite_engine_of(engine)->db);
}

/* --- transactions --- */

/* run_own - a statement without rows of the connection itself, prepared once */
static int run_own(struct engine *engine, sqlite3_stmt **statement, const char *text)
{
    sqlite3 *db = sqlite_engine_of(engine)->db;

    if (*statement == NULL &&
        sqlite3_prepare_v3(db, text, -1, SQLITE_PREPARE_PERSISTENT, statement, NULL) != SQLITE_OK)
        return failed(engine);
    if (sqlite3_step(*statement) == SQLITE_DONE) {
        (void)sqlite3_reset(*statement);
        return 0;
    }
    (void)sqlite3_reset(*statement);
    return failed(engine);
}

static int begin(struct engine *engine)
{
    return run_own(engine, &sqlite_engine_of(engine)->begin, "BEGIN IMMEDIATE");
}

static int commit(struct engine *engine)
{
    return run_own(engine, &sqlite_engine_of(engine)->commit, "COMMIT");
}

static void roll_back(struct engine *engine)
{
    struct sqlite_engine *sqlite = sqlite_engine_of(engine);

    if (sqlite3_get_autocommit(sqlite->db) == 0)
        (void)run_own(engine, &sqlite->roll_back, "ROLLBACK");
}

/* --- the file --- */

uint64_t sqlite_file_bytes(const char *path)
{
    struct stat st;

    return path != NULL && stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

static void figures(struct engine *engine, struct engine_figures *ret)
{
    const char *path = sqlite3_db_filename(sqlite_engine_of(engine)->db, "main");
    struct statvfs disk = { 0 };

    if (statvfs(path, &disk) == -1)
        disk = (struct statvfs){ 0 };
    *ret = (struct engine_figures){
        .database_bytes = sqlite_file_bytes(path),
        .log_bytes = sqlite_file_bytes(sqlite3_filename_wal(path)),
        .disk_free_bytes = (uint64_t)disk.f_bavail * disk.f_frsize,
    };
}

static int check(struct engine *engine, struct edl_error *error)
{
    int moved = 0;

    if (sqlite3_file_control(sqlite_engine_of(engine)->db, "main", SQLITE_FCNTL_HAS_MOVED,
                             &moved) != SQLITE_OK ||
        moved == 0)
        return 0;
    (void)edl_error_set(error, -ENOENT, "the database file was moved, replaced or removed");
    return edl_error_remedy(error, "put edl.db back into --state-dir, or restore it from a"
                                   " backup and start the scheduler again");
}

/* The schema's version, as it is: it stands in the first page, which is written anew. */
static int probe(struct engine *engine, struct edl_error *error)
{
    char text[48];

    (void)snprintf(text, sizeof text, "PRAGMA user_version = %d",
                   sqlite_engine_of(engine)->schema_version);
    return sqlite_exec(sqlite_engine_of(engine), text, "writing", error);
}

static void disconnect(struct engine *engine)
{
    struct sqlite_engine *sqlite = sqlite_engine_of(engine);

    (void)sqlite3_finalize(sqlite->begin);
    (void)sqlite3_finalize(sqlite->commit);
    (void)sqlite3_finalize(sqlite->roll_back);
    (void)sqlite3_close(sqlite->db);
    free(sqlite);
}

static const struct engine_mark marks[] = {
    { "bytes", "length(CAST(", " AS BLOB))" }, /* of a text; octet_length is younger than 3.40 */
    { "index", "INDEXED BY ", "" },            /* the one that is meant, or none is prepared */
    { NULL, NULL, NULL },
};

static const struct engine_calls calls = {
    .marks = marks,
    .prepare = prepare,
    .finish = finish,
    .bind_text = bind_text,
    .bind_i64 = bind_i64,
    .bind_real = bind_real,
    .run = run,
    .next = next,
    .reset = reset,
    .text = column_text,
    .i64 = column_i64,
    .real = column_real,
    .is_null = column_is_null,
    .name = column_name,
    .changes = changes,
    .begin = begin,
    .commit = commit,
    .rollback = roll_back,
    .error = error_of,
    .check = check,
    .probe = probe,
    .figures = figures,
    .disconnect = disconnect,
};

/* --- a connection --- */

int sqlite_engine_open(const char *name, int flags, struct sqlite_engine **ret,
                       struct edl_error *error)
{
    struct sqlite_engine *sqlite = xcalloc(1, sizeof *sqlite);
    int r;

    sqlite->engine.calls = &calls;
    *ret = sqlite;
    if (sqlite3_open_v2(name, &sqlite->db, flags, NULL) == SQLITE_OK)
        return 0;
    r = engine_error(&sqlite->engine, name, error);
    *ret = sqlite_engine_close(sqlite);
    return r;
}

struct sqlite_engine *sqlite_engine_close(struct sqlite_engine *sqlite)
{
    (void)engine_close(sqlite != NULL ? &sqlite->engine : NULL);
    return NULL;
}

int sqlite_exec(struct sqlite_engine *sqlite, const char *sql, const char *doing,
                struct edl_error *error)
{
    if (sqlite3_exec(sqlite->db, sql, NULL, NULL, NULL) == SQLITE_OK)
        return 0;
    return engine_error(&sqlite->engine, doing, error);
}

static int ask_late(void *userdata)
{
    const struct sqlite_engine *sqlite = userdata;

    return sqlite->is_late(sqlite->userdata);
}

int sqlite_engine_open_reader(const char *path, bool (*is_late)(void *userdata), void *userdata,
                              struct engine **ret, struct edl_error *error)
{
    struct sqlite_engine *sqlite;
    int r = sqlite_engine_open(path, SQLITE_OPEN_READONLY, &sqlite, error);

    if (r < 0)
        return r;
    sqlite->is_late = is_late;
    sqlite->userdata = userdata;
    (void)sqlite3_busy_timeout(sqlite->db, READER_BUSY_TIMEOUT_MS);
    sqlite3_progress_handler(sqlite->db, OPS_BETWEEN_LOOKS, ask_late, sqlite);
    r = sqlite_exec(sqlite, "BEGIN", "reading the history", error);
    if (r < 0)
        (void)sqlite_engine_close(sqlite);
    else
        *ret = &sqlite->engine;
    return r;
}

static int open_reader(const struct reader_source *source, const struct reader_patience *patience,
                       struct engine **ret, struct edl_error *error)
{
    return sqlite_engine_open_reader(source->where, patience->is_late, patience->userdata, ret,
                                     error);
}

void sqlite_reader_source(const char *path, struct reader_source *ret)
{
    *ret = (struct reader_source){ .open = open_reader, .anew = true };
    (void)snprintf(ret->where, sizeof ret->where, "%s", path);
}
