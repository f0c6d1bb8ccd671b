/* SPDX-License-Identifier: Apache-2.0 */
/* distill_teacher.c - a student's connection to one teacher: greeting, tasks, answers */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>

#include "libedl/distill_internal.h"
#include "libedl/group_proof.h"
#include "shared/macro.h"

#define AGAIN_FIRST_US (100 * USEC_PER_MSEC)
#define AGAIN_MOST_US (3 * USEC_PER_SEC)
#define GREETING_US (10 * USEC_PER_SEC)
#define FRAMES_OF_A_TURN 64

struct distill_teacher *distill_teacher_new(struct edl_distill *distill,
                                            const struct distill_place *place)
{
    struct distill_teacher *teacher = xcalloc(1, sizeof *teacher);

    *teacher = (struct distill_teacher){ .number = ++distill->last_number,
                                         .name = xstrdup(place->name),
                                         .to = place->to,
                                         .to_size = place->size,
                                         .pause_us = AGAIN_FIRST_US,
                                         .link.fd = -1 };
    return teacher;
}

/* ---- the connection ---- */

static void watch(struct edl_distill *distill, struct distill_teacher *teacher)
{
    uint32_t events = EPOLLIN | (distill_link_has_out(&teacher->link) ? (uint32_t)EPOLLOUT : 0);
    struct epoll_event event = { .events = events, .data.u64 = teacher->number };

    if (teacher->link.fd < 0 || events == teacher->watched)
        return;
    (void)epoll_ctl(distill->epoll_fd, teacher->watched == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD,
                    teacher->link.fd, &event);
    teacher->watched = events;
}

/* disconnect - why not by the close alone: a child of the program may have the descriptor as well
 */
static void disconnect(struct edl_distill *distill, struct distill_teacher *teacher)
{
    if (teacher->watched != 0)
        (void)epoll_ctl(distill->epoll_fd, EPOLL_CTL_DEL, teacher->link.fd, NULL);
    teacher->watched = 0;
    distill_link_close(&teacher->link);
    if (teacher->stage == DISTILL_READY)
        distill_teacher_went(&distill->dispatch, teacher->number);
    teacher->stage = DISTILL_AWAY;
    teacher->offered = 0;
}

void distill_teacher_free(struct edl_distill *distill, struct distill_teacher *teacher)
{
    disconnect(distill, teacher);
    free(teacher->name);
    free(teacher->feeds);
    free(teacher->unfit);
    free(teacher);
}

/* drop - it is tried again, later each time; the reason is said once */
static void drop(struct edl_distill *distill, struct distill_teacher *teacher, uint64_t now_us,
                 const char *why)
{
    disconnect(distill, teacher);
    teacher->again_us = now_us + teacher->pause_us;
    teacher->pause_us = MIN_OF(2 * teacher->pause_us, AGAIN_MOST_US);
    if (*why == '\0' || streq(why, teacher->said))
        return;
    (void)snprintf(teacher->said, sizeof teacher->said, "%s", why);
    distill_say(distill, "teacher %s: %s; trying again", teacher->name, why);
}

static void dial(struct edl_distill *distill, struct distill_teacher *teacher, uint64_t now_us)
{
    struct teacher_hello hello = { 0 };
    uint8_t body[TEACHER_HELLO_BYTES_MAX];
    int r = distill_link_dial(&teacher->link, &teacher->to, teacher->to_size);

    if (r == 0 && getrandom(teacher->nonce, sizeof teacher->nonce, 0) != sizeof teacher->nonce)
        r = -EIO;
    if (r < 0) {
        drop(distill, teacher, now_us, strerror(-r));
        return;
    }
    memcpy(hello.nonce, teacher->nonce, sizeof hello.nonce);
    (void)snprintf(hello.name, sizeof hello.name, "%s", distill->source.student);
    distill_link_put(&teacher->link, TEACHER_HELLO, body, teacher_hello_encode(&hello, body));
    teacher->stage = DISTILL_CONNECTING;
    teacher->since_us = now_us;
    watch(distill, teacher);
}

