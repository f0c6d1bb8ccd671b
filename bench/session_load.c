/* SPDX-License-Identifier: Apache-2.0 */
/* session_load.c - both sides of sessions that move what they can
 *
 * The sessions are there already, and neither side has come. Each has four connections, with TLS or
 * without, on one thread.
 *
 * Usage: session_load [--tls] flood SECONDS HOST:PORT FILE
 *        session_load [--tls] bulk MEBIBYTES HOST:PORT FILE
 *        session_load [--tls] echo TIMES HOST:PORT FILE
 * FILE has a line for each session: its number, the node's name, the person's token and the node's.
 * flood: all of them, both ways, for so long. bulk: the first one, from the node. echo: the first
 * one: a key goes in and comes back. Prints one object of JSON. */
#include <errno.h>
#include <fcntl.h>
#include <gnutls/gnutls.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "bench/samples.h"
#include "bench/wire.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/macro.h"
#include "shared/parse.h"

#define PIECE_BYTES 16000        /* with its frame of HTTP it is one record of TLS */
#define KEY "9\r\nkeystroke\r\n" /* as it is sent, and as it comes */
#define SESSIONS_MAX 1000
#define DEADLINE_MS 60000
#define MIB (1024.0 * 1024)

struct connection {
    int fd;
    gnutls_session_t tls; /* owned; NULL: without */
    bool writes;
    bool greeted;   /* it has sent its head, or has read that of the answer */
    size_t at;      /* of the piece that is being written */
    char head[512]; /* of the request */
    char tail[4];   /* of what was read so far of the answer's head */
    uint64_t bytes; /* of the body that went or came */
};

struct load {
    struct sockaddr_in server;
    gnutls_certificate_credentials_t credentials; /* owned; NULL: no TLS */
    struct connection *connections;               /* owned: four of each session */
    size_t n;
    char piece[PIECE_BYTES + 16]; /* a chunk, as it is sent */
    size_t piece_bytes;
    int epoll_fd;
};

/* The four connections of a session. */
enum { PERSON_IN, PERSON_OUT, NODE_IN, NODE_OUT, EACH };

static ssize_t transport(const struct connection *connection, void *data, size_t size, bool writes)
{
    ssize_t n;

    if (connection->tls == NULL)
        n = writes ? write(connection->fd, data, size) : read(connection->fd, data, size);
    else
        n = writes ? gnutls_record_send(connection->tls, data, size)
                   : gnutls_record_recv(connection->tls, data, size);
    if (n >= 0)
        return n;
    if (connection->tls == NULL ? errno == EAGAIN : gnutls_error_is_fatal((int)n) == 0)
        return -EAGAIN;
    return -EIO;
}

static void shake_hands(struct load *load, struct connection *connection)
{
    int r;

    if (gnutls_init(&connection->tls, GNUTLS_CLIENT) < 0 ||
        gnutls_set_default_priority(connection->tls) < 0 ||
        gnutls_credentials_set(connection->tls, GNUTLS_CRD_CERTIFICATE, load->credentials) < 0)
        wire_die("TLS");
    gnutls_transport_set_int(connection->tls, connection->fd);
    do
        r = gnutls_handshake(connection->tls);
    while (r < 0 && gnutls_error_is_fatal(r) == 0);
    if (r < 0)
        wire_die(gnutls_strerror(r));
}

static void greet(struct connection *connection)
{
    size_t length = strlen(connection->head);

    if (transport(connection, connection->head, length, true) != (ssize_t)length)
        wire_die("sending a head");
    connection->greeted = connection->writes;
}

static void begin(struct load *load, struct connection *connection)
{
    struct epoll_event event = { .data.ptr = connection };

    connection->fd = wire_connect(&load->server);
    if (load->credentials != NULL)
        shake_hands(load, connection);
    greet(connection);
    if (fcntl(connection->fd, F_SETFL, O_NONBLOCK) == -1)
        wire_die("connecting");
    event.events = connection->writes ? EPOLLOUT : EPOLLIN;
    if (epoll_ctl(load->epoll_fd, EPOLL_CTL_ADD, connection->fd, &event) == -1)
        wire_die("connecting");
}

