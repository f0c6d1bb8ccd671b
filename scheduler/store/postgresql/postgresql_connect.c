/* SPDX-License-Identifier: Apache-2.0 */
/* postgresql_connect.c - a connection to the host of a URL that takes writes
 *
 * libpq itself tries several hosts one after the other, but with no limit of time for one that
 * accepts a connection and says nothing: a frozen machine. So each host is a connection of its own
 * here, with a limit of its own. Only the search for a host's address (getaddrinfo) is libpq's, and
 * waits as long as the resolver does.
 *
 * libpq tells no SQLSTATE when no connection is made, unless its texts have them (verbose). */
#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/store/postgresql/postgresql_internal.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/macro.h"

#define OLDEST_SERVER 140000
#define URL_REMEDY "write it as postgresql://USER@HOST/DATABASE"
#define ESCAPE_REMEDY                                                                              \
    "a port is 1 to 65535; a password has %40 for @, %2F for / and %3F for ?; better: keep it in"  \
    " ~/.pgpass"
#define PASSWORD_REMEDY                                                                            \
    "keep the password in ~/.pgpass of the scheduler's account (mode 0600), or in the file that"   \
    " PGPASSFILE names"
#define WORDS_REMEDY "look at the URL of the store: store in scheduler.conf, or --store"
#define PLACE_REMEDY                                                                               \
    "does PostgreSQL run there, and listen at this address? The URL is store in scheduler.conf"
#define TLS_REMEDY "look at sslmode and sslrootcert in the URL of the store"
#define OLD_REMEDY "the store needs PostgreSQL 14 or newer"
#define LOST_REMEDY                                                                                \
    "start the server of that term, or name this cluster's database; where that server is"         \
    " gone for good, stop the schedulers and go on with the rows of then: edl admin begin-epoch"
#define EMPTY_REMEDY                                                                               \
    "name the database that has it; to bring a backup back: edl admin restore FILE; to begin a"    \
    " new cluster: stop the schedulers, remove the file term of each state directory, and start"   \
    " them"
#define FORMER_REMEDY                                                                              \
    "stop that server and make it a copy of the one that takes its place (docs/replicated.md)"

/* Told to libpq beside the URL's own words, which win. */
static const struct {
    const char *name, *value;
} defaults[] = {
    { "target_session_attrs", "read-write" },
    { "keepalives", "1" },
    { "keepalives_idle", "1" },
    { "keepalives_interval", "1" },
    { "keepalives_count", "2" },
    { "tcp_user_timeout", "2000" },
};

/* By this name schedulers know each other's sessions, so the URL has no say. */
#define SESSION_NAME "edl-scheduler"

/* Of each connection, whatever is set for the role or the database. The server ends a session whose
 * client is gone, also while it works; it ends none for its age, as the store has limits of its
 * own. */
static const char session_settings[] =
    "SET client_encoding = 'UTF8'; SET synchronous_commit = on; SET plan_cache_mode ="
    " force_generic_plan; SET jit = off; SET DateStyle = 'ISO'; SET bytea_output = 'hex';"
    " SET array_nulls = on; SET extra_float_digits = 1; SET temp_tablespaces = '';"
    " SET standard_conforming_strings = on; SET default_transaction_isolation = 'read committed';"
    " SET statement_timeout = 0; SET lock_timeout = 0; SET idle_session_timeout = 0;"
    " SET idle_in_transaction_session_timeout = 0; SET client_connection_check_interval = 500;"
    " SET tcp_user_timeout = 2000; SET tcp_keepalives_idle = 1; SET tcp_keepalives_interval = 1;"
    " SET tcp_keepalives_count = 2; SET client_min_messages = warning;"
    " SELECT set_config('transaction_timeout', '0', false) WHERE" /* since PostgreSQL 17 */
    " current_setting('server_version_num')::int >= 170000";

static uint64_t now_us(void)
{
    return clock_read_us(CLOCK_MONOTONIC);
}

/* --- notices --- */

/* The commit of a transaction was not told to the standby: a person, or a fast shutdown, ended the
 * wait for it. The words may be translated; the function's name is not. */
