/* SPDX-License-Identifier: Apache-2.0 */
/* pserver.c - a parameter server: one shard of a job's parameters for all its trainers */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kernels/kernels.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "trainer/wire/handshake.h"
#include "trainer/exchange/local_sgd.h"
#include "trainer/files/one_writer.h"
#include "trainer/server/ps_connection.h"
#include "trainer/server/pserver_internal.h"
#include "trainer/exchange/table.h"

int pserver_refuse(struct ps_connection *connection, int code, const char *text)
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
    if (ps_connection_peer(connection)->greeted)
        rounds_leave(&server->rounds, ps_connection_peer(connection)->trainer);
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
        return pserver_refuse(connection, -EINVAL, "HELLO comes once");
    r = wire_hello_decode(body, (size_t)header->body_bytes, &peer->hello, &error);
    if (r < 0)
        return pserver_refuse(connection, r, error.text);
    peer->trainer = peer->hello.trainer;
    r = check_hello(server, &peer->hello, &error);
    if (r < 0)
        return pserver_refuse(connection, r, error.text);
    peer->challenge.shard = peer->hello.shard;
    peer->challenge.incarnation = server->config.incarnation;
    r = job_nonce_make(peer->challenge.nonce, &error);
    claim = handshake_server_claim(&peer->hello, &peer->challenge);
    if (r >= 0)
        r = job_proof_make(server->config.secret, &claim, peer->challenge.proof, &error);
    if (r < 0)
        return pserver_refuse(connection, r, error.text);
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
            "the parameters lie on %u server%s, not %u: start all trainers with the "
            "same --pservers, --ports_num and --ports_num_for_sparse",
            table_shape(server->table)->n_shards, PLURAL(table_shape(server->table)->n_shards),
            hello->n_shards);
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
        return pserver_refuse(connection, -EINVAL, "PROOF comes once, behind HELLO");
    r = wire_proof_decode(body, (size_t)header->body_bytes, proof, &error);
    if (r >= 0)
        r = check_proof(server, peer, proof, &error);
    if (r < 0)
        return pserver_refuse(connection, r, error.text);
    drop_older(server, connection, hello->trainer);
    pserver_look_at_rounds(server);
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
    log_info("%zu parameter%s created", table_shape(server->table)->total_values,
             PLURAL(table_shape(server->table)->total_values));
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
        return pserver_refuse(connection, r, error.text);
    r = check_hello(server, hello, &error);
    if (r >= 0)
        r = pserver_terms_check(&server->terms,
                                server->table != NULL ? table_declaration(server->table) : NULL,
                                hello, &declaration, &error);
    if (r >= 0 && server->table == NULL)
        r = create(server, &declaration, hello, &error);
    if (r < 0)
        return pserver_refuse(connection, r, error.text);
    if (!declaration_equal(&declaration, table_declaration(server->table))) {
        return pserver_refuse(
            connection, -EINVAL,
            "the parameters were declared differently before: every trainer of a job must "
            "be started with the same model, seed and rates; for another training, restart the "
            "parameter servers");
    } else if (table_shape(server->table)->n_shards != hello->n_shards) {
        return pserver_refuse(connection, -EINVAL,
                              "the parameters lie on another number of servers");
    }
    pserver_terms_add(&server->terms, hello);
    if (hello->agreement.mode == SGD_SYNCHRONOUS + 1)
        rounds_await(&server->rounds, server->terms.known.said.trainers);
    ok.created = !server->recovery.restored;
    ok.awaits = table_awaits_values(server->table);
    ok.updates = table_updates(server->table);
    ok.dense_values = table_shape(server->table)->dense_values;
    ps_connection_set_limit(connection, wire_push_pull_max(table_shape(server->table)));
    ps_connection_peer(connection)->declared = true;
    ps_connection_reply(connection, WIRE_DECLARE_OK, reply, wire_declare_ok_encode(&ok, reply),
                        NULL, 0, NULL, 0);
    return 0;
}

static struct recovery_now now_of(const struct pserver *server)
{
    return (struct recovery_now){ .updates = table_updates(server->table),
                                  .awaits = table_awaits_values(server->table),
                                  .rows_missing = table_rows_missing(server->table) };
}

static void tell_recovery(struct pserver *server)
{
    if (server->on_recovery != NULL)
        server->on_recovery(server->recovery_userdata);
}

