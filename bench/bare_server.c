/* SPDX-License-Identifier: Apache-2.0 */
/* bare_server.c - the bound for edl-scheduler: libmicrohttpd and SQLite, and nothing decided
 *
 * Takes whatever is posted, writes the rows that a submission leaves, many in one transaction as
 * they come in together, and answers behind the commit. No parsing, no checks, no state. The tables
 * and the durability settings are the scheduler's own (give it the schema), and so are the rows:
 * those of the last job in a database that a scheduler left, with another number and name.
 *
 * Usage: bare_server DATABASE SCHEMA.sql SCHEDULERS-DATABASE PORT-FILE */
#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <utlist.h>

#include "shared/cleanup.h"
#include "shared/macro.h"

#define BODY_BYTES 65536

struct request {
    struct MHD_Connection *connection;
    char *body;
    size_t size;
    long long id;
    bool waiting;
    struct request *next, *prev;
};

struct row { /* inserts one; the values that are the same each time are bound once */
    sqlite3_stmt *insert;
    int id, job_id, name; /* columns, from 1 on; 0: it has none */
};

struct server {
    sqlite3 *db;
    sqlite3_stmt *begin, *commit;
    struct row job, event, audit;
    struct request *pending; /* list: in the transaction that comes next */
    struct MHD_Daemon *daemon;
    long long last_id;
};

static volatile sig_atomic_t ended;

static void on_signal(int signal)
{
    (void)signal;
    ended = 1;
}

static _Noreturn void die(const char *what, const char *why)
{
    (void)fprintf(stderr, "bare_server: %s: %s\n", what, why);
    exit(1);
}

static void step(struct server *server, sqlite3_stmt *statement)
{
    if (sqlite3_step(statement) != SQLITE_DONE || sqlite3_reset(statement) != SQLITE_OK)
        die("writing", sqlite3_errmsg(server->db));
}

static void insert(struct server *server, const struct row *row, long long id)
{
    char name[40];
    int n = snprintf(name, sizeof name, "bench-%lld", id);

    if (row->id != 0)
        (void)sqlite3_bind_int64(row->insert, row->id, id);
    if (row->job_id != 0)
        (void)sqlite3_bind_int64(row->insert, row->job_id, id);
    if (row->name != 0)
        (void)sqlite3_bind_text(row->insert, row->name, name, n, SQLITE_TRANSIENT);
    step(server, row->insert);
}

static void write_job(struct server *server, struct request *request)
{
    request->id = ++server->last_id;
    insert(server, &server->job, request->id);
    insert(server, &server->event, request->id);
    insert(server, &server->audit, request->id);
}

static void answer(struct request *request)
{
    char text[160];
    int n = snprintf(text, sizeof text, "{\"job\":\"job\",\"id\":%lld,\"state\":\"queued\"}",
                     request->id);
    struct MHD_Response *response =
        MHD_create_response_from_buffer((size_t)n, text, MHD_RESPMEM_MUST_COPY);

    (void)MHD_queue_response(request->connection, 201, response);
    MHD_destroy_response(response);
}

/* Everything that came in since the last time is one transaction. */
static void turn(struct server *server)
{
    struct request *request;

    step(server, server->begin);
    DL_FOREACH(server->pending, request)
    write_job(server, request);
    step(server, server->commit);
    DL_FOREACH(server->pending, request)
    MHD_resume_connection(request->connection);
    server->pending = NULL;
}

static enum MHD_Result on_request(void *userdata, struct MHD_Connection *connection,
                                  const char *url, const char *method, const char *version,
                                  const char *upload, size_t *upload_size, void **state)
{
    struct server *server = userdata;
    struct request *request = *state;

    (void)url;
    (void)method;
    (void)version;
    if (request == NULL) {
        request = *state = xcalloc(1, sizeof *request);
        request->connection = connection;
        request->body = xcalloc(1, BODY_BYTES);
        return MHD_YES;
    }
    if (*upload_size > 0) {
        size_t n = MIN_OF(*upload_size, BODY_BYTES - request->size);

        memcpy(request->body + request->size, upload, n);
        request->size += n;
        *upload_size = 0;
        return MHD_YES;
    }
    if (request->id != 0) {
        answer(request);
        return MHD_YES;
    }
    MHD_suspend_connection(connection);
    DL_APPEND(server->pending, request);
    return MHD_YES;
}

static void on_completed(void *userdata, struct MHD_Connection *connection, void **state,
                         enum MHD_RequestTerminationCode code)
{
    struct request *request = *state;

    (void)userdata;
    (void)connection;
    (void)code;
    if (request != NULL)
        free(request->body);
    free(request);
    *state = NULL;
}

static sqlite3_stmt *prepare(struct server *server, const char *sql)
{
    sqlite3_stmt *statement;

    if (sqlite3_prepare_v2(server->db, sql, -1, &statement, NULL) != SQLITE_OK)
        die(sql, sqlite3_errmsg(server->db));
    return statement;
}

