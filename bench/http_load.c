/* SPDX-License-Identifier: Apache-2.0 */
/* http_load.c - clients that each send one request after another on a connection that they keep
 *
 * The same for every server that is measured. Each answer is waited for before the next request
 * goes out, so latencies are those of a closed loop. In the body, the first "%d" becomes the number
 * of the request: no two submit the same job.
 *
 * Usage: http_load [--clients N] [--requests N] [--token-file FILE] --body FILE HOST:PORT /path
 * Prints one JSON object. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "bench/wire.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/macro.h"
#include "shared/parse.h"

#define BUFFER_BYTES 65536
#define CLIENTS_MAX 1024
#define DEADLINE_MS 30000

struct client {
    int fd;
    uint64_t sent_us;
    size_t used;
    char buffer[BUFFER_BYTES];
};

struct load {
    struct sockaddr_in server;
    const char *path;
    char token[256], body[BUFFER_BYTES / 2];
    uint64_t n_clients, n_requests;
    uint64_t started, answered, failed; /* requests */
    uint64_t *latencies_us;
    int epoll_fd;
};

static void send_next(struct load *load, struct client *client)
{
    char request[BUFFER_BYTES], body[BUFFER_BYTES];
    const char *mark = strstr(load->body, "%d");
    int length, n;

    if (load->started == load->n_requests)
        return;
    length = mark == NULL ? snprintf(body, sizeof body, "%s", load->body)
                          : snprintf(body, sizeof body, "%.*s%" PRIu64 "%s",
                                     (int)(mark - load->body), load->body, load->started, mark + 2);
    n = snprintf(request, sizeof request,
                 "POST %s HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer %s\r\n"
                 "Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
                 load->path, load->token, length, body);
    load->started++;
    client->used = 0;
    client->sent_us = clock_read_us(CLOCK_MONOTONIC);
    if (n >= (int)sizeof request || write(client->fd, request, (size_t)n) != n)
        wire_die("sending");
}

static void on_readable(struct load *load, struct client *client)
{
    ssize_t n = read(client->fd, client->buffer + client->used, BUFFER_BYTES - 1 - client->used);

    if (n <= 0)
        wire_die("the server ended the connection");
    client->used += (size_t)n;
    client->buffer[client->used] = '\0';
    if (wire_whole_answer(client->buffer, client->used) == 0)
        return;
    if (wire_status(client->buffer) / 100 != 2 && load->failed++ == 0)
        (void)fprintf(stderr, "http_load: %.*s\n", 400, client->buffer);
    load->latencies_us[load->answered++] = clock_read_us(CLOCK_MONOTONIC) - client->sent_us;
    send_next(load, client);
}

static void start_client(struct load *load, struct client *client)
{
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = client };

    client->fd = wire_connect(&load->server);
    if (epoll_ctl(load->epoll_fd, EPOLL_CTL_ADD, client->fd, &event) == -1)
        wire_die("connecting");
    send_next(load, client);
}

static void run(struct load *load)
{
    struct client *clients = xcalloc(load->n_clients, sizeof *clients);
    uint64_t start_us = clock_read_us(CLOCK_MONOTONIC);
    uint64_t n = load->n_requests;
    double seconds;

    for (size_t i = 0; i < load->n_clients; i++)
        start_client(load, &clients[i]);
    while (load->answered < n) {
        struct epoll_event events[64];
        int ready = epoll_wait(load->epoll_fd, events, ELEMENTS(events), DEADLINE_MS);

        if (ready <= 0) {
            errno = ETIMEDOUT;
            wire_die("waiting for answers");
        }
        for (int i = 0; i < ready; i++)
            on_readable(load, events[i].data.ptr);
    }
    seconds = (double)(clock_read_us(CLOCK_MONOTONIC) - start_us) / 1e6;
    (void)printf("{\"clients\":%" PRIu64 ",\"requests\":%" PRIu64 ",\"failed\":%" PRIu64
                 ",\"per_s\":%.1f,\"p50_us\":%" PRIu64 ",\"p99_us\":%" PRIu64 "}\n",
                 load->n_clients, n, load->failed, (double)n / seconds,
                 wire_percentile(load->latencies_us, n, 500),
                 wire_percentile(load->latencies_us, n, 990));
    free(clients);
}

int main(int argc, char **argv)
{
    static const struct option longs[] = { { "clients", required_argument, NULL, 'c' },
                                           { "requests", required_argument, NULL, 'n' },
                                           { "token-file", required_argument, NULL, 't' },
                                           { "body", required_argument, NULL, 'b' },
                                           { NULL, 0, NULL, 0 } };
    struct load load = { .n_clients = 1, .n_requests = 1000 };
    int c, r = 0;

    while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
        if (c == 'c')
            r |= parse_u64(optarg, &load.n_clients);
        else if (c == 'n')
            r |= parse_u64(optarg, &load.n_requests);
        else if (c == 't')
            wire_read_token(optarg, load.token, sizeof load.token);
        else if (c == 'b')
            wire_read_file(optarg, load.body, sizeof load.body);
        else
            r = -1;
    }
    if (r != 0 || optind + 2 != argc || wire_server(argv[optind], &load.server) < 0 ||
        load.n_clients < 1 || load.n_clients > CLIENTS_MAX || load.n_requests < load.n_clients) {
        (void)fprintf(stderr, "usage: http_load [--clients N] [--requests N] [--token-file FILE]"
                              " --body FILE HOST:PORT PATH\n");
        return 2;
    }
    load.path = argv[optind + 1];
    load.latencies_us = xcalloc(load.n_requests, sizeof *load.latencies_us);
    load.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (load.epoll_fd == -1)
        wire_die("epoll");
    run(&load);
    free(load.latencies_us);
    (void)safe_close(load.epoll_fd);
    return load.failed == 0 ? 0 : 1;
}
