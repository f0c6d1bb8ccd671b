/* SPDX-License-Identifier: Apache-2.0 */
/* test_handshake.c - strangers at a real server's port, and strangers in a server's place */
#include "trainer_fixture.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "tests/unit/test.h"

static const uint8_t secret[JOB_SECRET_BYTES] = TEST_SECRET;

static struct declaration declare_one(void)
{
    struct declaration d = {
        .optimizer = { .method = OPTIMIZER_ADAGRAD, .learning_rate = 0.5f, .epsilon = 1e-6f },
        .n_params = 1
    };

    d.params[0] = (struct param_spec){ "weight", 4, 1, .learning_rate = 1.0f };
    return d;
}

static struct ps_client *client_new(uint32_t trainer, uint64_t incarnation, uint8_t first_byte)
{
    struct ps_client_config config = { .job_id = TEST_JOB,
                                       .trainer = trainer,
                                       .incarnation = incarnation,
                                       .secret = TEST_SECRET,
                                       .declaration = declare_one(),
                                       .n_servers = 1,
                                       .timeout_us = 120 * USEC_PER_SEC };
    struct ps_client *client = NULL;

    config.secret[0] = first_byte;
    assert_int_equal(ps_client_new(&config, &client, NULL), 0);
    return client;
}

static int client_connect(struct ps_client *client, const struct test_server *server,
                          struct edl_error *error)
{
    struct ps_host host;

    hosts_of(server, 1, &host);
    return ps_client_connect(client, &host, error);
}

static int push(struct ps_client *client, float gradient)
{
    const float gradients[4] = { gradient };
    const float *pushed[1] = { gradients };

    return ps_client_exchange(client, &(struct exchange){ .push = true, .dense_gradients = pushed },
                              NULL);
}

static struct wire_hello a_hello(void)
{
    return (struct wire_hello){
        .job_id = TEST_JOB, .incarnation = 9, .trainer = 1, .n_shards = 1, .nonce = "of the trainer"
    };
}

/* A request of that kind instead of a proof. */
static void send_instead(int fd, enum wire_type type)
{
    uint8_t bytes[WIRE_HEADER_BYTES + WIRE_DECLARE_MAX] = { 0 };
    struct wire_push_pull all = { .flags = WIRE_PULL_DENSE };
    struct declaration d = declare_one();
    const struct wire_hello hello = a_hello();
    uint8_t *body = bytes + WIRE_HEADER_BYTES;
    size_t size = type == WIRE_DECLARE ? wire_declare_encode(&d, body)
                  : type == WIRE_HELLO ? wire_hello_encode(&hello, body)
                                       : wire_push_pull_head_encode(&all, body);

    size = frame(bytes, type, size);
    assert_int_equal(send(fd, bytes, size, MSG_NOSIGNAL), size);
}

/* Who reaches the port and knows the job's number, but not its secret, neither pushes nor pulls,
 * and disturbs nobody who does. */
TEST(test_stranger)
{
    static const enum wire_type wanted[] = { WIRE_DECLARE, WIRE_PUSH_PULL };
    const struct wire_hello hello = a_hello();
    const uint8_t guess[JOB_PROOF_BYTES] = { 0 };
    struct ps_client *client = client_new(1, 3, TEST_SECRET[0]);
    struct ps_client *stranger = client_new(1, 9, 'x');
    struct wire_challenge challenge;
    struct wire_refused refused;
    struct test_server server;
    struct edl_error error;
    int fd;

    server_start(&server, 0, 4, NULL, 0);
    assert_int_equal(client_connect(client, &server, NULL), 0);
    assert_int_equal(push(client, 1.0f), 0);
    for (size_t i = 0; i < ELEMENTS(wanted); i++) {
        send_instead(fd = raw_connect(&server), wanted[i]);
        assert_int_equal(raw_refusal(fd, &refused), -EACCES);
        raw_hello(fd = raw_connect(&server), &hello, &challenge);
        send_instead(fd, wanted[i]);
        assert_int_equal(raw_refusal(fd, &refused), -EACCES);
    }
    raw_prove(fd = raw_connect(&server), guess);
    assert_int_equal(raw_refusal(fd, &refused), -EINVAL);
    raw_hello(fd = raw_connect(&server), &hello, &challenge);
    raw_prove(fd, guess);
    assert_int_equal(raw_refusal(fd, &refused), -EACCES);
    assert_non_null(strstr(refused.text, "does not prove"));
    /* nor one who does as a trainer does: it does not believe the server either, and is told so */
    assert_int_equal(client_connect(stranger, &server, &error), EDL_EUNREACHABLE);
    assert_non_null(strstr(error.text, "does not prove that it is of job 7"));
    /* a newer life of trainer 1 would have ended this connection */
    assert_int_equal(push(client, 1.0f), 0);
    assert_int_equal(ps_client_updates(client), 2);
    (void)ps_client_free(client);
    (void)ps_client_free(stranger);
    assert_int_equal(server_stop(&server), 0);
}

