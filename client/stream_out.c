/* SPDX-License-Identifier: Apache-2.0 */
/* stream_out.c - see stream_out.h */
#include "client/stream_out.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "shared/cleanup.h"
#include "shared/macro.h"

/* A terminal that cannot be opened anew takes so much without blocking, once poll says so. */
enum { SMALL_BYTES = 256 };

struct stream_out {
    struct stream_out_config config;
    int own_fd;  /* opened anew; -1: config.fd is written to */
    size_t most; /* in one call */
    bool is_socket, broken;
    sd_event_source *source; /* owned; NULL: it is always ready */
    char *data;              /* owned: [from, size) is to be written */
    size_t from, size, room;
};

size_t stream_out_pending(const struct stream_out *out)
{
    return out->broken ? 0 : out->size - out->from;
}

static void want_ready(struct stream_out *out, bool want)
{
    if (out->source != NULL)
        (void)sd_event_source_set_enabled(out->source, want ? SD_EVENT_ON : SD_EVENT_OFF);
}

static ssize_t write_some(struct stream_out *out)
{
    const char *data = out->data + out->from;
    size_t size = MIN_OF(out->size - out->from, out->most);

    return out->is_socket ? send(out->config.fd, data, size, MSG_DONTWAIT | MSG_NOSIGNAL)
                          : write(out->own_fd >= 0 ? out->own_fd : out->config.fd, data, size);
}

/* flush - as much as it takes now; ready: poll said that it takes something */
static void flush(struct stream_out *out, bool ready)
{
    bool once = out->most == SMALL_BYTES;

    while (!out->broken && out->from < out->size && (!once || ready)) {
        ssize_t n = write_some(out);

        if (n == -1 && errno == EINTR)
            continue;
        if (n == -1 && errno == EAGAIN)
            break;
        if (n == -1) {
            out->broken = true;
            want_ready(out, false);
            out->config.on_broken(out->config.userdata, -errno);
            return;
        }
        out->from += (size_t)n;
        out->config.on_written(out->config.userdata, (size_t)n);
        if (once)
            break;
    }
    if (out->from == out->size)
        out->from = out->size = 0;
    want_ready(out, !out->broken && out->size > 0);
}

static int on_ready(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    (void)source;
    (void)fd;
    (void)events;
    flush(userdata, true);
    return 0;
}

/* open_anew - the same pipe or terminal with flags of its own; -1: that is not possible */
static int open_anew(int fd, mode_t mode)
{
    char path[64];

    if (!S_ISFIFO(mode) && !S_ISCHR(mode))
        return -1;
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

int stream_out_new(const struct stream_out_config *config, struct stream_out **ret)
{
    struct stream_out *out = xcalloc(1, sizeof *out);
    struct stat st = { 0 };
    int r, fd;

    (void)fstat(config->fd, &st);
    out->config = *config;
    out->is_socket = S_ISSOCK(st.st_mode);
    out->own_fd = open_anew(config->fd, st.st_mode);
    fd = out->own_fd >= 0 ? out->own_fd : config->fd;
    r = sd_event_add_io(config->event, &out->source, fd, EPOLLOUT, on_ready, out);
    if (r == -EPERM) /* a file, or /dev/null */
        r = 0;
    out->most = out->own_fd >= 0 || out->is_socket || out->source == NULL ? SIZE_MAX : SMALL_BYTES;
    if (r < 0) {
        (void)stream_out_free(out);
        return r;
    }
    want_ready(out, false);
    *ret = out;
    return 0;
}

struct stream_out *stream_out_free(struct stream_out *out)
{
    if (out == NULL)
        return NULL;
    (void)sd_event_source_disable_unref(out->source);
    (void)safe_close(out->own_fd);
    free(out->data);
    free(out);
    return NULL;
}

void stream_out_write(struct stream_out *out, const void *data, size_t size)
{
    if (out->broken) {
        out->config.on_written(out->config.userdata, size);
        return;
    }
    if (out->from > 0) {
        memmove(out->data, out->data + out->from, out->size - out->from);
        out->size -= out->from;
        out->from = 0;
    }
    if (out->size + size > out->room) {
        out->room = MAX_OF(out->room * 2, out->size + size);
        out->data = xreallocarray(out->data, out->room, 1);
    }
    memcpy(out->data + out->size, data, size);
    out->size += size;
    flush(out, false);
    if (out->most == SMALL_BYTES)
        want_ready(out, true);
}
