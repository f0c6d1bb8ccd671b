/* SPDX-License-Identifier: Apache-2.0 */
/* keeper.c - the scheduler's end of edl-lease-keeper (see keeper.h) */
#include "scheduler/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uthash.h>

#include "scheduler/core/kept_word.h"
#include "scheduler/core/lease.h"
#include "scheduler/keeper_table.h"
#include "scheduler/scheduler.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/hex.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "shared/socket_address.h"

#define RETRY_US USEC_PER_SEC
#define PROGRAM "edl-lease-keeper"

struct keeper_node {
    char name[NODE_NAME_MAX + 1];
    uint32_t slot;
    UT_hash_handle hh;
};

/* --- what is known of nodes --- */

static struct keeper_node *find(const struct keeper *keeper, const char *name)
{
    struct keeper_node *found;

    HASH_FIND_STR(keeper->nodes, name, found);
    return found;
}

/* A slot is one node's for good: names that come and go are few. NULL: there is none left. */
static struct keeper_node *find_or_add(struct keeper *keeper, const char *name)
{
    struct keeper_node *node = find(keeper, name);

    if (node != NULL || keeper->n_slots == KEEPER_SLOTS)
        return node;
    node = xcalloc(1, sizeof *node);
    (void)snprintf(node->name, sizeof node->name, "%s", name);
    node->slot = keeper->n_slots++;
    HASH_ADD_STR(keeper->nodes, name, node);
    return node;
}

json_t *keeper_tell(struct scheduler *scheduler, const struct node *node)
{
    struct keeper *keeper = &scheduler->keeper;
    const struct keeper_node *known = NULL;
    uint8_t key[KEEP_KEY_BYTES];
    char text[2 * KEEP_KEY_BYTES + 1];
    uint32_t generation;

    if (keeper->ended != NULL && node->state != NODE_LOST)
        known = find_or_add(keeper, node->name);
    if (known == NULL)
        return NULL;
    generation = kept_open(&keeper->table->words[known->slot], clock_read_us(CLOCK_BOOTTIME));
    if (keep_key_of(keeper->table->master, known->slot, generation, key) < 0)
        return NULL;
    hex_encode(key, sizeof key, text);
    return json_pack("{s:I,s:I,s:s}", "slot", (json_int_t)known->slot, "generation",
                     (json_int_t)generation, "key", text);
}

static _Atomic uint64_t *word_of(const char *node, void *userdata)
{
    struct keeper *keeper = userdata;
    const struct keeper_node *known = find(keeper, node);

    return known != NULL ? &keeper->table->words[known->slot] : NULL;
}

void keeper_ask(struct scheduler *scheduler, struct instant now)
{
    cluster_ask_kept(scheduler->cluster, word_of, &scheduler->keeper, now);
}

void keeper_forget(struct keeper *keeper, const char *node)
{
    _Atomic uint64_t *at = word_of(node, keeper);
    uint64_t word = at != NULL ? atomic_load(at) : 0;

    while (at != NULL && !kept_close(at, &word))
        ;
}

/* --- the process --- */

static void arm_retry(struct keeper *keeper)
{
    (void)sd_event_source_set_time_relative(keeper->retry, RETRY_US);
    (void)sd_event_source_set_enabled(keeper->retry, SD_EVENT_ONESHOT);
}

/* let_go - of one that has ended, or does at once */
static void let_go(struct keeper *keeper, siginfo_t *ret_info)
{
    keeper->ended = sd_event_source_disable_unref(keeper->ended);
    keeper->alive_fd = safe_close(keeper->alive_fd);
    (void)waitid(P_PIDFD, (id_t)keeper->pidfd, ret_info, WEXITED);
    keeper->pidfd = safe_close(keeper->pidfd);
}

static int on_ended(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    struct keeper *keeper = userdata;
    siginfo_t info = { 0 };

    (void)source;
    (void)fd;
    (void)events;
    let_go(keeper, &info);
    log_warning(PROGRAM " has ended (%s %d); another one is started",
                info.si_code == CLD_EXITED ? "exit code" : "signal", info.si_status);
    arm_retry(keeper);
    return 0;
}

