/* SPDX-License-Identifier: Apache-2.0 */
/* ps_client.c - a trainer's connections to all parameter servers of its job */
#include "trainer/wire/keepalive.h"
#include "trainer/exchange/ps_client_internal.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "trainer/wire/handshake.h"
#include "trainer/wire/low_water.h"

/* For other trainers: their batches may take long. A server that is gone is seen before. */
#define ROUND_US (3600 * USEC_PER_SEC)

#define CONNECT_MS 5000

int ps_client_new(const struct ps_client_config *config, struct ps_client **ret,
                  struct edl_error *error)
{
    struct ps_client *client;
    int r = declaration_check(&config->declaration, error);

    if (r >= 0 && config->n_servers > 0)
        r = block_placement_check(&config->declaration.placement, config->n_servers, error);
    if (r < 0)
        return r;
    if (!job_secret_is_set(config->secret))
        return edl_error_set(error, -EINVAL, "the trainer was given no secret of its job");
    if (config->n_servers == 0 || config->n_servers > SHARDS_MAX)
        return edl_error_set(error, -EINVAL, "%u parameter server%s; 1 to %u are possible",
                             config->n_servers, PLURAL(config->n_servers), SHARDS_MAX);
    client = xcalloc(1, sizeof *client);
    client->config = *config;
    if (client->config.timeout_us == 0)
        client->config.timeout_us = 30 * USEC_PER_SEC;
    client->shapes = xcalloc(config->n_servers, sizeof *client->shapes);
    client->links = xcalloc(config->n_servers, sizeof *client->links);
    client->packed = xcalloc(config->n_servers, sizeof *client->packed);
    for (uint32_t s = 0; s < config->n_servers; s++) {
        client->links[s].fd = -1;
        shard_shape_init(&config->declaration, s, config->n_servers, &client->shapes[s]);
    }
    ps_client_past_open(client);
    *ret = client;
    return 0;
}

void ps_client_disconnect(struct ps_client *client)
{
    for (uint32_t s = 0; s < client->config.n_servers; s++) {
        client->links[s].fd = safe_close(client->links[s].fd);
        client->links[s].state = PS_LINK_IDLE;
    }
    client->connected = client->entered = false;
}

struct ps_client *ps_client_free(struct ps_client *client)
{
    if (client == NULL)
        return NULL;
    ps_client_disconnect(client);
    for (uint32_t s = 0; s < client->config.n_servers; s++) {
        free(client->packed[s].out);
        free(client->packed[s].in);
    }
    ps_client_past_close(client);
    free(client->shapes);
    free(client->links);
    free(client->packed);
    free(client);
    return NULL;
}

static int wait_connected(int fd)
{
    struct pollfd polled = { .fd = fd, .events = POLLOUT };
    int failure = 0, r = poll(&polled, 1, CONNECT_MS);
    socklen_t size = sizeof failure;

    if (r == 0)
        return -ETIMEDOUT;
    if (r < 0)
        return -errno;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &size) < 0)
        return -errno;
    return -failure;
}

static int connect_address(const struct addrinfo *address)
{
    _cleanup_close_ int fd =
        socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    static const int on = 1;
    int r;

    if (fd < 0)
        return -errno;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    keepalive_set(fd);
    if (connect(fd, address->ai_addr, address->ai_addrlen) < 0) {
        r = errno == EINPROGRESS || errno == EINTR ? wait_connected(fd) : -errno;
        if (r < 0)
            return r;
    }
    return TAKE_FD(fd);
}

static int connect_host(struct ps_link *link, uint32_t s, const struct ps_host *host,
                        struct edl_error *error)
{
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV };
    struct addrinfo *found = NULL;
    char service[8];
    int r;

    (void)snprintf(service, sizeof service, "%u", host->port);
    (void)snprintf(link->name, sizeof link->name, "parameter server %u at %s:%u", s, host->address,
                   host->port);
    r = getaddrinfo(host->address, service, &hints, &found);
    if (r != 0)
        return edl_error_set(error, EDL_EUNREACHABLE, "%s: %s", link->name, gai_strerror(r));
    r = connect_address(found);
    freeaddrinfo(found);
    if (r < 0)
        return edl_error_set(error, EDL_EUNREACHABLE, "%s: %s", link->name, strerror(-r));
    link->fd = r;
    link->low_water = LOW_WATER_NONE;
    return 0;
}

