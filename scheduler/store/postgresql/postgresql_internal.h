/* SPDX-License-Identifier: Apache-2.0 */
/* postgresql_internal.h - shared by the files of scheduler/store/postgresql only; they alone know
 * PostgreSQL */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/store/engine.h"
#include "scheduler/store/postgresql/libpq.h"
#include "scheduler/store/postgresql/postgresql.h"
#include "scheduler/store/postgresql/postgresql_arrays.h"

struct edl_error;

#define CONNECT_LIMIT_US 1000000 /* of one host of several; of a single one */
#define CONNECT_SINGLE_LIMIT_US 2500000
#define ANSWER_LIMIT_US 10000000       /* without a byte from the server */
#define LOCK_LEADER 4711               /* advisory locks of the database: held by the leader, */
#define LOCK_SCHEMA 4712               /* and while the schema is changed */
#define POSTGRESQL_MOVER "edl-migrate" /* the name of a session that copies all of the state */

/* The error of the last call that failed. */
struct kept_error {
    int code; /* 0: none */
    char text[300];
    const char *remedy; /* NULL: none */
};

/* One connection. Its statements go to the server one behind the other, without a wait for each
 * ("pipeline mode"): all between two Sync messages is a transaction of the server's. */
struct postgresql_engine {
    struct engine engine; /* the first member */
    PGconn *connection;   /* owned; NULL: it was lost */
    struct kept_error kept;
    char *where;              /* owned: "database edl at db1", for people */
    unsigned long n_prepared; /* names of statements are numbers */
    unsigned long *dead;      /* owned: names of finished ones, not freed in the server yet */
    size_t n_dead;
    struct column_types types;            /* without them each run is a statement */
    struct postgresql_statement *waiting; /* whose runs wait, in the order of the first; borrowed */
    size_t n_pending;                     /* commands whose results were not read yet */
    uint64_t changes;                     /* of the last command that was read */
    bool in_transaction;
    bool failed; /* the transaction has; nothing of it is going to be stored */
    bool is_pipeline;
    bool has_ended;                      /* the server said that it ends the connection, and why */
    bool uncertain;                      /* a commit did not wait for the standby */
    uint64_t answer_limit_us;            /* without a byte from the server */
    uint64_t database_bytes, measure_us; /* as of then; not again before */
    uint64_t term;                       /* 0: it does not lead */
    bool has_loaded;                     /* postgresql_loaded: it settles with the next commit */
    unsigned long fence_name;            /* in the server, of a term */
    int schema_version;
    char *warnings; /* owned; NULL: none */
};

struct postgresql_engine *postgresql_engine_of(struct engine *engine);

#define POSTGRESQL_PARAMETERS_MAX 100
#define POSTGRESQL_NUMBER_SIZE 32

struct postgresql_value {
    const char *text;            /* NULL: SQL's NULL */
    void (*release)(void *text); /* NULL: it is borrowed */
    char number[POSTGRESQL_NUMBER_SIZE];
};

struct postgresql_statement {
    struct prepared prepared; /* the first member */
    unsigned long name;       /* in the server */
    unsigned long array_name; /* of its form with arrays; 0: not prepared yet */
    unsigned n;
    unsigned places[POSTGRESQL_PARAMETERS_MAX]; /* postgresql_statement */
    struct postgresql_value *values;            /* owned */
    const char **texts;                         /* owned: for libpq */
    PGresult *result;                           /* owned; NULL: it was not run */
    int row;                                    /* that it stands on, from 1 */
    struct array_rows rows;                   /* runs that wait; form (owned) NULL: they never do */
    bool one;                                 /* each of its runs has to change a row */
    struct postgresql_statement *prev, *next; /* of those that have some */
};

/* --- errors: postgresql_codes.c --- */

/* postgresql_code - of an SQLSTATE; NULL: of a connection that broke */
int postgresql_code(const char *sqlstate);
const char *postgresql_remedy(const char *sqlstate); /* NULL: none is known */

/* postgresql_fail - keeps an error, unless there is one already; returns its code. The format has
 * no password in it
 * postgresql_fail_result - what the server says
 * postgresql_no_row - a statement did not change the row that it had to
 * postgresql_lose - the connection is closed: -ENOTCONN from now on */
