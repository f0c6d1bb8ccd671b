/* SPDX-License-Identifier: Apache-2.0 */
/* sqlite_revoke.c - what was taken away from people and nodes since a backup was made
 *
 * A backup brings back all that was valid when it was made. The database that it replaces knows the
 * rights that were taken away since: those that it had once, and has no more. Whether it ever had
 * something is told by its number (ids of tokens are never given twice) or by the moment at which
 * it was made: a database that was restored itself has gaps, of which it knows nothing (table
 * epoch). Each rule is one statement, which changes the backup and says of each row what it did.
 * A right in a gap stays, and is told to people.
 *
 * That both are of one cluster is told by the microsecond at which their database was made. */
#include "scheduler/store/store.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "scheduler/core/core.h"
#include "scheduler/store/sqlite/sqlite_internal.h"
#include "scheduler/store/store_internal.h"
#include "shared/cleanup.h"
#include "shared/error.h"

#define SCHEMA_WITH_USERS 3
#define SCHEMA_WITH_GAPS 10
#define SCHEMA_WITH_NUMBERS 50

/* The times of which `former` knows nothing: after its end, and between a backup and its restore.
 * last_token: the highest id that a token ever had there. */
#define MAKE_GAPS(last_token)                                                                      \
    "CREATE TEMP TABLE gap (after_us, until_us, after_id, until_id);"                              \
    "INSERT INTO gap SELECT " STORE_KNOWN_UNTIL(                                                   \
        "former.") ", 9223372036854775807, coalesce((" last_token "), 0), 9223372036854775807;"
#define LAST_TOKEN "SELECT last FROM former.number WHERE name = 'token'"
#define LAST_TOKEN_BEFORE "SELECT seq FROM former.sqlite_sequence WHERE name = 'token'"
#define ADD_EPOCHS                                                                                 \
    "INSERT INTO gap SELECT known_until_us, began_wall_us, last_token, epoch << 20"                \
    " FROM former.epoch WHERE known_until_us IS NOT NULL;"

#define IN_GAP(us) "EXISTS (SELECT 1 FROM gap WHERE " us " > after_us AND " us " < until_us)"
#define TOKEN_IN_GAP "EXISTS (SELECT 1 FROM gap WHERE id > after_id AND id <= until_id)"

/* When the node of the row joined last; 0: so long ago that its event is forgotten. */
#define JOINED_US                                                                                  \
    "coalesce((SELECT e.time_us FROM main.event AS e WHERE e.event = 'node-joined' AND"            \
    " e.node = name ORDER BY e.revision DESC LIMIT 1), 0)"
#define REMOVED_NODE "name NOT IN (SELECT name FROM former.node) AND NOT " IN_GAP(JOINED_US)
#define LIVE_PROCESS                                                                               \
    "EXISTS (SELECT 1 FROM main.process AS p WHERE p.node = name AND"                              \
    " p.state NOT IN ('exited', 'lost'))"
#define RANK(role)                                                                                 \
    "CASE " role " WHEN 'none' THEN 0 WHEN 'viewer' THEN 1 WHEN 'user' THEN 2"                     \
    " WHEN 'operator' THEN 3 ELSE 4 END"

