/* SPDX-License-Identifier: Apache-2.0 */
/* group_poll.c - the one place where a group waits */
#include <errno.h>

#include "libedl/group_internal.h"
#include "shared/clock.h"
#include "shared/macro.h"

enum { FDS_MAX = GROUP_RANKS_MAX + GROUP_PENDING + 3 + GROUP_WAITS + 2 * GROUP_RANKS_MAX };

struct fds {
    struct pollfd fds[FDS_MAX];
    nfds_t n;
};

static void add(struct fds *fds, int fd, short events)
{
    if (fd >= 0 && events != 0)
        fds->fds[fds->n++] = (struct pollfd){ .fd = fd, .events = events };
}

static short events_of(const struct group_link *link, bool awaits)
{
    return (short)((awaits ? POLLIN : 0) | (group_link_has_out(link) ? POLLOUT : 0));
}

static void add_strangers(const struct edl_group *group, struct fds *fds)
{
    add(fds, group->listen_fd, POLLIN);
    add(fds, group->readers_fd, POLLIN);
    for (unsigned i = 0; i < group->n_askers; i++)
        add(fds, group->askers[i], POLLIN);
    for (unsigned k = 0; k < group->n; k++)
        add(fds, group->views[k].fd, POLLIN);
    for (int i = 0; i < GROUP_PENDING; i++) {
        const struct group_greeting *p = &group->pending[i];

        /* one whose generation is not there yet has said all that it can */
        add(fds, p->link.fd, events_of(&p->link, !p->has_hello || p->is_challenged));
    }
}

static void add_members(const struct edl_group *group, enum group_wait which, struct fds *fds,
                        int *timeout_ms)
{
    struct pollfd p = { .fd = -1 };

    if (group->is_alone || which == GROUP_WAITS)
        return;
    group->members.poll(group->members.self, which, &p, timeout_ms);
    add(fds, p.fd, p.events);
}

/* say_alive - as promised; the rank is in a call of its group, so nothing holds it up */
static void say_alive(struct edl_group *group, int *timeout_ms)
{
    uint64_t each_us = group->alive_us / 3, now_us;

    if (group->alive_us == 0 || group->client == NULL)
        return;
    now_us = clock_read_us(CLOCK_BOOTTIME);
    if (now_us - group->said_alive_us >= each_us) {
        (void)edl_alive(group->client, group->alive_us);
        group->said_alive_us = now_us;
    }
    if (timeout_ms != NULL && (*timeout_ms < 0 || (uint64_t)*timeout_ms > each_us / USEC_PER_MSEC))
        *timeout_ms = (int)(each_us / USEC_PER_MSEC);
}

void group_poll(struct edl_group *group, enum group_wait which)
{
    struct fds fds = { .n = 0 };
    int timeout_ms = -1;

    for (unsigned k = 0; k < group->n; k++)
        add(&fds, group->links[k].fd, events_of(&group->links[k], group->awaits[k]));
    add(&fds, group->follow.link.fd,
        events_of(&group->follow.link, group->follow.is_newcomer && !group->follow.has_sum));
    if (group->follow.is_newcomer) /* its patience is looked at */
        timeout_ms = 1000;
    add_strangers(group, &fds);
    add_members(group, which, &fds, &timeout_ms);
    say_alive(group, &timeout_ms);
    (void)poll(fds.fds, fds.n, timeout_ms);
    group_greet_all(group);
    group_follower_send(group);
}

/* why it begins anew: a scheduler that was away for longer than a wait lasts comes back, and then
 * newcomers do */
static void look_for_newcomers(struct edl_group *group)
{
    const struct group_members *m = &group->members;
    int r;

    if (group->is_alone || group->rank != 0 || group->reforms)
        return;
    r = m->go_on(m->self, GROUP_WAIT_OVER, NULL);
    if (r == 1)
        group->reforms = true;
    else if (r < 0 && r != -EAGAIN)
        (void)m->begin(m->self, GROUP_WAIT_OVER, group->generation);
}

bool group_look(struct edl_group *group)
{
    struct fds fds = { .n = 0 };

    for (unsigned k = 0; k < group->n; k++)
        add(&fds, group->links[k].fd, POLLRDHUP);
    say_alive(group, NULL);
    look_for_newcomers(group);
    group_greet_all(group);
    group_follower_send(group);
    return fds.n > 0 && poll(fds.fds, fds.n, 0) > 0;
}
