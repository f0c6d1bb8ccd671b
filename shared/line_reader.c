/* SPDX-License-Identifier: Apache-2.0 */
/* line_reader.c - the lines of a text, one after the other, of any file */
#include "shared/line_reader.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "shared/macro.h"

#define ROOM_FIRST (256 * 1024)

void line_reader_init(struct line_reader *reader, int fd)
{
    *reader =
        (struct line_reader){ .fd = fd, .buffer = xcalloc(1, ROOM_FIRST), .room = ROOM_FIRST };
}

void line_reader_clear(struct line_reader *reader)
{
    free(reader->buffer);
    *reader = (struct line_reader){ .fd = -1 };
}

/* fill - more bytes behind those that are there */
static int fill(struct line_reader *reader)
{
    ssize_t n;

    if (reader->begin > 0) {
        memmove(reader->buffer, reader->buffer + reader->begin, reader->end - reader->begin);
        reader->end -= reader->begin;
        reader->begin = 0;
    }
    if (reader->end == reader->room) {
        reader->room = reader->room * 2;
        reader->buffer = xreallocarray(reader->buffer, reader->room, 1);
    }
    do
        n = read(reader->fd, reader->buffer + reader->end, reader->room - reader->end);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return -errno;
    reader->end += (size_t)n;
    reader->ended = n == 0;
    return 0;
}

static int give(struct line_reader *reader, size_t size, size_t taken, const uint8_t **ret_line,
                size_t *ret_size)
{
    if (size > LINE_BYTES_MAX)
        return -E2BIG;
    *ret_line = reader->buffer + reader->begin;
    *ret_size = size;
    reader->begin += taken;
    reader->offset_bytes += taken;
    return 1;
}

int line_reader_next(struct line_reader *reader, const uint8_t **ret_line, size_t *ret_size)
{
    size_t looked_at = 0; /* bytes of this line without a newline among them */

    for (;;) {
        size_t n = reader->end - reader->begin;
        const uint8_t *from = reader->buffer + reader->begin;
        const uint8_t *newline =
            n > looked_at ? memchr(from + looked_at, '\n', n - looked_at) : NULL;
        int r;

        if (newline != NULL)
            return give(reader, (size_t)(newline - from), (size_t)(newline - from) + 1, ret_line,
                        ret_size);
        if (reader->ended)
            return n > 0 ? give(reader, n, n, ret_line, ret_size) : 0;
        if (n > LINE_BYTES_MAX)
            return -E2BIG;
        looked_at = n;
        r = fill(reader);
        if (r < 0)
            return r;
    }
}
