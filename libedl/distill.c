/* SPDX-License-Identifier: Apache-2.0 */
/* distill.c - a student: its batches go to teachers in tasks, and come back in order */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <utlist.h>

#include "libedl/distill_internal.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/macro.h"

#define TIMER_NUMBER 0
#define FIRST_TEACHER 16     /* numbers below are of other events */
#define NONE_US USEC_PER_SEC /* without a teacher, before it is said */
#define SLICE_US USEC_PER_SEC
#define NAMES_MAX TEACHER_TENSORS_MAX
#define TASK_SAMPLES_MAX (UINT64_C(1) << 20)
#define EVENTS 32
#define AHEAD_TIMES 4 /* tasks that the program has not taken, for each without an answer */
#define AHEAD_BYTES (UINT64_C(256) << 20)

void distill_say(struct edl_distill *distill, const char *format, ...)
{
    char line[CLIENT_TEXT_MAX];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (distill->say != NULL)
        distill->say(distill->userdata, line);
    else
        (void)fprintf(stderr, "edl_distill: %s\n", line);
}

/* ---- errors ---- */

const char *edl_distill_error(const struct edl_distill *distill)
{
    return distill->text;
}

/* tell - error as the caller reads it */
static int tell(struct edl_distill *distill, int code)
{
    const struct edl_error *error = &distill->error;

    (void)snprintf(distill->text, sizeof distill->text, "%s%s%s", error->text,
                   error->remedy[0] != '\0' ? ": " : "", error->remedy);
    distill->error = (struct edl_error){ 0 };
    return code;
}

void distill_fail(struct edl_distill *distill, int code)
{
    if (distill->failure == 0)
        distill->failure = tell(distill, code);
    distill->error = (struct edl_error){ 0 };
}

/* ---- open and close ---- */

static char **names_copy(const char *const *names, uint64_t n)
{
    char **copy = xcalloc((size_t)n, sizeof *copy);

    for (uint64_t i = 0; i < n; i++)
        copy[i] = xstrdup(names[i]);
    return copy;
}

static int names_check(const char *key, const char *const *names, uint64_t n,
                       struct edl_error *error)
{
    if (n == 0 || n > NAMES_MAX || names == NULL)
        return edl_error_set(error, -EINVAL, "%s has %llu names: give 1 to %d", key,
                             (unsigned long long)n, NAMES_MAX);
    for (uint64_t i = 0; i < n; i++) {
        if (names[i] == NULL || *names[i] == '\0' || strlen(names[i]) > TEACHER_FIELD_MAX)
            return edl_error_set(error, -EINVAL, "%s: a name has 1 to %d bytes", key,
                                 TEACHER_FIELD_MAX);
        for (uint64_t k = 0; k < i; k++)
            if (streq(names[k], names[i]))
                return edl_error_set(error, -EINVAL, "%s has %s twice", key, names[i]);
    }
    return 0;
}

static int options_check(const struct edl_distill_options *options, struct edl_error *error)
{
    int r = names_check("ins", options->ins, options->n_ins, error);

    if (r == 0)
        r = names_check("predicts", options->predicts, options->n_predicts, error);
    if (r == 0 && options->teacher_batch > TASK_SAMPLES_MAX)
        r = edl_error_set(error, -EINVAL, "teacher_batch is %llu: give %llu at most",
                          (unsigned long long)options->teacher_batch,
                          (unsigned long long)TASK_SAMPLES_MAX);
    return r;
}

static int open_events(struct edl_distill *distill, struct edl_error *error)
{
    struct epoll_event event = { .events = EPOLLIN, .data.u64 = TIMER_NUMBER };

    distill->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    distill->timer_fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (distill->epoll_fd < 0 || distill->timer_fd < 0 ||
        epoll_ctl(distill->epoll_fd, EPOLL_CTL_ADD, distill->timer_fd, &event) < 0)
        return edl_error_set(error, -EREMOTEIO, "no descriptors: %s", strerror(errno));
    distill->timer_us = NEVER_US;
    return 0;
}

int edl_distill_open(struct edl_client *client, const struct edl_distill_options *options,
                     struct edl_distill **ret)
{
    struct edl_distill *distill = xcalloc(1, sizeof *distill);
    struct distill_source_options source = { .client = client,
                                             .teachers = options->teachers,
                                             .service = options->service,
                                             .require = options->require };
    int r;

