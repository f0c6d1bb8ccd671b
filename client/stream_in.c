/* SPDX-License-Identifier: Apache-2.0 */
/* stream_in.c - see stream_in.h */
#include "client/stream_in.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "shared/cleanup.h"
#include "shared/macro.h"

enum { PIECE_BYTES = 32 * 1024 };

struct stream_in {
    struct stream_in_config config;
    sd_event_source *source; /* owned */
};

static void read_some(struct stream_in *in)
{
    size_t room = MIN_OF(in->config.room(in->config.userdata), (size_t)PIECE_BYTES);
    char data[PIECE_BYTES];
    ssize_t n;

    if (room == 0) {
        stream_in_want(in, false);
        return;
    }
    n = read(in->config.fd, data, room);
    if (n > 0)
        in->config.on_data(in->config.userdata, data, (size_t)n);
    else if (n == 0 || (errno != EAGAIN && errno != EINTR))
        in->config.on_end(in->config.userdata);
}

static int on_readable(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    (void)source;
    (void)fd;
    (void)events;
    read_some(userdata);
    return 0;
}

/* What epoll does not take is always readable. */
static int on_turn(sd_event_source *source, void *userdata)
{
    (void)source;
    read_some(userdata);
    return 0;
}

int stream_in_new(const struct stream_in_config *config, struct stream_in **ret)
{
    struct stream_in *in = xcalloc(1, sizeof *in);
    int r;

    in->config = *config;
    r = sd_event_add_io(config->event, &in->source, config->fd, EPOLLIN, on_readable, in);
    if (r == -EPERM)
        r = sd_event_add_defer(config->event, &in->source, on_turn, in);
    if (r < 0) {
        free(in);
        return r;
    }
    stream_in_want(in, true);
    *ret = in;
    return 0;
}

struct stream_in *stream_in_free(struct stream_in *in)
{
    if (in == NULL)
        return NULL;
    (void)sd_event_source_disable_unref(in->source);
    free(in);
    return NULL;
}

void stream_in_want(struct stream_in *in, bool want)
{
    (void)sd_event_source_set_enabled(in->source, want ? SD_EVENT_ON : SD_EVENT_OFF);
}
