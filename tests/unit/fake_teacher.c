/* SPDX-License-Identifier: Apache-2.0 */
/* fake_teacher.c - see fake_teacher.h */
#include "tests/unit/fake_teacher.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <math.h>

#include <cmocka.h>

#include "libedl/group_proof.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/random.h"
#include "shared/teacher_wire.h"

#define BODY_MAX 65536
#define PLACES 4
#define ROWS_MAX 1024

struct frame {
    struct teacher_header header;
    uint8_t body[BODY_MAX];
};

static bool read_whole(int fd, void *to, size_t n)
{
    return n == 0 || recv(fd, to, n, MSG_WAITALL) == (ssize_t)n;
}

static bool say(int fd, enum teacher_frame type, const void *body, size_t n)
{
    uint8_t head[TEACHER_HEADER_BYTES];
    size_t n_head = teacher_header_encode(type, n, head);

    return send(fd, head, n_head, MSG_NOSIGNAL | MSG_MORE) == (ssize_t)n_head &&
           send(fd, body, n, MSG_NOSIGNAL) == (ssize_t)n;
}

static bool hear(int fd, struct frame *ret)
{
    uint8_t head[TEACHER_HEADER_BYTES];
    struct edl_error error;

    return read_whole(fd, head, sizeof head) &&
           teacher_header_decode(head, &ret->header, &error) == 0 &&
           ret->header.body_bytes <= BODY_MAX && read_whole(fd, ret->body, ret->header.body_bytes);
}

static bool greet(struct fake_teacher *teacher, int fd, struct frame *frame)
{
    const char *welcome = teacher->options.welcome;
    struct teacher_challenge challenge = { .nonce = "teacher" };
    uint8_t message[TEACHER_PROOF_MESSAGE_MAX], body[TEACHER_CHALLENGE_BYTES];
    uint8_t secret[JOB_SECRET_BYTES];
    struct teacher_hello hello;
    struct edl_error error;

    memset(secret, teacher->options.secret, sizeof secret);
    if (!hear(fd, frame) || frame->header.type != TEACHER_HELLO ||
        teacher_hello_decode(frame->body, frame->header.body_bytes, &hello, &error) < 0)
        return false;
    group_hmac(secret, message, teacher_proof_message(true, hello.nonce, challenge.nonce, message),
               challenge.proof);
    if (!say(fd, TEACHER_CHALLENGE, body, teacher_challenge_encode(&challenge, body)) ||
        !hear(fd, frame) || frame->header.type != TEACHER_PROOF)
        return false;
    if (welcome == NULL)
        welcome = "{\"model\": \"any\", \"feeds\": [], \"fetches\": []}";
    return say(fd, TEACHER_WELCOME, welcome, strlen(welcome));
}

/* answer_of - the tensor that is said for x of a task */
static void answer_of(enum fake_way way, const struct teacher_tensor *x, float *values,
                      struct teacher_tensor *ret)
{
    const float *given = x->values;
    uint64_t n = x->dimensions[0], width = way == FAKE_SAYS_WIDER ? 3 : 1;

    for (uint64_t i = 0; i < n * width; i++)
        values[i] = way == FAKE_SAYS_NAN ? NAN : 2 * given[i / width] + 1;
    *ret = (struct teacher_tensor){ .name = "p",
                                    .n_dimensions = way == FAKE_SAYS_WIDER ? 2 : 1,
                                    .dimensions = { way == FAKE_SAYS_FEWER ? n - 1 : n, width },
                                    .values = values };
    if (way == FAKE_SAYS_OTHER)
        ret->name[0] = 'q';
    ret->n_values = ret->dimensions[0] * width;
}

static bool answer(int fd, enum fake_way way, const struct frame *frame)
{
    static _Thread_local struct teacher_tensors given;
    float values[3 * ROWS_MAX];
    uint8_t body[BODY_MAX];
    struct teacher_tensor said;
    struct edl_error error;

    if (teacher_tensors_decode(frame->body + TEACHER_ID_BYTES,
                               frame->header.body_bytes - TEACHER_ID_BYTES, &given, &error) < 0 ||
        given.n == 0 || given.tensors[0].dimensions[0] > ROWS_MAX)
        return false;
    memcpy(body, frame->body, TEACHER_ID_BYTES);
    if (way == FAKE_FAILS) {
        memcpy(body + TEACHER_ID_BYTES, "no\nmemory", 9);
        return say(fd, TEACHER_FAILED, body, TEACHER_ID_BYTES + 9);
    }
    answer_of(way, &given.tensors[0], values, &said);
    return say(fd, TEACHER_RESULT, body,
               TEACHER_ID_BYTES + teacher_tensors_encode(&said, 1, body + TEACHER_ID_BYTES));
}

