/* SPDX-License-Identifier: Apache-2.0 */
/* peer.h - who is at the other end of a Unix socket, as the kernel and the account database say */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct peers; /* names that were looked up; NULL is an empty one */

/* peer_uid - of a connected Unix socket (SO_PEERCRED, unix(7)); -ENOTSOCK for any other */
int peer_uid(int fd, uid_t *ret);

/* peer_name - the account's name, or that there is none (-ENOENT), believed for a minute
 * NB: it blocks while the account database answers, and that may be a server far away: once a
 * minute for an account is what is done about it, and a cache on this machine is what the manual
 * asks for. now_us: of a clock that only rises. */
int peer_name(struct peers **peers, uid_t uid, uint64_t now_us, char *ret, size_t size);

/* peers_free - accepts NULL; returns NULL */
struct peers *peers_free(struct peers *peers);