    *distill = (struct edl_distill){ .client = client,
                                     .teacher_batch = MAX_OF(options->teacher_batch, UINT64_C(1)),
                                     .require = MAX_OF(options->require, UINT64_C(1)),
                                     .say = options->say,
                                     .userdata = options->userdata,
                                     .epoll_fd = -1,
                                     .timer_fd = -1,
                                     .last_number = FIRST_TEACHER,
                                     .answer = xcalloc(1, sizeof *distill->answer),
                                     .none_since_us = clock_read_us(CLOCK_BOOTTIME) };
    *ret = distill;
    r = options_check(options, &distill->error);
    if (r == 0) {
        distill->ins = names_copy(options->ins, options->n_ins);
        distill->n_ins = (size_t)options->n_ins;
        distill->predicts = names_copy(options->predicts, options->n_predicts);
        distill->n_predicts = (size_t)options->n_predicts;
        r = open_events(distill, &distill->error);
    }
    source.epoll_fd = distill->epoll_fd;
    if (r == 0)
        r = distill_source_open(&distill->source, &source, &distill->error);
    if (r < 0)
        distill_fail(distill, r);
    return r;
}

static void names_free(char **names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(names[i]);
    free(names);
}

struct edl_distill *edl_distill_close(struct edl_distill *distill)
{
    struct distill_teacher *teacher, *next_teacher;
    struct distill_batch *batch, *next_batch;

    if (distill == NULL)
        return NULL;
    DL_FOREACH_SAFE(distill->teachers, teacher, next_teacher)
    distill_teacher_free(distill, teacher);
    for (batch = distill->batches; batch != NULL; batch = next_batch) {
        next_batch = batch->next;
        distill_batch_release(batch);
    }
    distill_source_clear(&distill->source);
    distill_dispatch_clear(&distill->dispatch);
    names_free(distill->ins, distill->n_ins);
    names_free(distill->predicts, distill->n_predicts);
    free(distill->answer);
    (void)safe_close(distill->timer_fd);
    (void)safe_close(distill->epoll_fd);
    free(distill);
    return NULL;
}

struct edl_distill_batch *edl_distill_batch_free(struct edl_distill_batch *told)
{
    distill_batch_release((struct distill_batch *)told); /* its first member */
    return NULL;
}

/* ---- one turn ---- */

struct distill_batch *distill_batch_of(struct edl_distill *distill, uint64_t task)
{
    struct distill_batch *batch = distill->batches;

    if (batch == NULL || task < batch->first_task)
        return NULL;
    while (batch != NULL && task - batch->first_task >= batch->n_tasks)
        batch = batch->next;
    return batch;
}

static struct distill_teacher *teacher_of(struct edl_distill *distill, uint64_t number)
{
    struct distill_teacher *teacher;

    DL_FOREACH(distill->teachers, teacher)
    if (teacher->number == number)
        return teacher;
    return NULL;
}

static bool is_at(const struct distill_teacher *teacher, const struct distill_place *place)
{
    return teacher->to_size == place->size && memcmp(&teacher->to, &place->to, place->size) == 0;
}

/* follow - teachers that the source names, and no others */
static void follow(struct edl_distill *distill)
{
    const struct distill_source *source = &distill->source;
    struct distill_teacher *teacher, *next;

    DL_FOREACH(distill->teachers, teacher)
    teacher->is_named = false;
    for (size_t i = 0; i < source->n_places; i++) {
        DL_FOREACH(distill->teachers, teacher)
        if (is_at(teacher, &source->places[i]))
            break;
        if (teacher == NULL) {
            teacher = distill_teacher_new(distill, &source->places[i]);
            DL_APPEND(distill->teachers, teacher);
        }
        teacher->is_named = true;
    }
    DL_FOREACH_SAFE(distill->teachers, teacher, next)
    {
        if (teacher->is_named)
            continue;
        DL_DELETE(distill->teachers, teacher);
        distill_teacher_free(distill, teacher);
    }
    distill->source.is_news = false;
}

static uint64_t n_ready(const struct edl_distill *distill)
{
    return distill->dispatch.n_teachers;
}

/* judge - no teacher that is named can ever answer */
static void judge(struct edl_distill *distill)
{
    const struct distill_teacher *teacher, *unfit = NULL;

    DL_FOREACH(distill->teachers, teacher)
    {
        if (teacher->unfit == NULL)
            return;
        unfit = teacher;
    }
    if (unfit == NULL)
        return;
    (void)edl_error_set(&distill->error, -EINVAL, "%s", unfit->unfit);
    distill_fail(distill, -EINVAL);
}

static void say_none(struct edl_distill *distill, uint64_t now_us)
{
    if (n_ready(distill) > 0 || distill_n_tasks(&distill->dispatch) == 0)
        distill->none_since_us = now_us;
    if (distill->told_none && n_ready(distill) > 0) {
        distill->told_none = false;
        distill_say(distill, "a teacher of %s is there again", distill->source.what);
    } else if (!distill->told_none && now_us - distill->none_since_us >= NONE_US) {
        distill->told_none = true;
        distill_say(distill, "no teacher of %s is there: waiting for one", distill->source.what);
    }
}