/* The proof of a claim that is wrong in one part. */
TEST(test_wrong_parts)
{
    enum { PROTOCOL, JOB, ROLE, INDEX, INCARNATION, NONCE, PEER_NONCE, RIGHT };
    const struct wire_hello hello = a_hello();
    struct test_server server;

    server_start(&server, 0, 4, NULL, 0);
    for (int wrong = PROTOCOL; wrong <= RIGHT; wrong++) {
        const uint8_t other[JOB_NONCE_BYTES] = "another";
        int fd = raw_connect(&server);
        struct wire_challenge challenge;
        struct wire_refused refused;
        uint8_t proof[JOB_PROOF_BYTES], answer[WIRE_HEADER_BYTES];
        struct job_claim claim;

        raw_hello(fd, &hello, &challenge);
        claim = (struct job_claim){ .protocol = "edl-pserver",
                                    .job_id = TEST_JOB,
                                    .role = "trainer",
                                    .index = 1,
                                    .incarnation = 9,
                                    .nonce = challenge.nonce,
                                    .peer_nonce = hello.nonce };
        if (wrong == PROTOCOL)
            claim.protocol = "edl-group";
        if (wrong == JOB)
            claim.job_id++;
        if (wrong == ROLE)
            claim.role = "pserver";
        if (wrong == INDEX)
            claim.index++;
        if (wrong == INCARNATION)
            claim.incarnation--;
        if (wrong == NONCE)
            claim.nonce = other;
        if (wrong == PEER_NONCE)
            claim.peer_nonce = other;
        assert_int_equal(job_proof_make(secret, &claim, proof, NULL), 0);
        raw_prove(fd, proof);
        if (wrong != RIGHT) {
            assert_int_equal(raw_refusal(fd, &refused), -EACCES);
            continue;
        }
        receive_exactly(fd, answer, sizeof answer);
        assert_int_equal(answer[4], WIRE_HELLO_OK);
        raw_prove(fd, proof); /* it is once enough */
        assert_int_equal(raw_refusal(fd, &refused), -EINVAL);
    }
    assert_int_equal(server_stop(&server), 0);
}

/* What was overheard is good for nothing: not on the next connection, nor the server's own proof.
 */
TEST(test_replay)
{
    const struct wire_hello hello = a_hello();
    struct wire_challenge challenge, next;
    struct wire_refused refused;
    uint8_t proof[JOB_PROOF_BYTES];
    struct job_claim claim;
    struct test_server server;
    int fd;

    server_start(&server, 0, 4, NULL, 0);
    raw_hello(fd = raw_connect(&server), &hello, &challenge);
    claim = handshake_trainer_claim(&hello, &challenge);
    assert_int_equal(job_proof_make(secret, &claim, proof, NULL), 0);
    raw_prove(fd, proof);
    receive_exactly(fd, &(uint8_t[WIRE_HEADER_BYTES]){ 0 }, WIRE_HEADER_BYTES);
    (void)safe_close(fd);
    raw_hello(fd = raw_connect(&server), &hello, &next);
    assert_memory_not_equal(next.nonce, challenge.nonce, sizeof next.nonce);
    raw_prove(fd, proof);
    assert_int_equal(raw_refusal(fd, &refused), -EACCES);
    raw_hello(fd = raw_connect(&server), &hello, &next);
    raw_prove(fd, next.proof);
    assert_int_equal(raw_refusal(fd, &refused), -EACCES);
    /* another HELLO asks for no other nonce */
    raw_hello(fd = raw_connect(&server), &hello, &next);
    send_instead(fd, WIRE_HELLO);
    assert_int_equal(raw_refusal(fd, &refused), -EINVAL);
    assert_non_null(strstr(refused.text, "once"));
    assert_int_equal(server_stop(&server), 0);
}