/* At the address of a TCP listener; -1 when somebody has that port. */
static int open_socket(const struct listen_spec *spec, struct edl_error *error)
{
    union socket_address address;
    socklen_t size = socket_address_parse(spec->address, spec->port, &address);
    _cleanup_close_ int fd = -1;
    const int on = 1;

    fd = socket(address.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (address.any.sa_family == AF_INET)
        (void)setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &on, sizeof on);
    else /* as the TCP listeners */
        (void)(setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof on) == 0 &&
               setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on));
    if (fd == -1 || bind(fd, &address.any, size) == -1)
        return edl_error_errno(error, -errno, "UDP port %u of %s", spec->port, spec->address);
    return TAKE_FD(fd);
}

/* open_sockets - behind what is in ret; as many as there are TCP listeners, or none */
static int open_sockets(const struct listeners *listeners, int *ret, unsigned *n,
                        struct edl_error *error)
{
    unsigned first = *n;

    for (size_t i = 0; i < listeners->n; i++) {
        int fd = listeners->specs[i].is_unix ? -1 : open_socket(&listeners->specs[i], error);

        if (fd >= 0)
            ret[(*n)++] = fd;
    }
    while (error->code != 0 && *n > first)
        (void)safe_close(ret[--*n]);
    return error->code;
}