static void send_tasks(struct edl_distill *distill, uint64_t now_us)
{
    struct distill_credit spare;
    uint8_t count[TEACHER_COUNT_BYTES];
    uint32_t number;
    uint64_t task;

    while (distill_next_send(&distill->dispatch, now_us, &number, &task)) {
        struct distill_teacher *teacher = teacher_of(distill, number);

        distill_link_put_task(&teacher->link, distill_batch_of(distill, task), task, teacher->feeds,
                              teacher->n_feeds);
    }
    while (distill_next_spare(&distill->dispatch, &spare))
        for (uint64_t n; spare.n > 0; spare.n -= n) {
            n = MIN_OF(spare.n, (uint64_t)UINT32_MAX);
            distill_link_put(&teacher_of(distill, spare.teacher)->link, TEACHER_RETURN, count,
                             teacher_count_encode((uint32_t)n, count));
        }
}

static void offer(struct edl_distill *distill, struct distill_teacher *teacher, uint64_t now_us)
{
    uint64_t offers = distill_offers(&distill->dispatch, teacher->number, now_us);
    uint8_t count[TEACHER_COUNT_BYTES];

    offers = MIN_OF(offers, (uint64_t)UINT32_MAX);
    if (offers == teacher->offered)
        return;
    teacher->offered = offers;
    distill_link_put(&teacher->link, TEACHER_OFFER, count,
                     teacher_count_encode((uint32_t)offers, count));
}

/* hand_out - until no connection breaks by it: its tasks go to others */
static void hand_out(struct edl_distill *distill, uint64_t now_us)
{
    struct distill_teacher *teacher;
    bool again;

    do {
        again = false;
        send_tasks(distill, now_us);
        DL_FOREACH(distill->teachers, teacher)
        {
            if (teacher->stage == DISTILL_READY)
                offer(distill, teacher, now_us);
            if (teacher->stage > DISTILL_CONNECTING)
                again |= !distill_teacher_send(distill, teacher, now_us);
        }
    } while (again);
    distill->counts.repeats = distill->dispatch.n_repeats;
}

/* set_timer - the descriptor is readable when something is to be done without any event */
static void set_timer(struct edl_distill *distill, uint64_t now_us)
{
    struct itimerspec at = { 0 };
    struct distill_teacher *teacher;
    uint64_t next_us = MIN_OF(distill_source_next_us(&distill->source),
                              distill_next_late_us(&distill->dispatch, now_us));

    DL_FOREACH(distill->teachers, teacher)
    next_us = MIN_OF(next_us, distill_teacher_next_us(distill, teacher));
    if (!distill->told_none && n_ready(distill) == 0 && distill_n_tasks(&distill->dispatch) > 0)
        next_us = MIN_OF(next_us, distill->none_since_us + NONE_US);
    if (next_us == distill->timer_us)
        return;
    distill->timer_us = next_us;
    if (next_us != NEVER_US) {
        at.it_value.tv_sec = (time_t)(next_us / USEC_PER_SEC);
        at.it_value.tv_nsec = (long)(next_us % USEC_PER_SEC * 1000);
        at.it_value.tv_nsec += next_us == 0;
    }
    (void)timerfd_settime(distill->timer_fd, TFD_TIMER_ABSTIME, &at, NULL);
}

static void hear(struct edl_distill *distill, uint64_t now_us)
{
    struct epoll_event events[EVENTS];
    int n = epoll_wait(distill->epoll_fd, events, EVENTS, 0);
    uint64_t times;

    for (int i = 0; i < n && distill->failure == 0; i++) {
        uint64_t number = events[i].data.u64;
        struct distill_teacher *teacher = teacher_of(distill, number);

        if (number == TIMER_NUMBER && read(distill->timer_fd, &times, sizeof times) > 0)
            distill->timer_us = NEVER_US;
        else if (teacher != NULL)
            distill_teacher_serve(distill, teacher, now_us);
        else if (number != TIMER_NUMBER)
            distill_source_is_ready(&distill->source, number);
    }
}

/* turn - all that can be done without a wait */
static int turn(struct edl_distill *distill)
{
    uint64_t now_us = clock_read_us(CLOCK_BOOTTIME);
    struct distill_teacher *teacher;
    int r;

    if (distill->failure < 0)
        return distill->failure;
    hear(distill, now_us);
    r = distill_source_go_on(&distill->source, now_us, &distill->error);
    if (r < 0)
        distill_fail(distill, client_outside_code(r));
    if (distill->source.is_news)
        follow(distill);
    DL_FOREACH(distill->teachers, teacher)
    distill_teacher_tend(distill, teacher, now_us);
    judge(distill);
    say_none(distill, now_us);
    hand_out(distill, now_us);
    set_timer(distill, now_us);
    return distill->failure;
}

