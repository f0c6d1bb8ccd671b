/* SPDX-License-Identifier: Apache-2.0 */
/* http_guard.c - connections that have not shown a credential: few, and not for long; those of one
 * owner: a part */
#include "shared/http_guard.h"

#include <netinet/in.h>
#include <uthash.h>
#include <utlist.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/fair_share.h"
#include "shared/http_server.h"
#include "shared/macro.h"

#define TIMER_ACCURACY_US (50 * USEC_PER_MSEC)

/* An IPv4 address as it is mapped into IPv6; of IPv6 the half that one site has to itself; of a
 * Unix socket the account, with what no such address has. */
struct origin_key {
    uint8_t bytes[16];
};

enum { UNIX_AT = 8, UID_AT = 12 };

struct origin {
    struct origin_key key;
    unsigned fresh;
    UT_hash_handle hh;
};

struct owner {
    char *name; /* owned */
    unsigned n;
    uint64_t body_bytes;
    uint64_t body_most; /* when it stands apart; 0: any */
    bool apart;
    struct http_guarded *list; /* when it stands apart: oldest first */
    UT_hash_handle hh;
};

struct http_guarded {
    int fd;                                       /* borrowed */
    uint64_t since_us;                            /* CLOCK_MONOTONIC */
    struct origin *origin;                        /* while it is fresh */
    struct owner *owner;                          /* that it counts for; NULL: none */
    uint64_t body_bytes;                          /* that it holds of that owner's */
    struct http_guarded *prev, *next;             /* among the fresh ones */
    struct http_guarded *owner_prev, *owner_next; /* among its owner's, when that stands apart */
};

struct http_guard {
    struct http_guard_limits limits;
    sd_event *event;           /* owned reference */
    sd_event_source *timer;    /* owned; the oldest one's end */
    struct http_guarded *list; /* the fresh ones, oldest first */
    struct origin *origins;    /* uthash */
    struct owner *owners;      /* uthash, those with connections */
    unsigned fresh;
    unsigned owned;      /* of all owners, but for those that stand apart */
    uint64_t body_bytes; /* the same */
    uint64_t cut_off;
};

/* --- addresses --- */

static struct origin_key key_of(int fd, const struct sockaddr *address)
{
    const struct sockaddr_in *v4 = (const void *)address;
    const struct sockaddr_in6 *v6 = (const void *)address;
    struct origin_key key = { { 0 } };
    struct ucred peer;
    socklen_t size = sizeof peer;

    if (address != NULL && address->sa_family == AF_INET) {
        key.bytes[10] = key.bytes[11] = 0xff;
        memcpy(key.bytes + 12, &v4->sin_addr, 4);
    } else if (address != NULL && address->sa_family == AF_INET6) {
        memcpy(key.bytes, &v6->sin6_addr, UNIX_AT);
    } else if (address != NULL && address->sa_family == AF_UNIX &&
               getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0) {
        key.bytes[UNIX_AT] = 1;
        memcpy(key.bytes + UID_AT, &peer.uid, sizeof peer.uid);
    }
    return key;
}

static struct origin *origin_of(struct http_guard *guard, int fd, const struct sockaddr *address)
{
    struct origin_key key = key_of(fd, address);
    struct origin *origin;

    HASH_FIND(hh, guard->origins, &key, sizeof key, origin);
    if (origin != NULL)
        return origin;
    origin = xcalloc(1, sizeof *origin);
    origin->key = key;
    HASH_ADD(hh, guard->origins, key, sizeof origin->key, origin);
    return origin;
}

/* --- who is fresh --- */

static void arm(struct http_guard *guard)
{
    if (guard->list == NULL) {
        (void)sd_event_source_set_enabled(guard->timer, SD_EVENT_OFF);
        return;
    }
    (void)sd_event_source_set_time(guard->timer, guard->list->since_us + guard->limits.fresh_us);
    (void)sd_event_source_set_enabled(guard->timer, SD_EVENT_ONESHOT);
}

