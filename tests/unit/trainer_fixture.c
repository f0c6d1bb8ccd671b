/* SPDX-License-Identifier: Apache-2.0 */
/* trainer_fixture.c - for the training tests: servers in child processes and a small data set */
#include "trainer_fixture.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/recordio.h"

#define DEADLINE_MS 300000 /* a hang alone takes so long, on any machine */
#define CORPUS_SEED 42

static int on_term(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata)
{
    (void)info;
    (void)userdata;
    return sd_event_exit(sd_event_source_get_event(source), 0);
}

static int serve(const struct pserver_config *config)
{
    struct pserver *server = NULL;
    struct edl_error error;
    sd_event *event = NULL;
    int r;

    if (sd_event_new(&event) < 0 || pserver_new(event, config, &server, &error) < 0 ||
        sd_event_add_signal(event, NULL, SIGTERM, on_term, NULL) < 0)
        return 99;
    r = sd_event_loop(event);
    if (r >= 0)
        r = pserver_checkpoint_now(server, &error);
    (void)pserver_free(server);
    (void)sd_event_unref(event);
    return r < 0 ? 98 : 0;
}

void server_start(struct test_server *server, uint32_t index, uint64_t incarnation,
                  const char *checkpoint, uint64_t period_us)
{
    struct pserver_config config = { .job_id = TEST_JOB,
                                     .index = index,
                                     .incarnation = incarnation,
                                     .checkpoint_path = checkpoint,
                                     .checkpoint_period_us = period_us };

    server_start_with(server, config);
}

void server_start_with(struct test_server *server, struct pserver_config config)
{
    server_start_at(server, config, 0);
}