/* The answer's head ends where the tail is an empty line. Returns how much of data is body. */
static size_t skip_head(struct connection *connection, const char *data, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        memmove(connection->tail, connection->tail + 1, 3);
        connection->tail[3] = data[i];
        if (memcmp(connection->tail, "\r\n\r\n", 4) == 0) {
            connection->greeted = true;
            return size - i - 1;
        }
    }
    return 0;
}

/* false: nothing has come */
static bool take(struct connection *connection)
{
    char data[PIECE_BYTES * 4];
    ssize_t n = transport(connection, data, sizeof data, false);

    if (n == -EAGAIN)
        return false;
    if (n <= 0)
        wire_die("the scheduler ended a stream");
    connection->bytes += connection->greeted ? (size_t)n : skip_head(connection, data, (size_t)n);
    return true;
}

static void put(struct load *load, struct connection *connection)
{
    ssize_t n = transport(connection, load->piece + connection->at,
                          load->piece_bytes - connection->at, true);

    if (n == -EAGAIN)
        return;
    if (n < 0)
        wire_die("the scheduler ended a body");
    connection->at = (connection->at + (size_t)n) % load->piece_bytes;
    connection->bytes += (size_t)n;
}

static void move(struct load *load, struct connection *connection)
{
    if (connection->writes)
        put(load, connection);
    else
        while (take(connection) && connection->tls != NULL &&
               gnutls_record_check_pending(connection->tls) > 0)
            continue;
}

/* pass - one look at all connections */
static void pass(struct load *load)
{
    struct epoll_event events[256];
    int ready = epoll_wait(load->epoll_fd, events, ELEMENTS(events), DEADLINE_MS);

    if (ready <= 0)
        wire_die("waiting for the scheduler");
    for (int i = 0; i < ready; i++)
        move(load, events[i].data.ptr);
}

static void silence(const struct load *load, const struct connection *connection)
{
    (void)epoll_ctl(load->epoll_fd, EPOLL_CTL_DEL, connection->fd, NULL);
}

static uint64_t received(const struct load *load)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < load->n; i++)
        sum += load->connections[i].writes ? 0 : load->connections[i].bytes;
    return sum;
}

static void flood(struct load *load, uint64_t seconds)
{
    uint64_t begin_us = clock_read_us(CLOCK_MONOTONIC), now_us = begin_us;

    while (now_us < begin_us + seconds * USEC_PER_SEC) {
        pass(load);
        now_us = clock_read_us(CLOCK_MONOTONIC);
    }
    (void)printf("{\"sessions\": %zu, \"seconds\": %.3f, \"mib_per_s\": %.1f}\n", load->n / EACH,
                 (double)(now_us - begin_us) / 1e6,
                 (double)received(load) / MIB * 1e6 / (double)(now_us - begin_us));
}

static void bulk(struct load *load, uint64_t mebibytes)
{
    const struct connection *reader = &load->connections[PERSON_OUT];
    uint64_t begin_us = clock_read_us(CLOCK_MONOTONIC), took_us;

    silence(load, &load->connections[PERSON_IN]);
    while (reader->bytes < mebibytes << 20)
        pass(load);
    took_us = clock_read_us(CLOCK_MONOTONIC) - begin_us;
    (void)printf("{\"mebibytes\": %" PRIu64 ", \"mb_per_s\": %.1f}\n", mebibytes,
                 (double)reader->bytes / (double)took_us);
}

static void await_bytes(struct load *load, struct connection *reader, uint64_t bytes)
{
    struct epoll_event event;

    while (reader->bytes < bytes) {
        if (epoll_wait(load->epoll_fd, &event, 1, DEADLINE_MS) <= 0)
            wire_die("waiting for an echo");
        (void)take(event.data.ptr);
    }
}

static void say(struct connection *writer)
{
    char key[] = KEY;

    if (transport(writer, key, strlen(key), true) != (ssize_t)strlen(key))
        wire_die("sending a key");
}

