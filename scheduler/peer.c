/* SPDX-License-Identifier: Apache-2.0 */
/* peer.c - see peer.h */
#include "scheduler/peer.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <uthash.h>

#include "shared/macro.h"

#define PASSWD_BYTES 16384
#define PEER_KEPT_US (60 * USEC_PER_SEC)
#define PEERS_MAX 1024

struct peers {
    uid_t uid;
    char name[256];    /* "": there is no such account */
    uint64_t until_us; /* it is believed */
    UT_hash_handle hh;
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

static void drop(struct peers **peers, struct peers *peer)
{
    HASH_DEL(*peers, peer);
    free(peer);
}

/* An account that is not there is remembered as well: who has none may call as often as others. */
static struct peers *look_up(struct peers **peers, uid_t uid, uint64_t now_us)
{
    struct passwd entry, *found = NULL;
    char buffer[PASSWD_BYTES];
    struct peers *peer;

    if (HASH_COUNT(*peers) >= PEERS_MAX)
        *peers = peers_free(*peers);
    peer = xcalloc(1, sizeof *peer);
    peer->uid = uid;
    peer->until_us = now_us + PEER_KEPT_US;
    if (getpwuid_r(uid, &entry, buffer, sizeof buffer, &found) == 0 && found != NULL &&
        strlen(found->pw_name) < sizeof peer->name)
        (void)snprintf(peer->name, sizeof peer->name, "%s", found->pw_name);
    HASH_ADD(hh, *peers, uid, sizeof peer->uid, peer);
    return peer;
}

int peer_name(struct peers **peers, uid_t uid, uint64_t now_us, char *ret, size_t size)
{
    struct peers *peer;

    HASH_FIND(hh, *peers, &uid, sizeof uid, peer);
    if (peer != NULL && peer->until_us <= now_us) {
        drop(peers, peer);
        peer = NULL;
    }
    if (peer == NULL)
        peer = look_up(peers, uid, now_us);
    if (peer->name[0] == '\0' || strlen(peer->name) >= size)
        return -ENOENT;
    (void)snprintf(ret, size, "%s", peer->name);
    return 0;
}

struct peers *peers_free(struct peers *peers)
{
    struct peers *peer, *next;

    HASH_ITER(hh, peers, peer, next)
    {
        drop(&peers, peer);
    }
    return NULL;
}
