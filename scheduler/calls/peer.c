/* SPDX-License-Identifier: Apache-2.0 */
/* peer.c - see peer.h
 *
 * Of each account there is one question under way at most, and of accounts as many as are kept: so
 * few questions wait for the database, however slow it is and however often each account calls. */
#include "scheduler/calls/peer.h"

#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <uthash.h>
#include <utlist.h>

#include "scheduler/worker.h"
#include "shared/account_name.h"
#include "shared/error.h"
#include "shared/log.h"
#include "shared/macro.h"

#define PASSWD_BYTES 16384
#define PEERS_MAX 1024
#define TIMER_ACCURACY_US (100 * USEC_PER_MSEC)

/* In use as long as any: the last caller is at the end of the table. */
struct peer {
    uid_t uid;
    char name[ACCOUNT_NAME_MAX + 1]; /* "": no such account, or none that can be named */
    uint64_t answered_us;            /* 0: it was not yet */
    uint64_t failed_us;              /* the last question, when it was not answered; else 0 */
    bool asking;
    sd_event_source *timer;      /* owned; NULL: nobody waits */
    struct peer_waiter *waiters; /* list; their owners own them */
    struct peers *peers;         /* borrowed */
    UT_hash_handle hh;
};

struct peers {
    struct peer *all;      /* owned; uthash by uid */
    sd_event *event;       /* owned reference */
    struct worker *worker; /* owned */
    uint64_t wait_us;
};

/* A question to the account database. */
struct look_up {
    struct worker_job job; /* first */
    struct peers *peers;   /* there until the worker is abandoned */
    uid_t uid;
    bool answered, sure; /* sure: by the database itself, and no errno that modules use for it */
    uint64_t asked_us;
    char name[ACCOUNT_NAME_MAX + 1];
};

int peer_uid(int fd, uid_t *ret)
{
    struct ucred credentials;
    socklen_t size = sizeof credentials;
    int domain = AF_UNSPEC;
    socklen_t domain_size = sizeof domain;

    if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &domain_size) == -1 || domain != AF_UNIX ||
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == -1)
        return -ENOTSOCK;
    *ret = credentials.uid;
    return 0;
}

int peers_new(sd_event *event, uint64_t wait_us, struct peers **ret, struct edl_error *error)
{
    struct peers *peers = xcalloc(1, sizeof *peers);

    peers->wait_us = wait_us;
    if (worker_new(event, "edl-accounts", &peers->worker, error) < 0) {
        free(peers);
        return error->code;
    }
    peers->event = sd_event_ref(event);
    *ret = peers;
    return 0;
}

static void drop(struct peers *peers, struct peer *peer)
{
    HASH_DEL(peers->all, peer);
    (void)sd_event_source_disable_unref(peer->timer);
    free(peer);
}

struct peers *peers_free(struct peers *peers)
{
    struct peer *peer, *next;

    if (peers == NULL)
        return NULL;
    peers->worker = worker_abandon(peers->worker);
    HASH_ITER(hh, peers->all, peer, next)
    {
        drop(peers, peer);
    }
    (void)sd_event_unref(peers->event);
    free(peers);
    return NULL;
}

static struct peer *find(struct peers *peers, uid_t uid)
{
    struct peer *peer;

    HASH_FIND(hh, peers->all, &uid, sizeof uid, peer);
    return peer;
}

/* --- questions --- */

static void tell(struct peer *peer, bool known)
{
    struct peer_waiter *waiter;

    peer->timer = sd_event_source_disable_unref(peer->timer);
    while ((waiter = peer->waiters) != NULL) {
        DL_DELETE(peer->waiters, waiter);
        waiter->told(waiter, known);
    }
}

static void run_look_up(struct worker_job *job)
{
    struct look_up *look_up = (struct look_up *)job;
    struct passwd entry, *found = NULL;
    char buffer[PASSWD_BYTES];
    int r = getpwuid_r(look_up->uid, &entry, buffer, sizeof buffer, &found);

    /* what getpwnam(3) says of modules that have no such account */
    look_up->sure = r == 0;
    look_up->answered = r == 0 || r == ENOENT || r == ESRCH || r == EBADF || r == EPERM;
    if (r == 0 && found != NULL && account_name_valid(found->pw_name))
        (void)snprintf(look_up->name, sizeof look_up->name, "%s", found->pw_name);
}

