/* SPDX-License-Identifier: Apache-2.0 */
/* ps_exchange.c - the time of one fused push and pull, beside the same bytes over bare loopback
 *
 * The parameters are the dense ones of the n-gram model with 2,073 words: 565,785 floats, 2.26 MB
 * each way, under AdaGrad. Two bounds are measured with the same bytes, each with a plain process
 * at the other end of a TCP connection. In `bare` both ends send and receive at the same time. In
 * `echo` the other end answers when it has everything: so does a server that applies a push as a
 * whole. The bounds and each set of servers have one exchange in every turn, one after the other.
 *
 * Usage: ps_exchange --secret-file FILE [--turns N] [--cpu N] [--peer-cpu N] HOST:PORT,...
 * Each argument is a set of servers of job 1. This process keeps to one core, and the bounds' other
 * ends to another. Prints one JSON object. */
#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench/samples.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/parse.h"
#include "trainer/wire/host_port.h"
#include "trainer/exchange/ps_client.h"
#include "trainer/exchange/secret_source.h"

enum { SETS_MAX = 4, SERVERS_MAX = 8, WARM_UP = 20, VOCABULARY = 2073, DENSE = 4 };

#define JOB_ID 1
#define ANY_CPU UINT64_MAX

/* The dense parameters: gradients to push, and the values that come back. */
struct model {
    struct declaration declaration;
    float *gradients[DENSE], *values[DENSE];
    size_t bytes;
};

/* A plain process at the other end of a connection. */
struct peer {
    int fd;
    pid_t pid;
    uint8_t *out, *in;
    size_t bytes;
};

struct set {
    const char *text;
    struct ps_host hosts[SERVERS_MAX];
    uint32_t n;
    struct ps_client *client;
    struct samples samples;
};

static int die(const char *what, const char *why)
{
    (void)fprintf(stderr, "ps_exchange: %s: %s\n", what, why);
    exit(1);
}

/* One core for each side: where the kernel puts the two decides more than what they do. */
static void pin(uint64_t cpu)
{
    cpu_set_t one;

    if (cpu == ANY_CPU)
        return;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    if (sched_setaffinity(0, sizeof one, &one) < 0)
        (void)die("cannot keep to a core", strerror(errno));
}

static double now_us(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec * 1e-3;
}

/* Gradients that differ, so that nothing is a special case; small, so that values stay ordinary. */
static void model_open(struct model *model)
{
    static const struct param_spec specs[DENSE] = {
        { "hidden_weight", 128, 256, .initial_std = 0.0625f, .learning_rate = 1, .l2_rate = 8e-4f },
        { "hidden_bias", 256, 1, .learning_rate = 2, .l2_rate = 8e-4f },
        { "output_weight", VOCABULARY, 256, .initial_std = 0.0625f, .learning_rate = 1,
          .l2_rate = 8e-4f },
        { "output_bias", VOCABULARY, 1, .learning_rate = 2, .l2_rate = 8e-4f },
    };

    *model = (struct model){ .declaration = { .seed = 1,
                                              .optimizer = optimizer_default(OPTIMIZER_ADAGRAD) } };
    for (uint32_t p = 0; p < DENSE; p++) {
        const size_t n = (size_t)specs[p].rows * specs[p].columns;
        const uint32_t d = model->declaration.n_params;

        model->declaration.params[d] = specs[p];
        model->gradients[d] = xcalloc(n, sizeof(float));
        model->values[d] = xcalloc(n, sizeof(float));
        for (size_t i = 0; i < n; i++)
            model->gradients[d][i] = (float)(i % 1009) * 1e-5f - 5e-3f;
        model->declaration.n_params++;
        model->bytes += n * sizeof(float);
    }
}

static void model_close(struct model *model)
{
    for (uint32_t d = 0; d < model->declaration.n_params; d++) {
        free(model->gradients[d]);
        free(model->values[d]);
    }
}