void distill_teacher_tend(struct edl_distill *distill, struct distill_teacher *teacher,
                          uint64_t now_us)
{
    if (teacher->stage != DISTILL_AWAY && teacher->stage != DISTILL_READY &&
        now_us >= teacher->since_us + GREETING_US)
        drop(distill, teacher, now_us, "it does not greet");
    if (teacher->stage == DISTILL_AWAY && teacher->unfit == NULL && distill->source.has_secret &&
        now_us >= teacher->again_us)
        dial(distill, teacher, now_us);
}

uint64_t distill_teacher_next_us(const struct edl_distill *distill,
                                 const struct distill_teacher *teacher)
{
    if (teacher->stage == DISTILL_READY || teacher->unfit != NULL)
        return NEVER_US;
    if (teacher->stage != DISTILL_AWAY)
        return teacher->since_us + GREETING_US;
    return distill->source.has_secret ? teacher->again_us : NEVER_US;
}

/* ---- the greeting ---- */

static void proof_of(const struct edl_distill *distill, const struct distill_teacher *teacher,
                     const uint8_t nonce[TEACHER_NONCE_BYTES], bool of_teacher,
                     uint8_t ret[TEACHER_PROOF_BYTES])
{
    uint8_t message[TEACHER_PROOF_MESSAGE_MAX];

    group_hmac(distill->source.secret, message,
               teacher_proof_message(of_teacher, teacher->nonce, nonce, message), ret);
}

static int prove(struct edl_distill *distill, struct distill_teacher *teacher,
                 struct edl_error *error)
{
    const struct distill_link *link = &teacher->link;
    struct teacher_challenge challenge;
    uint8_t proof[TEACHER_PROOF_BYTES];
    int r = teacher_challenge_decode(link->body, link->n_body, &challenge, error);

    if (r < 0)
        return r;
    proof_of(distill, teacher, challenge.nonce, true, proof);
    if (!teacher_proof_equal(proof, challenge.proof)) {
        distill_source_doubt(&distill->source);
        return edl_error_set(error, -EACCES, "the teacher does not know the secret");
    }
    proof_of(distill, teacher, challenge.nonce, false, proof);
    distill_link_put(&teacher->link, TEACHER_PROOF, proof, sizeof proof);
    teacher->stage = DISTILL_PROVED;
    return 0;
}

static void names_join(char *const *names, size_t n, char *ret, size_t size)
{
    size_t at = 0;

    *ret = '\0';
    for (size_t i = 0; i < n && at < size; i++)
        at += (size_t)snprintf(ret + at, size - at, "%s%s", i > 0 ? ", " : "", names[i]);
}

static size_t place_of(char *const *names, size_t n, const char *name)
{
    size_t i = 0;

    while (i < n && !streq(names[i], name))
        i++;
    return i;
}

static int is_unfit(struct edl_distill *distill, struct distill_teacher *teacher,
                    const struct edl_error *error)
{
    teacher->unfit = xstrdup(error->text);
    distill_say(distill, "%s", teacher->unfit);
    return -ENOTSUP;
}

/* wants - the fields that it wants are among ins, and none named are all of them */
static int wants(struct edl_distill *distill, struct distill_teacher *teacher,
                 const struct teacher_welcome *welcome, struct edl_error *error)
{
    char ins[200];

    free(teacher->feeds);
    teacher->n_feeds = welcome->n_feeds > 0 ? welcome->n_feeds : distill->n_ins;
    teacher->feeds = xcalloc(teacher->n_feeds, sizeof teacher->feeds[0]);
    for (size_t i = 0; i < teacher->n_feeds; i++) {
        teacher->feeds[i] = i;
        if (welcome->n_feeds == 0)
            continue;
        teacher->feeds[i] = place_of(distill->ins, distill->n_ins, welcome->feeds[i].name);
        if (teacher->feeds[i] < distill->n_ins)
            continue;
        names_join(distill->ins, distill->n_ins, ins, sizeof ins);
        (void)edl_error_set(error, -EINVAL,
                            "teacher %s (%.100s) wants %.100s, and ins of this student are %s",
                            teacher->name, welcome->model, welcome->feeds[i].name, ins);
        return is_unfit(distill, teacher, error);
    }
    return 0;
}