static void hear(void *userdata, const PGresult *notice)
{
    struct postgresql_engine *postgresql = userdata;
    const char *function = libpq.PQresultErrorField(notice, PG_DIAG_SOURCE_FUNCTION);
    const char *text = libpq.PQresultErrorField(notice, PG_DIAG_MESSAGE_PRIMARY);

    if ((function != NULL && streq(function, "SyncRepWaitForLSN")) ||
        (text != NULL && strstr(text, "synchronous replication") != NULL))
        postgresql->uncertain = true;
}

/* --- waiting --- */

/* wait_for - events of the connection's socket; false: not before the deadline */
static bool wait_for(PGconn *connection, short events, uint64_t deadline_us)
{
    struct pollfd fd = { .fd = libpq.PQsocket(connection), .events = events };

    for (;;) {
        uint64_t now = now_us();
        uint64_t left_ms = deadline_us > now ? (deadline_us - now) / USEC_PER_MSEC + 1 : 0;
        int r = poll(&fd, 1, (int)MIN_OF(left_ms, UINT64_C(60000)));

        if (r > 0)
            return true;
        if (r < 0 && errno != EINTR)
            return false;
        if (now_us() >= deadline_us)
            return false;
    }
}

/* one_line - the first one of libpq's text */
static const char *one_line(const PGconn *connection, char *line, size_t size)
{
    const char *text = libpq.PQerrorMessage(connection);

    (void)snprintf(line, size, "%.*s", (int)MIN_OF(strcspn(text, "\n"), size - 1), text);
    return line;
}

static int lost(struct postgresql_engine *postgresql)
{
    char line[250];

    return postgresql_lose(postgresql, "the connection was lost: %s",
                           one_line(postgresql->connection, line, sizeof line));
}

int postgresql_wait(struct postgresql_engine *postgresql, uint64_t deadline_us, PGresult **ret)
{
    PGconn *connection = postgresql->connection;

    while (connection != NULL) {
        int unsent = libpq.PQflush(connection);
        uint64_t limit_us = deadline_us != 0 ? deadline_us : now_us() + postgresql->answer_limit_us;

        if (unsent < 0)
            return lost(postgresql);
        if (libpq.PQisBusy(connection) == 0) {
            *ret = libpq.PQgetResult(connection);
            return 0;
        }
        if (!wait_for(connection, (short)(unsent > 0 ? POLLIN | POLLOUT : POLLIN), limit_us))
            return postgresql_lose(postgresql, "it does not answer");
        if (libpq.PQconsumeInput(connection) == 0)
            return lost(postgresql);
    }
    return -ENOTCONN;
}

int postgresql_plain(struct postgresql_engine *postgresql, const char *sql, PGresult **ret)
{
    PGresult *last = NULL;
    int r = 0;

    if (postgresql->connection == NULL)
        return -ENOTCONN;
    if (libpq.PQsendQuery(postgresql->connection, sql) == 0)
        return lost(postgresql);
    for (;;) {
        PGresult *result = NULL;

        if (postgresql_wait(postgresql, 0, &result) < 0)
            r = -ENOTCONN;
        if (result == NULL)
            break;
        if (libpq.PQresultStatus(result) == PGRES_FATAL_ERROR)
            r = postgresql_fail_result(postgresql, result);
        libpq.PQclear(last);
        last = result;
    }
    if (r == 0 && ret != NULL)
        *ret = TAKE_PTR(last);
    libpq.PQclear(last);
    return r;
}

/* --- hosts --- */

/* part_of - the at-th part of a list; the last one where there are fewer. The caller frees it */
static char *part_of(const char *list, size_t at)
{
    const char *comma;
    char *part;

    for (; at > 0 && (comma = strchr(list, ',')) != NULL; at--)
        list = comma + 1;
    part = xstrdup(list);
    part[strcspn(part, ",")] = '\0';
    return part;
}

static size_t n_parts(const char *list)
{
    size_t n = 1;

    for (; (list = strchr(list, ',')) != NULL; list++)
        n++;
    return n;
}

