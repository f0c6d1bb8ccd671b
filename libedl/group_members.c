/* SPDX-License-Identifier: Apache-2.0 */
/* group_members.c - the members of a group, as the cluster names them */
#include "libedl/group_members.h"

#include <errno.h>
#include <stdlib.h>

#include "shared/macro.h"

struct cluster_members {
    struct edl_client *client; /* borrowed */
    struct edl_wait *waits[GROUP_WAITS];
};

static void end(void *self, enum group_wait which)
{
    struct cluster_members *members = self;

    members->waits[which] = edl_wait_free(members->waits[which]);
}

static int begin(void *self, enum group_wait which, uint64_t generation)
{
    struct cluster_members *members = self;

    end(self, which);
    return which == GROUP_WAIT_WORLD
               ? edl_world_join_begin(members->client, generation, &members->waits[which])
               : edl_world_over_begin(members->client, generation, &members->waits[which]);
}

static void poll_for(void *self, enum group_wait which, struct pollfd *ret, int *timeout_ms)
{
    const struct cluster_members *members = self;
    const struct edl_wait *wait = members->waits[which];
    int ms;

    *ret = (struct pollfd){ .fd = -1 };
    if (wait == NULL)
        return;
    ret->fd = edl_wait_fd(wait);
    ret->events = edl_wait_events(wait);
    ms = edl_wait_timeout_ms(wait);
    *timeout_ms = *timeout_ms < 0 ? ms : MIN_OF(*timeout_ms, ms);
}

static int go_on(void *self, enum group_wait which, struct edl_world **ret)
{
    struct cluster_members *members = self;
    int r;

    if (members->waits[which] == NULL)
        return -EAGAIN;
    r = edl_wait_go_on(members->waits[which], ret);
    if (r != -EAGAIN)
        end(self, which);
    return r;
}

static int now(void *self, struct edl_world **ret)
{
    struct cluster_members *members = self;

    return edl_world_now(members->client, ret);
}

static void free_members(void *self)
{
    for (int which = 0; which < GROUP_WAITS; which++)
        end(self, (enum group_wait)which);
    free(self);
}

struct group_members group_members_of(struct edl_client *client)
{
    struct cluster_members *members = xcalloc(1, sizeof *members);

    members->client = client;
    return (struct group_members){ .self = members,
                                   .begin = begin,
                                   .poll = poll_for,
                                   .go_on = go_on,
                                   .end = end,
                                   .now = now,
                                   .free = free_members };
}