void server_start_at(struct test_server *server, struct pserver_config config, uint16_t port)
{
    sigset_t mask, before;

    memcpy(config.secret, TEST_SECRET, sizeof config.secret);
    if (config.greeting_us == 0) /* a slow machine is no stranger */
        config.greeting_us = DEADLINE_MS * USEC_PER_MSEC;
    server->index = config.index;
    server->incarnation = config.incarnation;
    config.listen_fd = pserver_listen("127.0.0.1", port, &server->port, NULL);
    assert_true(config.listen_fd >= 0);
    sigemptyset(&mask);
    sigaddset(&mask, SIGTERM);
    sigaddset(&mask, SIGCHLD);
    sigprocmask(SIG_BLOCK, &mask, &before);
    (void)fflush(NULL);
    server->pid = fork();
    if (server->pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves nothing behind */
        exit(serve(&config));
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    assert_true(server->pid > 0);
    (void)safe_close(config.listen_fd);
}

int child_wait(pid_t pid)
{
    _cleanup_close_ int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    struct pollfd polled = { .fd = fd, .events = POLLIN };
    int status;

    assert_true(fd >= 0);
    if (poll(&polled, 1, DEADLINE_MS) != 1) {
        (void)kill(pid, SIGKILL);
        (void)waitpid(pid, &status, 0);
        fail_msg("process %d ran too long", (int)pid);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

void server_kill(struct test_server *server)
{
    (void)kill(server->pid, SIGKILL);
    assert_int_equal(child_wait(server->pid), -SIGKILL);
    server->pid = 0;
}

int server_stop(struct test_server *server)
{
    pid_t pid = server->pid;

    server->pid = 0;
    (void)kill(pid, SIGTERM);
    return child_wait(pid);
}

void hosts_of(const struct test_server *servers, uint32_t n, struct ps_host *ret_hosts)
{
    for (uint32_t s = 0; s < n; s++)
        ret_hosts[s] = (struct ps_host){ .address = "127.0.0.1",
                                         .port = servers[s].port,
                                         .incarnation = servers[s].incarnation };
}

int raw_connect(const struct test_server *server)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(server->port) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

void receive_exactly(int fd, void *out, size_t size)
{
    struct pollfd polled = { .fd = fd, .events = POLLIN };
    size_t got = 0;

    while (got < size) {
        ssize_t n;

        assert_int_equal(poll(&polled, 1, DEADLINE_MS), 1);
        n = recv(fd, (uint8_t *)out + got, size - got, 0);
        assert_true(n > 0);
        got += (size_t)n;
    }
}

size_t frame(uint8_t *out, enum wire_type type, size_t body_bytes)
{
    struct wire_header header = { .type = type, .sequence = 1, .body_bytes = body_bytes };

    return wire_header_encode(&header, out) + body_bytes;
}

void raw_hello(int fd, const struct wire_hello *hello, struct wire_challenge *ret)
{
    uint8_t bytes[WIRE_HEADER_BYTES + MAX_OF(WIRE_HELLO_BYTES, WIRE_CHALLENGE_BYTES)];
    size_t size = frame(bytes, WIRE_HELLO, wire_hello_encode(hello, bytes + WIRE_HEADER_BYTES));

    assert_int_equal(send(fd, bytes, size, MSG_NOSIGNAL), size);
    receive_exactly(fd, bytes, WIRE_HEADER_BYTES + WIRE_CHALLENGE_BYTES);
    assert_int_equal(wire_challenge_decode(bytes + WIRE_HEADER_BYTES, WIRE_CHALLENGE_BYTES, ret,
                                           NULL),
                     0);
}

void raw_prove(int fd, const uint8_t proof[JOB_PROOF_BYTES])
{
    uint8_t bytes[WIRE_HEADER_BYTES + WIRE_PROOF_BYTES];
    size_t size = frame(bytes, WIRE_PROOF, WIRE_PROOF_BYTES);

    memcpy(bytes + WIRE_HEADER_BYTES, proof, JOB_PROOF_BYTES);
    assert_int_equal(send(fd, bytes, size, MSG_NOSIGNAL), size);
}

void raw_greet(int fd, const struct wire_hello *hello)
{
    struct wire_challenge challenge;
    struct job_claim claim;
    uint8_t proof[JOB_PROOF_BYTES], bytes[WIRE_HEADER_BYTES];
    struct wire_header header;

    raw_hello(fd, hello, &challenge);
    claim = handshake_trainer_claim(hello, &challenge);
    assert_int_equal(job_proof_make((const uint8_t *)TEST_SECRET, &claim, proof, NULL), 0);
    raw_prove(fd, proof);
    receive_exactly(fd, bytes, sizeof bytes);
    assert_int_equal(wire_header_decode(bytes, &header, NULL), 0);
    assert_int_equal(header.type, WIRE_HELLO_OK);
}

int raw_refusal(int fd, struct wire_refused *ret)
{
    uint8_t bytes[WIRE_REFUSED_MAX];
    struct wire_header header;

    receive_exactly(fd, bytes, WIRE_HEADER_BYTES);
    assert_int_equal(wire_header_decode(bytes, &header, NULL), 0);
    assert_int_equal(header.type, WIRE_REFUSED);
    assert_true(header.body_bytes <= sizeof bytes);
    receive_exactly(fd, bytes, (size_t)header.body_bytes);
    assert_int_equal(wire_refused_decode(bytes, (size_t)header.body_bytes, ret, NULL), 0);
    (void)safe_close(fd);
    return ret->code;
}

void folder_make(char *ret_path, size_t size)
{
    (void)snprintf(ret_path, size, "/tmp/edl-test-XXXXXX");
    assert_non_null(mkdtemp(ret_path));
}

void folder_remove(const char *path)
{
    _cleanup_closedir_ DIR *folder = opendir(path);
    struct dirent *entry;
    char child[1024];

    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        if (streq(entry->d_name, ".") || streq(entry->d_name, ".."))
            continue;
        (void)snprintf(child, sizeof child, "%s/%s", path, entry->d_name);
        if (unlink(child) < 0)
            folder_remove(child);
    }
    (void)rmdir(path);
}

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

void chain_samples(int32_t *samples, size_t n, uint64_t seed)
{
    for (size_t i = 0; i < n; i++) {
        int32_t *sample = samples + i * CHAIN_NGRAM;

        for (int w = 0; w < CHAIN_NGRAM; w++)
            sample[w] = (int32_t)(next_random(&seed) % CHAIN_WORDS);
        if (next_random(&seed) % 10 < 8)
            sample[CHAIN_NGRAM - 1] = (sample[CHAIN_NGRAM - 2] * 7 + 3) % CHAIN_WORDS;
    }
}

double chain_cost(const int32_t *samples, size_t n)
{
    double other = 0.2 / CHAIN_WORDS, cost = 0;

    for (size_t i = 0; i < n; i++) {
        const int32_t *sample = samples + i * CHAIN_NGRAM;
        int32_t follower = (sample[CHAIN_NGRAM - 2] * 7 + 3) % CHAIN_WORDS;

        cost -= log(sample[CHAIN_NGRAM - 1] == follower ? 0.8 + other : other);
    }
    return cost / (double)n;
}

double corpus_held_out_cost(size_t n_train, size_t n_test)
{
    int32_t *samples = xcalloc(n_train + n_test, CHAIN_NGRAM * sizeof *samples);
    double cost;

    chain_samples(samples, n_train + n_test, CORPUS_SEED);
    cost = chain_cost(samples + n_train * CHAIN_NGRAM, n_test);
    free(samples);
    return cost;
}

static void file_write(const char *folder, const char *name, const int32_t *samples, size_t n,
                       size_t chunk_records)
{
    size_t bytes = CHAIN_NGRAM * sizeof(int32_t);
    struct recordio_writer *writer;
    char path[512];

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(recordio_writer_open(path, RECORDIO_NONE, chunk_records * bytes, &writer,
                                          NULL),
                     0);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(recordio_write(writer, samples + i * CHAIN_NGRAM, bytes, NULL), 0);
    assert_int_equal(recordio_writer_close(writer, NULL), 0);
}

void corpus_write(const char *folder, size_t n_train, size_t n_test, size_t chunk_records)
{
    size_t n = n_train + n_test, half = n_train / 2;
    int32_t *samples = xcalloc(n, CHAIN_NGRAM * sizeof *samples);
    char path[512];
    FILE *file;

    chain_samples(samples, n, CORPUS_SEED);
    file_write(folder, "train-00000-of-00002.recordio", samples, half, chunk_records);
    file_write(folder, "train-00001-of-00002.recordio", samples + half * CHAIN_NGRAM,
               n_train - half, chunk_records);
    file_write(folder, "test-00000-of-00001.recordio", samples + n_train * CHAIN_NGRAM, n_test,
               1000);
    free(samples);
    (void)snprintf(path, sizeof path, "%s/corpus.json", folder);
    file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "{\"ngram\":%d,\"vocabulary\":%d,\"train_samples\":%zu,\"test_samples\":%zu}\n",
            CHAIN_NGRAM, CHAIN_WORDS, n_train, n_test);
    (void)fclose(file);
    (void)snprintf(path, sizeof path, "%s/word_dict", folder);
    file = fopen(path, "w");
    assert_non_null(file);
    for (int w = 0; w < CHAIN_WORDS; w++)
        fprintf(file, "word%d %d\n", w, w);
    (void)fclose(file);
}
