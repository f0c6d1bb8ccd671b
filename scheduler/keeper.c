/* SPDX-License-Identifier: Apache-2.0 */
/* keeper.c - the scheduler's end of edl-lease-keeper (see keeper.h) */
#include "scheduler/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uthash.h>

#include "scheduler/core/events/kept_word.h"
#include "scheduler/core/events/lease.h"
#include "scheduler/keeper_child.h"
#include "scheduler/keeper_record.h"
#include "scheduler/keeper_table.h"
#include "scheduler/scheduler.h"
#include "scheduler/state.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/hex.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "shared/socket_address.h"

#define RETRY_US USEC_PER_SEC
#define TAKE_OVER_US (3 * USEC_PER_SEC) /* for the last run's keeper to say that it ends */

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

    if (keeper->serves && node->state != NODE_LOST)
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

/* --- the call --- */

static void arm_retry(struct keeper *keeper)
{
    (void)sd_event_source_set_time_relative(keeper->retry, RETRY_US);
    (void)sd_event_source_set_enabled(keeper->retry, SD_EVENT_ONESHOT);
}

static void hang_up(struct keeper *keeper)
{
    keeper->io = sd_event_source_disable_unref(keeper->io);
    keeper->call_fd = safe_close(keeper->call_fd);
    keeper->serves = false;
}

static void complain(struct keeper *keeper, const char *text)
{
    if (!keeper->complained)
        log_warning("%s; while the scheduler stands still leases end (trying again)", text);
    keeper->complained = true;
    hang_up(keeper);
    arm_retry(keeper);
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

static int send_all(int to, const int *fds, unsigned n, struct edl_error *error)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(KEEPER_PASSED_MAX * sizeof(int))] = { 0 };
    char byte = 0;
    struct iovec part = { .iov_base = &byte, .iov_len = 1 };
    struct msghdr message = { .msg_iov = &part,
                              .msg_iovlen = 1,
                              .msg_control = control,
                              .msg_controllen = CMSG_SPACE(n * sizeof(int)) };
    struct cmsghdr *passed = CMSG_FIRSTHDR(&message);

    passed->cmsg_level = SOL_SOCKET;
    passed->cmsg_type = SCM_RIGHTS;
    passed->cmsg_len = CMSG_LEN(n * sizeof(int));
    memcpy(CMSG_DATA(passed), fds, n * sizeof(int));
    if (sendmsg(to, &message, MSG_NOSIGNAL) != 1)
        return edl_error_errno(error, -errno, "edl-lease-keeper cannot be told");
    return 0;
}

/* note_where - in the record, as soon as no keeper of another run can matter any more: until then a
 * next run is to wait as this one did. That it cannot be written costs the next run that wait. */
static void note_where(struct keeper *keeper)
{
    struct edl_error error = { 0 };

    if (clock_read_us(CLOCK_BOOTTIME) < keeper->floor_us) {
        (void)sd_event_source_set_time(keeper->retry, keeper->floor_us);
        (void)sd_event_source_set_enabled(keeper->retry, SD_EVENT_ONESHOT);
    } else if (keeper_record_write(keeper->record, keeper->path, &error) < 0) {
        log_info("%s: after a restart no node is called lost for a minute", error.text);
    }
}

/* hand_over - the table and the sockets; a record of another socket first: it is true no more */
static int hand_over(struct scheduler *scheduler, struct edl_error *error)
{
    struct keeper *keeper = &scheduler->keeper;
    int fds[KEEPER_PASSED_MAX] = { [KEEPER_PASSED_TABLE] = keeper->table_fd };
    unsigned n = KEEPER_PASSED_SOCKETS;
    int r = 0;

    if (!keeper_record_holds(keeper->record, keeper->path))
        r = keeper_record_remove(keeper->record, error);
    if (r == 0)
        r = open_sockets(&scheduler->listeners, fds, &n, error);
    if (r == 0)
        r = send_all(keeper->call_fd, fds, n, error);
    for (unsigned i = KEEPER_PASSED_SOCKETS; i < n; i++)
        (void)safe_close(fds[i]);
    return r;
}

static void start(struct scheduler *scheduler);

/* on_said - "ready", "ends", or that it is gone */
static int on_said(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    struct scheduler *scheduler = userdata;
    struct keeper *keeper = &scheduler->keeper;
    struct edl_error error = { 0 };
    char says = 0;
    ssize_t n = recv(fd, &says, 1, MSG_DONTWAIT);

    (void)source;
    (void)events;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n == 1 && keeper->last == LAST_UNKNOWN) { /* whoever it is, it is the only one */
        keeper->last = LAST_ENDED;
        if (says == KEEPER_ENDS || keeper->is_child) {
            hang_up(keeper);
            start(scheduler);
            return 0;
        }
    }
    if (n == 1 && says == KEEPER_READY && !keeper->serves) {
        if (hand_over(scheduler, &error) < 0) {
            complain(keeper, error.text);
            return 0;
        }
        keeper->serves = true;
        keeper->complained = false;
        (void)sd_event_source_set_enabled(keeper->retry, SD_EVENT_OFF);
        if (keeper->leases_begun)
            note_where(keeper);
        return 0;
    }
    if (keeper->serves)
        log_warning("edl-lease-keeper has ended; another one is started");
    hang_up(keeper);
    arm_retry(keeper);
    return 0;
}

