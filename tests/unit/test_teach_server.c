/* SPDX-License-Identifier: Apache-2.0 */
/* test_teach_server.c - a real teacher in a child process, and students frame by frame: good ones,
 * strangers, some that send rubbish, die, or stand still */
#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/teach_fixture.h"
#include "tests/unit/test.h"
#include "trainer/server/pserver.h"
#include "trainer/teach/teach_server.h"
#include "trainer/teach/teach_worker.h"

#define SECRET "the secret of a test's teachers." /* 32 bytes */
#define PATIENCE_US (120 * USEC_PER_SEC)
#define LITTLE_PATIENCE_US (300 * USEC_PER_MSEC) /* a slow machine may exhaust it */

struct teacher {
    struct teach_fixture fixture;
    pid_t pid;
    uint16_t port;
    int told; /* a byte: leave */
};

/* ---- the teacher ---- */

static int on_told(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    (void)fd;
    (void)revents;
    (void)sd_event_source_set_enabled(source, SD_EVENT_OFF);
    teach_server_leave(userdata);
    return 0;
}

static _Noreturn void teach(const struct teacher *teacher, int listen_fd, int told,
                            uint64_t patience_us)
{
    const struct teach_model_config model =
        teach_fixture_config(&teacher->fixture, teacher->fixture.model);
    struct teach_server_config config = { .listen_fd = listen_fd,
                                          .max_batch = 4,
                                          .batch_wait_us = 2 * USEC_PER_MSEC,
                                          .patience_us = patience_us };
    const struct rlimit few = { 60, 60 };
    struct teach_server *server = NULL;
    struct edl_error error = { 0 };
    sd_event *event = NULL;
    int r;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)setrlimit(RLIMIT_NOFILE, &few);
    memcpy(config.secret, SECRET, sizeof config.secret);
    if (sd_event_new(&event) < 0 || teach_worker_new(&model, &config.worker, &error) < 0 ||
        teach_server_new(event, &config, &server, &error) < 0 ||
        sd_event_add_io(event, NULL, told, EPOLLIN, on_told, server) < 0) {
        (void)fprintf(stderr, "the teacher cannot begin: %s\n", error.text);
        _exit(3);
    }
    r = sd_event_loop(event);
    (void)teach_server_free(server);
    (void)teach_worker_free(config.worker);
    (void)sd_event_unref(event);
    exit(r < 0 ? 1 : 0); /* a sanitizer looks for leaks */
}

static void start_with(struct teacher *teacher, uint64_t patience_us)
{
    static const int few_bytes = 4096;
    struct edl_error error;
    int pipes[2], listen_fd;

    teach_fixture_make(&teacher->fixture);
    listen_fd = pserver_listen("127.0.0.1", 0, &teacher->port, &error);
    assert_true(listen_fd >= 0);
    /* of its connections too: a large answer does not fit */
    assert_int_equal(setsockopt(listen_fd, SOL_SOCKET, SO_SNDBUF, &few_bytes, sizeof few_bytes), 0);
    assert_int_equal(pipe(pipes), 0);
    teacher->pid = fork();
    if (teacher->pid == 0) {
        (void)safe_close(pipes[1]);
        teach(teacher, listen_fd, pipes[0], patience_us);
    }
    (void)safe_close(pipes[0]);
    (void)safe_close(listen_fd);
    teacher->told = pipes[1];
}

static void start(struct teacher *teacher)
{
    start_with(teacher, PATIENCE_US);
}

static void leave(const struct teacher *teacher)
{
    assert_int_equal(write(teacher->told, "x", 1), 1);
}

/* ends - with 0 */
static void ends(struct teacher *teacher)
{
    int status;

    assert_int_equal(waitpid(teacher->pid, &status, 0), teacher->pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    teacher->told = safe_close(teacher->told);
    teach_fixture_remove(&teacher->fixture);
}

static void stop(struct teacher *teacher)
{
    leave(teacher);
    ends(teacher);
}

/* ---- students ---- */

static int meet(const struct teacher *teacher)
{
    const struct sockaddr_in address = { .sin_family = AF_INET,
                                         .sin_port = htons(teacher->port),
                                         .sin_addr = { htonl(INADDR_LOOPBACK) } };
    const struct timeval patience = { .tv_sec = 120 };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience), 0);
    return fd;
}