static int on_past(struct pserver *server, struct ps_connection *connection,
                   const struct wire_header *header, const uint8_t *body)
{
    struct ps_peer *peer = ps_connection_peer(connection);
    struct edl_error error = { 0 };
    struct recovery_now now;
    struct wire_past_ok ok;
    uint8_t reply[WIRE_PAST_OK_BYTES];
    int r = peer->declared ? wire_past_decode(body, (size_t)header->body_bytes, &peer->past, &error)
                           : edl_error_set(&error, -EINVAL, "PAST before DECLARE");

    if (r < 0)
        return pserver_refuse(connection, r, error.text);
    now = now_of(server);
    if (recovery_meet(&server->recovery, &peer->past, &now) && !now.awaits) {
        log_warning(
            "no checkpoint of a job that has been trained: its trainers' values are wanted");
        table_await_values(server->table);
        now.awaits = true;
    }
    ok = (struct wire_past_ok){ .life = server->recovery.life,
                                .updates = now.updates,
                                .samples = table_samples(server->table),
                                .wish = recovery_wish(&server->recovery, &peer->past, &now) };
    tell_recovery(server);
    ps_connection_reply(connection, WIRE_PAST_OK, reply, wire_past_ok_encode(&ok, reply), NULL, 0,
                        NULL, 0);
    return 0;
}

/* seed - of what the trainer brings, what is wanted still: another one may have been faster */
static int seed(struct pserver *server, const struct ps_peer *peer,
                const struct wire_push_pull *request, struct edl_error *error)
{
    const struct recovery_now now = now_of(server);
    const enum wire_wish wish = recovery_wish(&server->recovery, &peer->past, &now);
    int r = 0;

    if (wish == WISH_VALUES)
        r = table_seed(server->table, request, peer->past.updates, peer->past.samples, error);
    else if (wish == WISH_ROWS)
        table_seed_rows(server->table, request);
    if (r < 0 || (wish != WISH_VALUES && wish != WISH_ROWS))
        return r;
    if (wish == WISH_VALUES)
        recovery_seeded(&server->recovery, &peer->past, now.updates);
    server->saved_updates = UINT64_MAX;
    log_info("trainer-%u has given back values after %" PRIu64
             " update%s; rows with start values: %" PRIu64 " of %" PRIu64,
             peer->trainer, peer->past.updates, PLURAL(peer->past.updates),
             table_rows_missing(server->table), table_rows(server->table));
    tell_recovery(server);
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
    if (!sets && !(flags & WIRE_SEED) && table_awaits_values(server->table))
        return edl_error_set(error, -EINVAL, "trainer 0 has not set the values yet");
    return 0;
}

/* apply - a checked request: values, or gradients */
static int apply(struct pserver *server, const struct ps_peer *peer,
                 const struct wire_push_pull *request, struct edl_error *error)
{
    int r = 0;

    if (request->flags & WIRE_SEED) {
        r = seed(server, peer, request, error);
    } else if (request->flags & WIRE_SET) {
        r = table_set(server->table, request, error);
        if (r >= 0)
            log_info("trainer-%u has set the values of its saved model", peer->trainer);
    } else if ((request->flags & WIRE_PUSH) == 0 || take(server, peer->trainer)) {
        table_push(server->table, request);
    }
    return r;
}

/* Replies that are half sent must not see the coming update. */
void pserver_detach_all(struct pserver *server)
{
    for (size_t i = server->n_connections; i-- > 0;)
        if (ps_connection_detach(server->connections[i]) < 0) {
            log_error("no memory: a trainer's connection is closed");
            drop(server, server->connections[i]);
        }
}

int pserver_answer(struct pserver *server, struct ps_connection *connection,
                   const struct wire_push_pull *request, struct edl_error *error)
{
    const struct shard_shape *shape = table_shape(server->table);
    const size_t block = request->flags & WIRE_PULL_DENSE ? shape->dense_values : 0;
    const size_t rows =
        (size_t)(wire_push_pull_ok_size(request, shape) - WIRE_PUSH_PULL_OK_HEAD_BYTES) /
            sizeof(float) -
        block;
    const uint64_t counts[] = { table_updates(server->table), table_samples(server->table),
                                server->rounds.now };
    float *scratch = ps_connection_scratch(connection, rows);

    if (scratch == NULL)
        return edl_error_set(error, -ENOMEM, "no memory for the rows asked for");
    table_pull_rows(server->table, request, scratch);
    ps_connection_reply(connection, WIRE_PUSH_PULL_OK, counts, sizeof counts,
                        table_values(server->table), block, scratch, rows);
    return 0;
}

