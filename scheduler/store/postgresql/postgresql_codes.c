/* SPDX-License-Identifier: Apache-2.0 */
/* postgresql_codes.c - what the server says, as codes of the store and words for people */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "scheduler/store/postgresql/postgresql_internal.h"
#include "shared/error.h"
#include "shared/macro.h"

#define WHAT_MAX 100 /* of a statement's text in an error */
#define FULL_REMEDY "make room on the disk of the database server"
#define OWNER_REMEDY                                                                               \
    "let the scheduler's role own the database and its tables: ALTER DATABASE DATABASE OWNER TO"   \
    " ROLE; REASSIGN OWNED BY OTHER TO ROLE"

/* The first row whose state begins so. */
static const struct {
    const char *state;
    int code;
    const char *remedy;
} states[] = {
    { "53100", -ENOSPC, FULL_REMEDY },
    { "53200", -ENOMEM, NULL },
    { "53", -ENOTCONN,
      "raise max_connections in postgresql.conf, or the CONNECTION LIMIT of the role and the"
      " database" },
    { "25006", -EROFS, "name the database's primary in the URL of the store" },
    { "40001", -EAGAIN, NULL },
    { "40P01", -EAGAIN, NULL },
    { "55P03", -EAGAIN, NULL },
    { "57014", -ETIMEDOUT, NULL },
    { "57P", -ENOTCONN, NULL },
    { "25P03", -ENOTCONN, NULL },
    { "08", -ENOTCONN, NULL },
    { "58030", -EIO, NULL },
    { "42501", -EACCES, OWNER_REMEDY },
    { "3F000", -EACCES, OWNER_REMEDY },
    { "28", -EACCES,
      "look at the role, at ~/.pgpass or PGPASSFILE, and at the server's pg_hba.conf" },
    { "3D000", -EACCES,
      "createdb --template=template0 --encoding=UTF8 --locale=C --owner=ROLE DATABASE" },
};

static size_t row_of(const char *sqlstate)
{
    size_t i = 0;

    while (i < ELEMENTS(states) && strncmp(sqlstate, states[i].state, strlen(states[i].state)) != 0)
        i++;
    return i;
}

int postgresql_code(const char *sqlstate)
{
    size_t row = sqlstate != NULL ? row_of(sqlstate) : ELEMENTS(states);

    if (sqlstate == NULL)
        return -ENOTCONN;
    return row < ELEMENTS(states) ? states[row].code : EDL_ECORRUPT;
}

const char *postgresql_remedy(const char *sqlstate)
{
    size_t row = sqlstate != NULL ? row_of(sqlstate) : ELEMENTS(states);

    return row < ELEMENTS(states) ? states[row].remedy : NULL;
}

static void keep(struct kept_error *kept, int code, const char *format, va_list ap)
{
    kept->code = code;
    kept->remedy = NULL;
    (void)vsnprintf(kept->text, sizeof kept->text, format, ap);
}

int postgresql_fail(struct postgresql_engine *postgresql, int code, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    keep(&postgresql->kept, code, format, ap);
    va_end(ap);
    return code;
}

static const char *field(const PGresult *result, int which)
{
    const char *text = libpq.PQresultErrorField(result, which);

    return text != NULL ? text : "";
}

/* The fence of a term (postgresql_lead.c) makes the turn of the leader's row NULL. */
static bool is_of_fence(const PGresult *result)
{
    return streq(field(result, PG_DIAG_SQLSTATE), "23502") &&
           streq(field(result, PG_DIAG_TABLE_NAME), "leader");
}

int postgresql_no_row(struct postgresql_engine *postgresql)
{
    return postgresql_fail(postgresql, -ENOENT, "a row that is saved is not there");
}

int postgresql_fail_result(struct postgresql_engine *postgresql, const PGresult *result)
{
    const char *state = libpq.PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *detail = field(result, PG_DIAG_MESSAGE_DETAIL);
    int code = postgresql_code(state);

    if (is_of_fence(result))
        return postgresql_fail(postgresql, -ESTALE, "another scheduler leads since");
    if (state != NULL && streq(state, "22012")) /* of a count: postgresql_waiting.c alone divides */
        return postgresql_no_row(postgresql);
    (void)postgresql_fail(postgresql, code, "%s%s%.80s", field(result, PG_DIAG_MESSAGE_PRIMARY),
                          *detail != '\0' ? ": " : "", detail);
    postgresql->kept.remedy = postgresql_remedy(state);
    if (streq(field(result, PG_DIAG_SEVERITY_NONLOCALIZED), "ERROR"))
        return code;
    /* The session is over (FATAL), or the server (PANIC): nobody knows what became of the turn. */
    if (code == -ENOSPC)
        postgresql->kept.remedy = FULL_REMEDY ", and start PostgreSQL there if it has ended";
    postgresql->kept.code = -ENOTCONN;
    postgresql->has_ended = true;
    return -ENOTCONN;
}

int postgresql_lose(struct postgresql_engine *postgresql, const char *format, ...)
{
    va_list ap;

    if (postgresql->connection == NULL)
        return -ENOTCONN;
    va_start(ap, format);
    if (!postgresql->has_ended) /* else it said why */
        keep(&postgresql->kept, -ENOTCONN, format, ap);
    va_end(ap);
    libpq.PQfinish(postgresql->connection);
    postgresql->connection = NULL;
    postgresql->n_pending = 0;
    postgresql->in_transaction = false;
    return -ENOTCONN;
}

int postgresql_told(struct postgresql_engine *postgresql, const char *what, struct edl_error *error)
{
    const struct kept_error *kept = &postgresql->kept;
    int code = kept->code < 0 ? kept->code : EDL_ECORRUPT;

    /* The reason first: the statement may be longer than an error's text. */
    (void)edl_error_set(error, code, "the %s: %.200s (%.*s%s)", postgresql->where, kept->text,
                        WHAT_MAX, what, strlen(what) > WHAT_MAX ? "..." : "");
    if (kept->remedy != NULL)
        (void)edl_error_remedy(error, "%s", kept->remedy);
    return code;
}
