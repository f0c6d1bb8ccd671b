/* SPDX-License-Identifier: Apache-2.0 */
/* pserver.c - a parameter server: one shard of a job's parameters for all its trainers */
#include "trainer/pserver.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels/kernels.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "trainer/checkpoint.h"
#include "trainer/handshake.h"
#include "trainer/lag_rule.h"
#include "trainer/local_sgd.h"
#include "trainer/one_writer.h"
#include "trainer/ps_connection.h"
#include "trainer/pserver_terms.h"
#include "trainer/table.h"

#define CONNECTIONS_MAX 2048

struct pserver {
    struct pserver_config config;
    char *checkpoint_path;
    struct one_writer writer; /* of the checkpoint */
    sd_event *event;
    sd_event_source *listen_source, *checkpoint_source, *greeting_source, *child_source;
    struct table *table;    /* NULL before the first declaration */
    bool restored;          /* from the checkpoint */
    uint64_t saved_updates; /* in the checkpoint; UINT64_MAX: none written */
    uint64_t saving_updates;
    pid_t child;
    struct ps_connection *connections[CONNECTIONS_MAX];
    size_t n_connections;
    struct trainer_record *trainers; /* of each trainer index that said HELLO; owned */
    uint32_t n_trainers;
    struct pserver_terms terms;
};

/* In whatever life. */
struct trainer_record {
    uint64_t incarnation; /* the newest */
    struct lag_record lag;
};

static int refuse(struct ps_connection *connection, int code, const char *text)
{
    struct wire_refused refused = { .code = code };
    uint8_t body[WIRE_REFUSED_MAX];

    (void)snprintf(refused.text, sizeof refused.text, "%s", text);
    log_warning("refused %strainer-%u: %s",
                ps_connection_peer(connection)->greeted ? "" : "a peer that says it is ",
                ps_connection_peer(connection)->trainer, text);
    ps_connection_reply(connection, WIRE_REFUSED, body, wire_refused_encode(&refused, body), NULL,
                        0, NULL, 0);
    return code;
}

static void drop(struct pserver *server, struct ps_connection *connection)
{
    for (size_t i = 0; i < server->n_connections; i++)
        if (server->connections[i] == connection) {
            server->connections[i] = server->connections[--server->n_connections];
            break;
        }
    (void)ps_connection_free(connection);
    (void)sd_event_source_set_enabled(server->listen_source, SD_EVENT_ON);
}

/* A newer incarnation, or the same one connecting again, ends what its index had before. */
static void drop_older(struct pserver *server, const struct ps_connection *keep, uint32_t trainer)
{
    for (size_t i = server->n_connections; i-- > 0;) {
        struct ps_connection *other = server->connections[i];

        if (other != keep && ps_connection_peer(other)->greeted &&
            ps_connection_peer(other)->trainer == trainer)
            drop(server, other);
    }
}

static void remember(struct pserver *server, uint32_t trainer, uint64_t incarnation)
{
    if (trainer >= server->n_trainers) {
        uint32_t n = trainer + 16;

        server->trainers = xreallocarray(server->trainers, n, sizeof *server->trainers);
        memset(server->trainers + server->n_trainers, 0,
               (n - server->n_trainers) * sizeof *server->trainers);
        server->n_trainers = n;
    }
    if (server->trainers[trainer].incarnation != incarnation)
        server->trainers[trainer].lag.has_pushed = false;
    server->trainers[trainer].incarnation = incarnation;
}

/* What a stranger may know: with whom it has connected. */
static int check_hello(const struct pserver *server, const struct wire_hello *hello,
                       struct edl_error *error)
{
    if (hello->job_id != server->config.job_id)
        return edl_error_set(error, -EINVAL, "this server is of job %" PRIu64 ", not %" PRIu64,
                             server->config.job_id, hello->job_id);
    if (server->config.index != PSERVER_ANY && hello->shard != server->config.index)
        return edl_error_set(error, EDL_ESTALE, "this is server %u, not %u", server->config.index,
                             hello->shard);
    return 0;
}

