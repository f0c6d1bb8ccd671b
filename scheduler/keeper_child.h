/* SPDX-License-Identifier: Apache-2.0 */
/* keeper_child.h - an edl-lease-keeper of the scheduler's own, where no service manager has one
 *
 * It is called at a socket in the state folder, which whoever is started there next finds. Ended by
 * a scheduler that ends in good order; one that is killed leaves it alone. */
#pragma once

struct edl_error;

#define KEEPER_CHILD_NONE ((struct keeper_child){ .listen_fd = -1, .pidfd = -1 })

struct keeper_child {
    int listen_fd; /* owned: where it is called; -1: not made yet */
    int pidfd;     /* owned: of our unreaped child; -1: none was started */
};

/* keeper_child_start - one at the socket path, which is made anew by the first; one that was
 * started before is ended */
int keeper_child_start(struct keeper_child *child, const char *path, struct edl_error *error);
void keeper_child_end(struct keeper_child *child);

/* keeper_child_call - whoever is at path, also one that is nobody's child; a descriptor or -errno
 */
int keeper_child_call(const char *path);
