/* SPDX-License-Identifier: Apache-2.0 */
/* http_paced.c - requests that come when they come, whether or not the server keeps up
 *
 * An open loop: the moments at which requests are due are drawn beforehand (exponential gaps, the
 * same for the same seed), at a rate that changes in phases. Each comes on a connection of its own,
 * and its latency counts from when it was due, not from when it could be sent: one that waited
 * because CLIENTS others were under way, or for this program to run, waited all the same.
 *
 * Connections that stay would belong to the worker of the server that happened to accept them: of
 * 64, nginx' two workers had 64 and none as often as 32 each, and that lottery decided the latency.
 *
 * Usage: http_paced [--clients N] [--seed N] --phases RATE:SECONDS[,RATE:SECONDS]... HOST:PORT PATH
 * Prints "start MICROSECONDS" of the wall clock, then for each request when it was due, in seconds
 * since then, and its latency in microseconds; at last "failed N". Answers have to be chunked; the
 * server closes the connection behind them. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "bench/wire.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/macro.h"
#include "shared/parse.h"

#define BUFFER_BYTES 65536
#define CLIENTS_MAX 1024
#define REQUESTS_MAX 1000000
#define DEADLINE_US (30 * USEC_PER_SEC)

/* How a chunked answer ends. Nothing else of the body is looked at. */
static const char last_chunk[] = "\r\n0\r\n\r\n";
#define TAIL (sizeof last_chunk - 1)

struct connection {
    int fd;
    size_t request;    /* that is under way */
    char tail[TAIL];   /* the last bytes that came */
    char status[13];   /* "HTTP/1.1 200" */
    size_t n_received; /* of this answer */
};

struct request {
    uint64_t due_us, latency_us; /* due: since the start */
};

struct pace {
    struct sockaddr_in server;
    char request[1024];
    uint64_t n_clients, seed;
    struct request *requests; /* owned */
    size_t n_requests, sent, answered, failed;
    struct connection *connections; /* owned */
    struct connection **free;       /* owned: those that are not under way */
    size_t n_free;
    uint64_t start_us;
    int epoll_fd;
};

/* xorshift64*: in (0, 1] */
static double draw(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (double)(((*state * UINT64_C(2685821657736338717)) >> 11) + 1) * 0x1p-53;
}

/* One phase after another; a gap that reaches into the next phase is drawn anew there. */
static int draw_requests(struct pace *pace, const char *phases)
{
    double begin_s = 0;

    pace->requests = xcalloc(REQUESTS_MAX, sizeof *pace->requests);
    while (*phases != '\0') {
        double rate, seconds, at_s = begin_s;
        int length = 0;

        if (sscanf(phases, "%lf:%lf%n", &rate, &seconds, &length) != 2 || rate <= 0 || seconds <= 0)
            return -EINVAL;
        while ((at_s -= log(draw(&pace->seed)) / rate) < begin_s + seconds) {
            if (pace->n_requests == REQUESTS_MAX)
                return -E2BIG;
            pace->requests[pace->n_requests++].due_us = (uint64_t)(at_s * 1e6);
        }
        begin_s += seconds;
        phases += length;
        phases += *phases == ',';
    }
    return pace->n_requests > 0 ? 0 : -EINVAL;
}

static void send_due(struct pace *pace, uint64_t now_us)
{
    size_t length = strlen(pace->request);

    while (pace->sent < pace->n_requests && pace->n_free > 0 &&
           pace->requests[pace->sent].due_us <= now_us) {
        struct connection *connection = pace->free[--pace->n_free];
        struct epoll_event event = { .events = EPOLLIN, .data.ptr = connection };

        *connection =
            (struct connection){ .fd = wire_connect(&pace->server), .request = pace->sent++ };
        if (epoll_ctl(pace->epoll_fd, EPOLL_CTL_ADD, connection->fd, &event) == -1)
            wire_die("connecting");
        if (write(connection->fd, pace->request, length) != (ssize_t)length)
            wire_die("sending");
    }
}

static void keep_tail(struct connection *connection, const char *buffer, size_t n)
{
    size_t kept = TAIL - MIN_OF(n, TAIL);

    memmove(connection->tail, connection->tail + TAIL - kept, kept);
    memcpy(connection->tail + kept, buffer + n - (TAIL - kept), TAIL - kept);
}