int ps_client_ask_all(struct ps_client *client, enum wire_type type, size_t head_bytes,
                      enum wire_type expected, uint8_t *replies, size_t reply_bytes,
                      struct edl_error *error)
{
    for (uint32_t s = 0; s < client->config.n_servers; s++) {
        struct ps_link *link = &client->links[s];

        link->n_out = 1;
        link->n_in = 1;
        link->in[0] =
            (struct iovec){ .iov_base = reply_bytes > 0 ? replies + s * reply_bytes : NULL,
                            .iov_len = reply_bytes };
        ps_link_start(link, type, head_bytes, expected);
    }
    return ps_links_run(client->links, client->config.n_servers, client->config.timeout_us, NULL,
                        error);
}

/* What was said to a server and what it said, until both are believed. */
struct meeting {
    struct wire_hello hello;
    struct wire_challenge challenge;
};

static int check_challenge(struct ps_client *client, const struct meeting *meeting,
                           const struct ps_host *host, const char *name, struct edl_error *error)
{
    const struct wire_challenge *challenge = &meeting->challenge;
    struct job_claim claim = handshake_server_claim(&meeting->hello, challenge);

    if (challenge->shard != meeting->hello.shard ||
        (host->incarnation != 0 && challenge->incarnation != host->incarnation))
        return edl_error_set(error, EDL_ESTALE,
                             "%s is incarnation %llu of server %u, expected %llu of %u", name,
                             (unsigned long long)challenge->incarnation, challenge->shard,
                             (unsigned long long)host->incarnation, meeting->hello.shard);
    client->unproved = !job_proof_check(client->config.secret, &claim, challenge->proof);
    if (client->unproved)
        return edl_error_set(error, EDL_EUNREACHABLE,
                             "%s: the program there does not prove that it is of job %llu", name,
                             (unsigned long long)client->config.job_id);
    return 0;
}

/* Who this trainer is, and a nonce for each server to answer. */
static int say_hello(struct ps_client *client, const struct ps_host *hosts,
                     struct meeting *meetings, struct edl_error *error)
{
    uint32_t n = client->config.n_servers;
    _cleanup_free_ uint8_t *replies = xcalloc(n, WIRE_CHALLENGE_BYTES);
    int r = 0;

    for (uint32_t s = 0; r >= 0 && s < n; s++) {
        meetings[s].hello = (struct wire_hello){ .job_id = client->config.job_id,
                                                 .incarnation = client->config.incarnation,
                                                 .trainer = client->config.trainer,
                                                 .shard = s,
                                                 .n_shards = n,
                                                 .agreement = client->config.agreement };
        r = job_nonce_make(meetings[s].hello.nonce, error);
        (void)wire_hello_encode(&meetings[s].hello, client->links[s].head + WIRE_HEADER_BYTES);
    }
    if (r >= 0)
        r = ps_client_ask_all(client, WIRE_HELLO, WIRE_HELLO_BYTES, WIRE_CHALLENGE, replies,
                              WIRE_CHALLENGE_BYTES, error);
    if (r == -EINVAL)
        (void)edl_error_remedy(error,
                               "the trainers and parameter servers of a job are to be of one"
                               " release of edl: start it again when all nodes have the same");
    for (uint32_t s = 0; r >= 0 && s < n; s++) {
        r = wire_challenge_decode(replies + s * WIRE_CHALLENGE_BYTES, WIRE_CHALLENGE_BYTES,
                                  &meetings[s].challenge, error);
        if (r >= 0)
            r = check_challenge(client, &meetings[s], &hosts[s], client->links[s].name, error);
    }
    return r;
}

static int greet(struct ps_client *client, const struct ps_host *hosts, struct edl_error *error)
{
    uint32_t n = client->config.n_servers;
    _cleanup_free_ struct meeting *meetings = xcalloc(n, sizeof *meetings);
    int r = say_hello(client, hosts, meetings, error);

    for (uint32_t s = 0; r >= 0 && s < n; s++) {
        struct job_claim claim =
            handshake_trainer_claim(&meetings[s].hello, &meetings[s].challenge);

        r = job_proof_make(client->config.secret, &claim, client->links[s].head + WIRE_HEADER_BYTES,
                           error);
    }
    if (r >= 0)
        r = ps_client_ask_all(client, WIRE_PROOF, WIRE_PROOF_BYTES, WIRE_HELLO_OK, NULL, 0, error);
    return r;
}