static int on_hello(struct pserver *server, struct ps_connection *connection,
                    const struct wire_header *header, const uint8_t *body)
{
    struct ps_peer *peer = ps_connection_peer(connection);
    struct edl_error error = { 0 };
    struct job_claim claim;
    uint8_t reply[WIRE_CHALLENGE_BYTES];
    int r;

    if (peer->challenged)
        return refuse(connection, -EINVAL, "HELLO comes once");
    r = wire_hello_decode(body, (size_t)header->body_bytes, &peer->hello, &error);
    if (r < 0)
        return refuse(connection, r, error.text);
    peer->trainer = peer->hello.trainer;
    r = check_hello(server, &peer->hello, &error);
    if (r < 0)
        return refuse(connection, r, error.text);
    peer->challenge.shard = peer->hello.shard;
    peer->challenge.incarnation = server->config.incarnation;
    r = job_nonce_make(peer->challenge.nonce, &error);
    claim = handshake_server_claim(&peer->hello, &peer->challenge);
    if (r >= 0)
        r = job_proof_make(server->config.secret, &claim, peer->challenge.proof, &error);
    if (r < 0)
        return refuse(connection, r, error.text);
    peer->challenged = true;
    ps_connection_reply(connection, WIRE_CHALLENGE, reply,
                        wire_challenge_encode(&peer->challenge, reply), NULL, 0, NULL, 0);
    return 0;
}

/* One try: who failed connects again, and gets another nonce. */
static int check_proof(const struct pserver *server, const struct ps_peer *peer,
                       const uint8_t proof[JOB_PROOF_BYTES], struct edl_error *error)
{
    const struct wire_hello *hello = &peer->hello;
    struct job_claim claim = handshake_trainer_claim(hello, &peer->challenge);

    if (!job_proof_check(server->config.secret, &claim, proof))
        return edl_error_set(error, -EACCES, "trainer-%u does not prove that it is of job %" PRIu64,
                             hello->trainer, hello->job_id);
    if (server->table != NULL && table_shape(server->table)->n_shards != hello->n_shards)
        return edl_error_set(
            error, -EINVAL,
            "the parameters lie on %u servers, not %u: start all trainers with the "
            "same --pservers, --ports_num and --ports_num_for_sparse",
            table_shape(server->table)->n_shards, hello->n_shards);
    if (hello->trainer >= PSERVER_TRAINERS_MAX)
        return edl_error_set(error, -EINVAL, "trainer index %u is too large", hello->trainer);
    if (hello->trainer < server->n_trainers &&
        hello->incarnation < server->trainers[hello->trainer].incarnation)
        return edl_error_set(error, EDL_ESTALE,
                             "incarnation %" PRIu64 " of trainer-%u has been replaced by %" PRIu64,
                             hello->incarnation, hello->trainer,
                             server->trainers[hello->trainer].incarnation);
    return 0;
}

static int on_proof(struct pserver *server, struct ps_connection *connection,
                    const struct wire_header *header, const uint8_t *body)
{
    struct ps_peer *peer = ps_connection_peer(connection);
    const struct wire_hello *hello = &peer->hello;
    struct edl_error error = { 0 };
    uint8_t proof[JOB_PROOF_BYTES];
    int r;

    if (!peer->challenged || peer->greeted)
        return refuse(connection, -EINVAL, "PROOF comes once, behind HELLO");
    r = wire_proof_decode(body, (size_t)header->body_bytes, proof, &error);
    if (r >= 0)
        r = check_proof(server, peer, proof, &error);
    if (r < 0)
        return refuse(connection, r, error.text);
    drop_older(server, connection, hello->trainer);
    remember(server, hello->trainer, hello->incarnation);
    peer->greeted = true;
    peer->incarnation = hello->incarnation;
    /* Until the table is there its number of shards is what the declaring trainer says. */
    peer->n_shards = hello->n_shards;
    ps_connection_reply(connection, WIRE_HELLO_OK, NULL, 0, NULL, 0, NULL, 0);
    log_info("trainer-%u (incarnation %" PRIu64 ") is here", hello->trainer, hello->incarnation);
    return 0;
}

/* create - by what the first trainer declares */
static int create(struct pserver *server, const struct declaration *declaration,
                  const struct wire_hello *hello, struct edl_error *error)
{
    int r = table_new(declaration, hello->shard, hello->n_shards, &server->table, error);

    if (r < 0)
        return r;
    server->config.index = hello->shard;
    log_info("%zu parameters created", table_shape(server->table)->total_values);
    if (table_shape(server->table)->total_values == 0)
        log_warning("this server has none: --ports_num or --ports_num_for_sparse is more than this "
                    "training needs");
    return 0;
}