/* ---- batches ---- */

/* Teachers go on while a slow one has the oldest task. Their answers are kept meanwhile, in bounds.
 */
int edl_distill_has_room(const struct edl_distill *distill)
{
    uint64_t least = 2 * MAX_OF(distill->require, n_ready(distill)) + 2;
    uint64_t room = MAX_OF(least, distill_room(&distill->dispatch));
    uint64_t held = distill->n_fed - distill->n_taken;
    const struct distill_batch *oldest = distill->batches;

    if (distill_n_tasks(&distill->dispatch) >= room)
        return 0;
    if (held < least)
        return 1;
    return distill->held_bytes < AHEAD_BYTES &&
           (held < AHEAD_TIMES * room || (oldest != NULL && !distill_batch_is_whole(oldest)));
}

int edl_distill_feed(struct edl_distill *distill, const struct edl_tensor *fields)
{
    const char *const *ins = (const char *const *)distill->ins;
    struct distill_batch *batch;
    uint64_t now_us = clock_read_us(CLOCK_BOOTTIME);
    int r;

    if (distill->failure < 0)
        return distill->failure;
    if (!edl_distill_has_room(distill)) {
        (void)edl_error_set(&distill->error, -EAGAIN, "there is no room: get a batch first");
        return tell(distill, -EAGAIN);
    }
    r = distill_fields_check(fields, ins, distill->n_ins, distill->teacher_batch, &distill->error);
    if (r < 0)
        return tell(distill, r);
    batch = distill_batch_new(fields, ins, distill->n_ins, (const char *const *)distill->predicts,
                              distill->n_predicts, distill->teacher_batch);
    batch->told.number = distill->n_batches++;
    batch->first_task = distill->n_fed;
    LL_APPEND2(distill->batches, batch, next);
    for (uint64_t i = 0; i < batch->n_tasks; i++)
        distill_task_add(&distill->dispatch, distill->n_fed++);
    distill->counts.tasks += batch->n_tasks;
    distill->held_bytes += batch->field_bytes;
    say_none(distill, now_us);
    hand_out(distill, now_us);
    set_timer(distill, now_us);
    return 0;
}

static bool take_whole(struct edl_distill *distill, struct edl_distill_batch **ret)
{
    struct distill_batch *batch = distill->batches;

    if (batch == NULL || !distill_batch_is_whole(batch))
        return false;
    distill->batches = batch->next;
    batch->next = NULL;
    distill->n_taken += batch->n_tasks;
    distill->held_bytes -= batch->field_bytes;
    *ret = &batch->told;
    return true;
}

/* wait_for - an event, for a second at most: a signal may come just before poll() */
static void wait_for(struct edl_distill *distill, struct patience *patience)
{
    struct pollfd p = { .fd = distill->epoll_fd, .events = POLLIN };
    uint64_t now_us = clock_read_us(CLOCK_BOOTTIME);
    uint64_t slice_us = patience_plan(patience, SLICE_US, now_us);

    (void)poll(&p, 1, (int)((slice_us + USEC_PER_MSEC - 1) / USEC_PER_MSEC));
    patience_spend(patience, clock_read_us(CLOCK_BOOTTIME));
    distill->counts.waited_us += clock_read_us(CLOCK_BOOTTIME) - now_us;
}

static int not_yet(struct edl_distill *distill, int code, const char *why)
{
    (void)edl_error_set(&distill->error, code, "%s", why);
    return tell(distill, code);
}

int edl_distill_next(struct edl_distill *distill, uint64_t timeout_us,
                     struct edl_distill_batch **ret)
{
    struct patience patience = patience_of(timeout_us);

    for (;;) {
        int r = turn(distill);

        if (r < 0)
            return r;
        if (take_whole(distill, ret))
            return 1;
        if (distill->batches == NULL)
            return 0;
        if (distill->client != NULL && client_is_stopped(distill->client))
            return not_yet(distill, -EINTR, "edl_distill_next: stopped");
        if (patience_is_over(&patience))
            return not_yet(distill, -ETIMEDOUT, "no batch is whole yet");
        wait_for(distill, &patience);
    }
}

int edl_distill_fd(const struct edl_distill *distill)
{
    return distill->epoll_fd;
}

void edl_distill_count(const struct edl_distill *distill, struct edl_distill_counts *ret)
{
    *ret = distill->counts;
    ret->teachers = n_ready(distill);
}
