/* SPDX-License-Identifier: Apache-2.0 */
/* peer.h - who is at the other end of a Unix socket, as the kernel and the account database say */
#pragma once

#include <stddef.h>
#include <sys/types.h>

struct peers; /* names that were looked up; NULL is an empty one */

/* peer_uid - of a connected Unix socket (SO_PEERCRED, unix(7)); -ENOTSOCK for any other */
int peer_uid(int fd, uid_t *ret);

/* peer_name - the account's name. Found once and kept: the database may be a server far away, and
 * nobody else is answered meanwhile. -ENOENT: there is no such account */
int peer_name(struct peers **peers, uid_t uid, char *ret, size_t size);

/* peers_free - accepts NULL; returns NULL */
struct peers *peers_free(struct peers *peers);
