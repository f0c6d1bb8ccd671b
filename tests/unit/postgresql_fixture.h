/* SPDX-License-Identifier: Apache-2.0 */
/* postgresql_fixture.h - a database of its own for a test, on the server that EDL_TEST_POSTGRESQL
 * names: the URL of a database in which a role that may make others stands. Without it, none. */
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

/* postgresql_test_sql - in the server's own database, or any other */
static inline void postgresql_test_sql(const char *url, const char *sql)
{
    struct postgresql_engine *engine;
    struct edl_error error = { 0 };

    if (postgresql_connect(url, &engine, &error) < 0)
        fail_msg("%s", error.text);
    if (postgresql_plain(engine, sql, NULL) < 0)
        (void)postgresql_told(engine, sql, &error);
    (void)engine_close(&engine->engine);
    if (error.code != 0)
        fail_msg("%s", error.text);
}

/* postgresql_test_begin - makes an empty database, and gives its URL. postgresql_test_end - no more
 * of it */
static inline void postgresql_test_begin(char url[POSTGRESQL_TEST_URL_SIZE], const char *options)
{
    static unsigned n;
    char name[60], sql[200];

    (void)snprintf(name, sizeof name, "edl_test_%d_%u", (int)getpid(), ++n);
    (void)snprintf(sql, sizeof sql, "CREATE DATABASE %s TEMPLATE template0 %s", name, options);
    postgresql_test_sql(postgresql_test_server(), sql);
    postgresql_test_url(url, name);
}

static inline void postgresql_test_end(const char *url)
{
    char sql[200];

    (void)snprintf(sql, sizeof sql, "DROP DATABASE %s WITH (FORCE)", strstr(url, "edl_test_"));
    postgresql_test_sql(postgresql_test_server(), sql);
}

#define POSTGRESQL_TEST_OPTIONS "ENCODING 'UTF8' LOCALE 'C'"