int postgresql_fail(struct postgresql_engine *postgresql, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int postgresql_fail_result(struct postgresql_engine *postgresql, const PGresult *result);
int postgresql_no_row(struct postgresql_engine *postgresql);
int postgresql_lose(struct postgresql_engine *postgresql, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* postgresql_told - the kept error; what: a statement, or the action */
int postgresql_told(struct postgresql_engine *postgresql, const char *what,
                    struct edl_error *error);

/* --- texts: postgresql_text.c --- */

/* postgresql_statement - ?N becomes $M outside of quotes, where M counts the N that the text has,
 * as the server wants a type for each number. places[N - 1] is M, 0 where the text has no N;
 * the caller frees what is returned */
char *postgresql_statement(const char *text, unsigned places[POSTGRESQL_PARAMETERS_MAX],
                           unsigned *ret_n);

/* postgresql_whole_text - the text as the server takes it: bytes that are no UTF-8 are replaced by
 * U+FFFD. NULL: it is whole as it is; else the caller frees it */
char *postgresql_whole_text(const char *text);

/* --- a connection: postgresql_connect.c --- */

/* postgresql_connect - to a host of the URL that takes writes: the one where a leader was last;
 * with least_term the first one where a leader had this term or a later one. With known_term none
 * of an earlier term (-ENOTCONN). A plain connection, not a pipeline yet */
int postgresql_connect(const char *url, uint64_t least_term, uint64_t known_term,
                       struct postgresql_engine **ret, struct edl_error *error);

/* postgresql_wait - until the connection has a result (NULL: the end of a command's); deadline_us:
 * CLOCK_MONOTONIC, 0: as long as bytes come. Negative: it was lost */
int postgresql_wait(struct postgresql_engine *postgresql, uint64_t deadline_us, PGresult **ret);

/* postgresql_plain - statements in one text, before the pipeline begins; *ret is the last result,
 * for PQclear; NULL: it is not wanted. Errors are kept */
int postgresql_plain(struct postgresql_engine *postgresql, const char *sql, PGresult **ret);

/* --- statements: postgresql_engine.c --- */

extern const struct engine_calls postgresql_calls;

/* postgresql_pipeline - from now on statements are prepared and run by engine_calls */
int postgresql_pipeline(struct postgresql_engine *postgresql);

/* postgresql_ask - a statement with its parameters as texts, and the result of it. Outside of a
 * transaction it is one */
int postgresql_ask(struct postgresql_engine *postgresql, const char *sql, int n,
                   const char *const *values, PGresult **ret);

/* postgresql_may_send - 0, or why nothing is sent any more: it was lost, or the transaction failed
 * postgresql_sent - counts a command that libpq has taken, or not (0) */
int postgresql_may_send(struct postgresql_engine *postgresql);
int postgresql_sent(struct postgresql_engine *postgresql, int taken);

/* postgresql_settle - see postgresql_loaded; outside of a transaction */
int postgresql_settle(struct postgresql_engine *postgresql);

/* postgresql_prepare_fence - before the term begins; outside of a transaction */
int postgresql_prepare_fence(struct postgresql_engine *postgresql);

/* --- runs that wait: postgresql_waiting.c --- */

#define POSTGRESQL_NAME_SIZE 24 /* of a statement in the server */
const char *postgresql_name(unsigned long number, char name[POSTGRESQL_NAME_SIZE]);

/* postgresql_send_plain - one run, as it is */
int postgresql_send_plain(struct postgresql_statement *statement, const char *const *values);
/* postgresql_let_wait - a run in a transaction, of a statement that has a form with arrays */
int postgresql_let_wait(struct postgresql_statement *statement, const char *const *values);
/* postgresql_send_waiting - all that wait. postgresql_drop_waiting - nobody wants them any more */
int postgresql_send_waiting(struct postgresql_engine *postgresql);
void postgresql_drop_waiting(struct postgresql_engine *postgresql);

/* --- the schema: postgresql_migrate.c. Errors are kept --- */

int postgresql_migrate(struct postgresql_engine *postgresql);
/* postgresql_check_newest - -EINVAL: there is none, or another one. postgresql_check_there -
 * -EINVAL: there is none */
int postgresql_check_newest(struct postgresql_engine *postgresql);
int postgresql_check_there(struct postgresql_engine *postgresql);
/* postgresql_read_types - of all columns */
int postgresql_read_types(struct postgresql_engine *postgresql);
