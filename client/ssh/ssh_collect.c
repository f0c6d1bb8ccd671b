/* SPDX-License-Identifier: Apache-2.0 */
/* ssh_collect.c - a short-lived program, and its output; on an sd-event loop */
#include "client/ssh/ssh_collect.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "client/ssh/ssh_child.h"
#include "shared/cleanup.h"
#include "shared/macro.h"

struct stream {
    int *fd; /* of the child below */
    char bytes[SSH_COLLECT_MAX];
    size_t used;
    sd_event_source *source;
};

struct ssh_collect {
    sd_event *event; /* ref */
    struct ssh_child child;
    struct stream out, err;
    sd_event_source *gone;
    ssh_collect_done *done;
    void *userdata;
};

/* take - what is there now; what does not fit is read and forgotten */
static void take(struct stream *stream)
{
    char beyond[4096];

    while (*stream->fd != -1) {
        size_t room = sizeof stream->bytes - 1 - stream->used;
        ssize_t n = room > 0 ? read(*stream->fd, stream->bytes + stream->used, room)
                             : read(*stream->fd, beyond, sizeof beyond);

        if (n == -1 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n <= 0) {
            stream->source = sd_event_source_disable_unref(stream->source);
            *stream->fd = safe_close(*stream->fd);
            return;
        }
        for (ssize_t i = 0; room > 0 && i < n; i++)
            if (stream->bytes[stream->used + (size_t)i] == '\0')
                stream->bytes[stream->used + (size_t)i] = '?';
        stream->used += room > 0 ? (size_t)n : 0;
        if (room == 0)
            return; /* the loop comes back: a program that never stops printing holds up nobody */
    }
}

static int on_output(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    (void)source;
    (void)fd;
    (void)revents;
    take(userdata);
    return 0;
}

static int on_gone(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    struct ssh_collect *collect = userdata;
    int status;

    (void)source;
    (void)fd;
    (void)revents;
    take(&collect->out);
    take(&collect->err);
    collect->gone = sd_event_source_disable_unref(collect->gone);
    status = ssh_child_reap(&collect->child);
    collect->done(collect->userdata, status, collect->out.bytes, collect->err.bytes);
    return 0;
}

int ssh_collect_start(sd_event *event, const char *const *argv, ssh_collect_done *done,
                      void *userdata, struct ssh_collect **ret, struct edl_error *error)
{
    struct ssh_collect *collect = xcalloc(1, sizeof *collect);
    int r = ssh_child_start(argv, NULL, false, &collect->child, error);

    if (r < 0) {
        free(collect);
        return r;
    }
    collect->event = sd_event_ref(event);
    collect->done = done;
    collect->userdata = userdata;
    collect->out.fd = &collect->child.out;
    collect->err.fd = &collect->child.err;
    if (sd_event_add_io(event, &collect->out.source, collect->child.out, EPOLLIN, on_output,
                        &collect->out) < 0 ||
        sd_event_add_io(event, &collect->err.source, collect->child.err, EPOLLIN, on_output,
                        &collect->err) < 0 ||
        sd_event_add_io(event, &collect->gone, collect->child.pidfd, EPOLLIN, on_gone, collect) < 0)
        abort(); /* of memory only */
    *ret = collect;
    return 0;
}

struct ssh_collect *ssh_collect_free(struct ssh_collect *collect)
{
    if (collect == NULL)
        return NULL;
    (void)sd_event_source_disable_unref(collect->out.source);
    (void)sd_event_source_disable_unref(collect->err.source);
    (void)sd_event_source_disable_unref(collect->gone);
    ssh_child_abandon(&collect->child, collect->event);
    sd_event_unref(collect->event);
    free(collect);
    return NULL;
}