/* Returns the bytes that went, 0 when the socket is not ready. */
static size_t went(ssize_t n)
{
    if (n > 0)
        return (size_t)n;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    return (size_t)die("bare exchange", n == 0 ? "the other end is gone" : strerror(errno));
}

/* Sends and receives the two arrays, whichever goes on. */
static void carry(struct peer *peer, size_t to_send, size_t to_receive)
{
    uint8_t *out = peer->out, *in = peer->in;

    while (to_send + to_receive > 0) {
        size_t sent = 0, received = 0;

        if (to_send > 0)
            sent = went(send(peer->fd, out, to_send, MSG_DONTWAIT | MSG_NOSIGNAL));
        if (to_receive > 0)
            received = went(recv(peer->fd, in, to_receive, MSG_DONTWAIT));
        out += sent;
        in += received;
        to_send -= sent;
        to_receive -= received;
        if (sent + received == 0) {
            struct pollfd polled = { .fd = peer->fd,
                                     .events = (short)((to_send > 0 ? POLLOUT : 0) |
                                                       (to_receive > 0 ? POLLIN : 0)) };

            (void)poll(&polled, 1, -1);
        }
    }
}

/* Answers until the other end is closed. */
static void answer(struct peer *peer, bool echo)
{
    for (;;) {
        uint8_t first;
        ssize_t n = recv(peer->fd, &first, sizeof first, MSG_PEEK);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            _exit(0);
        if (echo)
            carry(peer, 0, peer->bytes);
        carry(peer, peer->bytes, echo ? 0 : peer->bytes);
    }
}

static int connect_to(const struct sockaddr_in *address)
{
    static const int on = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || connect(fd, (const struct sockaddr *)address, sizeof *address) < 0)
        (void)die("connect", strerror(errno));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

