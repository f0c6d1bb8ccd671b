/* SPDX-License-Identifier: Apache-2.0 */
/* log_pump.c - see log_pump.h
 *
 * splice(2) copies the bytes once, from the pipe into the cache of the file. Where a file system
 * has no splice(2), a buffer is between. Offsets are our own: nobody else writes to the log.
 * Meanwhile its front is punched out (log_trim.h), and its account may cut it.
 *
 * A write that fails begins a gap. Then the pump reads, counts and drops all that comes, so that
 * the program never waits for room. It tries the write again now and then: no file system tells
 * when it has room.
 *
 * The thread writes with the account's rights. So its quota holds for logs, and so does the part of
 * a disk that is root's alone. */
#include "agent/supervisor/log_pump.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent/logs/log_gap.h"
#include "agent/logs/log_times.h"
#include "agent/logs/log_trim.h"
#include "agent/machine/account.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/log.h"
#include "shared/macro.h"

#define PIPE_MOST_BYTES (1024 * 1024) /* a program that prints fast need not wait for its turn */
#define BUFFER_BYTES 65536
#define PAUSE_MOST_US                                                                              \
    USEC_PER_MSEC /* between two rounds: one of many lines costs as one of one                     \
                   */
#define STACK_BYTES (256 * 1024)
#define RETRY_US (500 * USEC_PER_MSEC) /* of a write that has failed */
#define END_MAX_S 10                   /* that a disk may hold up the record of an end */

struct log_pump {
    int log_fd;
    int pipe_fd; /* for reading; -1: none, or nobody can write to it any more */
    int end_fd;  /* an event: the program is over */
    atomic_bool ending;
    uint64_t left; /* bytes that are moved after that, whoever writes them */
    uint64_t offset;
    uint64_t most_bytes, held_from; /* see log_trim.h; held_from as it was seen last */
    bool copies;                    /* this file system takes no splice(2) */
    struct log_gap gap;
    struct log_times times;
    int times_fd;         /* -1: none */
    uint64_t retry_us;    /* boot time */
    uint64_t pipe_bytes;  /* that it holds */
    uint64_t round_bytes; /* moved since it was empty */
    uint64_t pause_us;
    char *buffer;  /* owned */
    bool is_other; /* account */
    uid_t uid;
    gid_t gid;
    pthread_t thread; /* valid when has_thread */
    bool has_thread;
    bool stuck; /* it is the thread's for ever */
};

struct log_pump *log_pump_new(int take_log_fd, int take_times_fd, uint64_t most_bytes)
{
    struct log_pump *pump = xcalloc(1, sizeof *pump);
    off_t size = lseek(take_log_fd, 0, SEEK_END);

    pump->log_fd = take_log_fd;
    pump->times_fd = take_times_fd;
    pump->pipe_fd = pump->end_fd = -1;
    pump->offset = size > 0 ? (uint64_t)size : 0;
    pump->most_bytes = most_bytes;
    return pump;
}

int log_pump_open(struct log_pump *pump, const struct account *account, int *ret,
                  struct edl_error *error)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) == -1)
        return edl_error_errno(error, -errno, "cannot make a pipe for its output");
    pump->pipe_fd = ends[0];
    pump->pipe_bytes = (uint64_t)MAX_OF(fcntl(ends[0], F_GETPIPE_SZ), 1);
    if (account != NULL && account->is_other) {
        pump->is_other = true;
        pump->uid = account->uid;
        pump->gid = account->gid;
    }
    pump->end_fd = eventfd(0, EFD_CLOEXEC);
    if (pump->end_fd == -1 || fcntl(ends[0], F_SETFL, O_NONBLOCK) == -1 ||
        (pump->is_other && fchown(ends[0], pump->uid, pump->gid) == -1)) {
        (void)safe_close(ends[1]);
        return edl_error_errno(error, -errno, "cannot prepare the pipe for its output");
    }
    *ret = ends[1];
    return 0;
}

/* ---- into the log ---- */