static const char *option(const PQconninfoOption *options, const char *name)
{
    for (; options->keyword != NULL; options++)
        if (streq(options->keyword, name))
            return options->val != NULL ? options->val : "";
    return "";
}

/* are_ports - of a list: each is one, and there is one for all hosts, or one for each */
static bool are_ports(const char *list, size_t n_hosts)
{
    size_t n = n_parts(list);
    bool good = n == 1 || n == n_hosts;

    for (size_t i = 0; good && i < n; i++) {
        char *part = part_of(list, i);
        unsigned long port = strtoul(part, NULL, 10);

        good = *part == '\0' ||
               (port >= 1 && port <= 65535 && part[strspn(part, "0123456789")] == '\0');
        free(part);
    }
    return good;
}

/* is_split_rightly - a password with an @ or a / that is not escaped ends too early for libpq. What
 * stands behind would be the host, the port or the database, which are told to people. One behind
 * %3A is part of the role's name. The name of an abstract socket begins with an @ */
static bool is_split_rightly(const PQconninfoOption *options)
{
    const char *host = option(options, "host"), *addresses = option(options, "hostaddr");
    size_t n_hosts = MAX_OF(n_parts(host), n_parts(addresses));

    return strchr(host + (*host == '@'), '@') == NULL &&
           strchr(option(options, "dbname"), '@') == NULL &&
           strchr(option(options, "user"), ':') == NULL &&
           are_ports(option(options, "port"), n_hosts) &&
           (*host == '\0' || *addresses == '\0' || n_parts(host) == n_parts(addresses));
}

/* refused_url - libpq's words may have a password in them; a key that it does not know is none */
static int refused_url(const char *words, struct edl_error *error)
{
    static const char unknown[] = "invalid URI query parameter: ";

    if (words != NULL && strncmp(words, unknown, strlen(unknown)) == 0)
        (void)edl_error_set(error, -EINVAL, "libpq knows no key %.*s in the URL of the store",
                            (int)strcspn(words + strlen(unknown), "\n"), words + strlen(unknown));
    else
        (void)edl_error_set(error, -EINVAL, "libpq cannot read the URL of the store");
    return edl_error_remedy(error, URL_REMEDY);
}

static bool is_list(const char *name)
{
    return streq(name, "host") || streq(name, "hostaddr") || streq(name, "port");
}

#define OPTIONS_MAX 80 /* libpq 15 has some 45 */

struct parameters {
    const char *names[OPTIONS_MAX + 5], *values[OPTIONS_MAX + 5]; /* see words_are_wrong */
    char *parts[OPTIONS_MAX];                                     /* owned */
    size_t n, n_parts;
};

static void parameters_of(struct parameters *parameters, const PQconninfoOption *options,
                          size_t host)
{
    *parameters = (struct parameters){ 0 };
    for (size_t i = 0; i < ELEMENTS(defaults); i++, parameters->n++) {
        parameters->names[parameters->n] = defaults[i].name;
        parameters->values[parameters->n] = defaults[i].value;
    }
    for (; options->keyword != NULL && parameters->n < OPTIONS_MAX; options++) {
        char *part;

        if (options->val == NULL || *options->val == '\0')
            continue;
        part = is_list(options->keyword) ? part_of(options->val, host) : xstrdup(options->val);
        parameters->parts[parameters->n_parts++] = part;
        parameters->names[parameters->n] = options->keyword;
        parameters->values[parameters->n++] = part;
    }
    parameters->names[parameters->n] = "application_name";
    parameters->values[parameters->n++] = SESSION_NAME;
}

static void parameters_done(struct parameters *parameters)
{
    for (size_t i = 0; i < parameters->n_parts; i++)
        free(parameters->parts[i]);
}

/* state_in - the SQLSTATE in libpq's words, "FATAL:  3D000: database ..."; NULL: they have none.
 * *ret_words: the text behind it */