static bool rave(struct fake_teacher *teacher, int fd, const struct frame *frame)
{
    uint64_t *state = &teacher->options.seed;
    size_t n = random_below(state, frame->header.body_bytes + 16);
    uint8_t body[BODY_MAX];

    n = MIN_OF(n, (size_t)BODY_MAX - 16);
    memcpy(body, frame->body, frame->header.body_bytes);
    for (uint64_t i = random_below(state, 6) + (n > frame->header.body_bytes ? 16 : 0); i > 0; i--)
        body[random_below(state, n + 1)] = (uint8_t)random_u64(state);
    return say(fd, (enum teacher_frame)random_below(state, 14), body, n);
}

static bool take(struct fake_teacher *teacher, int fd, const struct frame *frame,
                 uint32_t *n_answers)
{
    enum fake_way way = *n_answers < teacher->options.after ? FAKE_ANSWERS : teacher->options.way;
    struct edl_error error;
    uint8_t body[TEACHER_COUNT_BYTES];
    uint32_t n = 0;

    if (frame->header.type == TEACHER_OFFER) {
        atomic_fetch_add(&teacher->n_offers, 1);
        (void)teacher_count_decode(frame->body, frame->header.body_bytes, &n, &error);
        n = MIN_OF(n, (uint32_t)PLACES);
        return n == 0 || say(fd, TEACHER_CREDIT, body, teacher_count_encode(n, body));
    }
    if (frame->header.type != TEACHER_TASK)
        return frame->header.type == TEACHER_RETURN;
    atomic_fetch_add(&teacher->n_tasks, 1);
    (*n_answers)++;
    if (way == FAKE_IS_FROZEN || way == FAKE_HANGS_UP)
        return way == FAKE_IS_FROZEN;
    return way == FAKE_RAVES ? rave(teacher, fd, frame) : answer(fd, way, frame);
}

static void serve(struct fake_teacher *teacher, int fd)
{
    struct frame *frame = xcalloc(1, sizeof *frame);
    uint32_t n_answers = 0;

    if (teacher->options.way == FAKE_GREETS_NOT) {
        for (size_t i = 0; i < 100; i++)
            frame->body[i] = (uint8_t)random_u64(&teacher->options.seed);
        if (random_below(&teacher->options.seed, 2) > 0)
            (void)teacher_header_encode((enum teacher_frame)frame->body[0], 70, frame->body);
        (void)!send(fd, frame->body, 100, MSG_NOSIGNAL);
    } else if (greet(teacher, fd, frame)) {
        while (hear(fd, frame) && take(teacher, fd, frame, &n_answers))
            ;
    }
    free(frame);
}

static void *teach(void *of)
{
    struct fake_teacher *teacher = of;

    while (!atomic_load(&teacher->is_over)) {
        int fd = accept4(teacher->listen_fd, NULL, NULL, SOCK_CLOEXEC);

        if (fd < 0)
            break;
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
        atomic_fetch_add(&teacher->n_connections, 1);
        atomic_store(&teacher->fd, fd);
        if (!atomic_load(&teacher->is_over))
            serve(teacher, fd);
        atomic_store(&teacher->fd, -1);
        (void)safe_close(fd);
    }
    return NULL;
}

void fake_teacher_begin(struct fake_teacher *teacher, const struct fake_options *options)
{
    struct sockaddr_in at = { .sin_family = AF_INET,
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                              .sin_port = htons(options->port) };
    socklen_t size = sizeof at;
    int one = 1;

    *teacher = (struct fake_teacher){ .options = *options };
    atomic_store(&teacher->fd, -1);
    teacher->listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)setsockopt(teacher->listen_fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    assert_int_equal(bind(teacher->listen_fd, (const struct sockaddr *)&at, size), 0);
    assert_int_equal(listen(teacher->listen_fd, 8), 0);
    assert_int_equal(getsockname(teacher->listen_fd, (struct sockaddr *)&at, &size), 0);
    teacher->port = ntohs(at.sin_port);
    assert_int_equal(pthread_create(&teacher->thread, NULL, teach, teacher), 0);
}

void fake_teacher_end(struct fake_teacher *teacher)
{
    int fd;

    atomic_store(&teacher->is_over, true);
    fd = atomic_load(&teacher->fd);
    (void)shutdown(teacher->listen_fd, SHUT_RDWR);
    if (fd >= 0)
        (void)shutdown(fd, SHUT_RDWR);
    assert_int_equal(pthread_join(teacher->thread, NULL), 0);
    (void)safe_close(teacher->listen_fd);
}