static void say(int fd, enum teacher_frame type, const void *body, size_t size)
{
    uint8_t header[TEACHER_HEADER_BYTES];

    (void)teacher_header_encode(type, size, header);
    assert_int_equal(send(fd, header, sizeof header, MSG_NOSIGNAL), sizeof header);
    if (size > 0)
        assert_int_equal(send(fd, body, size, MSG_NOSIGNAL), size);
}

/* hear - the next frame's type, 0: the end */
static int hear(int fd, uint8_t *body, size_t room, size_t *ret_size)
{
    uint8_t bytes[TEACHER_HEADER_BYTES];
    struct teacher_header header;
    struct edl_error error;

    if (recv(fd, bytes, sizeof bytes, MSG_WAITALL) != sizeof bytes)
        return 0;
    assert_int_equal(teacher_header_decode(bytes, &header, &error), 0);
    assert_true(header.body_bytes <= room);
    *ret_size = (size_t)header.body_bytes;
    if (*ret_size > 0)
        assert_int_equal(recv(fd, body, *ret_size, MSG_WAITALL), *ret_size);
    return (int)header.type;
}

static void expect(int fd, enum teacher_frame type, uint8_t *body, size_t room, size_t *ret_size)
{
    assert_int_equal(hear(fd, body, room, ret_size), (int)type);
}

static void proof_of(const char *secret, bool of_teacher, const uint8_t *student,
                     const uint8_t *teacher, uint8_t *ret)
{
    uint8_t message[TEACHER_PROOF_MESSAGE_MAX];
    const size_t n = teacher_proof_message(of_teacher, student, teacher, message);
    struct edl_error error;

    assert_int_equal(job_hmac((const uint8_t *)secret, message, n, ret, &error), 0);
}

/* greet - up to the proof of the student */
static void greet(int fd, const char *secret)
{
    const struct teacher_hello hello = { .nonce = "a nonce", .name = "a student" };
    uint8_t body[TEACHER_HELLO_BYTES_MAX], proof[TEACHER_PROOF_BYTES];
    struct teacher_challenge challenge;
    struct edl_error error;
    size_t size;

    say(fd, TEACHER_HELLO, body, teacher_hello_encode(&hello, body));
    expect(fd, TEACHER_CHALLENGE, body, sizeof body, &size);
    assert_int_equal(teacher_challenge_decode(body, size, &challenge, &error), 0);
    proof_of(SECRET, true, hello.nonce, challenge.nonce, proof);
    assert_true(teacher_proof_equal(proof, challenge.proof));
    proof_of(secret, false, hello.nonce, challenge.nonce, proof);
    say(fd, TEACHER_PROOF, proof, sizeof proof);
}

static int student(const struct teacher *teacher)
{
    struct teacher_welcome welcome;
    struct edl_error error;
    uint8_t body[1024];
    int fd = meet(teacher);
    size_t size;

    greet(fd, SECRET);
    expect(fd, TEACHER_WELCOME, body, sizeof body, &size);
    assert_int_equal(teacher_welcome_decode(body, size, &welcome, &error), 0);
    assert_string_equal(welcome.feeds[0].name, "x");
    assert_string_equal(welcome.fetches[0].name, "sum");
    teacher_welcome_clear(&welcome);
    return fd;
}

static void offer(int fd, uint32_t n)
{
    uint8_t body[TEACHER_COUNT_BYTES];

    say(fd, TEACHER_OFFER, body, teacher_count_encode(n, body));
}

static uint32_t credit(int fd)
{
    uint8_t body[TEACHER_COUNT_BYTES];
    struct edl_error error;
    uint32_t n = 0;
    size_t size;

    expect(fd, TEACHER_CREDIT, body, sizeof body, &size);
    assert_int_equal(teacher_count_decode(body, size, &n, &error), 0);
    return n;
}