static const char *state_in(const char *text, char state[6], const char **ret_words)
{
    for (const char *at = strstr(text, ":  "); at != NULL; at = strstr(at + 1, ":  ")) {
        size_t n = 0;

        while (n < 5 && (isdigit((unsigned char)at[3 + n]) || isupper((unsigned char)at[3 + n])))
            n++;
        if (n < 5 || at[8] != ':')
            continue;
        (void)snprintf(state, 6, "%.5s", at + 3);
        *ret_words = at + 10;
        return state;
    }
    *ret_words = text;
    return NULL;
}

/* words_are_wrong - the URL has a value that libpq cannot use, as sslmode=maybe: it says so of any
 * host, also of one that cannot be there. parameters is changed */
static bool words_are_wrong(struct parameters *parameters)
{
    static const char *const elsewhere[][2] = { { "host", "/nonexistent" }, { "hostaddr", "" } };

    for (size_t i = 0; i < ELEMENTS(elsewhere); i++, parameters->n++) {
        parameters->names[parameters->n] = elsewhere[i][0];
        parameters->values[parameters->n] = elsewhere[i][1];
    }
    parameters->names[parameters->n] = parameters->values[parameters->n] = NULL;
    return libpq.PQpingParams(parameters->names, parameters->values, 0) == PQPING_NO_ATTEMPT;
}

/* The words only choose what is advised. */
static const char *remedy_of(const char *words)
{
    static const struct {
        const char *words, *remedy;
    } rows[] = {
        { "read-only", "name the database's primary in the URL of the store, and look at"
                       " default_transaction_read_only of the role and of the database" },
        { "SSL", TLS_REMEDY },
        { "certificate", TLS_REMEDY },
    };

    for (size_t i = 0; i < ELEMENTS(rows); i++)
        if (strstr(words, rows[i].words) != NULL)
            return rows[i].remedy;
    return PLACE_REMEDY;
}

static int refused(struct postgresql_engine *postgresql, const PGconn *connection)
{
    char line[250], state[6];
    const char *words;
    const char *found = state_in(one_line(connection, line, sizeof line), state, &words);
    bool wants_password = libpq.PQconnectionNeedsPassword(connection) != 0;
    int code = wants_password ? -EACCES : postgresql_code(found);

    (void)postgresql_fail(postgresql, code, "%s", words);
    postgresql->kept.remedy = wants_password  ? PASSWORD_REMEDY
                              : found == NULL ? remedy_of(words)
                                              : postgresql_remedy(found);
    return code;
}

static int refused_by_libpq(struct postgresql_engine *postgresql, const PGconn *connection,
                            struct parameters *parameters)
{
    char line[250];

    if (!words_are_wrong(parameters))
        return refused(postgresql, connection);
    (void)postgresql_fail(postgresql, -EINVAL, "%s", one_line(connection, line, sizeof line));
    postgresql->kept.remedy = WORDS_REMEDY;
    return -EINVAL;
}

static int silent(struct postgresql_engine *postgresql)
{
    (void)postgresql_fail(postgresql, -ENOTCONN, "it does not answer");
    postgresql->kept.remedy = PLACE_REMEDY;
    return -ENOTCONN;
}

/* poll_connection - until it stands, or the host's time is over */
static int poll_connection(struct postgresql_engine *postgresql, PGconn *connection,
                           uint64_t limit_us)
{
    uint64_t deadline_us = now_us() + limit_us;
    PostgresPollingStatusType status = PGRES_POLLING_WRITING;

    while (status != PGRES_POLLING_OK) {
        if (status == PGRES_POLLING_FAILED)
            return refused(postgresql, connection);
        if (!wait_for(connection, status == PGRES_POLLING_READING ? POLLIN : POLLOUT, deadline_us))
            return silent(postgresql);
        status = libpq.PQconnectPoll(connection);
    }
    return 0;
}

static void name_place(struct postgresql_engine *postgresql, const PGconn *connection)
{
    char where[300];
    const char *host = libpq.PQhost(connection), *database = libpq.PQdb(connection);

    (void)snprintf(where, sizeof where, "database %.60s%s%.200s",
                   database != NULL && *database != '\0' ? database : "of the store",
                   host != NULL && *host != '\0' ? " at " : "", host != NULL ? host : "");
    free(postgresql->where);
    postgresql->where = xstrdup(where);
}