static int on_declare(struct pserver *server, struct ps_connection *connection,
                      const struct wire_header *header, const uint8_t *body)
{
    const struct wire_hello *hello = &ps_connection_peer(connection)->hello;
    struct edl_error error = { 0 };
    struct declaration declaration;
    struct wire_declare_ok ok = { 0 };
    uint8_t reply[WIRE_DECLARE_OK_BYTES];
    int r = wire_declare_decode(body, (size_t)header->body_bytes, &declaration, &error);

    if (r < 0)
        return refuse(connection, r, error.text);
    r = check_hello(server, hello, &error);
    if (r >= 0)
        r = pserver_terms_check(&server->terms,
                                server->table != NULL ? table_declaration(server->table) : NULL,
                                hello, &declaration, &error);
    if (r >= 0 && server->table == NULL)
        r = create(server, &declaration, hello, &error);
    if (r < 0)
        return refuse(connection, r, error.text);
    if (!declaration_equal(&declaration, table_declaration(server->table))) {
        return refuse(
            connection, -EINVAL,
            "the parameters were declared differently before: every trainer of a job must "
            "be started with the same model, seed and rates; for another training, restart the "
            "parameter servers");
    } else if (table_shape(server->table)->n_shards != hello->n_shards) {
        return refuse(connection, -EINVAL, "the parameters lie on another number of servers");
    }
    pserver_terms_add(&server->terms, hello);
    ok.created = !server->restored;
    ok.awaits = table_awaits_values(server->table);
    ok.updates = table_updates(server->table);
    ok.dense_values = table_shape(server->table)->dense_values;
    ps_connection_set_limit(connection, wire_push_pull_max(table_shape(server->table)));
    ps_connection_peer(connection)->declared = true;
    ps_connection_reply(connection, WIRE_DECLARE_OK, reply, wire_declare_ok_encode(&ok, reply),
                        NULL, 0, NULL, 0);
    return 0;
}

/* A meeting of local SGD brings all batches since the one before, so none is dropped. */
static bool take(struct pserver *server, uint32_t trainer)
{
    const bool is_center = local_sgd_is_center(table_declaration(server->table));

    return lag_take(&server->trainers[trainer].lag, table_updates(server->table),
                    is_center ? 0 : server->config.lag_threshold);
}

/* check_turn - values are set first, by trainer 0 */
static int check_turn(const struct pserver *server, uint32_t trainer, uint32_t flags,
                      struct edl_error *error)
{
    const bool sets = flags & WIRE_SET;

    if (sets && trainer != 0)
        return edl_error_set(error, -EINVAL, "trainer 0 sets the values, not trainer-%u", trainer);
    if (sets && table_declaration(server->table)->awaits_values == 0)
        return edl_error_set(error, -EINVAL, "the declaration awaits no values");
    if (!sets && table_awaits_values(server->table))
        return edl_error_set(error, -EINVAL, "trainer 0 has not set the values yet");
    return 0;
}

/* apply - a checked request: values, or gradients */
static int apply(struct pserver *server, uint32_t trainer, const struct wire_push_pull *request,
                 struct edl_error *error)
{
    int r = 0;

    if (request->flags & WIRE_SET) {
        r = table_set(server->table, request, error);
        if (r >= 0)
            log_info("trainer-%u has set the values of its saved model", trainer);
    } else if ((request->flags & WIRE_PUSH) == 0 || take(server, trainer)) {
        table_push(server->table, request);
    }
    return r;
}

/* Replies that are half sent must not see the coming update. */
static void detach_all(struct pserver *server)
{
    for (size_t i = server->n_connections; i-- > 0;)
        if (ps_connection_detach(server->connections[i]) < 0) {
            log_error("no memory: a trainer's connection is closed");
            drop(server, server->connections[i]);
        }
}