static bool is_known(const struct peer *peer, uint64_t now_us)
{
    return peer->answered_us != 0 && now_us - peer->answered_us < PEER_KEPT_US;
}

/* An account that is not there is remembered as well: a caller without one may call as often as
 * others. A failure takes no name away, and waiting callers are told of it: asking again at once
 * would go on for as long as the database fails. */
static void on_looked_up(struct worker_job *job)
{
    struct look_up *look_up = (struct look_up *)job;
    struct peer *peer = find(look_up->peers, look_up->uid);
    bool known;

    peer->asking = false;
    if (look_up->sure || (look_up->answered && !is_known(peer, look_up->asked_us))) {
        memcpy(peer->name, look_up->name, sizeof peer->name);
        peer->answered_us = look_up->asked_us;
        peer->failed_us = 0;
    } else {
        peer->failed_us = look_up->asked_us;
    }
    known = is_known(peer, look_up->asked_us);
    free(look_up);
    tell(peer, known);
}

static void ask(struct peer *peer, uint64_t now_us)
{
    struct look_up *look_up = xcalloc(1, sizeof *look_up);

    *look_up = (struct look_up){ .job = { .run = run_look_up, .done = on_looked_up },
                                 .peers = peer->peers,
                                 .uid = peer->uid,
                                 .asked_us = now_us };
    peer->asking = true;
    worker_start(peer->peers->worker, &look_up->job);
}

/* Makes room when there is none: the caller of longest ago is forgotten. NULL: all are asked
 * for. */
static struct peer *add(struct peers *peers, uid_t uid)
{
    struct peer *peer, *oldest = peers->all;

    while (oldest != NULL && oldest->asking)
        oldest = oldest->hh.next;
    if (HASH_COUNT(peers->all) >= PEERS_MAX) {
        if (oldest == NULL)
            return NULL;
        drop(peers, oldest);
    }
    peer = xcalloc(1, sizeof *peer);
    peer->uid = uid;
    peer->peers = peers;
    HASH_ADD(hh, peers->all, uid, sizeof peer->uid, peer);
    return peer;
}

static bool is_to_be_asked(const struct peer *peer, uint64_t now_us)
{
    if (peer->failed_us != 0 && now_us - peer->failed_us < PEER_RETRY_US)
        return false;
    return peer->answered_us == 0 || now_us - peer->answered_us >= PEER_FRESH_US;
}

int peer_name(struct peers *peers, uid_t uid, uint64_t now_us, char *ret, size_t size)
{
    struct peer *peer = find(peers, uid);

    if (peer == NULL) {
        peer = add(peers, uid);
        if (peer == NULL)
            return -EBUSY;
    } else {
        HASH_DEL(peers->all, peer);
        HASH_ADD(hh, peers->all, uid, sizeof peer->uid, peer);
    }
    if (!peer->asking && is_to_be_asked(peer, now_us))
        ask(peer, now_us);
    if (!is_known(peer, now_us))
        return peer->asking ? -EAGAIN : -EIO;
    if (peer->name[0] == '\0' || strlen(peer->name) >= size)
        return -ENOENT;
    (void)snprintf(ret, size, "%s", peer->name);
    return 0;
}

/* --- waiting callers --- */

/* The question goes on: its answer is good for the next call. */
static int on_late(sd_event_source *source, uint64_t time_us, void *userdata)
{
    struct peer *peer = userdata;

    (void)source;
    (void)time_us;
    log_warning("the account database has not said in %" PRIu64 " ms who uid %u is",
                peer->peers->wait_us / USEC_PER_MSEC, (unsigned)peer->uid);
    tell(peer, false);
    return 0;
}

void peer_await(struct peers *peers, uid_t uid, struct peer_waiter *waiter)
{
    struct peer *peer = find(peers, uid);

    waiter->uid = uid;
    DL_APPEND(peer->waiters, waiter);
    if (peer->timer == NULL)
        (void)sd_event_add_time_relative(peers->event, &peer->timer, CLOCK_MONOTONIC,
                                         peers->wait_us, TIMER_ACCURACY_US, on_late, peer);
}

void peer_leave(struct peers *peers, struct peer_waiter *waiter)
{
    struct peer *peer = find(peers, waiter->uid);

    DL_DELETE(peer->waiters, waiter);
}