/* call - who is a child of ours answers at once, or never; anybody else may have another to serve
 */
static int call(struct scheduler *scheduler)
{
    struct keeper *keeper = &scheduler->keeper;
    int fd = keeper_child_call(keeper->path);
    int r;

    if (fd < 0)
        return fd;
    keeper->call_fd = fd;
    r = sd_event_add_io(scheduler->event, &keeper->io, fd, EPOLLIN, on_said, scheduler);
    if (r < 0)
        hang_up(keeper);
    else if (keeper->is_child)
        arm_retry(keeper);
    return r;
}

/* start - calls one; a child of ours is started first, once the last run's keeper is out of the way
 */
static void start(struct scheduler *scheduler)
{
    struct keeper *keeper = &scheduler->keeper;
    struct edl_error error = { 0 };
    int r = 0;

    if (keeper->is_child && keeper->last == LAST_UNKNOWN) {
        r = call(scheduler);
        if (r == 0)
            return;
        if (r == -ECONNREFUSED) /* it was there once, and nobody has that socket any more */
            keeper->last = LAST_ENDED;
        else if (r != -EAGAIN)
            keeper->last = LAST_LOST;
    }
    r = 0;
    if (keeper->is_child && keeper->last == LAST_UNKNOWN)
        r = edl_error_set(&error, -EAGAIN, "the last edl-lease-keeper does not answer");
    else if (keeper->is_child)
        r = keeper_child_start(&keeper->child, keeper->path, &error);
    if (r == 0 && (r = call(scheduler)) < 0)
        (void)edl_error_errno(&error, r, "edl-lease-keeper at %.160s", keeper->path);
    if (r < 0)
        complain(keeper, error.text);
}

static int on_retry(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct scheduler *scheduler = userdata;
    struct keeper *keeper = &scheduler->keeper;

    (void)source;
    if (keeper->serves) {
        note_where(keeper);
        return 0;
    }
    if (keeper->call_fd >= 0 && !keeper->is_child)
        return 0; /* it has another to serve */
    if (keeper->last == LAST_UNKNOWN && keeper->floor_us != 0 && usec >= keeper->floor_us)
        keeper->last = LAST_LOST; /* stopped: its time is over */
    hang_up(keeper);
    start(scheduler);
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

/* take_over - what they say at first is waited for: until then nobody has a lease */
static void take_over(struct scheduler *scheduler)
{
    struct keeper *keeper = &scheduler->keeper;
    uint64_t until_us = clock_read_us(CLOCK_BOOTTIME) + TAKE_OVER_US;

    while (keeper->call_fd >= 0 && !keeper->serves) {
        struct pollfd fd = { .fd = keeper->call_fd, .events = POLLIN };
        uint64_t now_us = clock_read_us(CLOCK_BOOTTIME);

        if (now_us >= until_us)
            return;
        if (poll(&fd, 1, (int)((until_us - now_us) / USEC_PER_MSEC) + 1) > 0)
            (void)on_said(NULL, fd.fd, 0, scheduler);
    }
}

/* begin_leases - full ones from now on; where the last keeper may be out of reach, nobody is judged
 * before the end of what it can have promised */
static void begin_leases(struct scheduler *scheduler, bool knows_last)
{
    struct keeper *keeper = &scheduler->keeper;
    struct instant now = clock_instant();

    keeper->leases_begun = true;
    if (!knows_last && HASH_COUNT(scheduler->cluster->nodes) > 0) {
        keeper->floor_us = now.now_us + KEEPER_ALONE_US + scheduler->options.lease_us;
        log_info("an edl-lease-keeper of the last run may still answer where it cannot be called: "
                 "no node is called lost for %d s",
                 (int)((keeper->floor_us - now.now_us) / USEC_PER_SEC));
    }
    cluster_give_leases(scheduler->cluster, keeper->floor_us, now);
}

void keeper_init(struct scheduler *scheduler)
{
    struct keeper *keeper = &scheduler->keeper;
    struct edl_error error = { 0 };
    bool knows_last;
    int r;

    keeper->is_child = scheduler->options.lease_keeper[0] == '\0';
    if (keeper->is_child)
        state_path(&scheduler->options, KEEPER_SOCKET_FILE, keeper->path);
    else
        (void)snprintf(keeper->path, sizeof keeper->path, "%s", scheduler->options.lease_keeper);
    state_path(&scheduler->options, KEEPER_RECORD_FILE, keeper->record);
    knows_last = keeper_record_holds(keeper->record, keeper->path);
    r = make_table(keeper, &error);
    if (r == 0)
        r = sd_event_add_time(scheduler->event, &keeper->retry, CLOCK_BOOTTIME, NEVER_US,
                              100 * USEC_PER_MSEC, on_retry, scheduler);
    if (r < 0) {
        log_warning("no edl-lease-keeper: %s", error.code != 0 ? error.text : strerror(-r));
    } else {
        start(scheduler);
        take_over(scheduler);
    }
    begin_leases(scheduler, knows_last && keeper->last == LAST_ENDED);
    if (keeper->serves)
        note_where(keeper);
}

void keeper_done(struct keeper *keeper)
{
    struct keeper_node *node;
    struct keeper_node *next;

    hang_up(keeper);
    keeper_child_end(&keeper->child);
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