static int declare(struct ps_client *client, struct edl_error *error)
{
    uint32_t n = client->config.n_servers;
    _cleanup_free_ uint8_t *replies = xcalloc(n, WIRE_DECLARE_OK_BYTES);
    size_t head_bytes = 0;
    int r;

    for (uint32_t s = 0; s < n; s++)
        head_bytes = wire_declare_encode(&client->config.declaration,
                                         client->links[s].head + WIRE_HEADER_BYTES);
    r = ps_client_ask_all(client, WIRE_DECLARE, head_bytes, WIRE_DECLARE_OK, replies,
                          WIRE_DECLARE_OK_BYTES, error);
    client->awaits = NULL;
    for (uint32_t s = 0; r >= 0 && s < n; s++) {
        struct wire_declare_ok ok;

        r = wire_declare_ok_decode(replies + s * WIRE_DECLARE_OK_BYTES, WIRE_DECLARE_OK_BYTES, &ok,
                                   error);
        if (r >= 0 && ok.dense_values != client->shapes[s].dense_values)
            r = edl_error_set(error, -EINVAL, "%s holds %llu dense values, expected %zu",
                              client->links[s].name, (unsigned long long)ok.dense_values,
                              client->shapes[s].dense_values);
        if (r >= 0 && ok.created && ok.updates < client->packed[s].counts.updates)
            client->lost = client->links[s].name;
        client->packed[s].counts.updates = ok.updates;
        if (ok.awaits > 0)
            client->awaits = client->links[s].name;
    }
    return r;
}

static int introduce(struct ps_client *client, struct edl_error *error)
{
    int r = declare(client, error);

    return r >= 0 && client->config.tells_past ? ps_client_past_tell(client, error) : r;
}

int ps_client_connect(struct ps_client *client, const struct ps_host *hosts,
                      struct edl_error *error)
{
    int r = 0;

    ps_client_disconnect(client);
    client->unproved = false;
    for (uint32_t s = 0; r >= 0 && s < client->config.n_servers; s++)
        r = connect_host(&client->links[s], s, &hosts[s], error);
    if (r >= 0)
        r = greet(client, hosts, error);
    if (r >= 0)
        r = introduce(client, error);
    if (r < 0)
        ps_client_disconnect(client);
    else
        client->connected = true;
    return r;
}

static uint8_t *append(uint8_t *out, const void *data, size_t size)
{
    memcpy(out, data, size);
    return out + size;
}

/* The ids of one parameter that lie on this server, in order. */
static uint32_t pack_ids(const struct shard_shape *shape, uint32_t param, const uint32_t *ids,
                         uint32_t n, uint8_t **io_out)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < n; i++)
        if (shard_local_row(shape, param, ids[i]) >= 0) {
            *io_out = append(*io_out, &ids[i], sizeof ids[i]);
            count++;
        }
    return count;
}

static void pack_rows(const struct shard_shape *shape, const struct exchange_rows *rows,
                      uint8_t **io_out)
{
    size_t columns = shape->params[rows->param].columns;

    for (uint32_t i = 0; i < rows->n_push; i++)
        if (shard_local_row(shape, rows->param, rows->push_ids[i]) >= 0)
            *io_out = append(*io_out, rows->push_rows + i * columns, columns * sizeof(float));
}

static int reserve(struct packed *packed, const struct shard_shape *shape,
                   const struct exchange *exchange, struct edl_error *error)
{
    size_t out = 0, in = 0;

    for (uint32_t i = 0; i < exchange->n_rows; i++) {
        const struct exchange_rows *rows = &exchange->rows[i];
        size_t columns = shape->params[rows->param].columns;

        out += 4 * (rows->n_push * (columns + 1) + rows->n_pull);
        in += rows->n_pull * columns;
    }
    if (out > packed->out_capacity) {
        free(packed->out);
        packed->out = malloc(out);
        packed->out_capacity = packed->out != NULL ? out : 0;
    }
    if (in > packed->in_capacity) {
        free(packed->in);
        packed->in = malloc(in * sizeof(float));
        packed->in_capacity = packed->in != NULL ? in : 0;
    }
    if (packed->out_capacity < out || packed->in_capacity < in)
        return edl_error_set(error, -ENOMEM, "no memory for the rows of a batch");
    return 0;
}

