/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot.c - a copy of this process, as it is at that moment, that computes beside the loop */
#include "scheduler/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

#define ANSWER_MAX_BYTES ((size_t)32 << 20)
#define PIECE_BYTES ((size_t)64 << 10)
#define ANSWER_FD 3 /* behind standard input, output and error */
#define NICE 10
#define FIRST_TO_GO "1000" /* oom_score_adj */
#define LIMIT_ACCURACY_US USEC_PER_SEC

struct snapshot {
    snapshot_done_fn done;
    void *userdata;
    pid_t pid;
    int answer_fd, pidfd;                     /* owned */
    sd_event_source *answers, *ended, *limit; /* owned */
    char *answer;                             /* owned, NUL-terminated */
    size_t size, room;
    bool unwanted, late;
};

/* --- the child --- */

static void write_oom_score(void)
{
    _cleanup_close_ int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

    if (fd != -1)
        (void)!write(fd, FIRST_TO_GO, sizeof FIRST_TO_GO - 1);
}

static _Noreturn void be_child(int out_fd, pid_t parent, snapshot_compute_fn compute,
                               void *question)
{
    FILE *out;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent || dup2(out_fd, ANSWER_FD) == -1 || /* it died meanwhile */
        close_range(ANSWER_FD + 1, ~0U, 0) == -1)
        _exit(1);
    write_oom_score();
    (void)setpriority(PRIO_PROCESS, 0, NICE); /* a unit may not allow it */
    out = fdopen(ANSWER_FD, "w");
    if (out == NULL)
        _exit(1);
    compute(out, question);
    _exit(fflush(out) == 0 ? 0 : 1);
}

/* --- the loop --- */

static void destroy(struct snapshot *snapshot)
{
    (void)sd_event_source_disable_unref(snapshot->answers);
    (void)sd_event_source_disable_unref(snapshot->ended);
    (void)sd_event_source_disable_unref(snapshot->limit);
    (void)safe_close(snapshot->answer_fd);
    (void)safe_close(snapshot->pidfd);
    free(snapshot->answer);
    free(snapshot);
}

/* read_some - false: there is no more for now; at its end, or too long, what came is kept */
static bool read_some(struct snapshot *snapshot)
{
    ssize_t n;

    if (snapshot->size + PIECE_BYTES > snapshot->room) {
        snapshot->room = MAX_OF(2 * snapshot->room, 2 * PIECE_BYTES);
        snapshot->answer = xreallocarray(snapshot->answer, snapshot->room + 1, 1);
    }
    do
        n = read(snapshot->answer_fd, snapshot->answer + snapshot->size, PIECE_BYTES);
    while (n == -1 && errno == EINTR);
    snapshot->size += n > 0 ? (size_t)n : 0;
    snapshot->answer[snapshot->size] = '\0';
    if (snapshot->size > ANSWER_MAX_BYTES)
        snapshot_end(snapshot);
    return n > 0 && snapshot->size <= ANSWER_MAX_BYTES;
}

static int on_answer(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    (void)fd;
    if (!read_some(userdata) && (events & EPOLLHUP) != 0)
        (void)sd_event_source_set_enabled(source, SD_EVENT_OFF); /* its end: see on_ended */
    return 0;
}

static void say_why_not(const struct snapshot *snapshot, struct edl_error *error)
{
    (void)edl_error_set(error, -EAGAIN,
                        snapshot->late ? "it took too long to compute"
                                       : "the child that computed it ended");
    (void)edl_error_remedy(error, "ask again; or for less, while the scheduler has much to do");
}

static int on_ended(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    struct snapshot *snapshot = userdata;
    struct edl_error error = { 0 };
    siginfo_t info = { 0 };
    bool good;

    (void)source;
    (void)fd;
    (void)events;
    if (waitid(P_PIDFD, (id_t)snapshot->pidfd, &info, WEXITED | WNOHANG) == 0 && info.si_pid == 0)
        return 0;
    while (read_some(snapshot))
        continue;
    good = !snapshot->unwanted && info.si_code == CLD_EXITED && info.si_status == 0;
    if (!good)
        say_why_not(snapshot, &error);
    snapshot->done(good ? snapshot->answer : NULL, snapshot->size, &error, snapshot->userdata);
    destroy(snapshot);
    return 0;
}

static int on_limit(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct snapshot *snapshot = userdata;

    (void)source;
    (void)usec;
    snapshot->late = true;
    snapshot_end(snapshot);
    return 0;
}

static int watch(struct snapshot *snapshot, sd_event *event, uint64_t limit_us)
{
    int r = snapshot->pidfd == -1 ? -errno : 0;

    if (r >= 0)
        r = sd_event_add_io(event, &snapshot->answers, snapshot->answer_fd, EPOLLIN, on_answer,
                            snapshot);
    if (r >= 0)
        r = sd_event_add_io(event, &snapshot->ended, snapshot->pidfd, EPOLLIN, on_ended, snapshot);
    if (r >= 0)
        r = sd_event_add_time_relative(event, &snapshot->limit, CLOCK_MONOTONIC, limit_us,
                                       LIMIT_ACCURACY_US, on_limit, snapshot);
    return r;
}

int snapshot_start(sd_event *event, uint64_t limit_us, snapshot_compute_fn compute, void *question,
                   snapshot_done_fn done, void *userdata, struct snapshot **ret,
                   struct edl_error *error)
{
    struct snapshot *snapshot;
    pid_t parent = getpid();
    int fds[2];
    int r;

    if (pipe2(fds, O_CLOEXEC) == -1)
        return edl_error_errno(error, -EAGAIN, "no pipe for another process");
    (void)fcntl(fds[0], F_SETFL, O_NONBLOCK);
    snapshot = xcalloc(1, sizeof *snapshot);
    *snapshot = (struct snapshot){
        .done = done, .userdata = userdata, .answer_fd = fds[0], .pidfd = -1, .pid = fork()
    };
    if (snapshot->pid == 0)
        be_child(fds[1], parent, compute, question);
    (void)safe_close(fds[1]);
    if (snapshot->pid == -1) {
        destroy(snapshot);
        return edl_error_errno(error, -EAGAIN, "no other process could be made");
    }
    snapshot->pidfd = pidfd_open(snapshot->pid, 0);
    r = watch(snapshot, event, limit_us);
    if (r < 0) {
        (void)snapshot_free(snapshot);
        return edl_error_set(error, -EAGAIN, "the other process cannot be watched");
    }
    *ret = snapshot;
    return 0;
}

void snapshot_end(struct snapshot *snapshot)
{
    snapshot->unwanted = true;
    if (snapshot->pidfd != -1)
        (void)pidfd_send_signal(snapshot->pidfd, SIGKILL, NULL, 0);
    else
        (void)kill(snapshot->pid, SIGKILL); /* it was not waited for: the number is its own */
}

struct snapshot *snapshot_free(struct snapshot *snapshot)
{
    siginfo_t info;

    if (snapshot == NULL)
        return NULL;
    snapshot_end(snapshot);
    while (waitid(P_PID, (id_t)snapshot->pid, &info, WEXITED) == -1 && errno == EINTR)
        continue;
    destroy(snapshot);
    return NULL;
}