/* in_line - the log ends in the middle of a line */
static bool in_line(const struct log_pump *pump)
{
    char last;

    return pump->offset > 0 && pread(pump->log_fd, &last, 1, (off_t)pump->offset - 1) == 1 &&
           last != '\n';
}

/* fail - from here on lines are dropped */
static void fail(struct log_pump *pump, int error)
{
    log_gap_begin(&pump->gap, error, in_line(pump));
    pump->retry_us = clock_read_us(CLOCK_BOOTTIME) + RETRY_US;
}

/* note_time - of what is written from here on */
static void note_time(struct log_pump *pump)
{
    size_t n = log_times_note(&pump->times, pump->offset, clock_read_us(CLOCK_BOOTTIME),
                              clock_read_us(CLOCK_REALTIME));

    log_times_write(&pump->times, n, pump->times_fd);
}

/* write_log - how much of it the log took; less: errno says why */
static size_t write_log(struct log_pump *pump, const char *data, size_t size)
{
    size_t done = 0;

    note_time(pump);

    while (done < size) {
        ssize_t n = pwrite(pump->log_fd, data + done, size - done, (off_t)pump->offset);

        if (n == -1 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        pump->offset += (uint64_t)n;
        done += (size_t)n;
    }
    return done;
}

/* keep_bound - as far as the agent does not (log_bound.h): its bound is lower */
static void keep_bound(struct log_pump *pump)
{
    int r;

    if (pump->most_bytes == 0 || pump->offset - pump->held_from <= pump->most_bytes)
        return;
    r = log_shorten(pump->log_fd, pump->most_bytes, pump->offset);
    pump->held_from = log_held_from(pump->log_fd, pump->offset);
    if (r < 0)
        pump->most_bytes = 0; /* its file system gives nothing back: the agent says so */
}

/* ---- the gap ---- */

/* close_gap - true when the log has a word of what it misses; all of it or nothing */
static bool close_gap(struct log_pump *pump)
{
    char text[LOG_GAP_BYTES];
    uint64_t before = pump->offset;
    size_t size = log_gap_say(&pump->gap, in_line(pump), text);

    if (pump->gap.bytes > 0 && write_log(pump, text, size) < size) {
        pump->offset = before;
        (void)!ftruncate(pump->log_fd, (off_t)before);
        pump->retry_us = clock_read_us(CLOCK_BOOTTIME) + RETRY_US;
        return false;
    }
    pump->gap = (struct log_gap){ 0 };
    return true;
}

static bool is_retry_due(const struct log_pump *pump)
{
    return clock_read_us(CLOCK_BOOTTIME) >= pump->retry_us;
}

/* put - bytes that went through the buffer */
static void put(struct log_pump *pump, const char *data, size_t size)
{
    size_t done = 0;

    if (pump->gap.error != 0 && is_retry_due(pump)) {
        done = log_gap_skip(&pump->gap, data, size);
        log_gap_lose(&pump->gap, data, done);
        (void)close_gap(pump);
    }
    if (pump->gap.error == 0) {
        done += write_log(pump, data + done, size - done);
        if (done < size)
            fail(pump, errno);
    }
    log_gap_lose(&pump->gap, data + done, size - done);
}

/* ---- out of the pipe ---- */

static ssize_t copy(struct log_pump *pump)
{
    ssize_t n;

    if (pump->buffer == NULL)
        pump->buffer = xcalloc(1, BUFFER_BYTES);
    n = read(pump->pipe_fd, pump->buffer, BUFFER_BYTES);
    if (n > 0)
        put(pump, pump->buffer, (size_t)n);
    return n;
}

/* move - as read(2): 0 when nobody can write any more */
static ssize_t move(struct log_pump *pump)
{
    off64_t at = (off64_t)pump->offset;
    ssize_t n;

    if (pump->copies || pump->gap.error != 0)
        return copy(pump);
    n = splice(pump->pipe_fd, NULL, pump->log_fd, &at, PIPE_MOST_BYTES,
               SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
    if (n > 0) {
        note_time(pump);
        pump->offset += (uint64_t)n;
    }
    if (n != -1 || errno == EAGAIN || errno == EINTR)
        return n;
    if (errno == EINVAL)
        pump->copies = true;
    else
        fail(pump, errno);
    return copy(pump);
}

enum step { STEP_MOVED, STEP_EMPTY, STEP_OVER };

static enum step step(struct log_pump *pump)
{
    /* asked first: what is written before the end comes out of the pipe behind this */
    bool ending = atomic_load(&pump->ending);
    ssize_t n = move(pump);

    if (n == -1 && errno == EINTR)
        return STEP_MOVED;
    if (n == -1 && errno == EAGAIN)
        return ending ? STEP_OVER : STEP_EMPTY;
    if (n <= 0)
        return STEP_OVER;
    keep_bound(pump);
    pump->round_bytes += (uint64_t)n;
    if (!ending)
        return STEP_MOVED;
    pump->left -= MIN_OF(pump->left, (uint64_t)n);
    return pump->left > 0 ? STEP_MOVED : STEP_OVER;
}

/* pause - while it goes on printing: for as long as fills a part of the pipe. The end cuts it off.
 */
static void pause_for(struct log_pump *pump)
{
    struct pollfd end = { .fd = pump->end_fd, .events = POLLIN };
    const struct timespec time = { .tv_nsec = (long)pump->pause_us * 1000 };

    if (pump->round_bytes > pump->pipe_bytes / 2) {
        pump->pause_us /= 2;
        pump->pipe_bytes = (uint64_t)MAX_OF(fcntl(pump->pipe_fd, F_SETPIPE_SZ, PIPE_MOST_BYTES),
                                            (int)pump->pipe_bytes);
    } else if (pump->round_bytes < pump->pipe_bytes / 8) {
        pump->pause_us = MIN_OF(pump->pause_us * 2 + 1, PAUSE_MOST_US);
    }
    pump->round_bytes = 0;
    (void)ppoll(&end, 1, &time, NULL);
}

/* await - more, or the end, or the time for another try */
static void await(struct log_pump *pump)
{
    struct pollfd fds[] = { { .fd = pump->pipe_fd, .events = POLLIN },
                            { .fd = pump->end_fd, .events = POLLIN } };
    bool has_gap = pump->gap.error != 0;

    if (pump->round_bytes > 0) {
        pause_for(pump);
        return;
    }
    if (has_gap && !pump->gap.in_line && is_retry_due(pump))
        has_gap = !close_gap(pump);
    (void)poll(fds, ELEMENTS(fds), has_gap ? (int)(RETRY_US / USEC_PER_MSEC) : -1);
}

static void finish(struct log_pump *pump)
{
    if (pump->gap.error == 0)
        return;
    log_gap_end(&pump->gap);
    (void)close_gap(pump);
}

/* take_account - of this thread alone, which setresuid(3) would not do */
static void take_account(const struct log_pump *pump)
{
    if (pump->is_other && (syscall(SYS_setresgid, -1, pump->gid, -1) == -1 ||
                           syscall(SYS_setresuid, -1, pump->uid, -1) == -1))
        log_warning("its log is written with our rights: %s", strerror(errno));
}

static void *pump_main(void *userdata)
{
    struct log_pump *pump = userdata;
    enum step at;

    take_account(pump);
    while ((at = step(pump)) != STEP_OVER)
        if (at == STEP_EMPTY)
            await(pump);
    finish(pump);
    return NULL;
}

/* ---- what the supervisor calls ---- */

int log_pump_fd(const struct log_pump *pump)
{
    return pump->has_thread ? -1 : pump->pipe_fd;
}

/* look - what poll(2) says of the pipe. Its program can open it by a name and read it, too: so a
 * pipe that was readable may be empty now, with writers that live. */
static short look(const struct log_pump *pump)
{
    struct pollfd p = { .fd = pump->pipe_fd, .events = POLLIN };

    return pump->pipe_fd >= 0 && poll(&p, 1, 0) > 0 ? p.revents : 0;
}

/* start_thread - no signal is for it: those of the process are the supervisor's to read, and one
 * for a file that may not grow (SIGXFSZ) would end both */
static bool start_thread(struct log_pump *pump)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    int r;

    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, &before);
    (void)pthread_attr_init(&attributes);
    (void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
    r = pthread_create(&pump->thread, &attributes, pump_main, pump);
    (void)pthread_attr_destroy(&attributes);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    pump->has_thread = r == 0;
    return r == 0;
}

void log_pump_run(struct log_pump *pump)
{
    short seen = look(pump);

    if (seen == 0)
        return;
    if ((seen & POLLIN) == 0 || (!start_thread(pump) && step(pump) == STEP_OVER))
        pump->pipe_fd = safe_close(pump->pipe_fd);
}

/* join - false: its disk does not answer */
static bool join(struct log_pump *pump)
{
    struct timespec by;

    (void)clock_gettime(CLOCK_MONOTONIC, &by);
    by.tv_sec += END_MAX_S;
    if (pthread_clockjoin_np(pump->thread, NULL, CLOCK_MONOTONIC, &by) != 0)
        return false;
    pump->has_thread = false;
    return true;
}

/* What a short program left is moved by a thread, too: with the account's rights, and with a
 * deadline for the disk. Where no thread can be had, nothing else is to do for its supervisor: no
 * lease is to keep any more. */
void log_pump_end(struct log_pump *pump)
{
    pump->left = PIPE_MOST_BYTES;
    atomic_store(&pump->ending, true);
    if (pump->has_thread || ((look(pump) & POLLIN) != 0 && start_thread(pump))) {
        (void)eventfd_write(pump->end_fd, 1);
        pump->stuck = !join(pump);
        return;
    }
    while (pump->pipe_fd >= 0 && step(pump) == STEP_MOVED)
        ;
    finish(pump);
}

bool log_pump_lost(const struct log_pump *pump, char *text, size_t size)
{
    char what[LOG_GAP_BYTES];

    if (pump->stuck) {
        (void)snprintf(text, size, "the end of its output is lost: the disk does not answer");
    } else if (pump->gap.error != 0) {
        log_gap_describe(&pump->gap, what);
        (void)snprintf(text, size, "its log misses the end of its output, %s", what);
    }
    return pump->stuck || pump->gap.error != 0;
}

void log_pump_tell_lost(const struct log_pump *pump, char *reason, size_t size)
{
    char what[256];

    if (!log_pump_lost(pump, what, sizeof what))
        return;
    log_warning("%s", what);
    if (reason[0] == '\0')
        (void)snprintf(reason, size, "%s", what);
}

void log_pump_say(struct log_pump *pump, const char *text)
{
    if (!pump->stuck)
        (void)write_log(pump, text, strlen(text));
}

int log_pump_log(const struct log_pump *pump)
{
    return pump->stuck ? -1 : pump->log_fd;
}

uint64_t log_pump_age(const struct log_pump *pump, uint64_t offset)
{
    uint64_t now_us = clock_read_us(CLOCK_REALTIME), end;
    uint64_t then_us = pump->stuck ? 0 : log_times_at(&pump->times, offset, &end);

    return then_us > 0 ? now_us - MIN_OF(then_us, now_us) : 0;
}

int log_pump_times(const struct log_pump *pump)
{
    return pump->stuck ? -1 : pump->times_fd;
}

struct log_pump *log_pump_free(struct log_pump *pump)
{
    if (pump == NULL || pump->stuck)
        return NULL;
    (void)safe_close(pump->log_fd);
    (void)safe_close(pump->times_fd);
    log_times_clear(&pump->times);
    (void)safe_close(pump->pipe_fd);
    (void)safe_close(pump->end_fd);
    free(pump->buffer);
    free(pump);
    return NULL;
}
