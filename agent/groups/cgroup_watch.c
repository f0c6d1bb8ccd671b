/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup_watch.c - see cgroup_watch.h
 *
 * The kernel tells a change of cgroup.events at once, but for one that follows another within
 * 10 ms: that is told when those are over (cgroup_file_notify), and never if the group is removed
 * before, as the service manager does at once. So a waiter that saw a group populated which has
 * been so for less than that may never be woken. Hence one more look, when that time is surely
 * over: a group that is still populated then is told of at once when it changes. */
#include "agent/groups/cgroup_watch.h"

#include <sys/epoll.h>

#include "agent/groups/cgroup.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/macro.h"

#define LATE_US (40 * USEC_PER_MSEC) /* 10 ms, in ticks of 10 ms, and some */

struct cgroup_watch {
    int fd; /* cgroup.events */
    sd_event_source *source, *late;
    cgroup_watch_fn changed;
    void *userdata;
};

static int on_events(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    struct cgroup_watch *watch = userdata;

    (void)source;
    (void)fd;
    (void)revents;
    watch->changed(watch->userdata);
    return 0;
}

static int on_late(sd_event_source *source, uint64_t now_us, void *userdata)
{
    struct cgroup_watch *watch = userdata;

    (void)source;
    (void)now_us;
    watch->changed(watch->userdata);
    return 0;
}

int cgroup_watch_new(sd_event *event, const char *path, cgroup_watch_fn changed, void *userdata,
                     struct cgroup_watch **ret)
{
    struct cgroup_watch *watch = xcalloc(1, sizeof *watch);
    int r;

    watch->changed = changed;
    watch->userdata = userdata;
    watch->fd = cgroup_open_events(path);
    r = watch->fd < 0
            ? watch->fd
            : sd_event_add_io(event, &watch->source, watch->fd, EPOLLPRI, on_events, watch);
    if (r >= 0)
        /* not relative: that counts from when the loop woke, which may be long ago */
        r = sd_event_add_time(event, &watch->late, CLOCK_BOOTTIME,
                              clock_read_us(CLOCK_BOOTTIME) + LATE_US, USEC_PER_MSEC, on_late,
                              watch);
    if (r < 0) {
        (void)cgroup_watch_free(watch);
        return r;
    }
    *ret = watch;
    return 0;
}

struct cgroup_watch *cgroup_watch_free(struct cgroup_watch *watch)
{
    if (watch == NULL)
        return NULL;
    sd_event_source_disable_unref(watch->source);
    sd_event_source_disable_unref(watch->late);
    (void)safe_close(watch->fd);
    free(watch);
    return NULL;
}

bool cgroup_watch_is_populated(struct cgroup_watch *watch)
{
    return cgroup_is_populated(watch->fd);
}