static void send_task(int fd, uint64_t id, const char *name, const float *x, uint32_t samples)
{
    struct teacher_tensor t = { .type = TEACHER_FLOAT32,
                                .n_dimensions = 2,
                                .dimensions = { samples, 2 },
                                .values = x,
                                .n_values = 2 * samples };
    uint8_t body[4096], *end = body;

    (void)snprintf(t.name, sizeof t.name, "%s", name);
    end += teacher_id_encode(id, end);
    end += teacher_tensors_encode(&t, 1, end);
    say(fd, TEACHER_TASK, body, (size_t)(end - body));
}

/* send_large_task - with an answer that a socket does not take at once */
static void send_large_task(int fd, uint64_t id)
{
    enum { SAMPLES = 100000 };
    float *x = xcalloc(2 * (size_t)SAMPLES, sizeof *x);
    struct teacher_tensor t = { .name = "x",
                                .type = TEACHER_FLOAT32,
                                .n_dimensions = 2,
                                .dimensions = { SAMPLES, 2 },
                                .values = x,
                                .n_values = 2 * (uint64_t)SAMPLES };
    uint8_t *body = xcalloc(1, TEACHER_ID_BYTES + (size_t)teacher_tensors_bytes(&t, 1));
    uint8_t header[TEACHER_HEADER_BYTES];
    size_t size = teacher_id_encode(id, body);

    size += teacher_tensors_encode(&t, 1, body + size);
    (void)teacher_header_encode(TEACHER_TASK, size, header);
    (void)send(fd, header, sizeof header, MSG_NOSIGNAL); /* it may have been given up by now */
    (void)send(fd, body, size, MSG_NOSIGNAL);
    free(body);
    free(x);
}

/* hear_result - of that task: the first value */
static float hear_result(int fd, uint64_t id)
{
    static struct teacher_tensors found;
    _Alignas(8) uint8_t body[4096];
    struct edl_error error;
    uint64_t said;
    size_t size;

    expect(fd, TEACHER_RESULT, body, sizeof body, &size);
    assert_int_equal(teacher_id_decode(body, size, &said, &error), 0);
    assert_int_equal(said, id);
    assert_int_equal(teacher_tensors_decode(body + 8, size - 8, &found, &error), 0);
    assert_string_equal(found.tensors[0].name, "sum");
    return ((const float *)found.tensors[0].values)[0];
}

/* is_told - the next frame has that text */
static void is_told(int fd, enum teacher_frame type, const char *text)
{
    uint8_t body[4096];
    size_t size, at = type == TEACHER_FAILED ? TEACHER_ID_BYTES : 0;
    char said[TEACHER_TEXT_MAX + 1];

    expect(fd, type, body, sizeof body, &size);
    teacher_text_decode(body + at, size - at, said);
    if (strstr(said, text) == NULL)
        fail_msg("%s: %s", teacher_frame_to_string(type), said);
}

static void is_hung_up(int fd)
{
    uint8_t body[4096];
    size_t size;

    assert_int_equal(hear(fd, body, sizeof body, &size), 0);
    (void)safe_close(fd);
}

static void one_answer(int fd)
{
    const float x[2] = { 1, 10 };

    offer(fd, 1);
    assert_int_equal(credit(fd), 1);
    send_task(fd, 77, "x", x, 1);
    assert_true(hear_result(fd, 77) == 2 + 30 + 1);
}

/* ---- tests ---- */

TEST(test_a_student_is_answered)
{
    const float x[] = { 1, 0, 0, 1, 1, 1, 0, 0, 2, 2, 5, 5 };
    struct teacher teacher;
    uint32_t n;
    int fd;

    start(&teacher);
    fd = student(&teacher);
    one_answer(fd);
    offer(fd, 3);
    for (n = 0; n < 3;)
        n += credit(fd);
    send_task(fd, 1, "x", x, 6); /* more than a batch */
    send_task(fd, 2, "x", x + 2, 1);
    send_task(fd, 3, "x", x + 4, 1);
    assert_true(hear_result(fd, 1) == 3);
    assert_true(hear_result(fd, 2) == 4);
    assert_true(hear_result(fd, 3) == 6);
    stop(&teacher);
    (void)safe_close(fd);
}