static size_t dense_parts(const struct shard_shape *shape, float *const *arrays,
                          struct iovec *parts)
{
    struct shard_piece piece;
    size_t n = 0;

    for (uint32_t p = 0; p < shape->n_params; p++) {
        const struct shard_param *part = &shape->params[p];

        if (part->sparse)
            continue;
        for (size_t i = 0; shard_piece(part, i, &piece); i++)
            parts[n++] = (struct iovec){ .iov_base = arrays[p] + piece.at,
                                         .iov_len = piece.values * sizeof(float) };
    }
    return n;
}

int ps_client_prepare(struct ps_client *client, uint32_t s, const struct exchange *exchange,
                      uint32_t flags, uint64_t round, struct edl_error *error)
{
    const struct shard_shape *shape = &client->shapes[s];
    struct packed *packed = &client->packed[s];
    struct ps_link *link = &client->links[s];
    struct wire_push_pull request = { .flags = flags,
                                      .n_sections = exchange->n_rows,
                                      .samples = exchange->samples,
                                      .pass = exchange->pass,
                                      .round = round };
    size_t in_rows = 0;
    uint8_t *out;
    int r = reserve(packed, shape, exchange, error);

    if (r < 0)
        return r;
    out = packed->out;
    for (uint32_t i = 0; i < exchange->n_rows; i++) {
        const struct exchange_rows *rows = &exchange->rows[i];
        struct wire_section *section = &request.sections[i];

        section->param = rows->param;
        section->n_push = pack_ids(shape, rows->param, rows->push_ids, rows->n_push, &out);
        pack_rows(shape, rows, &out);
        section->n_pull = pack_ids(shape, rows->param, rows->pull_ids, rows->n_pull, &out);
        in_rows += (size_t)section->n_pull * shape->params[rows->param].columns;
    }
    link->n_out = 1;
    link->n_in = 1;
    link->in[0] = (struct iovec){ .iov_base = &packed->counts, .iov_len = sizeof packed->counts };
    if (exchange->push)
        request.flags |= WIRE_PUSH;
    if (exchange->set)
        request.flags |= WIRE_SET;
    if (exchange->dense_gradients != NULL) {
        request.flags |= WIRE_PUSH_DENSE;
        /* iovec has no const form; sendmsg only reads */
        link->n_out += dense_parts(shape, (float *const *)(uintptr_t)exchange->dense_gradients,
                                   link->out + link->n_out);
    }
    if (exchange->ret_dense != NULL) {
        request.flags |= WIRE_PULL_DENSE;
        link->n_in += dense_parts(shape, exchange->ret_dense, link->in + link->n_in);
    }
    link->out[link->n_out++] =
        (struct iovec){ .iov_base = packed->out, .iov_len = (size_t)(out - packed->out) };
    link->in[link->n_in++] =
        (struct iovec){ .iov_base = packed->in, .iov_len = in_rows * sizeof(float) };
    ps_link_start(link, WIRE_PUSH_PULL,
                  wire_push_pull_head_encode(&request, link->head + WIRE_HEADER_BYTES),
                  WIRE_PUSH_PULL_OK);
    return 0;
}

/* Puts the rows each server sent where the caller asked for them. */
static void unpack(const struct shard_shape *shape, const struct packed *packed,
                   const struct exchange *exchange)
{
    const float *in = packed->in;

    for (uint32_t r = 0; r < exchange->n_rows; r++) {
        const struct exchange_rows *rows = &exchange->rows[r];
        size_t columns = shape->params[rows->param].columns;

        for (uint32_t i = 0; i < rows->n_pull; i++) {
            if (shard_local_row(shape, rows->param, rows->pull_ids[i]) < 0)
                continue;
            memcpy(rows->ret_rows + i * columns, in, columns * sizeof *in);
            in += columns;
        }
    }
}