static int on_push_pull(struct pserver *server, struct ps_connection *connection,
                        const struct wire_header *header, const uint8_t *body)
{
    struct edl_error error = { 0 };
    const struct shard_shape *shape;
    struct wire_push_pull request;
    size_t block = 0, rows;
    uint64_t updates;
    float *scratch;
    int r;

    if (!ps_connection_peer(connection)->declared)
        return refuse(connection, -EINVAL, "PUSH_PULL before DECLARE");
    shape = table_shape(server->table);
    r = wire_push_pull_decode(body, (size_t)header->body_bytes, shape, &request, &error);
    if (r >= 0)
        r = table_check(server->table, &request, &error);
    if (r >= 0)
        r = check_turn(server, ps_connection_peer(connection)->trainer, request.flags, &error);
    if (r < 0)
        return refuse(connection, r, error.text);
    if (request.flags & WIRE_PULL_DENSE)
        block = shape->dense_values;
    rows = (size_t)(wire_push_pull_ok_size(&request, shape) - WIRE_PUSH_PULL_OK_HEAD_BYTES) /
               sizeof(float) -
           block;
    scratch = ps_connection_scratch(connection, rows);
    if (scratch == NULL)
        return refuse(connection, -ENOMEM, "no memory for the rows asked for");
    detach_all(server); /* this connection writes nothing now, so it stays */
    r = apply(server, ps_connection_peer(connection)->trainer, &request, &error);
    if (r < 0)
        return refuse(connection, r, error.text);
    table_pull_rows(server->table, &request, scratch);
    updates = table_updates(server->table);
    ps_connection_reply(connection, WIRE_PUSH_PULL_OK, &updates, sizeof updates,
                        table_values(server->table), block, scratch, rows);
    return 0;
}

static const struct {
    enum wire_type type;
    bool needs_greeting;
    int (*handler)(struct pserver *server, struct ps_connection *connection,
                   const struct wire_header *header, const uint8_t *body);
} handlers[] = {
    { WIRE_HELLO, false, on_hello },
    { WIRE_PROOF, false, on_proof },
    { WIRE_DECLARE, true, on_declare },
    { WIRE_PUSH_PULL, true, on_push_pull },
};

static int on_frame(struct ps_connection *connection, const struct wire_header *header,
                    const uint8_t *body, void *userdata)
{
    for (size_t i = 0; i < ELEMENTS(handlers); i++) {
        if (handlers[i].type != header->type)
            continue;
        if (handlers[i].needs_greeting && !ps_connection_peer(connection)->greeted)
            return refuse(connection, -EACCES,
                          "the first frames must be HELLO and PROOF: a peer that sends others has "
                          "not proved to be of the job");
        return handlers[i].handler(userdata, connection, header, body);
    }
    return refuse(connection, -EINVAL, "this frame is not for a server");
}

static void tell_left(const struct pserver *server, uint32_t trainer)
{
    const struct lag_record *lag = &server->trainers[trainer].lag;

    if (server->config.lag_threshold > 0)
        log_info("trainer-%u has left: %" PRIu64 " pushes committed, %" PRIu64 " discarded",
                 trainer, lag->committed, lag->discarded);
    else
        log_info("trainer-%u has left", trainer);
}

static void on_closed(struct ps_connection *connection, const char *reason, void *userdata)
{
    const struct ps_peer *peer = ps_connection_peer(connection);

    if (reason != NULL)
        log_warning("connection of %s%u closed: %s", peer->greeted ? "trainer-" : "unknown peer ",
                    peer->trainer, reason);
    else if (peer->greeted)
        tell_left(userdata, peer->trainer);
    drop(userdata, connection);
}

/* In its time somebody may have to be dropped, or is there room for one more. */
static void await_greeting(struct pserver *server)
{
    int enabled = SD_EVENT_OFF;

    if (sd_event_source_get_enabled(server->greeting_source, &enabled) > 0)
        return;
    (void)sd_event_source_set_time_relative(server->greeting_source, server->config.greeting_us);
    (void)sd_event_source_set_enabled(server->greeting_source, SD_EVENT_ONESHOT);
}

