/* SPDX-License-Identifier: Apache-2.0 */
/* postgresql_fixture.h - a database of its own for a test, on the server that EDL_TEST_POSTGRESQL
 * names: the URL of a database there, whose role may make others. Without it, none. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "scheduler/store/postgresql/postgresql_internal.h"
#include "shared/error.h"
#include "tests/unit/test.h"

#define POSTGRESQL_TEST_URL_SIZE 400

static inline const char *postgresql_test_server(void)
{
    const char *url = getenv("EDL_TEST_POSTGRESQL");

    return url != NULL && *url != '\0' ? url : NULL;
}

/* postgresql_test_url - of another database on the server */
static inline void postgresql_test_url(char url[POSTGRESQL_TEST_URL_SIZE], const char *database)
{
    const char *server = postgresql_test_server();

    (void)snprintf(url, POSTGRESQL_TEST_URL_SIZE, "%s%cdbname=%s", server,
                   strchr(server, '?') != NULL ? '&' : '?', database);
}

/* postgresql_test_connect, postgresql_test_open - again where the machine was too busy for the
 * limit of a connection */
#define POSTGRESQL_TEST_TRIES 100
static inline struct postgresql_engine *postgresql_test_connect(const char *url)
{
    struct postgresql_engine *engine = NULL;
    struct edl_error error = { 0 };
    int r = -ENOTCONN;

    for (int i = 0; r == -ENOTCONN && i < POSTGRESQL_TEST_TRIES; i++)
        r = postgresql_connect(url, 0, 0, &engine, &error);
    if (r < 0)
        fail_msg("%s", error.text);
    return engine;
}

static inline int postgresql_test_open(const char *url, struct store **ret, struct edl_error *error)
{
    int r = -ENOTCONN;

    for (int i = 0; r == -ENOTCONN && i < POSTGRESQL_TEST_TRIES; i++)
        r = postgresql_open(url, 0, ret, error);
    return r;
}

/* postgresql_test_sql - in the server's own database, or any other */
static inline void postgresql_test_sql(const char *url, const char *sql)
{
    struct postgresql_engine *engine = postgresql_test_connect(url);
    struct edl_error error = { 0 };

    if (postgresql_plain(engine, sql, NULL) < 0)
        (void)postgresql_told(engine, sql, &error);
    (void)engine_close(&engine->engine);
    if (error.code != 0)
        fail_msg("%s", error.text);
}

/* --- places for a store, each with its URL --- */

#define POSTGRESQL_TEST_PREFIX "edl_test_"

/* postgresql_test_database - one that is made; options: its encoding and locale */
static inline void postgresql_test_database(char url[POSTGRESQL_TEST_URL_SIZE], const char *options)
{
    static unsigned n;
    char name[60], sql[200];

    (void)snprintf(name, sizeof name, POSTGRESQL_TEST_PREFIX "%d_%u", (int)getpid(), ++n);
    (void)snprintf(sql, sizeof sql, "CREATE DATABASE %s TEMPLATE template0 %s", name, options);
    postgresql_test_sql(postgresql_test_server(), sql);
    postgresql_test_url(url, name);
}

static inline void postgresql_test_drop_database(const char *url)
{
    char sql[200];

    (void)snprintf(sql, sizeof sql, "DROP DATABASE %s WITH (FORCE)",
                   strstr(url, POSTGRESQL_TEST_PREFIX));
    postgresql_test_sql(postgresql_test_server(), sql);
}

/* postgresql_test_schema - an empty one in the server's own database; such are made much quicker */
static inline void postgresql_test_schema(char url[POSTGRESQL_TEST_URL_SIZE])
{
    static unsigned n;
    const char *server = postgresql_test_server();
    char name[60], sql[200];

    (void)snprintf(name, sizeof name, POSTGRESQL_TEST_PREFIX "%d_%u", (int)getpid(), ++n);
    (void)snprintf(sql, sizeof sql, "CREATE SCHEMA %s", name);
    postgresql_test_sql(server, sql);
    (void)snprintf(url, POSTGRESQL_TEST_URL_SIZE, "%s%coptions=-csearch_path%%3D%s", server,
                   strchr(server, '?') != NULL ? '&' : '?', name);
}

static inline void postgresql_test_drop_schema(const char *url)
{
    char sql[200];

    (void)snprintf(sql, sizeof sql, "SET client_min_messages = error; DROP SCHEMA %s CASCADE",
                   strstr(url, POSTGRESQL_TEST_PREFIX));
    postgresql_test_sql(postgresql_test_server(), sql);
}

/* The rows that the schema begins with, and no others. */
static inline void postgresql_test_empty(const char *url)
{
    static const struct {
        int version;
        const char *name, *sql;
    } migrations[] = {
#include "scheduler/store/postgresql_migrations.inc"
    };
    char sql[8192];
    size_t used;

    used = (size_t)snprintf(sql, sizeof sql,
                            "BEGIN; DO $$ DECLARE t text; BEGIN FOR t IN SELECT tablename FROM"
                            " pg_tables WHERE schemaname = current_schema() AND tablename <>"
                            " 'schema_migration' LOOP EXECUTE format('DELETE FROM %%I', t); END"
                            " LOOP; END $$;");
    for (size_t i = 0; i < sizeof migrations / sizeof migrations[0]; i++) {
        const char *at = migrations[i].sql;

        for (; (at = strstr(at, "INSERT INTO ")) != NULL && used < sizeof sql; at++)
            used +=
                (size_t)snprintf(sql + used, sizeof sql - used, "%.*s;", (int)strcspn(at, ";"), at);
    }
    if (used < sizeof sql)
        used += (size_t)snprintf(sql + used, sizeof sql - used, "COMMIT");
    assert_in_range(used, 1, sizeof sql - 1);
    postgresql_test_sql(url, sql);
}

static char postgresql_test_kept[POSTGRESQL_TEST_URL_SIZE];

static inline void postgresql_test_drop_kept(void)
{
    postgresql_test_drop_schema(postgresql_test_kept);
}

/* postgresql_test_begin - a schema with the store's tables, for all tests of this program one after
 * the other. It has the rows of its migrations and no others */
static inline void postgresql_test_begin(char url[POSTGRESQL_TEST_URL_SIZE])
{
    if (postgresql_test_kept[0] == '\0') {
        postgresql_test_schema(postgresql_test_kept);
        (void)atexit(postgresql_test_drop_kept);
    } else {
        postgresql_test_empty(postgresql_test_kept);
    }
    (void)snprintf(url, POSTGRESQL_TEST_URL_SIZE, "%s", postgresql_test_kept);
}
