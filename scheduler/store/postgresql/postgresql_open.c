/* SPDX-License-Identifier: Apache-2.0 */
/* postgresql_open.c - opening a database: settings that are looked at, the schema, the statements
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/store/postgresql/postgresql_internal.h"
#include "scheduler/store/store_internal.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

#define MADE_SO                                                                                    \
    "make it with: createdb --template=template0 --encoding=UTF8 --locale=C --owner=ROLE DATABASE"

/* Settings that would lose stored turns, or order names in another way. expected: values in blanks
 */
static const struct setting {
    const char *what, *sql, *expected, *remedy;
} settings[] = {
    { "synchronous_commit", "current_setting('synchronous_commit')", " on remote_apply ",
      "set synchronous_commit = on for the scheduler's role" },
    { "fsync", "current_setting('fsync')", " on ", "set fsync = on in postgresql.conf" },
    { "full_page_writes", "current_setting('full_page_writes')", " on ",
      "set full_page_writes = on in postgresql.conf" },
    { "encoding", "current_setting('server_encoding')", " UTF8 ", MADE_SO },
    { "collation", /* of a provider ICU its own name; PostgreSQL 14 has no such column */
      "(SELECT CASE to_jsonb(d) ->> 'datlocprovider' WHEN 'i' THEN 'ICU' ELSE datcollate END FROM"
      " pg_database AS d WHERE datname = current_database())",
      " C POSIX C.UTF-8 C.utf8 ", MADE_SO },
    { "pg_is_in_recovery()", "CASE WHEN pg_is_in_recovery() THEN 'on' ELSE 'off' END", " off ",
      "name the database's primary in the URL of the store" },
};

/* Settings that cost time, or proof. */
static const struct advice {
    const char *sql;  /* true: it is as it ought to be */
    const char *text; /* %s in it: the role of the connection */
} advices[] = {
    { "current_setting('data_checksums') = 'on'",
      "the database has no data_checksums, so a damaged page is not noticed: pg_checksums "
      "--enable" },
    { "(SELECT setting::bigint <= 1000 FROM pg_settings WHERE name ="
      " 'wal_retrieve_retry_interval')",
      "set wal_retrieve_retry_interval = 100ms on each server of the database: with the default of"
      " 5s a standby that lost its primary stops all commits for as long" },
    { "pg_has_role(current_user, 'pg_read_all_stats', 'USAGE') OR NOT EXISTS (SELECT FROM"
      " pg_stat_replication)",
      "the scheduler cannot see whether the copies of its database are in sync: GRANT"
      " pg_read_all_stats TO %s" },
};

static int check_setting(struct postgresql_engine *postgresql, const struct setting *setting)
{
    _cleanup_free_ char *sql = NULL;
    char word[80];
    PGresult *result = NULL;
    int r;

    if (asprintf(&sql, "SELECT %s", setting->sql) < 0)
        abort();
    r = postgresql_plain(postgresql, sql, &result);
    if (r < 0)
        return r;
    (void)snprintf(word, sizeof word, " %.60s ", libpq.PQgetvalue(result, 0, 0));
    libpq.PQclear(result);
    if (strstr(setting->expected, word) != NULL)
        return 0;
    (void)postgresql_fail(postgresql, -EINVAL, "its %s is%.*s, and the store needs%.*s",
                          setting->what, (int)strlen(word) - 1, word,
                          (int)strlen(setting->expected) - 1, setting->expected);
    postgresql->kept.remedy = setting->remedy;
    return -EINVAL;
}

/* write_advice - a line; role: for one that names it */
static void write_advice(FILE *out, const char *text, const char *role)
{
    const char *place = strstr(text, "%s");

    if (place == NULL)
        (void)fprintf(out, "%s\n", text);
    else
        (void)fprintf(out, "%.*s%s%s\n", (int)(place - text), text, role, place + 2);
}

static int look_for_advice(struct postgresql_engine *postgresql)
{
    size_t size;
    FILE *out = open_memstream(&postgresql->warnings, &size);
    int r = 0;

    if (out == NULL)
        abort();
    for (size_t i = 0; r == 0 && i < ELEMENTS(advices); i++) {
        _cleanup_free_ char *sql = NULL;
        PGresult *result = NULL;

        if (asprintf(&sql, "SELECT %s", advices[i].sql) < 0)
            abort();
        r = postgresql_plain(postgresql, sql, &result);
        if (r == 0 && !streq(libpq.PQgetvalue(result, 0, 0), "t"))
            write_advice(out, advices[i].text, libpq.PQuser(postgresql->connection));
        libpq.PQclear(result);
    }
    (void)fclose(out);
    return r;
}

/* check_directness - a pooler tells numbers of its own. Locks and prepared statements belong to a
 * session, and behind a pooler each transaction may have another one */