static void echo(struct load *load, uint64_t times)
{
    struct samples samples = { .n = 0 };
    struct sample_figures figures;

    silence(load, &load->connections[PERSON_IN]);
    silence(load, &load->connections[NODE_IN]);
    for (uint64_t i = 1; i <= times; i++) {
        uint64_t begin_us = clock_read_us(CLOCK_MONOTONIC);

        say(&load->connections[PERSON_IN]);
        await_bytes(load, &load->connections[NODE_OUT], i * strlen(KEY));
        say(&load->connections[NODE_IN]);
        await_bytes(load, &load->connections[PERSON_OUT], i * strlen(KEY));
        samples_add(&samples, (double)(clock_read_us(CLOCK_MONOTONIC) - begin_us));
    }
    figures = samples_figures(&samples);
    (void)printf("{\"echoes\": %zu, \"p50_us\": %.0f, \"p99_us\": %.0f, \"longest_us\": %.0f}\n",
                 samples.n, figures.p50, figures.p99, figures.most);
    samples_free(&samples);
}

static void add(struct load *load, const char *session, const char *node, const char *person_token,
                const char *node_token)
{
    for (size_t i = 0; i < EACH; i++) {
        struct connection *connection = &load->connections[load->n++];
        bool is_node = i == NODE_IN || i == NODE_OUT;

        connection->writes = i == PERSON_IN || i == NODE_IN;
        (void)snprintf(connection->head, sizeof connection->head,
                       "%s %s%s/sessions/%s/%s HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer "
                       "%s\r\n%s\r\n",
                       connection->writes ? "POST" : "GET", is_node ? "/nodes/" : "",
                       is_node ? node : "", session, connection->writes ? "in" : "out",
                       is_node ? node_token : person_token,
                       connection->writes ? "Transfer-Encoding: chunked\r\n" : "");
    }
}

static void read_sessions(struct load *load, const char *path, size_t most)
{
    _cleanup_fclose_ FILE *file = fopen(path, "re");
    char session[40], node[40], person_token[80], node_token[80];

    if (file == NULL)
        wire_die(path);
    load->connections = xcalloc(SESSIONS_MAX * EACH, sizeof *load->connections);
    while (load->n < most * EACH &&
           fscanf(file, "%39s %39s %79s %79s", session, node, person_token, node_token) == 4)
        add(load, session, node, person_token, node_token);
}

static const struct {
    const char *name;
    size_t sessions;
    void (*run)(struct load *load, uint64_t amount);
} modes[] = { { "flood", SESSIONS_MAX, flood }, { "bulk", 1, bulk }, { "echo", 1, echo } };

static void run(struct load *load, const char *path, size_t mode, uint64_t amount)
{
    load->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    load->piece_bytes = (size_t)snprintf(load->piece, sizeof load->piece, "%x\r\n", PIECE_BYTES);
    memset(load->piece + load->piece_bytes, 'x', PIECE_BYTES);
    load->piece_bytes += PIECE_BYTES;
    memcpy(load->piece + load->piece_bytes, "\r\n", 2);
    load->piece_bytes += 2;
    read_sessions(load, path, modes[mode].sessions);
    for (size_t i = 0; i < load->n; i++)
        begin(load, &load->connections[i]);
    modes[mode].run(load, amount);
}

static void done(struct load *load)
{
    for (size_t i = 0; i < load->n; i++) {
        if (load->connections[i].tls != NULL)
            gnutls_deinit(load->connections[i].tls);
        (void)safe_close(load->connections[i].fd);
    }
    free(load->connections);
    if (load->credentials != NULL)
        gnutls_certificate_free_credentials(load->credentials);
    (void)safe_close(load->epoll_fd);
}

int main(int argc, char **argv)
{
    struct load load = { .n = 0 };
    bool tls = argc > 1 && streq(argv[1], "--tls");
    size_t mode = ELEMENTS(modes);
    uint64_t amount;

    argv += tls;
    argc -= tls;
    for (size_t i = 0; argc == 5 && i < ELEMENTS(modes); i++)
        if (streq(argv[1], modes[i].name))
            mode = i;
    if (mode == ELEMENTS(modes) || parse_u64(argv[2], &amount) < 0 ||
        wire_server(argv[3], &load.server) < 0) {
        (void)fprintf(stderr,
                      "usage: session_load [--tls] flood|bulk|echo AMOUNT HOST:PORT FILE\n");
        return 2;
    }
    if (tls && gnutls_certificate_allocate_credentials(&load.credentials) < 0)
        wire_die("TLS");
    run(&load, argv[4], mode, amount);
    done(&load);
    return 0;
}