static void forget(struct http_guard *guard, struct http_guarded *connection)
{
    struct origin *origin = TAKE_PTR(connection->origin);

    if (origin == NULL) /* it is not fresh any more */
        return;
    DL_DELETE(guard->list, connection);
    guard->fresh--;
    if (--origin->fresh == 0) {
        HASH_DEL(guard->origins, origin);
        free(origin);
    }
}

/* Its owner finds it at its end, and closes it as it would if the peer had left. */
static void cut_off(struct http_guard *guard, struct http_guarded *connection)
{
    forget(guard, connection);
    guard->cut_off++;
    (void)shutdown(connection->fd, SHUT_RDWR);
}

/* Whoever has most loses first: so a flood displaces itself, and others only when it comes from as
 * many addresses as there are places. */
static struct http_guarded *victim(const struct http_guard *guard)
{
    struct http_guarded *connection;
    unsigned most = 0;

    for (const struct origin *origin = guard->origins; origin != NULL; origin = origin->hh.next)
        most = MAX_OF(most, origin->fresh);
    DL_FOREACH(guard->list, connection)
    {
        if (connection->origin->fresh == most)
            return connection;
    }
    return guard->list;
}

static int on_timer(sd_event_source *source, uint64_t time_us, void *userdata)
{
    struct http_guard *guard = userdata;
    uint64_t now_us;

    (void)source;
    (void)time_us;
    if (sd_event_now(guard->event, CLOCK_MONOTONIC, &now_us) < 0)
        return 0;
    while (guard->list != NULL && guard->list->since_us + guard->limits.fresh_us <= now_us)
        cut_off(guard, guard->list);
    arm(guard);
    return 0;
}

int http_guard_new(sd_event *event, const struct http_guard_limits *limits, struct http_guard **ret,
                   struct edl_error *error)
{
    struct http_guard *guard = xcalloc(1, sizeof *guard);
    int r;

    guard->limits = *limits;
    guard->event = sd_event_ref(event);
    r = sd_event_add_time(event, &guard->timer, CLOCK_MONOTONIC, 0, TIMER_ACCURACY_US, on_timer,
                          guard);
    if (r >= 0)
        r = sd_event_source_set_enabled(guard->timer, SD_EVENT_OFF);
    if (r < 0) {
        (void)http_guard_free(guard);
        return edl_error_errno(error, r, "cannot put the limits on the event loop");
    }
    (void)sd_event_source_set_description(guard->timer, "http-guard");
    *ret = guard;
    return 0;
}

struct http_guard *http_guard_free(struct http_guard *guard)
{
    if (guard == NULL)
        return NULL;
    (void)sd_event_source_disable_unref(guard->timer);
    (void)sd_event_unref(guard->event);
    free(guard);
    return NULL;
}

struct http_guarded *http_guard_open(struct http_guard *guard, int fd,
                                     const struct sockaddr *address)
{
    struct http_guarded *connection = xcalloc(1, sizeof *connection);
    struct origin *origin = origin_of(guard, fd, address);

    connection->fd = fd;
    connection->origin = origin;
    (void)sd_event_now(guard->event, CLOCK_MONOTONIC, &connection->since_us);
    origin->fresh++; /* before any is cut off: an origin without connections is freed */
    DL_APPEND(guard->list, connection);
    guard->fresh++;
    if (guard->fresh > guard->limits.fresh)
        cut_off(guard, victim(guard));
    arm(guard);
    return connection;
}

/* --- whose they are --- */

void http_guard_release(struct http_guard *guard, struct http_guarded *connection)
{
    struct owner *owner = connection->owner;

    if (owner == NULL)
        return;
    owner->body_bytes -= connection->body_bytes;
    if (!owner->apart)
        guard->body_bytes -= connection->body_bytes;
    connection->body_bytes = 0;
}

static void disown(struct http_guard *guard, struct http_guarded *connection)
{
    struct owner *owner = connection->owner;

    if (owner == NULL)
        return;
    http_guard_release(guard, connection);
    connection->owner = NULL;
    if (owner->apart)
        DL_DELETE2(owner->list, connection, owner_prev, owner_next);
    else
        guard->owned--;
    if (--owner->n > 0)
        return;
    HASH_DEL(guard->owners, owner);
    free(owner->name);
    free(owner);
}

