/* SPDX-License-Identifier: Apache-2.0 */
/* peer.h - who is at the other end of a Unix socket, as the kernel and the account database say
 *
 * The account database may be a server far away that takes its time: it is asked beside the loop
 * (worker.h), one question after the other, and only an unknown caller waits. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <systemd/sd-event.h>

struct edl_error;
struct peers; /* names that were looked up */

/* Somebody who waits for a name. told is called once: known says whether to ask peer_name again
 * (it has a name, or there is none); not known: the account database failed, or did not answer for
 * so long that nobody waits any more. */
struct peer_waiter {
    void (*told)(struct peer_waiter *waiter, bool known);
    uid_t uid;
    struct peer_waiter *prev, *next;
};

/* Below the time that a connection has to show who it is (FRESH_TIMEOUT_S in listeners.c). */
#define PEER_WAIT_US (5 * USEC_PER_SEC)
/* A database that fails is asked again after so long. */
#define PEER_RETRY_US USEC_PER_SEC
/* An answer is as good as new for so long, */
#define PEER_FRESH_US (60 * USEC_PER_SEC)
/* and counts for so long while another one is asked for. */
#define PEER_KEPT_US (600 * USEC_PER_SEC)

/* peer_uid - of a connected Unix socket (SO_PEERCRED, unix(7)); -ENOTSOCK for any other */
int peer_uid(int fd, uid_t *ret);

/* peers_new - wait_us: PEER_WAIT_US */
int peers_new(sd_event *event, uint64_t wait_us, struct peers **ret, struct edl_error *error);

/* peers_free - waits for no answer, and nobody may wait for one; accepts NULL, returns NULL */
struct peers *peers_free(struct peers *peers);

/* peer_name - the account's name; -ENOENT: there is none, or it is longer than size; -EAGAIN: it is
 * being asked for, see peer_await; -EIO: the account database failed a moment ago; -EBUSY: so many
 * are being asked for that this one is not. now_us: of a clock that only rises. */
int peer_name(struct peers *peers, uid_t uid, uint64_t now_us, char *ret, size_t size);

/* peer_await - behind an -EAGAIN for the same uid; peer_leave: before it was told */
void peer_await(struct peers *peers, uid_t uid, struct peer_waiter *waiter);
void peer_leave(struct peers *peers, struct peer_waiter *waiter);