TEST(test_strangers_are_refused)
{
    struct teacher teacher;
    int fd;

    start(&teacher);
    fd = meet(&teacher);
    greet(fd, "the secret of others, all of it.");
    is_told(fd, TEACHER_REFUSED, "does not know the secret");
    is_hung_up(fd);
    fd = meet(&teacher); /* without a proof */
    offer(fd, 1);
    is_told(fd, TEACHER_REFUSED, "OFFER comes at the wrong time");
    is_hung_up(fd);
    fd = student(&teacher);
    one_answer(fd);
    stop(&teacher);
    (void)safe_close(fd);
}

TEST(test_rubbish_ends_one_connection_alone)
{
    static const char *const rubbish[] = { "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
                                           "0123456789abcdef0123456789abcdef" };
    const float x[2] = { 1, 10 };
    uint8_t header[TEACHER_HEADER_BYTES];
    struct teacher teacher;
    int good, fd;

    start(&teacher);
    good = student(&teacher);
    for (size_t i = 0; i < ELEMENTS(rubbish); i++) {
        fd = meet(&teacher);
        assert_true(send(fd, rubbish[i], strlen(rubbish[i]), MSG_NOSIGNAL) > 0);
        (void)shutdown(fd, SHUT_WR);
        (void)safe_close(fd);
        one_answer(good);
    }
    fd = student(&teacher);
    send_task(fd, 1, "x", x, 1);
    is_told(fd, TEACHER_REFUSED, "a task without credit");
    is_hung_up(fd);
    fd = student(&teacher);
    (void)teacher_header_encode(TEACHER_TASK, TEACHER_BULK_MAX, header); /* no byte of it is kept */
    assert_int_equal(send(fd, header, sizeof header, MSG_NOSIGNAL), sizeof header);
    is_told(fd, TEACHER_REFUSED, "a task without credit");
    is_hung_up(fd);
    fd = student(&teacher);
    offer(fd, 1);
    assert_int_equal(credit(fd), 1);
    say(fd, TEACHER_TASK, "12345678 no tensors", 19);
    is_told(fd, TEACHER_REFUSED, "tensor");
    is_hung_up(fd);
    fd = student(&teacher);
    say(fd, TEACHER_RETURN, "\1\0\0\0", 4);
    is_told(fd, TEACHER_REFUSED, "gives back 1");
    is_hung_up(fd);
    fd = student(&teacher);
    say(fd, TEACHER_RESULT, "12345678", 8);
    is_told(fd, TEACHER_REFUSED, "RESULT comes at the wrong time");
    is_hung_up(fd);
    one_answer(good);
    stop(&teacher);
    (void)safe_close(good);
}

/* A task that cannot be answered fails alone, also in a batch. */
TEST(test_tasks_fail_alone)
{
    const float x[2] = { 1, 10 }, huge[2] = { 3e38f, 3e38f }, bad[2] = { NAN, 0 };
    struct teacher teacher;
    uint32_t n;
    int fd;

    start(&teacher);
    fd = student(&teacher);
    offer(fd, 4);
    for (n = 0; n < 4;)
        n += credit(fd);
    send_task(fd, 1, "z", x, 1);
    is_told(fd, TEACHER_FAILED, "this teacher wants x, and was sent z");
    send_task(fd, 2, "x", huge, 1); /* an infinite sum: soft is NaN */
    send_task(fd, 3, "x", bad, 1);
    send_task(fd, 4, "x", x, 1);
    is_told(fd, TEACHER_FAILED, "soft of the model");
    is_told(fd, TEACHER_FAILED, "x, sample 0: a value is not finite");
    assert_true(hear_result(fd, 4) == 33);
    stop(&teacher);
    (void)safe_close(fd);
}