static void on_readable(struct pace *pace, struct connection *connection)
{
    char buffer[BUFFER_BYTES];
    ssize_t n = read(connection->fd, buffer, sizeof buffer);
    struct request *request = &pace->requests[connection->request];

    if (n <= 0)
        wire_die("the server ended the connection");
    if (connection->n_received == 0)
        (void)snprintf(connection->status, sizeof connection->status, "%.*s",
                       (int)MIN_OF(n, (ssize_t)sizeof connection->status - 1), buffer);
    connection->n_received += (size_t)n;
    keep_tail(connection, buffer, (size_t)n);
    if (memcmp(connection->tail, last_chunk, TAIL) != 0)
        return;
    request->latency_us = clock_read_us(CLOCK_MONOTONIC) - pace->start_us - request->due_us;
    pace->failed += !streq(connection->status, "HTTP/1.1 200");
    pace->answered++;
    connection->fd = safe_close(connection->fd);
    pace->free[pace->n_free++] = connection;
}

/* Until something comes, or the next request is due and there is a connection for it. */
static int wait_for_news(const struct pace *pace, struct epoll_event *events, int n)
{
    uint64_t now_us = clock_read_us(CLOCK_MONOTONIC) - pace->start_us, wait_us = DEADLINE_US;
    bool sends = pace->sent < pace->n_requests && pace->n_free > 0;
    struct timespec time;
    int ready;

    if (sends)
        wait_us =
            pace->requests[pace->sent].due_us - MIN_OF(now_us, pace->requests[pace->sent].due_us);
    time = (struct timespec){ .tv_sec = (time_t)(wait_us / USEC_PER_SEC),
                              .tv_nsec = (long)(wait_us % USEC_PER_SEC) * 1000 };
    ready = epoll_pwait2(pace->epoll_fd, events, n, &time, NULL);
    if (ready < 0 || (ready == 0 && !sends)) {
        errno = ready < 0 ? errno : ETIMEDOUT;
        wire_die("waiting for answers");
    }
    return ready;
}

static void run(struct pace *pace)
{
    pace->connections = xcalloc(pace->n_clients, sizeof *pace->connections);
    pace->free = xcalloc(pace->n_clients, sizeof(struct connection *));
    pace->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    while (pace->n_free < pace->n_clients) {
        pace->free[pace->n_free] = &pace->connections[pace->n_free];
        pace->n_free++;
    }
    (void)printf("start %" PRIu64 "\n", clock_read_us(CLOCK_REALTIME));
    (void)fflush(stdout);
    pace->start_us = clock_read_us(CLOCK_MONOTONIC);
    while (pace->answered < pace->n_requests) {
        struct epoll_event events[64];
        int ready = wait_for_news(pace, events, ELEMENTS(events));

        for (int i = 0; i < ready; i++)
            on_readable(pace, events[i].data.ptr);
        send_due(pace, clock_read_us(CLOCK_MONOTONIC) - pace->start_us);
    }
    for (size_t i = 0; i < pace->n_requests; i++)
        (void)printf("%.6f %" PRIu64 "\n", (double)pace->requests[i].due_us / 1e6,
                     pace->requests[i].latency_us);
    (void)printf("failed %zu\n", pace->failed);
}

int main(int argc, char **argv)
{
    static const struct option longs[] = { { "clients", required_argument, NULL, 'c' },
                                           { "seed", required_argument, NULL, 's' },
                                           { "phases", required_argument, NULL, 'p' },
                                           { NULL, 0, NULL, 0 } };
    struct pace pace = { .n_clients = 64, .seed = 1 };
    const char *phases = "";
    int c, r = 0;

    while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
        if (c == 'c')
            r |= parse_u64(optarg, &pace.n_clients);
        else if (c == 's')
            r |= parse_u64(optarg, &pace.seed);
        else if (c == 'p')
            phases = optarg;
        else
            r = -1;
    }
    if (r != 0 || optind + 2 != argc || wire_server(argv[optind], &pace.server) < 0 ||
        pace.n_clients < 1 || pace.n_clients > CLIENTS_MAX || pace.seed == 0 ||
        draw_requests(&pace, phases) < 0) {
        (void)fprintf(stderr, "usage: http_paced [--clients N] [--seed N] --phases"
                              " RATE:SECONDS[,RATE:SECONDS]... HOST:PORT PATH\n");
        return 2;
    }
    (void)snprintf(pace.request, sizeof pace.request,
                   "GET %s HTTP/1.1\r\nHost: bench\r\nAccept-Encoding: gzip\r\n"
                   "Connection: close\r\n\r\n",
                   argv[optind + 1]);
    run(&pace);
    free(pace.requests);
    free(pace.connections);
    free(pace.free);
    (void)safe_close(pace.epoll_fd);
    return pace.failed == 0 ? 0 : 1;
}
