/* SPDX-License-Identifier: Apache-2.0 */
/* http_stream.c - an answer whose body goes on for as long as there is something to tell
 *
 * libmicrohttpd asks for the next piece when the connection takes more. When there is none the
 * connection is suspended from inside that question and resumed by http_stream_wake. A reader
 * callback that only says "not yet" would be asked again in every turn of the loop. */
#include "shared/http_internal.h"

#include "shared/macro.h"

#include <sys/epoll.h>

enum { BLOCK_BYTES = 16 * 1024 };

struct http_stream {
    struct http_request *request; /* borrowed */
    struct http_stream_config config;
    char *data; /* owned: what was written and has not gone out */
    size_t size, sent, room;
    size_t asked; /* by the connection, for the next piece */
    bool ended, broken;
    sd_event_source *watch; /* owned; NULL: nobody looks whether its reader leaves */
};

static ssize_t on_read(void *userdata, uint64_t position, char *to, size_t max)
{
    struct http_stream *stream = userdata;
    size_t n;

    (void)position;
    if (stream->broken)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    if (stream->sent == stream->size && !stream->ended) {
        stream->sent = stream->size = 0;
        stream->asked = max;
        stream->config.on_room(stream, stream->config.userdata);
    }
    n = MIN_OF(max, stream->size - stream->sent);
    if (n > 0) {
        memcpy(to, stream->data + stream->sent, n);
        stream->sent += n;
        return (ssize_t)n;
    }
    if (stream->broken)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    if (stream->ended)
        return MHD_CONTENT_READER_END_OF_STREAM;
    http_request_suspend(stream->request);
    return 0;
}

/* A connection that is suspended is looked at by nobody else. */
static int on_left(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    (void)fd;
    (void)events;
    (void)sd_event_source_set_enabled(source, SD_EVENT_OFF);
    http_stream_break(userdata);
    return 0;
}

static void watch(struct http_stream *stream)
{
    sd_event *event = sd_event_source_get_event(stream->request->server->io_source);

    (void)sd_event_add_io(event, &stream->watch, http_request_peer_fd(stream->request), EPOLLRDHUP,
                          on_left, stream);
}

struct http_stream *http_stream_begin(struct http_request *request, unsigned status,
                                      const char *content_type,
                                      const struct http_stream_config *config)
{
    struct http_stream *stream = xcalloc(1, sizeof *stream);

    stream->request = request;
    stream->config = *config;
    request->stream = stream;
    if (config->watched)
        watch(stream);
    http_reply_response(request, status, content_type,
                        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_BYTES, on_read,
                                                          stream, NULL));
    return stream;
}

void http_stream_write(struct http_stream *stream, const void *data, size_t size)
{
    if (stream->size + size > stream->room) {
        stream->room = MAX_OF(stream->room * 2, stream->size + size);
        stream->data = xreallocarray(stream->data, stream->room, 1);
    }
    memcpy(stream->data + stream->size, data, size);
    stream->size += size;
}

size_t http_stream_room(const struct http_stream *stream)
{
    return stream->asked;
}

void http_stream_wake(struct http_stream *stream)
{
    http_request_detach(stream->request);
}

void http_stream_end(struct http_stream *stream)
{
    stream->ended = true;
    http_stream_wake(stream);
}

void http_stream_break(struct http_stream *stream)
{
    stream->broken = true;
    http_stream_wake(stream);
}

void http_stream_close(struct http_stream *stream)
{
    if (stream->config.measured && !stream->ended)
        http_stream_break(stream);
    else
        http_stream_end(stream);
}

void http_stream_gone(struct http_stream *stream)
{
    stream->watch = sd_event_source_disable_unref(stream->watch);
    stream->config.on_gone(stream, stream->config.userdata);
    free(stream->data);
    free(stream);
}