static const struct rule {
    enum revoked_kind kind;
    const char *sql; /* gives a line, or NULL when nobody needs to know */
} rules[] = {
    { REVOKED_TOKEN,
      "DELETE FROM main.token WHERE id NOT IN (SELECT id FROM former.token) AND NOT " TOKEN_IN_GAP
      " RETURNING iif(expires_wall_us BETWEEN 1 AND ?1, NULL,"
      " 'token ' || id || ' of ' || user || iif(note = '', '', ' (' || note || ')'))" },
    { REVOKED_USER, "DELETE FROM main.user WHERE name NOT IN (SELECT name FROM former.user) AND"
                    " NOT " IN_GAP("created_wall_us") " RETURNING 'user ' || name" },
    { REVOKED_TOKEN, /* made in a gap, for somebody who was removed elsewhere */
      "DELETE FROM main.token WHERE user NOT IN (SELECT name FROM main.user)"
      " RETURNING 'token ' || id || ' of ' || user" },
    { REVOKED_ROLE,
      "UPDATE main.user SET role = (SELECT f.role FROM former.user AS f WHERE f.name = user.name)"
      " WHERE EXISTS (SELECT 1 FROM former.user AS f WHERE f.name = user.name AND " RANK(
          "f.role") " < " RANK("user.role") ") RETURNING 'user ' || name || ' is ' || role" },
    { REVOKED_ROLE, /* without a row, an account of the scheduler's host may more */
      "INSERT INTO main.user (name, role, created_wall_us)"
      " SELECT name, role, created_wall_us FROM former.user WHERE role IN ('none', 'viewer') AND"
      " name NOT IN (SELECT name FROM main.user) RETURNING 'user ' || name || ' is ' || role" },
    /* A lease has to end before a process that the backup calls running there can run elsewhere. */
    { REVOKED_NODE, "UPDATE main.node SET credential_hash = '' WHERE " REMOVED_NODE
                    " AND " LIVE_PROCESS " RETURNING 'node ' || name" },
    { REVOKED_NODE, "DELETE FROM main.node WHERE " REMOVED_NODE " AND NOT " LIVE_PROCESS
                    " RETURNING 'node ' || name" },
    { REVOKED_CREDENTIAL,
      "UPDATE main.node SET credential_hash ="
      " (SELECT f.credential_hash FROM former.node AS f WHERE f.name = node.name)"
      " WHERE EXISTS (SELECT 1 FROM former.node AS f WHERE f.name = node.name AND"
      " f.credential_hash <> node.credential_hash) AND NOT " IN_GAP(
          JOINED_US) " RETURNING 'the credential that node ' || name || ' had before it joined "
                     "anew'" },
    { REVOKED_LEFT_OUT,
      "SELECT 'node ' || name FROM former.node WHERE name NOT IN (SELECT name FROM main.node)" },
    { REVOKED_UNKNOWN,
      "SELECT 'token ' || id || ' of ' || user || iif(note = '', '', ' (' || note || ')')"
      " FROM main.token WHERE id NOT IN (SELECT id FROM former.token)"
      " AND NOT expires_wall_us BETWEEN 1 AND ?1" },
    { REVOKED_UNKNOWN,
      "SELECT 'user ' || name FROM main.user WHERE name NOT IN (SELECT name FROM former.user)" },
    { REVOKED_UNKNOWN,
      "SELECT 'node ' || name FROM main.node WHERE credential_hash <> '' AND"
      " coalesce((SELECT f.credential_hash FROM former.node AS f WHERE f.name = node.name), '')"
      " <> credential_hash" },
};

/* For a log whose index is not shared, the mode comes first: the attached one takes it over, and is
 * read at once. */
static int attach(struct sqlite_engine *sqlite, const char *former, struct edl_error *error)
{
    _cleanup_free_ char *uri = sqlite_read_only_uri(former);
    sqlite3_stmt *statement = NULL;
    int r = 0;

    if (sqlite3_exec(sqlite->db, "PRAGMA locking_mode = EXCLUSIVE", NULL, NULL, NULL) !=
            SQLITE_OK ||
        sqlite3_prepare_v2(sqlite->db, "ATTACH ?1 AS former", -1, &statement, NULL) != SQLITE_OK ||
        sqlite3_bind_text(statement, 1, uri, -1, SQLITE_STATIC) != SQLITE_OK ||
        sqlite3_step(statement) != SQLITE_DONE)
        r = engine_error(&sqlite->engine, "opening it", error);
    (void)sqlite3_finalize(statement);
    return r;
}

static int check_former(struct sqlite_engine *sqlite, int *ret_schema, struct edl_error *error)
{
    int64_t newest = engine_number(&sqlite->engine, "PRAGMA main.user_version");
    int64_t schema = engine_number(&sqlite->engine, "PRAGMA former.user_version");
    int r = sqlite_says_ok(sqlite, "PRAGMA former.quick_check(1)", error);

    if (r < 0)
        return r;
    if (schema < SCHEMA_WITH_USERS || schema > newest)
        return edl_error_set(error, -EINVAL,
                             "it has schema %" PRId64 ", not one from %d to %" PRId64, schema,
                             SCHEMA_WITH_USERS, newest);
    if (engine_number(&sqlite->engine,
                      "SELECT a.applied_us = b.applied_us FROM main.schema_migration AS a"
                      " JOIN former.schema_migration AS b USING (version)"
                      " WHERE version = 1") != 1)
        return edl_error_set(error, -EINVAL, "it is another cluster's");
    *ret_schema = (int)schema;
    return 0;
}