/* How far the leaders of a server have come. */
struct age {
    uint64_t term, turn;
};

/* read_age - all 0: nobody has led there */
static int read_age(struct postgresql_engine *postgresql, struct age *ret)
{
    PGresult *result = NULL;
    bool has_leader;
    int r = postgresql_plain(postgresql, "SELECT to_regclass('leader') IS NOT NULL", &result);

    *ret = (struct age){ 0 };
    has_leader = r == 0 && streq(libpq.PQgetvalue(result, 0, 0), "t");
    libpq.PQclear(result);
    result = NULL;
    if (has_leader)
        r = postgresql_plain(postgresql, "SELECT term, turn FROM leader WHERE id = 1", &result);
    if (has_leader && r == 0 && libpq.PQntuples(result) == 1) {
        ret->term = strtoull(libpq.PQgetvalue(result, 0, 0), NULL, 10);
        ret->turn = strtoull(libpq.PQgetvalue(result, 0, 1), NULL, 10);
    }
    libpq.PQclear(result);
    return r;
}

static bool is_older(const struct age *age, const struct age *than)
{
    return age->term != than->term ? age->term < than->term : age->turn < than->turn;
}

static int fail_older(struct postgresql_engine *postgresql, const struct age *age,
                      const struct age *than, const char *remedy)
{
    (void)postgresql_fail(postgresql, -ENOTCONN,
                          "it has rows of term %llu, and term %llu is that of another server",
                          (unsigned long long)age->term, (unsigned long long)than->term);
    postgresql->kept.remedy = remedy;
    return -ENOTCONN;
}

/* fail_empty - nobody has led there: the nodes of a cluster that begins anew end all they run */
static int fail_empty(struct postgresql_engine *postgresql, const struct age *known)
{
    (void)postgresql_fail(postgresql, -ENOTCONN,
                          "no scheduler's state is in it, and the state of term %llu was elsewhere",
                          (unsigned long long)known->term);
    postgresql->kept.remedy = EMPTY_REMEDY;
    return -ENOTCONN;
}

static int try_host(struct postgresql_engine *postgresql, const PQconninfoOption *options,
                    size_t host, size_t n_hosts)
{
    struct parameters parameters;
    PGconn *connection;
    int r;

    parameters_of(&parameters, options, host);
    connection = libpq.PQconnectStartParams(parameters.names, parameters.values, 0);
    if (connection == NULL)
        abort();
    name_place(postgresql, connection);
    (void)libpq.PQsetErrorVerbosity(connection, PQERRORS_VERBOSE);
    if (libpq.PQstatus(connection) == CONNECTION_BAD)
        r = refused_by_libpq(postgresql, connection, &parameters);
    else
        r = poll_connection(postgresql, connection,
                            n_hosts > 1 ? CONNECT_LIMIT_US : CONNECT_SINGLE_LIMIT_US);
    parameters_done(&parameters);
    if (r < 0) {
        libpq.PQfinish(connection);
        return r;
    }
    (void)libpq.PQsetErrorVerbosity(connection, PQERRORS_DEFAULT);
    (void)libpq.PQsetNoticeReceiver(connection, hear, postgresql);
    (void)libpq.PQsetnonblocking(connection, 1);
    postgresql->connection = connection;
    if (libpq.PQserverVersion(connection) < OLDEST_SERVER) {
        (void)postgresql_fail(postgresql, -EINVAL, "the server is PostgreSQL %d",
                              libpq.PQserverVersion(connection) / 10000);
        postgresql->kept.remedy = OLD_REMEDY;
        return -EINVAL;
    }
    return postgresql_plain(postgresql, session_settings, NULL);
}

/* The newest server that takes writes, while others are tried. */
struct newest {
    PGconn *connection; /* owned; NULL: there is none yet */
    char *where;        /* owned */
    struct age age;
};