/* copy_row - makes the statement that inserts the newest row of a table of theirs into ours */
static struct row copy_row(struct server *server, sqlite3 *theirs, const char *table)
{
    struct row row = { 0 };
    sqlite3_stmt *newest;
    char sql[1000];
    size_t used;
    int n;

    (void)snprintf(sql, sizeof sql, "SELECT * FROM %s ORDER BY rowid DESC LIMIT 1", table);
    if (sqlite3_prepare_v2(theirs, sql, -1, &newest, NULL) != SQLITE_OK ||
        sqlite3_step(newest) != SQLITE_ROW)
        die(sql, sqlite3_errmsg(theirs));
    n = sqlite3_column_count(newest);
    used = (size_t)snprintf(sql, sizeof sql, "INSERT INTO %s VALUES (?", table);
    for (int i = 1; i < n; i++)
        used += (size_t)snprintf(sql + used, sizeof sql - used, ",?");
    (void)snprintf(sql + used, sizeof sql - used, ")");
    row.insert = prepare(server, sql);
    row.id = 1; /* the primary key of each of them */
    for (int i = 0; i < n; i++) {
        const char *column = sqlite3_column_name(newest, i);

        if (streq(column, "job_id"))
            row.job_id = i + 1;
        if (streq(column, "name"))
            row.name = i + 1;
        if (sqlite3_bind_value(row.insert, i + 1, sqlite3_column_value(newest, i)) != SQLITE_OK)
            die(table, sqlite3_errmsg(server->db));
    }
    (void)sqlite3_finalize(newest);
    return row;
}

static void copy_rows(struct server *server, const char *path)
{
    sqlite3 *theirs;

    if (sqlite3_open_v2(path, &theirs, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK)
        die(path, sqlite3_errmsg(theirs));
    server->job = copy_row(server, theirs, "job");
    server->event = copy_row(server, theirs, "event");
    server->audit = copy_row(server, theirs, "audit");
    (void)sqlite3_close_v2(theirs);
}

static void open_database(struct server *server, const char *path, const char *schema)
{
    FILE *file = fopen(schema, "re");
    _cleanup_free_ char *sql = xcalloc(1, BODY_BYTES);

    if (file == NULL || fread(sql, 1, BODY_BYTES - 1, file) == 0)
        die(schema, strerror(errno));
    (void)fclose(file);
    if (sqlite3_open(path, &server->db) != SQLITE_OK ||
        sqlite3_exec(server->db,
                     "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
                     " PRAGMA foreign_keys=ON",
                     NULL, NULL, NULL) != SQLITE_OK ||
        sqlite3_exec(server->db, sql, NULL, NULL, NULL) != SQLITE_OK)
        die(path, sqlite3_errmsg(server->db));
    server->begin = prepare(server, "BEGIN IMMEDIATE");
    server->commit = prepare(server, "COMMIT");
}

static int listen_loopback(const char *port_file)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    FILE *file;

    if (fd == -1 || bind(fd, (struct sockaddr *)&address, size) == -1 || listen(fd, 1024) == -1 ||
        getsockname(fd, (struct sockaddr *)&address, &size) == -1)
        die("listening", strerror(errno));
    file = fopen(port_file, "we");
    if (file == NULL || fprintf(file, "127.0.0.1:%u\n", ntohs(address.sin_port)) < 0 ||
        fclose(file) != 0)
        die(port_file, strerror(errno));
    return fd;
}

int main(int argc, char **argv)
{
    struct server server = { .last_id = 0 };
    const union MHD_DaemonInfo *info;
    bool resumed = false;

    if (argc != 5)
        die("usage", "bare_server DATABASE SCHEMA.sql SCHEDULERS-DATABASE PORT-FILE");
    (void)signal(SIGTERM, on_signal);
    (void)signal(SIGPIPE, SIG_IGN);
    open_database(&server, argv[1], argv[2]);
    copy_rows(&server, argv[3]);
    server.daemon =
        MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, on_request,
                         &server, MHD_OPTION_LISTEN_SOCKET, listen_loopback(argv[4]),
                         MHD_OPTION_NOTIFY_COMPLETED, on_completed, &server,
                         MHD_OPTION_CONNECTION_LIMIT, 4096U, MHD_OPTION_END);
    if (server.daemon == NULL)
        die("starting", "libmicrohttpd");
    info = MHD_get_daemon_info(server.daemon, MHD_DAEMON_INFO_EPOLL_FD);
    while (!ended) {
        struct pollfd ready = { .fd = info->epoll_fd, .events = POLLIN };
        MHD_UNSIGNED_LONG_LONG timeout_ms = 0;
        bool soon = resumed; /* MHD_get_timeout knows nothing of those */

        if (!soon)
            soon = MHD_get_timeout(server.daemon, &timeout_ms) == MHD_YES && timeout_ms == 0;
        (void)poll(&ready, 1, soon ? 0 : -1);
        (void)MHD_run(server.daemon);
        resumed = server.pending != NULL;
        if (resumed)
            turn(&server);
    }
    MHD_stop_daemon(server.daemon);
    (void)sqlite3_close_v2(server.db);
    return 0;
}
