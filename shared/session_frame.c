/* SPDX-License-Identifier: Apache-2.0 */
/* session_frame.c - see session_frame.h */
#include "shared/session_frame.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "shared/error.h"
#include "shared/macro.h"

enum { TYPE_AT = 0, ZERO_AT = 1, CHANNEL_AT = 2, SIZE_AT = 4 };

void session_put_u16(uint16_t value, uint8_t ret[2])
{
    value = htons(value);
    memcpy(ret, &value, sizeof value);
}

void session_put_u32(uint32_t value, uint8_t ret[4])
{
    value = htonl(value);
    memcpy(ret, &value, sizeof value);
}

static uint16_t get_u16(const uint8_t *at)
{
    uint16_t value;

    memcpy(&value, at, sizeof value);
    return ntohs(value);
}

static uint32_t get_u32(const uint8_t *at)
{
    uint32_t value;

    memcpy(&value, at, sizeof value);
    return ntohl(value);
}

void session_put_size(const struct session_size *size, uint8_t ret[8])
{
    session_put_u16(size->rows, ret);
    session_put_u16(size->columns, ret + 2);
    session_put_u16(size->x_pixels, ret + 4);
    session_put_u16(size->y_pixels, ret + 6);
}

bool session_frame_u16(const struct session_frame *frame, uint16_t *ret)
{
    if (frame->size != sizeof *ret)
        return false;
    *ret = get_u16(frame->data);
    return true;
}

bool session_frame_u32(const struct session_frame *frame, uint32_t *ret)
{
    if (frame->size != sizeof *ret)
        return false;
    *ret = get_u32(frame->data);
    return true;
}

bool session_frame_size(const struct session_frame *frame, struct session_size *ret)
{
    if (frame->size != 4 * sizeof(uint16_t))
        return false;
    *ret = (struct session_size){ .rows = get_u16(frame->data),
                                  .columns = get_u16(frame->data + 2),
                                  .x_pixels = get_u16(frame->data + 4),
                                  .y_pixels = get_u16(frame->data + 6) };
    return true;
}

void session_frame_head(enum session_frame_type type, uint16_t channel, size_t size,
                        uint8_t ret[SESSION_HEAD_BYTES])
{
    ret[TYPE_AT] = (uint8_t)type;
    ret[ZERO_AT] = 0;
    session_put_u16(channel, ret + CHANNEL_AT);
    session_put_u32((uint32_t)size, ret + SIZE_AT);
}

static bool is_known(uint8_t type)
{
    return type >= SESSION_DATA && type <= SESSION_WINDOW;
}

/* keep - as much of *data as is missing of n bytes in all; true: they are there */
static bool keep(struct session_reader *reader, size_t n, const uint8_t **data, size_t *size)
{
    size_t more = MIN_OF(n - reader->n_kept, *size);

    if (more > 0)
        memcpy(reader->kept + reader->n_kept, *data, more);
    reader->n_kept += more;
    *data += more;
    *size -= more;
    return reader->n_kept == n;
}

int session_reader_take(struct session_reader *reader, const uint8_t **data, size_t *size,
                        struct session_frame *ret, struct edl_error *error)
{
    const uint8_t *head = reader->kept;

    for (;;) {
        uint32_t n;

        if (reader->n_kept < SESSION_HEAD_BYTES && !keep(reader, SESSION_HEAD_BYTES, data, size))
            return 0;
        n = get_u32(head + SIZE_AT);
        if (head[ZERO_AT] != 0 || n > SESSION_DATA_MAX)
            return edl_error_set(error, -EBADMSG,
                                 "what came is no frame of a session: type %u, size %u",
                                 head[TYPE_AT], n);
        if (!keep(reader, SESSION_HEAD_BYTES + n, data, size))
            return 0;
        reader->n_kept = 0;
        if (!is_known(head[TYPE_AT]))
            continue;
        *ret = (struct session_frame){ .type = head[TYPE_AT],
                                       .channel = get_u16(head + CHANNEL_AT),
                                       .data = reader->kept + SESSION_HEAD_BYTES,
                                       .size = n };
        return 1;
    }
}

void session_window_begin(struct session_window *window)
{
    *window = (struct session_window){ .may_send = SESSION_WINDOW_BYTES };
}

void session_window_sent(struct session_window *window, size_t size)
{
    window->may_send -= (uint32_t)MIN_OF(size, (size_t)window->may_send);
}

bool session_window_granted(struct session_window *window, uint32_t size)
{
    if (size > SESSION_WINDOW_BYTES - window->may_send)
        return false;
    window->may_send += size;
    return true;
}

bool session_window_came(struct session_window *window, size_t size)
{
    if (size > SESSION_WINDOW_BYTES - window->ahead - window->untold)
        return false;
    window->ahead += (uint32_t)size;
    return true;
}

uint32_t session_window_taken(struct session_window *window, size_t size)
{
    uint32_t told;

    size = MIN_OF(size, (size_t)window->ahead);
    window->ahead -= (uint32_t)size;
    window->untold += (uint32_t)size;
    if (window->untold < SESSION_WINDOW_BYTES / 4)
        return 0;
    told = window->untold;
    window->untold = 0;
    return told;
}
