/* SPDX-License-Identifier: Apache-2.0 */
/* slot.c - an instance of a job in mode mpi: takes orders of mpirun, and runs them */
#include "mpi/slot.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <utlist.h>

#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/macro.h"

#define REFUSALS_TOLD_MAX 16
#define FIXED 2 /* descriptors before those of links: the listener, signals */
#define LINKS_MAX (MPI_STRANGERS_MAX + MPI_ORDERS_MAX)

/* One caller. */
struct link {
    int fd;
    struct mpi_peer peer;
    uint64_t deadline_us; /* until its order is there */
    pid_t pid;            /* of its command, the leader of a group; 0: there is none yet */
    bool dead;
    struct link *next, *prev;
};

struct slot {
    const struct mpi_slot_config *config;
    struct link *links; /* the oldest first */
    size_t n_strangers, n_orders;
    int signal_fd;
    unsigned refusals;
    bool stopping, ended;
    int status;
};

static void signals_of(sigset_t *set)
{
    (void)sigemptyset(set);
    (void)sigaddset(set, SIGCHLD);
    (void)sigaddset(set, SIGTERM);
}

void mpi_slot_block_signals(void)
{
    sigset_t set;

    signals_of(&set);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
}

void mpi_slot_free_signals(void)
{
    sigset_t set;

    signals_of(&set);
    (void)sigprocmask(SIG_UNBLOCK, &set, NULL);
}

