/* SPDX-License-Identifier: Apache-2.0 */
/* postgresql_migrate.c - the schema, made at once and brought forward by numbered files
 *
 * Its first file has the schema of all numbers up to its own. From there on each number has two
 * texts, one for each engine. A program with a newer schema than the database's changes it only
 * when no other scheduler leads: the leader may be of the version before. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "scheduler/store/postgresql/postgresql_internal.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/macro.h"

#define SQL_SIZE 400
#define MIGRATION_LIMIT_US (600 * USEC_PER_SEC) /* of one statement: millions of rows */

struct migration {
    int version;
    const char *name;
    const char *sql;
};

static const struct migration migrations[] = {
#include "scheduler/store/postgresql_migrations.inc"
};

#define NEWEST (migrations[ELEMENTS(migrations) - 1].version)

/* number_of - the first column of the first row; 0: there is none */
static int number_of(struct postgresql_engine *postgresql, const char *sql, int64_t *ret)
{
    PGresult *result = NULL;
    int r = postgresql_plain(postgresql, sql, &result);

    *ret = r == 0 && libpq.PQntuples(result) > 0 ? strtoll(libpq.PQgetvalue(result, 0, 0), NULL, 10)
                                                 : 0;
    libpq.PQclear(result);
    return r;
}

/* read_version - 0: the database is empty. -EINVAL: it is of something else */
static int read_version(struct postgresql_engine *postgresql, int64_t *ret)
{
    int64_t n_tables = 0, there = 0;
    int r =
        number_of(postgresql, "SELECT (to_regclass('schema_migration') IS NOT NULL)::int", &there);

    *ret = 0;
    if (r == 0 && there != 0)
        return number_of(postgresql, "SELECT coalesce(max(version), 0) FROM schema_migration", ret);
    if (r == 0)
        r = number_of(postgresql,
                      "SELECT count(*) FROM pg_tables WHERE schemaname = current_schema()",
                      &n_tables);
    if (r < 0 || n_tables == 0)
        return r;
    (void)postgresql_fail(postgresql, -EINVAL, "it has tables of something else");
    postgresql->kept.remedy = "give the scheduler a database of its own";
    return -EINVAL;
}

static int record(struct postgresql_engine *postgresql, int version, const char *name)
{
    char sql[SQL_SIZE];

    (void)snprintf(sql, sizeof sql, "INSERT INTO schema_migration VALUES (%d, '%s', %llu)", version,
                   name, (unsigned long long)clock_read_us(CLOCK_REALTIME));
    return postgresql_plain(postgresql, sql, NULL);
}

/* Number 1 tells when the database was made, whichever the first one of its engine is. */
static int apply(struct postgresql_engine *postgresql, const struct migration *migration,
                 bool is_first)
{
    int r = postgresql_plain(postgresql, migration->sql, NULL);

    if (r == 0 && is_first)
        r = record(postgresql, 1, "made");
    return r < 0 ? r : record(postgresql, migration->version, migration->name);
}

static int apply_all(struct postgresql_engine *postgresql, int64_t version)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < ELEMENTS(migrations); i++)
        if (migrations[i].version > version)
            r = apply(postgresql, &migrations[i], version == 0 && i == 0);
    return r;
}

/* may_lead - the lock of the leader, held until this session ends: -EAGAIN another one has it */
static int may_lead(struct postgresql_engine *postgresql, int64_t version)
{
    char sql[SQL_SIZE];
    int64_t has = 0;
    int r;

    (void)snprintf(sql, sizeof sql, "SELECT pg_try_advisory_lock(%d)::int", LOCK_LEADER);
    r = number_of(postgresql, sql, &has);
    if (r < 0 || has != 0)
        return r;
    (void)postgresql_fail(postgresql, -EAGAIN,
                          "a scheduler that knows its schema %lld leads; the schema becomes %d when"
                          " that one has stopped",
                          (long long)version, NEWEST);
    return -EAGAIN;
}

static int bring_forward(struct postgresql_engine *postgresql)
{
    char sql[SQL_SIZE];
    int64_t version = 0;
    int r;

    postgresql->answer_limit_us = MIGRATION_LIMIT_US;
    (void)snprintf(sql, sizeof sql, "BEGIN; SELECT pg_advisory_xact_lock(%d)", LOCK_SCHEMA);
    r = postgresql_plain(postgresql, sql, NULL);
    if (r == 0)
        r = read_version(postgresql, &version); /* another one may have been first */
    if (r == 0 && version != 0 && version < NEWEST)
        r = may_lead(postgresql, version);
    if (r == 0 && version < NEWEST)
        r = apply_all(postgresql, version);
    if (r == 0)
        r = postgresql_plain(postgresql, "COMMIT", NULL);
    postgresql->answer_limit_us = ANSWER_LIMIT_US;
    if (r == 0)
        return 0;
    if (postgresql->connection != NULL) {
        struct kept_error kept = postgresql->kept;

        (void)postgresql_plain(postgresql, "ROLLBACK", NULL);
        postgresql->kept = kept;
    }
    return r;
}

static int is_newer(struct postgresql_engine *postgresql, int64_t version)
{
    (void)postgresql_fail(postgresql, -EINVAL,
                          "it has schema %lld, and this program knows schemas up to %d",
                          (long long)version, NEWEST);
    postgresql->kept.remedy = "start the newer edl-scheduler, or name another database";
    return -EINVAL;
}

int postgresql_migrate(struct postgresql_engine *postgresql)
{
    int64_t version = 0;
    int r = read_version(postgresql, &version);

    if (r == 0 && version > NEWEST)
        r = is_newer(postgresql, version);
    if (r == 0 && version < NEWEST)
        r = bring_forward(postgresql);
    if (r == 0)
        postgresql->schema_version = NEWEST;
    return r;
}

static int fail_not_there(struct postgresql_engine *postgresql)
{
    (void)postgresql_fail(postgresql, -EINVAL, "no scheduler's state is in it");
    postgresql->kept.remedy = "name the database that has it";
    return -EINVAL;
}

int postgresql_check_there(struct postgresql_engine *postgresql)
{
    int64_t version = 0;
    int r = read_version(postgresql, &version);

    return r == 0 && version == 0 ? fail_not_there(postgresql) : r;
}

int postgresql_check_newest(struct postgresql_engine *postgresql)
{
    int64_t version = 0;
    int r = read_version(postgresql, &version);

    if (r < 0 || version == NEWEST)
        return r;
    if (version > NEWEST)
        return is_newer(postgresql, version);
    if (version == 0)
        return fail_not_there(postgresql);
    (void)postgresql_fail(postgresql, -EINVAL, "it has schema %lld, this program needs %d",
                          (long long)version, NEWEST);
    postgresql->kept.remedy = "start this edl-scheduler over it once: it brings the schema forward";
    return -EINVAL;
}

int postgresql_read_types(struct postgresql_engine *postgresql)
{
    static const char all[] =
        "SELECT c.relname, a.attname, format_type(a.atttypid, NULL) FROM pg_class AS c JOIN"
        " pg_attribute AS a ON a.attrelid = c.oid WHERE c.relkind = 'r' AND a.attnum > 0 AND"
        " NOT a.attisdropped AND c.relnamespace = current_schema()::regnamespace";
    PGresult *result = NULL;
    int r = postgresql_plain(postgresql, all, &result);

    for (int i = 0; r == 0 && i < libpq.PQntuples(result); i++)
        column_types_add(&postgresql->types, libpq.PQgetvalue(result, i, 0),
                         libpq.PQgetvalue(result, i, 1), libpq.PQgetvalue(result, i, 2));
    libpq.PQclear(result);
    return r;
}