/* has_room - for one more connection of an owner who has n, beside those of all others */
static bool has_room(const struct http_guard_limits *limits, unsigned most, unsigned n,
                     unsigned others)
{
    if (most == 0)
        most = limits->owner;
    return (most == 0 || n < most) &&
           (limits->owners == 0 || fair_share_has_room(n, n + others, limits->owners));
}

static struct owner *owner_new(struct http_guard *guard, const struct http_owner *wanted)
{
    struct owner *owner = xcalloc(1, sizeof *owner);

    owner->name = xstrdup(wanted->name);
    owner->apart = wanted->apart;
    owner->body_most = wanted->body_bytes;
    HASH_ADD_KEYPTR(hh, guard->owners, owner->name, strlen(owner->name), owner);
    return owner;
}

/* What is lost on the way stays open here for long, and whoever comes back after that is not to be
 * kept out by it: the newest ones count. */
static void append(struct http_guard *guard, struct owner *owner, unsigned most,
                   struct http_guarded *connection)
{
    struct http_guarded *oldest;

    DL_APPEND2(owner->list, connection, owner_prev, owner_next);
    if (most == 0 || owner->n <= most)
        return;
    oldest = owner->list;
    disown(guard, oldest);
    cut_off(guard, oldest);
}

/* false: there is no more room for its connections */
static bool own(struct http_guard *guard, struct http_guarded *connection,
                const struct http_owner *wanted)
{
    bool counts = connection->owner != NULL && !connection->owner->apart;
    struct owner *owner;
    unsigned n;

    HASH_FIND_STR(guard->owners, wanted->name, owner);
    if (owner != NULL && owner == connection->owner)
        return true;
    n = owner != NULL ? owner->n : 0;
    if (!wanted->apart &&
        !has_room(&guard->limits, wanted->connections, n, guard->owned - n - counts))
        return false;
    disown(guard, connection);
    if (owner == NULL)
        owner = owner_new(guard, wanted);
    connection->owner = owner;
    owner->n++;
    if (owner->apart)
        append(guard, owner, wanted->connections, connection);
    else
        guard->owned++;
    return true;
}

bool http_guard_prove(struct http_guard *guard, struct http_guarded *connection,
                      const struct http_owner *owner)
{
    if (owner->name == NULL)
        disown(guard, connection);
    else if (!own(guard, connection, owner))
        return false;
    forget(guard, connection);
    arm(guard);
    return true;
}

bool http_guard_may_hold(const struct http_guard *guard, const struct http_guarded *connection,
                         uint64_t bytes)
{
    const struct owner *owner = connection->owner;
    uint64_t more = bytes - MIN_OF(connection->body_bytes, bytes);

    if (owner == NULL || more == 0)
        return true;
    if (owner->apart)
        return owner->body_most == 0 ||
               more <= owner->body_most - MIN_OF(owner->body_bytes, owner->body_most);
    /* whether there is room for the last of them */
    return guard->limits.body_bytes == 0 ||
           fair_share_has_room(owner->body_bytes + more - 1, guard->body_bytes + more - 1,
                               guard->limits.body_bytes);
}

bool http_guard_hold(struct http_guard *guard, struct http_guarded *connection, uint64_t bytes)
{
    struct owner *owner = connection->owner;

    if (!http_guard_may_hold(guard, connection, bytes))
        return false;
    if (owner == NULL)
        return true;
    owner->body_bytes += bytes - connection->body_bytes;
    if (!owner->apart)
        guard->body_bytes += bytes - connection->body_bytes;
    connection->body_bytes = bytes;
    return true;
}

void http_guard_close(struct http_guard *guard, struct http_guarded *connection)
{
    forget(guard, connection);
    disown(guard, connection);
    arm(guard);
    free(connection);
}

unsigned http_guard_fresh(const struct http_guard *guard)
{
    return guard->fresh;
}

uint64_t http_guard_cut_off(const struct http_guard *guard)
{
    return guard->cut_off;
}