/* A trainer of the release before hears what is the matter, in a frame that it can read. */
TEST(test_older_trainer)
{
    uint8_t bytes[WIRE_HEADER_BYTES + WIRE_HELLO_1_BYTES] = { 0 };
    size_t size = frame(bytes, WIRE_HELLO, WIRE_HELLO_1_BYTES);
    struct wire_refused refused;
    struct test_server server;
    int fd;

    server_start(&server, 0, 1, NULL, 0);
    fd = raw_connect(&server);
    assert_int_equal(send(fd, bytes, size, MSG_NOSIGNAL), size);
    assert_int_equal(raw_refusal(fd, &refused), -EINVAL);
    assert_non_null(strstr(refused.text, "version 1 of the protocol"));
    assert_int_equal(server_stop(&server), 0);
}

/* ---- in a server's place ---- */

enum impostor { GUESSES, REFLECTS, OLDER };

/* Answers one HELLO. Its end tells whether anything came after that. */
static _Noreturn void impersonate(int listen_fd, enum impostor kind)
{
    uint8_t bytes[WIRE_HEADER_BYTES + 1024] = { 0 };
    struct wire_challenge challenge = { .incarnation = 4, .nonce = "n" };
    struct wire_refused refused = { .code = -EINVAL, .text = "HELLO has 64 bytes instead of 32" };
    int fd = accept(listen_fd, NULL, NULL);
    size_t size;

    receive_exactly(fd, bytes, WIRE_HEADER_BYTES + WIRE_HELLO_BYTES);
    if (kind == REFLECTS) /* what it was just sent, as if it were a proof */
        memcpy(challenge.proof, bytes + WIRE_HEADER_BYTES + 32, sizeof challenge.proof);
    size = kind == OLDER ? frame(bytes, WIRE_REFUSED,
                                 wire_refused_encode(&refused, bytes + WIRE_HEADER_BYTES))
                         : frame(bytes, WIRE_CHALLENGE,
                                 wire_challenge_encode(&challenge, bytes + WIRE_HEADER_BYTES));
    if (send(fd, bytes, size, MSG_NOSIGNAL) != (ssize_t)size)
        _exit(2);
    _exit(recv(fd, bytes, 1, 0) == 0 ? 0 : 1);
}

static int connect_to_impostor(enum impostor kind, struct edl_error *error)
{
    struct ps_client *client = client_new(1, 3, TEST_SECRET[0]);
    struct test_server server = { .incarnation = 4 };
    int fd = pserver_listen("127.0.0.1", 0, &server.port, NULL);
    int flags_off, r;

    assert_true(fd >= 0);
    flags_off = fcntl(fd, F_SETFL, 0);
    assert_int_equal(flags_off, 0);
    server.pid = fork();
    if (server.pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        impersonate(fd, kind);
    }
    (void)safe_close(fd);
    r = client_connect(client, &server, error);
    assert_int_equal(child_wait(server.pid), 0); /* nothing came after HELLO */
    (void)ps_client_free(client);
    return r;
}

/* Whatever took over the port of a server that is gone is given nothing, and looked past. */
TEST(test_impostor)
{
    struct edl_error error;

    assert_int_equal(connect_to_impostor(GUESSES, &error), EDL_EUNREACHABLE);
    assert_non_null(strstr(error.text, "does not prove that it is of job 7"));
    assert_int_equal(connect_to_impostor(REFLECTS, &error), EDL_EUNREACHABLE);
    assert_int_equal(connect_to_impostor(OLDER, &error), -EINVAL);
    assert_non_null(strstr(error.remedy, "one release"));
}

TEST(test_no_secret)
{
    struct ps_client_config config = { .job_id = TEST_JOB,
                                       .declaration = declare_one(),
                                       .n_servers = 1 };
    const struct pserver_config server_config = { .job_id = TEST_JOB };
    struct ps_client *client = NULL;
    struct pserver *server = NULL;
    struct edl_error error;
    sd_event *event = NULL;

    assert_int_equal(sd_event_new(&event), 0);
    assert_int_equal(ps_client_new(&config, &client, &error), -EINVAL);
    assert_int_equal(pserver_new(event, &server_config, &server, &error), -EINVAL);
    assert_non_null(strstr(error.text, "no secret"));
    assert_true(client == NULL && server == NULL);
    (void)sd_event_unref(event);
}