/* keep_newest - the connection is newest's, or closed */
static void keep_newest(struct postgresql_engine *postgresql, const struct age *age,
                        struct newest *newest)
{
    if (newest->connection != NULL && !is_older(&newest->age, age)) {
        libpq.PQfinish(TAKE_PTR(postgresql->connection));
        return;
    }
    if (newest->connection != NULL)
        libpq.PQfinish(newest->connection);
    free(newest->where);
    *newest =
        (struct newest){ TAKE_PTR(postgresql->connection), TAKE_PTR(postgresql->where), *age };
}

/* try_hosts - of all errors the one of a host that answered is told, if there is one.
 * A former primary that is started again takes writes, and has the rows of then. So of several that
 * do the one counts where a leader was last. The server of a term that is known may be the one that
 * cannot be used now. */
static int try_hosts(struct postgresql_engine *postgresql, const PQconninfoOption *options,
                     uint64_t least_term, uint64_t known_term)
{
    size_t n = MAX_OF(n_parts(option(options, "host")), n_parts(option(options, "hostaddr")));
    const struct age least = { .term = least_term }, known = { .term = known_term };
    struct newest newest = { 0 };
    struct kept_error kept = { 0 };
    _cleanup_free_ char *where = NULL;

    for (size_t i = 0; i < n && (newest.connection == NULL || least_term == 0); i++) {
        struct age age = { 0 };
        int r = try_host(postgresql, options, i, n);

        if (r == 0 && (n > 1 || least_term > 0 || known_term > 0))
            r = read_age(postgresql, &age);
        if (r == 0 && is_older(&age, &least))
            r = fail_older(postgresql, &age, &least, FORMER_REMEDY);
        if (r == 0) {
            keep_newest(postgresql, &age, &newest);
            continue;
        }
        if (i == 0 || (kept.code == -ENOTCONN && r != -ENOTCONN)) {
            kept = postgresql->kept;
            free(where);
            where = xstrdup(postgresql->where);
        }
        if (postgresql->connection != NULL) /* it stands, and is not the one that is wanted */
            (void)postgresql_lose(postgresql, "another host is tried");
    }
    postgresql->kept = kept;
    postgresql->has_ended = postgresql->uncertain = false;
    postgresql->connection = newest.connection;
    free(postgresql->where);
    postgresql->where = newest.connection != NULL ? newest.where : TAKE_PTR(where);
    if (newest.connection == NULL)
        return kept.code;
    if (newest.age.term >= known_term)
        return 0;
    (void)postgresql_lose(postgresql, "another host is waited for");
    return newest.age.term == 0 ? fail_empty(postgresql, &known)
                                : fail_older(postgresql, &newest.age, &known, LOST_REMEDY);
}

int postgresql_connect(const char *url, uint64_t least_term, uint64_t known_term,
                       struct postgresql_engine **ret, struct edl_error *error)
{
    struct postgresql_engine *postgresql;
    PQconninfoOption *options;
    char *words = NULL;
    int r = libpq_load(error);

    if (r < 0)
        return r;
    options = libpq.PQconninfoParse(url, &words);
    r = options == NULL ? refused_url(words, error) : 0;
    libpq.PQfreemem(words);
    if (r < 0)
        return r;
    if (!is_split_rightly(options)) {
        libpq.PQconninfoFree(options);
        (void)edl_error_set(error, -EINVAL,
                            "the URL of the store names no role, host, port or database that can"
                            " be");
        return edl_error_remedy(error, "%s", ESCAPE_REMEDY);
    }
    postgresql = xcalloc(1, sizeof *postgresql);
    postgresql->engine.calls = &postgresql_calls;
    postgresql->answer_limit_us = ANSWER_LIMIT_US;
    r = try_hosts(postgresql, options, least_term, known_term);
    libpq.PQconninfoFree(options);
    if (r == 0) {
        *ret = postgresql;
        return 0;
    }
    r = postgresql_told(postgresql, "connecting", error);
    (void)engine_close(&postgresql->engine);
    return r;
}