static int on_listen(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    struct pserver *server = userdata;
    struct ps_connection_events events = { on_frame, on_closed, server };
    struct edl_error error;
    int peer;

    (void)revents;
    if (server->n_connections == CONNECTIONS_MAX) {
        log_warning("%d connections: no more until one ends", CONNECTIONS_MAX);
        return sd_event_source_set_enabled(source, SD_EVENT_OFF);
    }
    peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (peer < 0) {
        /* Out of descriptors: the pending connection would wake us again and again; it is tried
         * anew with the next look at who is silent. */
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            log_warning("cannot accept: %s", strerror(errno));
            (void)sd_event_source_set_enabled(source, SD_EVENT_OFF);
            await_greeting(server);
        }
        return 0;
    }
    if (ps_connection_new(server->event, peer, &events, &server->connections[server->n_connections],
                          &error) < 0)
        (void)log_failure(&error, "accept");
    else
        server->n_connections++;
    await_greeting(server);
    return 0;
}

static void checkpoint_done(struct pserver *server, bool ok)
{
    server->child = 0;
    server->child_source = sd_event_source_disable_unref(server->child_source);
    if (ok)
        server->saved_updates = server->saving_updates;
    else
        log_error("the checkpoint %s could not be written; trying again later",
                  server->checkpoint_path);
}

static int on_child(sd_event_source *source, const siginfo_t *info, void *userdata)
{
    (void)source;
    checkpoint_done(userdata, info->si_code == CLD_EXITED && info->si_status == 0);
    return 0;
}

static bool checkpoint_due(const struct pserver *server)
{
    return server->checkpoint_path != NULL && server->table != NULL &&
           !table_awaits_values(server->table) &&
           table_updates(server->table) != server->saved_updates;
}

static int claim(struct pserver *server, struct edl_error *error)
{
    return checkpoint_claim(&server->writer, &server->config, error);
}

/* The child has the table as it is at this moment (copy on write) and does nothing but write it. */
static void checkpoint_start(struct pserver *server)
{
    struct edl_error error = { 0 };
    pid_t child;
    int r = claim(server, &error);

    if (r < 0) {
        (void)log_failure(&error, "no checkpoint is written");
        return;
    }
    child = fork();
    if (child < 0) {
        log_error("cannot fork for a checkpoint: %s", strerror(errno));
        return;
    }
    if (child == 0) {
        /* The connections are not the child's: if the server dies now, its peers must notice at
         * once. */
        (void)close_range(3, UINT_MAX, 0);
        r = checkpoint_write(server->checkpoint_path, server->config.job_id, server->table, &error);
        if (r < 0)
            (void)log_failure(&error, "checkpoint");
        _exit(r < 0 ? 1 : 0);
    }
    server->child = child;
    server->saving_updates = table_updates(server->table);
    r = sd_event_add_child(server->event, &server->child_source, child, WEXITED, on_child, server);
    if (r < 0)
        log_error("cannot watch the checkpoint's child: %s", strerror(-r));
}