/* The program beside this one. */
static int program_path(char ret[PATH_MAX], struct edl_error *error)
{
    char own[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", own, sizeof own - 1);

    if (n < 0)
        return edl_error_errno(error, -errno, "/proc/self/exe");
    own[n] = '\0';
    if (snprintf(ret, PATH_MAX, "%s/" PROGRAM, dirname(own)) >= PATH_MAX)
        return edl_error_set(error, -ENAMETOOLONG, "the folder of edl-scheduler");
    return 0;
}

/* fds become KEEPER_FD_ALIVE and those behind it; each is above all of these. */
static int spawn(const char *path, const int *fds, unsigned n_fds, char *count, pid_t *ret)
{
    char name[] = PROGRAM;
    char *argv[] = { name, count, NULL };
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    int r;

    (void)sigemptyset(&none);
    (void)posix_spawnattr_init(&attributes);
    (void)posix_spawnattr_setsigmask(&attributes, &none);
    /* what a terminal sends to the scheduler is not for it */
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
    (void)posix_spawn_file_actions_init(&actions);
    for (unsigned i = 0; i < n_fds; i++)
        (void)posix_spawn_file_actions_adddup2(&actions, fds[i], KEEPER_FD_ALIVE + (int)i);
    r = posix_spawn(ret, path, &actions, &attributes, argv, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)posix_spawnattr_destroy(&attributes);
    return -r;
}

static int watch(struct scheduler *scheduler, pid_t pid)
{
    struct keeper *keeper = &scheduler->keeper;
    int r;

    keeper->pidfd = pidfd_open(pid, 0); /* our unreaped child: the number is still its own */
    if (keeper->pidfd < 0)
        return -errno;
    r = sd_event_add_io(scheduler->event, &keeper->ended, keeper->pidfd, EPOLLIN, on_ended, keeper);
    if (r < 0)
        let_go(keeper, NULL);
    return r;
}

/* start_with - alive, table, sockets: borrowed */
static int start_with(struct scheduler *scheduler, const int *fds, unsigned n_fds,
                      struct edl_error *error)
{
    int high[KEEPER_FD_END - KEEPER_FD_ALIVE];
    char path[PATH_MAX], count[12];
    pid_t pid;
    int r = program_path(path, error);

    if (r < 0)
        return r;
    for (unsigned i = 0; i < n_fds; i++)
        high[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, KEEPER_FD_END);
    (void)snprintf(count, sizeof count, "%u", n_fds - (KEEPER_FD_FIRST_SOCKET - KEEPER_FD_ALIVE));
    r = spawn(path, high, n_fds, count, &pid);
    for (unsigned i = 0; i < n_fds; i++)
        (void)safe_close(high[i]);
    if (r == 0)
        r = watch(scheduler, pid);
    return r < 0 ? edl_error_errno(error, r, "cannot start %s", path) : 0;
}

static int open_and_start(struct scheduler *scheduler, struct edl_error *error)
{
    struct keeper *keeper = &scheduler->keeper;
    int fds[KEEPER_FD_END - KEEPER_FD_ALIVE];
    const unsigned n_own = KEEPER_FD_FIRST_SOCKET - KEEPER_FD_ALIVE;
    unsigned n = n_own;
    int ends[2];
    int r = open_sockets(&scheduler->listeners, fds, &n, error);

    if (r == 0 && n > n_own && pipe2(ends, O_CLOEXEC) == -1)
        r = edl_error_errno(error, -errno, "a pipe");
    if (r == 0 && n > n_own) {
        fds[0] = ends[0];
        fds[KEEPER_FD_TABLE - KEEPER_FD_ALIVE] = keeper->table_fd;
        keeper->alive_fd = ends[1];
        r = start_with(scheduler, fds, n, error);
        (void)safe_close(ends[0]);
        if (r < 0)
            keeper->alive_fd = safe_close(keeper->alive_fd);
    }
    for (unsigned i = n_own; i < n; i++)
        (void)safe_close(fds[i]);
    return r;
}

static void start(struct scheduler *scheduler)
{
    struct keeper *keeper = &scheduler->keeper;
    struct edl_error error = { 0 };

    if (open_and_start(scheduler, &error) == 0) {
        keeper->complained = false;
        return;
    }
    if (!keeper->complained)
        log_warning("%s; while the scheduler stands still leases end (trying again)", error.text);
    keeper->complained = true;
    arm_retry(keeper);
}

static int on_retry(sd_event_source *source, uint64_t usec, void *userdata)
{
    (void)source;
    (void)usec;
    start(userdata);
    return 0;
}

static int make_table(struct keeper *keeper, struct edl_error *error)
{
    _cleanup_close_ int fd = memfd_create("edl-leases", MFD_CLOEXEC);
    void *p;

    if (fd == -1 || ftruncate(fd, sizeof *keeper->table) == -1)
        return edl_error_errno(error, -errno, "a table of leases");
    p = mmap(NULL, sizeof *keeper->table, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED)
        return edl_error_errno(error, -errno, "a table of leases");
    keeper->table = p;
    keeper->table_fd = TAKE_FD(fd);
    return keep_key_make(keeper->table->master, error);
}

void keeper_init(struct scheduler *scheduler)
{
    struct keeper *keeper = &scheduler->keeper;
    struct edl_error error = { 0 };
    int r;

    keeper->table_fd = keeper->alive_fd = keeper->pidfd = -1;
    r = make_table(keeper, &error);
    if (r == 0)
        r = sd_event_add_time(scheduler->event, &keeper->retry, CLOCK_BOOTTIME, NEVER_US,
                              100 * USEC_PER_MSEC, on_retry, scheduler);
    if (r < 0) {
        log_warning("no " PROGRAM ": %s", error.code != 0 ? error.text : strerror(-r));
        return;
    }
    start(scheduler);
}

void keeper_done(struct keeper *keeper)
{
    struct keeper_node *node;
    struct keeper_node *next;

    if (keeper->ended != NULL) {
        (void)pidfd_send_signal(keeper->pidfd, SIGKILL, NULL, 0); /* it has nothing to finish */
        let_go(keeper, NULL);
    }
    keeper->retry = sd_event_source_disable_unref(keeper->retry);
    keeper->table_fd = safe_close(keeper->table_fd);
    if (keeper->table != NULL)
        (void)munmap(keeper->table, sizeof *keeper->table);
    keeper->table = NULL;
    HASH_ITER(hh, keeper->nodes, node, next)
    {
        HASH_DEL(keeper->nodes, node);
        free(node);
    }
}