static int check_directness(struct postgresql_engine *postgresql)
{
    PGresult *result = NULL;
    int r = postgresql_plain(postgresql, "SELECT pg_backend_pid()", &result);
    bool is_direct = r == 0 && strtol(libpq.PQgetvalue(result, 0, 0), NULL, 10) ==
                                   libpq.PQbackendPID(postgresql->connection);

    libpq.PQclear(result);
    if (r < 0 || is_direct)
        return r;
    (void)postgresql_fail(postgresql, -EINVAL,
                          "a pooler of connections, such as pgbouncer, is in between");
    postgresql->kept.remedy = "name the database's servers themselves in the URL of the store";
    return -EINVAL;
}

static int check_all(struct postgresql_engine *postgresql)
{
    int r = check_directness(postgresql);

    for (size_t i = 0; r == 0 && i < ELEMENTS(settings); i++)
        r = check_setting(postgresql, &settings[i]);
    return r == 0 ? look_for_advice(postgresql) : r;
}

/* told_and_closed - the kept error; the connection is not used any more */
static int told_and_closed(struct postgresql_engine *postgresql, const char *what,
                           struct edl_error *error)
{
    int r = postgresql_told(postgresql, what, error);

    (void)engine_close(&postgresql->engine);
    return r;
}

/* prepare_all - one behind the other, without a wait for each: an error comes with the commit */
static int prepare_all(struct store *store, struct edl_error *error)
{
    const struct engine_calls *calls = store->engine->calls;
    int r = calls->begin(store->engine);

    if (r == 0)
        r = store_prepare_all(store, error);
    if (r == 0 && calls->commit(store->engine) < 0)
        r = store_error(store, "preparing its statements", error);
    return r;
}

/* is_away - whatever the server says of the scheduler's role is no refusal of the one who asks */
static int is_away(struct edl_error *error)
{
    error->code = -ENOTCONN;
    return error->code;
}

/* That server has a limit of time of its own. */
static int open_source(const struct reader_source *source, const struct reader_patience *patience,
                       struct engine **ret, struct edl_error *error)
{
    (void)patience;
    return postgresql_open_reader(source->where, source->least_term, ret, error) < 0
               ? is_away(error)
               : 0;
}

int postgresql_open(const char *url, uint64_t known_term, struct store **ret,
                    struct edl_error *error)
{
    struct postgresql_engine *postgresql;
    struct store *store;
    int r = postgresql_connect(url, 0, known_term, &postgresql, error);

    if (r < 0)
        return r;
    r = check_all(postgresql);
    if (r == 0)
        r = postgresql_migrate(postgresql);
    if (r == 0)
        r = postgresql_read_types(postgresql);
    if (r == 0)
        r = postgresql_pipeline(postgresql);
    if (r < 0)
        return told_and_closed(postgresql, "opening it", error);
    store = store_new();
    store->engine = &postgresql->engine;
    store->schema_version = postgresql->schema_version;
    store->readers = (struct reader_source){ .open = open_source };
    (void)snprintf(store->readers.where, sizeof store->readers.where, "%s", url);
    r = prepare_all(store, error);
    if (r == 0)
        r = store_need_sums(store, error);
    if (r < 0)
        (void)store_free(store);
    else
        *ret = store;
    return r;
}

int postgresql_open_reader(const char *url, uint64_t least_term, struct engine **ret,
                           struct edl_error *error)
{
    struct postgresql_engine *postgresql;
    int r = postgresql_connect(url, least_term, 0, &postgresql, error);

    if (r < 0)
        return r;
    r = postgresql_check_newest(postgresql);
    if (r == 0) /* shorter than the wait for an answer: that one loses the connection */
        r = postgresql_plain(postgresql,
                             "SET default_transaction_read_only = on; SET statement_timeout = 8000;"
                             " SET default_transaction_isolation = 'repeatable read'",
                             NULL);
    if (r == 0)
        r = postgresql_pipeline(postgresql);
    if (r < 0)
        return told_and_closed(postgresql, "opening it for reading", error);
    *ret = &postgresql->engine;
    return 0;
}

/* A scheduler that stands still in a transaction would hold the row of the leader. */
int postgresql_open_bytes(const char *url, uint64_t term, struct engine **ret,
                          struct edl_error *error)
{
    struct postgresql_engine *postgresql;
    int r = postgresql_connect(url, term, 0, &postgresql, error);

    if (r < 0)
        return is_away(error);
    r = postgresql_check_newest(postgresql);
    if (r == 0)
        r = postgresql_plain(postgresql, "SET idle_in_transaction_session_timeout = '1500ms'",
                             NULL);
    if (r == 0)
        r = postgresql_pipeline(postgresql);
    if (r == 0)
        r = postgresql_prepare_fence(postgresql);
    if (r < 0) {
        (void)told_and_closed(postgresql, "opening it for archives", error);
        return is_away(error);
    }
    postgresql->term = term;
    *ret = &postgresql->engine;
    return 0;
}

const char *postgresql_warnings(const struct store *store)
{
    const char *warnings = postgresql_engine_of(store->engine)->warnings;

    return warnings != NULL ? warnings : "";
}