static int gives(struct edl_distill *distill, struct distill_teacher *teacher,
                 const struct teacher_welcome *welcome, struct edl_error *error)
{
    for (size_t i = 0; welcome->n_fetches > 0 && i < distill->n_predicts; i++) {
        uint32_t k = 0;

        while (k < welcome->n_fetches && !streq(welcome->fetches[k].name, distill->predicts[i]))
            k++;
        if (k < welcome->n_fetches)
            continue;
        (void)edl_error_set(error, -EINVAL, "teacher %s (%.100s) has no %s; it predicts %.100s%s",
                            teacher->name, welcome->model, distill->predicts[i],
                            welcome->fetches[0].name, welcome->n_fetches > 1 ? " and others" : "");
        return is_unfit(distill, teacher, error);
    }
    return 0;
}

static int meet(struct edl_distill *distill, struct distill_teacher *teacher,
                struct edl_error *error)
{
    struct teacher_welcome welcome = { 0 };
    uint64_t batch;
    int r = teacher_welcome_decode(teacher->link.body, teacher->link.n_body, &welcome, error);

    if (r == 0)
        r = wants(distill, teacher, &welcome, error);
    if (r == 0)
        r = gives(distill, teacher, &welcome, error);
    batch = welcome.batch;
    teacher_welcome_clear(&welcome);
    if (r < 0)
        return r;
    teacher->stage = DISTILL_READY;
    teacher->pause_us = AGAIN_FIRST_US;
    teacher->said[0] = '\0';
    distill_teacher_came(&distill->dispatch, teacher->number,
                         (batch + distill->teacher_batch - 1) / distill->teacher_batch);
    return 0;
}

/* ---- answers ---- */

/* could_not - it cannot answer that task: others try, or the student is told */
static void could_not(struct edl_distill *distill, struct distill_teacher *teacher, uint64_t task,
                      const char *why)
{
    if (distill_failed(&distill->dispatch, teacher->number, task))
        return;
    (void)edl_error_set(&distill->error, -EREMOTEIO, "teacher %s: %s", teacher->name, why);
    distill_fail(distill, -EREMOTEIO);
}

static int take_answer(struct edl_distill *distill, struct distill_teacher *teacher,
                       uint64_t now_us, struct edl_error *error)
{
    const struct distill_link *link = &teacher->link;
    struct distill_batch *batch;
    struct edl_error wrong = { 0 };
    uint64_t task;
    int r = teacher_id_decode(link->body, link->n_body, &task, error);

    if (r == 0)
        r = teacher_tensors_decode(link->body + TEACHER_ID_BYTES, link->n_body - TEACHER_ID_BYTES,
                                   distill->answer, error);
    if (r < 0)
        return r;
    batch = distill_batch_of(distill, task);
    if (batch == NULL || !distill_asked(&distill->dispatch, teacher->number, task))
        return 0; /* another was faster */
    if (distill_answer_check(batch, task, distill->answer, &wrong) < 0) {
        could_not(distill, teacher, task, wrong.text);
        return 0;
    }
    (void)distill_answered(&distill->dispatch, teacher->number, task, now_us);
    distill->counts.answers++;
    if (distill_answer_put(batch, task, distill->answer, teacher->name, &distill->error) < 0)
        distill_fail(distill, -EINVAL);
    return 0;
}