/* run - one exchange with all servers */
static int run(struct ps_client *client, const struct exchange *exchange, uint32_t flags,
               uint64_t round, struct edl_error *error)
{
    const bool waits = (flags & (WIRE_ENTER | WIRE_ROUND)) != 0;
    int r = 0;

    for (uint32_t s = 0; r >= 0 && s < client->config.n_servers; s++)
        r = ps_client_prepare(client, s, exchange, flags, round, error);
    if (r >= 0)
        r = ps_links_run(client->links, client->config.n_servers,
                         waits ? MAX_OF(ROUND_US, client->config.timeout_us)
                               : client->config.timeout_us,
                         waits ? &client->config.wait : NULL, error);
    if (r < 0)
        ps_client_disconnect(client); /* what is left on the wire belongs to no request any more */
    return r;
}

static bool is_synchronous(const struct ps_client *client)
{
    return client->config.agreement.mode == SGD_SYNCHRONOUS + 1;
}

static uint64_t latest_round(const struct ps_client *client)
{
    uint64_t latest = 0;

    for (uint32_t s = 0; s < client->config.n_servers; s++)
        latest = MAX_OF(latest, client->packed[s].counts.round);
    return latest;
}

/* enter - at the latest of the rounds that the servers have: none goes beyond the one that it told
 * before this trainer has pushed */
static int enter(struct ps_client *client, const struct exchange *exchange, struct edl_error *error)
{
    int r = run(client, exchange, WIRE_ENTER, 0, error);
    bool same = true;

    if (r < 0)
        return r;
    client->round = latest_round(client);
    for (uint32_t s = 0; s < client->config.n_servers; s++)
        same = same && client->packed[s].counts.round == client->round;
    if (!same)
        r = run(client, exchange, WIRE_ENTER, client->round, error);
    client->entered = r >= 0;
    return r;
}

static int push_round(struct ps_client *client, const struct exchange *exchange,
                      struct edl_error *error)
{
    const uint32_t flags = WIRE_ROUND | (exchange->leaves ? WIRE_LEAVE : 0);
    int r;

    if (!client->entered)
        return edl_error_set(error, EDL_ESTALE, "a push of a trainer that has not entered");
    r = run(client, exchange, flags, client->round, error);
    client->round++;
    client->entered = r >= 0 && !exchange->leaves;
    return r;
}

static int send_exchange(struct ps_client *client, const struct exchange *exchange,
                         struct edl_error *error)
{
    if (is_synchronous(client) && exchange->push)
        return push_round(client, exchange, error);
    if (is_synchronous(client) && exchange->enters)
        return enter(client, exchange, error);
    if (is_synchronous(client) && exchange->leaves) {
        client->entered = false;
        return run(client, exchange, WIRE_LEAVE, 0, error);
    }
    return run(client, exchange, 0, 0, error);
}

int ps_client_exchange(void *userdata, const struct exchange *exchange, struct edl_error *error)
{
    struct ps_client *client = userdata;
    int r;

    if (!client->connected)
        return edl_error_set(error, EDL_EUNREACHABLE, "not connected to the parameter servers");
    r = send_exchange(client, exchange, error);
    if (r < 0)
        return r;
    for (uint32_t s = 0; s < client->config.n_servers; s++)
        unpack(&client->shapes[s], &client->packed[s], exchange);
    if (exchange->set)
        client->awaits = NULL;
    ps_client_past_note(client, exchange);
    return 0;
}

const char *ps_client_awaits(const struct ps_client *client)
{
    return client->awaits;
}

int ps_client_look(struct ps_client *client, struct edl_error *error)
{
    int r = client->connected
                ? introduce(client, error)
                : edl_error_set(error, EDL_EUNREACHABLE, "not connected to the parameter servers");

    if (r < 0)
        ps_client_disconnect(client);
    return r;
}

bool ps_client_unproved(const struct ps_client *client)
{
    return client->unproved;
}

const char *ps_client_lost(const struct ps_client *client)
{
    return client->lost;
}

uint64_t ps_client_updates(const struct ps_client *client)
{
    uint64_t least = UINT64_MAX;

    for (uint32_t s = 0; s < client->config.n_servers; s++)
        least = MIN_OF(least, client->packed[s].counts.updates);
    return least;
}

uint64_t ps_client_most_updates(const struct ps_client *client)
{
    uint64_t most = 0;

    for (uint32_t s = 0; s < client->config.n_servers; s++)
        most = MAX_OF(most, client->packed[s].counts.updates);
    return most;
}
