/* SPDX-License-Identifier: Apache-2.0 */
/* postgresql_waiting.c - runs of a transaction that wait, and go as arrays (postgresql_arrays.h) */
#include <stdio.h>
#include <stdlib.h>
#include <utlist.h>

#include "scheduler/store/postgresql/postgresql_internal.h"
#include "shared/cleanup.h"
#include "shared/macro.h"
#include "shared/text_format.h"

#define WAIT_AT_MOST 2048 /* runs of one statement: memory, here and in the server */

static struct postgresql_engine *of_statement(const struct postgresql_statement *statement)
{
    return postgresql_engine_of(statement->prepared.engine);
}

const char *postgresql_name(unsigned long number, char name[POSTGRESQL_NAME_SIZE])
{
    (void)snprintf(name, POSTGRESQL_NAME_SIZE, "edl%lu", number);
    return name;
}

static int send_prepared(struct postgresql_statement *statement, unsigned long number,
                         const char *const *values)
{
    struct postgresql_engine *postgresql = of_statement(statement);
    char name[POSTGRESQL_NAME_SIZE];

    return postgresql_sent(postgresql,
                           libpq.PQsendQueryPrepared(postgresql->connection,
                                                     postgresql_name(number, name),
                                                     (int)statement->n, values, NULL, NULL, 0));
}

int postgresql_send_plain(struct postgresql_statement *statement, const char *const *values)
{
    return send_prepared(statement, statement->name, values);
}

/* The server counts, so that nobody waits for the number: where it is wrong the division by zero
 * ends the transaction (postgresql_codes.c). */
#define COUNTED_BEFORE "WITH changed AS ("
#define COUNTED_BEHIND " RETURNING 1) SELECT 1 / (count(*) = cardinality($1))::integer FROM changed"

static int prepare_arrays(struct postgresql_statement *statement)
{
    struct postgresql_engine *postgresql = of_statement(statement);
    _cleanup_free_ char *sql = NULL;
    char name[POSTGRESQL_NAME_SIZE];

    if (statement->array_name != 0)
        return 0;
    sql = text_format("%s%s%s", statement->one ? COUNTED_BEFORE : "", statement->rows.form->sql,
                      statement->one ? COUNTED_BEHIND : "");
    statement->array_name = ++postgresql->n_prepared;
    return postgresql_sent(postgresql,
                           libpq.PQsendPrepare(postgresql->connection,
                                               postgresql_name(statement->array_name, name), sql, 0,
                                               NULL));
}

static int send_arrays(struct postgresql_statement *statement)
{
    char **literals = xcalloc(statement->n, sizeof *literals);
    int r = prepare_arrays(statement);

    for (unsigned i = 0; i < statement->n; i++)
        literals[i] = array_rows_literal(&statement->rows, i);
    if (r == 0)
        r = send_prepared(statement, statement->array_name, (const char *const *)literals);
    for (unsigned i = 0; i < statement->n; i++)
        free(literals[i]);
    free(literals);
    return r;
}

static int send_one(struct postgresql_statement *statement)
{
    if (statement->rows.n > 1 || statement->one)
        return send_arrays(statement);
    return postgresql_send_plain(statement, array_rows_values(&statement->rows));
}

int postgresql_send_waiting(struct postgresql_engine *postgresql)
{
    int r = postgresql_may_send(postgresql);

    while (postgresql->waiting != NULL) {
        struct postgresql_statement *statement = postgresql->waiting;

        DL_DELETE(postgresql->waiting, statement);
        if (r == 0)
            r = send_one(statement);
        array_rows_clear(&statement->rows);
    }
    return r;
}

void postgresql_drop_waiting(struct postgresql_engine *postgresql)
{
    while (postgresql->waiting != NULL) {
        struct postgresql_statement *statement = postgresql->waiting;

        DL_DELETE(postgresql->waiting, statement);
        array_rows_clear(&statement->rows);
    }
}

/* clashes - whether a run that is sent behind this statement's may be about the same row: it came
 * before this one. Those of statements that are sent before it came before as well */
static bool clashes(const struct postgresql_statement *statement, const char *const *values)
{
    const struct postgresql_statement *later = statement->rows.n > 0 ? statement->next : NULL;

    while (later != NULL && !array_rows_clash(&later->rows, statement->rows.form, values))
        later = later->next;
    return later != NULL;
}

int postgresql_let_wait(struct postgresql_statement *statement, const char *const *values)
{
    struct postgresql_engine *postgresql = of_statement(statement);
    int r = postgresql_may_send(postgresql);

    if (r == 0 && (statement->rows.n >= WAIT_AT_MOST || clashes(statement, values)))
        r = postgresql_send_waiting(postgresql);
    if (r < 0)
        return r;
    if (statement->rows.n == 0)
        DL_APPEND(postgresql->waiting, statement);
    array_rows_add(&statement->rows, values);
    return 0;
}