static int apply(struct sqlite_engine *sqlite, const struct rule *rule, uint64_t now_wall_us,
                 store_revoked_fn fn, void *userdata, struct edl_error *error)
{
    sqlite3_stmt *statement = NULL;
    int step = sqlite3_prepare_v2(sqlite->db, rule->sql, -1, &statement, NULL);
    int r = 0;

    if (step == SQLITE_OK && sqlite3_bind_parameter_count(statement) == 1)
        (void)sqlite3_bind_int64(statement, 1, (sqlite3_int64)now_wall_us);
    while (step == SQLITE_OK && (step = sqlite3_step(statement)) == SQLITE_ROW) {
        if (sqlite3_column_type(statement, 0) == SQLITE_TEXT)
            fn(rule->kind, sqlite_text(statement, 0), userdata);
        step = SQLITE_OK;
    }
    if (step != SQLITE_DONE)
        r = engine_error(&sqlite->engine, "comparing", error);
    (void)sqlite3_finalize(statement);
    return r;
}

static int apply_all(struct sqlite_engine *sqlite, int schema, uint64_t now_wall_us,
                     store_revoked_fn fn, void *userdata, struct edl_error *error)
{
    const char *make_gaps =
        schema >= SCHEMA_WITH_NUMBERS ? MAKE_GAPS(LAST_TOKEN) : MAKE_GAPS(LAST_TOKEN_BEFORE);
    int r = 0;

    if (sqlite3_exec(sqlite->db, "PRAGMA foreign_keys = ON; BEGIN IMMEDIATE", NULL, NULL, NULL) !=
            SQLITE_OK ||
        sqlite3_exec(sqlite->db, make_gaps, NULL, NULL, NULL) != SQLITE_OK ||
        (schema >= SCHEMA_WITH_GAPS &&
         sqlite3_exec(sqlite->db, ADD_EPOCHS, NULL, NULL, NULL) != SQLITE_OK))
        r = engine_error(&sqlite->engine, "comparing", error);
    for (size_t i = 0; r == 0 && i < ELEMENTS(rules); i++)
        r = apply(sqlite, &rules[i], now_wall_us, fn, userdata, error);
    if (r == 0 && sqlite3_exec(sqlite->db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
        r = engine_error(&sqlite->engine, "committing", error);
    return r;
}

static int read_known(struct sqlite_engine *sqlite, struct epoch_known *ret,
                      struct edl_error *error)
{
    sqlite3_stmt *statement = NULL;
    int r = 0;

    if (sqlite3_prepare_v2(sqlite->db, "SELECT " STORE_KNOWN("former."), -1, &statement, NULL) !=
            SQLITE_OK ||
        sqlite3_step(statement) != SQLITE_ROW)
        r = engine_error(&sqlite->engine, "reading what it knows", error);
    else
        *ret =
            (struct epoch_known){ .next_job = (uint64_t)sqlite3_column_int64(statement, 0),
                                  .made_us = (uint64_t)sqlite3_column_int64(statement, 1),
                                  .known_until_us = (uint64_t)sqlite3_column_int64(statement, 2) };
    (void)sqlite3_finalize(statement);
    return r;
}

int store_revoke(const char *path, const char *former, uint64_t now_wall_us, store_revoked_fn fn,
                 void *userdata, struct epoch_known *ret_known, struct edl_error *error)
{
    struct sqlite_engine *sqlite;
    int schema = 0;
    int r = sqlite_engine_open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_URI, &sqlite, error);

    if (r < 0)
        return r;
    if (sqlite3_db_config(sqlite->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL) != SQLITE_OK)
        r = engine_error(&sqlite->engine, path, error);
    else
        r = attach(sqlite, former, error);
    if (r == 0)
        r = check_former(sqlite, &schema, error);
    if (r == 0)
        r = read_known(sqlite, ret_known, error);
    if (r == 0)
        r = apply_all(sqlite, schema, now_wall_us, fn, userdata, error);
    (void)sqlite_engine_close(sqlite); /* uncommitted rows are rolled back */
    return r;
}