static int on_push_pull(struct pserver *server, struct ps_connection *connection,
                        const struct wire_header *header, const uint8_t *body)
{
    struct ps_peer *peer = ps_connection_peer(connection);
    struct edl_error error = { 0 };
    struct wire_push_pull request;
    int r;

    if (!peer->declared)
        return pserver_refuse(connection, -EINVAL, "PUSH_PULL before DECLARE");
    r = wire_push_pull_decode(body, (size_t)header->body_bytes, table_shape(server->table),
                              &request, &error);
    if (r >= 0)
        r = table_check(server->table, &request, &error);
    if (r >= 0)
        r = check_turn(server, peer->trainer, request.flags, &error);
    if (r >= 0 && (request.flags & (WIRE_ENTER | WIRE_ROUND | WIRE_LEAVE)) != 0)
        return pserver_take_round(server, connection, &request);
    if (r < 0)
        return pserver_refuse(connection, r, error.text);
    pserver_detach_all(server); /* this connection writes nothing now, so it stays */
    r = apply(server, peer, &request, &error);
    if (r >= 0)
        r = pserver_answer(server, connection, &request, &error);
    return r < 0 ? pserver_refuse(connection, r, error.text) : 0;
}

static const struct {
    enum wire_type type;
    bool needs_greeting;
    int (*handler)(struct pserver *server, struct ps_connection *connection,
                   const struct wire_header *header, const uint8_t *body);
} handlers[] = {
    { WIRE_HELLO, false, on_hello },        { WIRE_PROOF, false, on_proof },
    { WIRE_DECLARE, true, on_declare },     { WIRE_PAST, true, on_past },
    { WIRE_PUSH_PULL, true, on_push_pull },
};

static int on_frame(struct ps_connection *connection, const struct wire_header *header,
                    const uint8_t *body, void *userdata)
{
    for (size_t i = 0; i < ELEMENTS(handlers); i++) {
        if (handlers[i].type != header->type)
            continue;
        if (handlers[i].needs_greeting && !ps_connection_peer(connection)->greeted)
            return pserver_refuse(
                connection, -EACCES,
                "the first frames must be HELLO and PROOF: a peer that sends others has "
                "not proved to be of the job");
        return handlers[i].handler(userdata, connection, header, body);
    }
    return pserver_refuse(connection, -EINVAL, "this frame is not for a server");
}

static void tell_left(const struct pserver *server, uint32_t trainer)
{
    const struct lag_record *lag = &server->trainers[trainer].lag;

    if (server->config.lag_threshold > 0)
        log_info("trainer-%u has left: %" PRIu64 " push%s committed, %" PRIu64 " discarded",
                 trainer, lag->committed, PLURAL_ES(lag->committed), lag->discarded);
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
    pserver_look_at_rounds(userdata);
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
        log_warning("at most %d connections: no more until one ends", CONNECTIONS_MAX);
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

/* new_life - a number that no other life of the server has */
static int new_life(struct pserver *server, struct edl_error *error)
{
    uint64_t life = 0;

    while (life == 0)
        if (getrandom(&life, sizeof life, 0) != (ssize_t)sizeof life && errno != EINTR)
            return edl_error_errno(error, -errno, "no random number");
    recovery_init(&server->recovery, life, server->table != NULL, pserver_updates(server));
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
        r = pserver_load(server, error);
        if (r < 0) {
            (void)pserver_free(server);
            return r;
        }
    }
    r = new_life(server, error);
    if (r < 0) {
        (void)pserver_free(server);
        return r;
    }
    r = sd_event_add_io(event, &server->listen_source, config->listen_fd, EPOLLIN, on_listen,
                        server);
    if (r >= 0)
        r = sd_event_add_time_relative(event, &server->checkpoint_source, CLOCK_MONOTONIC,
                                       server->config.checkpoint_period_us, 0,
                                       pserver_on_checkpoint_due, server);
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
    rounds_clear(&server->rounds);
    (void)push_sum_free(server->sum);
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

void pserver_on_recovery(struct pserver *server, void (*fn)(void *userdata), void *userdata)
{
    server->on_recovery = fn;
    server->recovery_userdata = userdata;
}

bool pserver_recovered(const struct pserver *server, struct pserver_recovered *ret)
{
    const struct recovery *recovery = &server->recovery;

    if (recovery->seen == 0 || server->table == NULL || table_awaits_values(server->table))
        return false;
    memset(ret, 0, sizeof *ret); /* callers compare its bytes */
    ret->source = recovery->source;
    ret->rows_missing = table_rows_missing(server->table);
    ret->rows = table_rows(server->table);
    ret->lost = recovery_lost(recovery, &ret->of);
    return true;
}

uint64_t pserver_updates(const struct pserver *server)
{
    return server->table != NULL ? table_updates(server->table) : 0;
}