static void peer_start(struct peer *peer, size_t bytes, bool echo, uint64_t cpu)
{
    static const int on = 1;
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (listener < 0 || bind(listener, (struct sockaddr *)&address, size) < 0 ||
        listen(listener, 1) < 0 || getsockname(listener, (struct sockaddr *)&address, &size) < 0)
        (void)die("listen", strerror(errno));
    *peer = (struct peer){ .fd = -1, .bytes = bytes };
    peer->out = xcalloc(bytes, 1);
    peer->in = xcalloc(bytes, 1);
    memset(peer->out, 1, bytes);
    peer->pid = fork();
    if (peer->pid < 0)
        (void)die("fork", strerror(errno));
    if (peer->pid == 0) {
        pin(cpu);
        peer->fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        (void)setsockopt(peer->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        answer(peer, echo);
    }
    peer->fd = connect_to(&address);
    (void)safe_close(listener);
}

static void peer_stop(struct peer *peer)
{
    (void)safe_close(peer->fd);
    while (waitpid(peer->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    free(peer->out);
    free(peer->in);
}

static void set_parse(struct set *set, const char *text)
{
    *set = (struct set){ .text = text };
    while (*text != '\0') {
        const size_t n = strcspn(text, ",");
        struct ps_host *host = &set->hosts[set->n];

        if (set->n == SERVERS_MAX ||
            host_port_parse(text, n, host->address, sizeof host->address, &host->port) < 0)
            (void)die(set->text, "not host:port,host:port");
        set->n++;
        text += n + (text[n] == ',');
    }
}

static void set_open(struct set *set, const struct model *model, const char *secret_file)
{
    struct ps_client_config config = {
        .job_id = JOB_ID, .incarnation = 1, .declaration = model->declaration, .n_servers = set->n
    };
    struct edl_error error = { 0 };

    if (secret_read(secret_file, NULL, config.secret, &error) < 0 ||
        ps_client_new(&config, &set->client, &error) < 0 ||
        ps_client_connect(set->client, set->hosts, &error) < 0)
        (void)die(set->text, error.text);
}

static void set_close(struct set *set)
{
    set->client = ps_client_free(set->client);
    samples_free(&set->samples);
}

static void push_pull(struct set *set, struct model *model)
{
    const struct exchange exchange = { .push = true,
                                       .samples = 512,
                                       .dense_gradients = (const float *const *)model->gradients,
                                       .ret_dense = model->values };
    struct edl_error error = { 0 };
    const double start = now_us();

    if (ps_client_exchange(set->client, &exchange, &error) < 0)
        (void)die(set->text, error.text);
    samples_add(&set->samples, now_us() - start);
}

static double bare(struct peer *peer)
{
    const double start = now_us();

    carry(peer, peer->bytes, peer->bytes);
    return now_us() - start;
}

static json_t *figures(struct samples *samples)
{
    const struct sample_figures f = samples_figures(samples);

    return json_pack("{s:f,s:f}", "p10_us", f.p10, "p50_us", f.p50);
}

static void measure(struct model *model, struct set *sets, size_t n_sets, uint64_t turns,
                    struct peer peers[2])
{
    struct samples bounds[2] = { { 0 } };
    json_t *root, *list = json_array();

    for (uint64_t turn = 0; turn < turns + WARM_UP; turn++) {
        if (turn == WARM_UP) { /* what came before does not count */
            for (size_t s = 0; s < n_sets; s++)
                sets[s].samples.n = 0;
            bounds[0].n = bounds[1].n = 0;
        }
        for (int b = 0; b < 2; b++)
            samples_add(&bounds[b], bare(&peers[b]));
        for (size_t s = 0; s < n_sets; s++)
            push_pull(&sets[s], model);
    }
    for (size_t s = 0; s < n_sets; s++) {
        json_t *one = figures(&sets[s].samples);

        (void)json_object_set_new(one, "servers", json_integer(sets[s].n));
        (void)json_array_append_new(list, one);
    }
    root = json_pack("{s:I,s:I,s:o,s:o,s:o}", "bytes_each_way", (json_int_t)model->bytes, "turns",
                     (json_int_t)turns, "bare", figures(&bounds[0]), "echo", figures(&bounds[1]),
                     "push_pull", list);
    samples_free(&bounds[0]);
    samples_free(&bounds[1]);
    if (json_dumpf(root, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6)) < 0 || puts("") < 0)
        (void)die("output", strerror(errno));
    json_decref(root);
}

static int usage(void)
{
    (void)fputs("usage: ps_exchange --secret-file FILE [--turns N] [--cpu N] [--peer-cpu N] "
                "HOST:PORT[,HOST:PORT]...\n",
                stderr);
    return 2;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        { "secret-file", required_argument, NULL, 's' },
        { "turns", required_argument, NULL, 't' },
        { "cpu", required_argument, NULL, 'c' },
        { "peer-cpu", required_argument, NULL, 'p' },
        { NULL, 0, NULL, 0 },
    };
    const char *secret_file = NULL;
    struct set sets[SETS_MAX];
    struct peer peers[2];
    struct model model;
    uint64_t turns = 300;
    uint64_t cpus[2] = { ANY_CPU, ANY_CPU };
    size_t n;
    int option;

    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        uint64_t *number = option == 't'   ? &turns
                           : option == 'c' ? &cpus[0]
                           : option == 'p' ? &cpus[1]
                                           : NULL;

        if (option == 's')
            secret_file = optarg;
        else if (number == NULL || parse_u64(optarg, number) < 0)
            return usage();
    }
    n = (size_t)(argc - optind);
    if (secret_file == NULL || turns == 0 || n == 0 || n > SETS_MAX)
        return usage();
    model_open(&model);
    pin(cpus[0]);
    for (int b = 0; b < 2; b++)
        peer_start(&peers[b], model.bytes, b == 1, cpus[1]);
    for (size_t s = 0; s < n; s++) {
        set_parse(&sets[s], argv[optind + (int)s]);
        set_open(&sets[s], &model, secret_file);
    }
    measure(&model, sets, n, turns, peers);
    for (size_t s = 0; s < n; s++)
        set_close(&sets[s]);
    for (int b = 2; b-- > 0;) /* the second one has inherited the connection of the first */
        peer_stop(&peers[b]);
    model_close(&model);
    return 0;
}