/* One that dies with all places, and one that stands still with all of them. */
TEST(test_places_come_back)
{
    const float x[2] = { 1, 10 };
    struct teacher teacher;
    int fd, other;
    uint32_t n;

    start(&teacher);
    fd = student(&teacher);
    offer(fd, 1000);
    n = credit(fd);
    for (uint32_t i = 0; i < n; i++)
        send_task(fd, i, "x", x, 1);
    (void)safe_close(fd); /* with all tasks out */
    fd = student(&teacher);
    one_answer(fd);
    stop(&teacher);
    (void)safe_close(fd);
    start_with(&teacher, LITTLE_PATIENCE_US);
    fd = student(&teacher);
    offer(fd, 1000);
    (void)credit(fd); /* and sends nothing */
    other = student(&teacher);
    one_answer(other);
    is_hung_up(fd);
    stop(&teacher);
    (void)safe_close(other);
}

/* Strangers that do not greet go as others come, and no student with them; nor does a teacher that
 * has no descriptor left spin or end. */
TEST(test_strangers_keep_out_nobody)
{
    struct teacher teacher;
    int fds[200], good, again;

    start(&teacher);
    good = student(&teacher);
    for (size_t i = 0; i < ELEMENTS(fds); i++)
        fds[i] = meet(&teacher);
    again = student(&teacher);
    one_answer(again);
    one_answer(good);
    is_hung_up(fds[0]);
    for (size_t i = 1; i < ELEMENTS(fds); i++)
        (void)safe_close(fds[i]);
    stop(&teacher);
    (void)safe_close(good);
    (void)safe_close(again);
}

TEST(test_it_answers_and_leaves)
{
    const float x[2] = { 1, 10 };
    uint8_t body[16];
    struct teacher teacher;
    size_t size;
    int fd;

    start(&teacher);
    fd = student(&teacher);
    offer(fd, 1);
    assert_int_equal(credit(fd), 1);
    leave(&teacher);
    expect(fd, TEACHER_LEAVING, body, sizeof body, &size);
    offer(fd, 5); /* no more */
    send_task(fd, 9, "x", x, 1);
    assert_true(hear_result(fd, 9) == 33);
    is_hung_up(fd);
    ends(&teacher);
}

/* One that got its answer while the teacher leaves, and does not read it. */
TEST(test_who_does_not_read_does_not_hold_it_up)
{
    uint8_t body[16];
    struct teacher teacher;
    size_t size;
    int fd;

    start_with(&teacher, LITTLE_PATIENCE_US);
    fd = student(&teacher);
    offer(fd, 1);
    assert_int_equal(credit(fd), 1);
    leave(&teacher);
    expect(fd, TEACHER_LEAVING, body, sizeof body, &size);
    send_large_task(fd, 1);
    ends(&teacher);
    (void)safe_close(fd);
}

/* Credit is told as answers are: one that does not read gets no more, however often it gives it
 * back, so what waits for it is bounded. */
TEST(test_who_does_not_read_gets_no_credit)
{
    uint8_t both[2 * (TEACHER_HEADER_BYTES + TEACHER_COUNT_BYTES)], *end = both;
    struct teacher teacher;
    ssize_t sent = 0;
    int fd, good;

    end += teacher_header_encode(TEACHER_OFFER, TEACHER_COUNT_BYTES, end);
    end += teacher_count_encode(1, end);
    end += teacher_header_encode(TEACHER_RETURN, TEACHER_COUNT_BYTES, end);
    (void)teacher_count_encode(1, end);
    start(&teacher);
    fd = student(&teacher);
    for (int i = 0; i < 1000000 && sent >= 0; i++)
        sent = send(fd, both, sizeof both, MSG_NOSIGNAL);
    assert_true(sent < 0); /* it gave back what it did not have */
    (void)safe_close(fd);
    good = student(&teacher);
    one_answer(good);
    stop(&teacher);
    (void)safe_close(good);
}

TEST(test_who_stands_still_does_not_hold_it_up)
{
    uint8_t body[16];
    struct teacher teacher;
    size_t size;
    int fd;

    start_with(&teacher, LITTLE_PATIENCE_US);
    fd = student(&teacher);
    offer(fd, 1); /* all that it gets, so nobody waits for its place */
    (void)credit(fd);
    leave(&teacher);
    expect(fd, TEACHER_LEAVING, body, sizeof body, &size);
    is_hung_up(fd);
    ends(&teacher);
}