static int take_failure(struct edl_distill *distill, struct distill_teacher *teacher,
                        struct edl_error *error)
{
    const struct distill_link *link = &teacher->link;
    char why[TEACHER_TEXT_MAX + 1];
    uint64_t task;
    int r = teacher_id_decode(link->body, link->n_body, &task, error);

    if (r < 0)
        return r;
    teacher_text_decode(link->body + TEACHER_ID_BYTES, link->n_body - TEACHER_ID_BYTES, why);
    could_not(distill, teacher, task, why);
    return 0;
}

static int take_credit(struct edl_distill *distill, struct distill_teacher *teacher,
                       struct edl_error *error)
{
    uint32_t n;
    int r = teacher_count_decode(teacher->link.body, teacher->link.n_body, &n, error);

    if (r < 0)
        return r;
    distill_credited(&distill->dispatch, teacher->number, n);
    teacher->offered = 0;
    return 0;
}

/* ---- frames ---- */

static int refused(const struct distill_link *link, struct edl_error *error)
{
    char why[TEACHER_TEXT_MAX + 1];

    teacher_text_decode(link->body, link->n_body, why);
    return edl_error_set(error, -EACCES, "it refuses: %s", why);
}

static int take(struct edl_distill *distill, struct distill_teacher *teacher, uint64_t now_us,
                struct edl_error *error)
{
    enum teacher_frame type = teacher->link.header.type;
    bool is_ready = teacher->stage == DISTILL_READY;

    if (type == TEACHER_REFUSED)
        return refused(&teacher->link, error);
    if (teacher->stage == DISTILL_CHALLENGED && type == TEACHER_CHALLENGE)
        return prove(distill, teacher, error);
    if (teacher->stage == DISTILL_PROVED && type == TEACHER_WELCOME)
        return meet(distill, teacher, error);
    if (is_ready && type == TEACHER_CREDIT)
        return take_credit(distill, teacher, error);
    if (is_ready && type == TEACHER_RESULT)
        return take_answer(distill, teacher, now_us, error);
    if (is_ready && type == TEACHER_FAILED)
        return take_failure(distill, teacher, error);
    if (is_ready && type == TEACHER_LEAVING)
        return 0;
    return edl_error_set(error, -EPROTO, "%s comes at the wrong time",
                         teacher_frame_to_string(type));
}

static int receive(struct edl_distill *distill, struct distill_teacher *teacher, uint64_t now_us,
                   struct edl_error *error)
{
    int r = 0;

    for (int i = 0; r == 0 && i < FRAMES_OF_A_TURN && distill->failure == 0; i++) {
        uint64_t most_bytes =
            teacher->stage == DISTILL_READY ? TEACHER_BULK_MAX : TEACHER_CONTROL_MAX;

        r = distill_link_receive(&teacher->link, most_bytes, error);
        if (r == -EPIPE)
            return edl_error_set(error, r, "the connection was closed");
        if (r <= 0)
            return r;
        r = take(distill, teacher, now_us, error);
        distill_link_next(&teacher->link);
    }
    return r;
}

bool distill_teacher_send(struct edl_distill *distill, struct distill_teacher *teacher,
                          uint64_t now_us)
{
    int r = distill_link_send(&teacher->link);

    if (r < 0) {
        drop(distill, teacher, now_us, strerror(-r));
        return false;
    }
    if (teacher->stage == DISTILL_CONNECTING && !teacher->link.is_connecting)
        teacher->stage = DISTILL_CHALLENGED;
    watch(distill, teacher);
    return true;
}

void distill_teacher_serve(struct edl_distill *distill, struct distill_teacher *teacher,
                           uint64_t now_us)
{
    struct edl_error error = { 0 };

    if (teacher->stage == DISTILL_AWAY || !distill_teacher_send(distill, teacher, now_us))
        return;
    if (receive(distill, teacher, now_us, &error) < 0)
        drop(distill, teacher, now_us, teacher->unfit != NULL ? "" : error.text);
    else
        watch(distill, teacher);
}