uint8_t mpi_status_of(int status)
{
    return (uint8_t)(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

static void say(const char *text)
{
    (void)fprintf(stderr, "edl-mpi: %s\n", text);
}

/* Strangers may come as often as they like; the log is not theirs. */
static void refuse(struct slot *slot, struct link *link, const struct edl_error *error)
{
    link->dead = true;
    if (slot->refusals++ < REFUSALS_TOLD_MAX)
        (void)fprintf(stderr, "edl-mpi: refused a caller: %s\n", error->text);
}

/* ---- commands ---- */

static void become_command(const struct mpi_order *order)
{
    char sh[] = "/bin/sh", option[] = "-c";
    char *argv[] = { sh, option, order->command, NULL };
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    (void)setsid();
    mpi_slot_free_signals();
    (void)dup2(null, STDIN_FILENO);
    for (size_t i = 0; i < order->n_env; i++)
        (void)putenv(order->env[i]);
    (void)execv(sh, argv);
    say("cannot execute /bin/sh");
    _exit(127);
}

static void run_order(struct slot *slot, struct link *link)
{
    struct edl_error error = { 0 };
    pid_t pid;

    if (slot->n_orders >= MPI_ORDERS_MAX || slot->stopping) {
        (void)edl_error_set(&error, -EAGAIN, "up to %d commands run already, or it ends",
                            MPI_ORDERS_MAX);
        refuse(slot, link, &error);
        return;
    }
    pid = fork();
    if (pid == 0)
        become_command(&link->peer.order);
    if (pid == -1) {
        (void)edl_error_errno(&error, -errno, "cannot fork");
        refuse(slot, link, &error);
        return;
    }
    link->pid = pid;
    slot->n_orders++;
}

static void tell_status(struct link *link, uint8_t status)
{
    uint8_t bytes[MPI_STATUS_BYTES];

    if (!link->dead && mpi_meeting_put_status(&link->peer.meeting, status, bytes, NULL) == 0)
        (void)send(link->fd, bytes, sizeof bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
    link->dead = true;
}

static void end_by_order(struct slot *slot, struct link *link)
{
    tell_status(link, link->peer.order.status);
    slot->ended = true;
    slot->status = link->peer.order.status;
}

/* Until it is reaped, its number is nobody else's. */
static void kill_command(const struct link *link)
{
    (void)kill(-link->pid, SIGKILL);
    (void)kill(link->pid, SIGKILL); /* it has no group of its own yet */
}

/* has_ended - of a child that has, it is reaped, and what is left of its group is killed */
static bool has_ended(pid_t pid, bool group, int *ret_status)
{
    siginfo_t info = { .si_pid = 0 };

    if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == -1 || info.si_pid == 0)
        return false;
    if (group)
        (void)kill(-pid, SIGKILL);
    return waitpid(pid, ret_status, 0) == pid;
}

static void look_at_children(struct slot *slot)
{
    struct link *link;
    int status = 0;

    DL_FOREACH(slot->links, link)
    {
        if (link->pid == 0 || !has_ended(link->pid, true, &status))
            continue;
        link->pid = 0;
        slot->n_orders--;
        tell_status(link, mpi_status_of(status));
    }
    if (slot->config->command > 0 && has_ended(slot->config->command, false, &status)) {
        slot->ended = true;
        slot->status = mpi_status_of(status);
    }
}

/* ---- callers ---- */

static void drop_oldest_stranger(struct slot *slot)
{
    struct link *link;

    DL_FOREACH(slot->links, link)
    if (link->peer.state != MPI_PEER_ORDER && !link->dead) {
        link->dead = true;
        return;
    }
}

static void send_out(struct link *link)
{
    if (link->peer.n_out > 0 && send(link->fd, link->peer.out, link->peer.n_out,
                                     MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)link->peer.n_out)
        link->dead = true; /* so few bytes always fit */
    link->peer.n_out = 0;
}

static void take_caller(struct slot *slot)
{
    static const int on = 1;
    struct mpi_meeting meeting = slot->config->meeting;
    int fd = accept4(slot->config->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct link *link;

    if (fd == -1)
        return;
    if (job_nonce_make(meeting.slot_nonce, NULL) < 0) {
        (void)safe_close(fd);
        return;
    }
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    if (slot->n_strangers >= MPI_STRANGERS_MAX)
        drop_oldest_stranger(slot);
    link = xcalloc(1, sizeof *link);
    link->fd = fd;
    link->deadline_us = clock_read_us(CLOCK_BOOTTIME) + MPI_MEETING_US;
    mpi_peer_begin(&link->peer, &meeting);
    send_out(link);
    DL_APPEND(slot->links, link);
    slot->n_strangers++;
}

static void take_bytes(struct slot *slot, struct link *link)
{
    uint8_t bytes[16384];
    ssize_t n = recv(link->fd, bytes, sizeof bytes, MSG_DONTWAIT);
    struct edl_error error = { 0 };
    int r;

    if (n == -1 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0 || link->peer.state == MPI_PEER_ORDER) { /* the caller is gone, or says too much */
        link->dead = true;
        return;
    }
    r = mpi_peer_take(&link->peer, bytes, (size_t)n, &error);
    if (r == 0)
        send_out(link);
    else if (r < 0)
        refuse(slot, link, &error);
    else if (link->peer.order.end)
        end_by_order(slot, link);
    else
        run_order(slot, link);
}

/* bury - those that are dead, and have no command any more */
static void bury(struct slot *slot)
{
    struct link *link, *next;

    slot->n_strangers = 0;
    DL_FOREACH_SAFE(slot->links, link, next)
    {
        if (link->dead && link->pid > 0) {
            kill_command(link); /* look_at_children takes it off */
            continue;
        }
        if (!link->dead) {
            slot->n_strangers += link->peer.state != MPI_PEER_ORDER;
            continue;
        }
        DL_DELETE(slot->links, link);
        (void)safe_close(link->fd);
        mpi_peer_clear(&link->peer);
        free(link);
    }
}

static int expire(struct slot *slot)
{
    uint64_t now_us = clock_read_us(CLOCK_BOOTTIME), next_us = NEVER_US;
    struct link *link;

    DL_FOREACH(slot->links, link)
    {
        if (link->peer.state == MPI_PEER_ORDER || link->dead)
            continue;
        if (link->deadline_us <= now_us)
            link->dead = true;
        else
            next_us = MIN_OF(next_us, link->deadline_us - now_us);
    }
    return next_us == NEVER_US ? -1 : (int)(next_us / USEC_PER_MSEC) + 1;
}

/* ---- the loop ---- */

static void take_signals(struct slot *slot)
{
    struct signalfd_siginfo info;

    while (read(slot->signal_fd, &info, sizeof info) == (ssize_t)sizeof info)
        slot->stopping |= info.ssi_signo == SIGTERM;
    look_at_children(slot);
}

static bool is_over(const struct slot *slot)
{
    return slot->ended || (slot->stopping && slot->n_orders == 0 && slot->config->command == 0);
}

static size_t fill(const struct slot *slot, struct pollfd *fds, struct link **of)
{
    struct link *link;
    size_t n = FIXED;

    fds[0] = (struct pollfd){ .fd = slot->config->listen_fd, .events = POLLIN };
    fds[1] = (struct pollfd){ .fd = slot->signal_fd, .events = POLLIN };
    DL_FOREACH(slot->links, link)
    {
        if (link->dead || n == FIXED + LINKS_MAX)
            continue;
        of[n] = link;
        fds[n++] = (struct pollfd){ .fd = link->fd, .events = POLLIN };
    }
    return n;
}

static int turn(struct slot *slot)
{
    struct pollfd fds[FIXED + LINKS_MAX];
    struct link *of[FIXED + LINKS_MAX];
    int wait_ms = expire(slot);
    size_t n;

    bury(slot);
    n = fill(slot, fds, of);
    if (poll(fds, n, wait_ms) == -1)
        return errno == EINTR ? 0 : -errno;
    if (fds[1].revents != 0)
        take_signals(slot);
    for (size_t i = FIXED; i < n; i++)
        if (fds[i].revents != 0 && !of[i]->dead && !slot->ended)
            take_bytes(slot, of[i]);
    if (fds[0].revents != 0)
        take_caller(slot);
    return 0;
}

/* All that runs is killed and awaited: a killed process ends. */
static void clear(struct slot *slot)
{
    struct link *link;

    DL_FOREACH(slot->links, link)
    {
        link->dead = true;
        if (link->pid <= 0)
            continue;
        kill_command(link);
        (void)waitpid(link->pid, NULL, 0);
        link->pid = 0;
    }
    bury(slot);
    (void)safe_close(slot->signal_fd);
}

int mpi_slot_run(const struct mpi_slot_config *config, struct edl_error *error)
{
    struct slot slot = { .config = config };
    sigset_t set;
    int r = 0;

    signals_of(&set);
    slot.signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (slot.signal_fd == -1)
        return edl_error_errno(error, -errno, "cannot wait for signals");
    look_at_children(&slot);
    while (r == 0 && !is_over(&slot))
        r = turn(&slot);
    clear(&slot);
    return r < 0 ? edl_error_errno(error, r, "cannot wait for callers") : slot.status;
}
