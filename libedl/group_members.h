/* SPDX-License-Identifier: Apache-2.0 */
/* group_members.h - how a group learns who its members are
 *
 * A group waits in a poll loop of its own, so each wait is begun, polled and gone on with. Tests
 * bring members of their own. */
#pragma once

#include <poll.h>

#include "libedl/edl/edl.h"

enum group_wait { GROUP_WAIT_WORLD, GROUP_WAIT_OVER, GROUP_WAITS };

struct group_members {
    void *self;
    /* begin - the next generation that is not `generation`, or its end; a wait before is ended */
    int (*begin)(void *self, enum group_wait which, uint64_t generation);
    /* poll - what go_on waits for; *timeout_ms: go on after so long at the latest */
    void (*poll)(void *self, enum group_wait which, struct pollfd *ret, int *timeout_ms);
    /* go_on - -EAGAIN: poll; of a world 1 (*ret is it), or 0: this process is being stopped; of the
     * end of a generation 1; an error ends the wait, too */
    int (*go_on)(void *self, enum group_wait which, struct edl_world **ret);
    void (*end)(void *self, enum group_wait which);
    /* now - as edl_world_now: the generation that is there; NULL: nobody knows */
    int (*now)(void *self, struct edl_world **ret);
    void (*free)(void *self);
};

/* group_members_of - those that the cluster names; borrows the client */
struct group_members group_members_of(struct edl_client *client);