int pserver_checkpoint_now(struct pserver *server, struct edl_error *error)
{
    int status, r;

    if (server->child > 0) {
        server->child_source = sd_event_source_disable_unref(server->child_source);
        while ((r = waitpid(server->child, &status, 0)) < 0 && errno == EINTR)
            ;
        checkpoint_done(server, r > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    if (!checkpoint_due(server))
        return 0;
    r = claim(server, error);
    if (r >= 0)
        r = checkpoint_write(server->checkpoint_path, server->config.job_id, server->table, error);
    if (r >= 0)
        server->saved_updates = table_updates(server->table);
    return r;
}

/* Returns when the next one has to have greeted; NEVER_US: all have. */
static uint64_t drop_silent(struct pserver *server, uint64_t now_us)
{
    uint64_t next_us = NEVER_US;

    for (size_t i = server->n_connections; i-- > 0;) {
        const struct ps_peer *peer = ps_connection_peer(server->connections[i]);
        uint64_t until_us = peer->accepted_us + server->config.greeting_us;

        if (peer->greeted)
            continue;
        if (now_us >= until_us)
            drop(server, server->connections[i]);
        else
            next_us = MIN_OF(next_us, until_us);
    }
    return next_us;
}

static int on_greeting_due(sd_event_source *source, uint64_t time_us, void *userdata)
{
    struct pserver *server = userdata;
    uint64_t next_us = drop_silent(server, clock_read_us(CLOCK_BOOTTIME));

    (void)time_us;
    (void)sd_event_source_set_enabled(server->listen_source, SD_EVENT_ON);
    if (next_us == NEVER_US)
        return 0;
    (void)sd_event_source_set_time(source, next_us);
    return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static int on_checkpoint_due(sd_event_source *source, uint64_t time_us, void *userdata)
{
    struct pserver *server = userdata;

    (void)time_us;
    if (server->child == 0 && checkpoint_due(server))
        checkpoint_start(server);
    (void)sd_event_source_set_time_relative(source, server->config.checkpoint_period_us);
    return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

/* load - another server that writes there is found now, not after hours; a full disk may have room
 * by then */
static int load(struct pserver *server, struct edl_error *error)
{
    int r = claim(server, error);

    if (r == -EBUSY)
        return r;
    if (r < 0)
        (void)log_failure(error, "checkpoint");
    r = checkpoint_read(server->checkpoint_path, server->config.job_id, server->config.index,
                        &server->table, error);

    if (r == -ENOENT)
        return 0;
    if (r < 0) {
        (void)edl_error_remedy(error, "remove or replace the file to start without it");
        return r;
    }
    server->restored = true;
    server->saved_updates = table_updates(server->table);
    log_info("restored %zu parameters after %" PRIu64 " updates from %s",
             table_shape(server->table)->total_values, server->saved_updates,
             server->checkpoint_path);
    return 0;
}

int pserver_new(sd_event *event, const struct pserver_config *config, struct pserver **ret,
                struct edl_error *error)
{
    struct pserver *server;
    int r = 0;

    if (!job_secret_is_set(config->secret))
        return edl_error_set(error, -EINVAL, "the server was given no secret of its job");
    server = xcalloc(1, sizeof *server);
    server->config = *config;
    server->event = sd_event_ref(event);
    server->saved_updates = UINT64_MAX;
    pserver_terms_init(&server->terms, &config->placement, config->trainers);
    if (server->config.checkpoint_period_us == 0)
        server->config.checkpoint_period_us = 10 * USEC_PER_SEC;
    if (server->config.greeting_us == 0)
        server->config.greeting_us = 10 * USEC_PER_SEC;
    if (config->checkpoint_path != NULL) {
        server->checkpoint_path = xstrdup(config->checkpoint_path);
        r = load(server, error);
        if (r < 0) {
            (void)pserver_free(server);
            return r;
        }
    }
    r = sd_event_add_io(event, &server->listen_source, config->listen_fd, EPOLLIN, on_listen,
                        server);
    if (r >= 0)
        r = sd_event_add_time_relative(event, &server->checkpoint_source, CLOCK_MONOTONIC,
                                       server->config.checkpoint_period_us, 0, on_checkpoint_due,
                                       server);
    if (r >= 0)
        r = sd_event_add_time_relative(event, &server->greeting_source, CLOCK_BOOTTIME,
                                       server->config.greeting_us, 0, on_greeting_due, server);
    if (r < 0) {
        (void)pserver_free(server);
        return edl_error_errno(error, r, "cannot set up the event loop");
    }
    *ret = server;
    return 0;
}

struct pserver *pserver_free(struct pserver *server)
{
    if (server == NULL)
        return NULL;
    while (server->n_connections > 0)
        (void)ps_connection_free(server->connections[--server->n_connections]);
    server->child_source = sd_event_source_disable_unref(server->child_source);
    server->checkpoint_source = sd_event_source_disable_unref(server->checkpoint_source);
    server->greeting_source = sd_event_source_disable_unref(server->greeting_source);
    server->listen_source = sd_event_source_disable_unref(server->listen_source);
    (void)safe_close(server->config.listen_fd);
    (void)table_free(server->table);
    server->event = sd_event_unref(server->event);
    one_writer_release(&server->writer);
    free(server->trainers);
    free(server->checkpoint_path);
    free(server);
    return NULL;
}

bool pserver_pushes(const struct pserver *server, uint32_t trainer, uint64_t *ret_committed,
                    uint64_t *ret_discarded)
{
    if (trainer >= server->n_trainers || server->trainers[trainer].incarnation == 0)
        return false;
    *ret_committed = server->trainers[trainer].lag.committed;
    *ret_discarded = server->trainers[trainer].lag.discarded;
    return true;
}

uint32_t pserver_index(const struct pserver *server)
{
    return server->config.index;
}

uint64_t pserver_updates(const struct pserver *server)
{
    return server->table != NULL ? table_updates(server->table) : 0;
}
