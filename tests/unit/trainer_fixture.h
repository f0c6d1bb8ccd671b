/* SPDX-License-Identifier: Apache-2.0 */
/* trainer_fixture.h - for the training tests: servers in child processes, a small data set, a
 * stand-in scheduler */
#pragma once

#include <stdbool.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <cmocka.h>

#include "shared/error.h"
#include "shared/macro.h"
#include "trainer/wire/handshake.h"
#include "trainer/exchange/ps_client.h"
#include "trainer/server/pserver.h"

#define TEST_JOB 7
#define TEST_SECRET "the secret of job 7 in the tests" /* 32 bytes */

struct test_server {
    pid_t pid;
    uint16_t port;
    uint32_t index;
    uint64_t incarnation;
};

/* server_start - a parameter server on 127.0.0.1; checkpoint may be NULL */
void server_start(struct test_server *server, uint32_t index, uint64_t incarnation,
                  const char *checkpoint, uint64_t period_us);
/* server_start_with - its port and secret are those of the tests */
void server_start_with(struct test_server *server, struct pserver_config config);
/* server_start_at - the same at a port that another had, 0: any */
void server_start_at(struct test_server *server, struct pserver_config config, uint16_t port);
void server_kill(struct test_server *server);

/* server_stop - SIGTERM; its exit status (writes the checkpoint, checks for leaks under a
 * sanitizer) */
int server_stop(struct test_server *server);

void hosts_of(const struct test_server *servers, uint32_t n, struct ps_host *ret_hosts);

/* By hand, frame by frame. raw_connect - a connection to the server; frame - writes the header in
 * front of a body that is there already, returns the bytes of both */
int raw_connect(const struct test_server *server);
void receive_exactly(int fd, void *out, size_t size);
size_t frame(uint8_t *out, enum wire_type type, size_t body_bytes);

/* raw_hello - says HELLO, gets the challenge; raw_greet - the whole greeting with TEST_SECRET */
void raw_hello(int fd, const struct wire_hello *hello, struct wire_challenge *ret);
void raw_prove(int fd, const uint8_t proof[JOB_PROOF_BYTES]);
void raw_greet(int fd, const struct wire_hello *hello);

/* raw_refusal - what comes is a refusal: its code; closes fd */
int raw_refusal(int fd, struct wire_refused *ret);

/* child_wait - exit status of a child, or -signal; the test fails when it hangs */
int child_wait(pid_t pid);

/* folder_make, folder_remove - a temporary folder with all that is in it */
void folder_make(char *ret_path, size_t size);
void folder_remove(const char *path);

/* chain_samples - n trigrams in which the last word follows from the one before with probability
 * 0.8 and is any word otherwise; chain_cost is the cost of knowing just that, which no model beats
 * but by luck */
#define CHAIN_WORDS 30
#define CHAIN_NGRAM 3
void chain_samples(int32_t *samples, size_t n, uint64_t seed);
double chain_cost(const int32_t *samples, size_t n);

/* corpus_held_out_cost - chain_cost of corpus_write's test file */
double corpus_held_out_cost(size_t n_train, size_t n_test);

/* corpus_write - such samples as a data set: two train files of chunks of chunk_records, one test
 * file */
void corpus_write(const char *folder, size_t n_train, size_t n_test, size_t chunk_records);

/* The stand-in scheduler: a child process behind a Unix socket. What it did lies in shared memory.
 */
struct fake_state {
    struct {
        uint16_t port;
        uint64_t incarnation;
    } hosts[4];
    uint32_t n_hosts;
    uint32_t passes;
    uint32_t n_tasks, n_finished, n_returned, n_failed, n_requeued, n_puts, pass;
    uint64_t records_done;  /* of the pass under way */
    uint32_t finished_most; /* behind so many no lease is given: who asks waits; 0: any */
    bool hides_tasks;       /* away, for who asks of them without asking for servers before */
    uint32_t refuse_finish; /* so many finish calls get 409, although the task counts */
    uint32_t saved;
    bool owed;       /* a trainer said that it would save a model */
    uint32_t n_lost; /* times that a trainer said that a server's values are lost */
    char model[512];
    char metrics[1024];
};

enum fake_event { FAKE_LEASED = 'L', FAKE_FINISHED = 'F', FAKE_SAVED = 'S', FAKE_RETURNED = 'R' };

struct fake {
    struct fake_state *state; /* shared */
    pid_t pid;
    int events; /* read end: one byte per event */
    char socket[160];
};

void fake_start(struct fake *fake, const char *folder, const struct test_server *servers,
                uint32_t n, uint32_t passes);
void fake_stop(struct fake *fake);

/* fake_set_server - where an index is now */
void fake_set_server(struct fake *fake, const struct test_server *server);

/* fake_wait - until the event has come n times; the test fails when it hangs */
void fake_wait(struct fake *fake, enum fake_event event, unsigned n);
