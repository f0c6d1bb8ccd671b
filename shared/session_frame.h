/* SPDX-License-Identifier: Apache-2.0 */
/* session_frame.h - what travels in a session between a person and a process: frames, and windows
 *
 * Both directions have the same frames, one after the other:
 *
 *     byte 0      1     2..3      4..7     8..
 *     +--------+-----+---------+--------+------------------+
 *     | type   | 0   | channel | size   | size bytes       |     numbers are big-endian
 *     +--------+-----+---------+--------+------------------+
 *
 * The scheduler passes them on and looks at none. Each channel has a window, as HTTP/2 has it: its
 * sender may be SESSION_WINDOW_BYTES of data ahead of what the receiver has taken. So the receiver
 * reads on at any time, and a signal never waits behind data that nobody takes.
 *
 * Pure. Used by: edl (exec, shell, attach, port-forward), edl-session. Fuzzed: replay_session_frame
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct edl_error;

enum {
    SESSION_HEAD_BYTES = 8,
    SESSION_DATA_MAX = 32 * 1024, /* in one frame */
    SESSION_WINDOW_BYTES = 1024 * 1024,
    SESSION_CHANNELS_MAX = 64, /* connections of one forward at once */
    SESSION_PING_S = 15,       /* each end says something so often: proxies cut silent ones off */
};

/* Channels of a program. Those of a forward are its connections, numbered by the person. */
enum session_channel { SESSION_STDIN, SESSION_STDOUT, SESSION_STDERR };

enum session_frame_type {
    SESSION_DATA = 1,   /* bytes of a channel, within its window */
    SESSION_EOF = 2,    /* no more bytes in this direction of the channel */
    SESSION_RESIZE = 3, /* person: struct session_size, as four numbers of 2 bytes */
    SESSION_SIGNAL = 4, /* person: 1 byte, the number of Linux, for the program's process group */
    SESSION_EXIT = 5,   /* node: the last frame; 1 byte 0 or 1 (killed by a signal), 1 byte value */
    SESSION_ERROR = 6,  /* node: JSON {"text", "remedy", "code"}. Of channel 0: the last frame, code
                           is the exit status for the person; in a forward of the channel's end */
    SESSION_OPEN = 7,   /* person, in a forward: 2 bytes, the port that the channel leads to */
    SESSION_CLOSE = 8,  /* in a forward: the channel is over in both directions, at once */
    SESSION_PING = 9,   /* nothing; says that this end is there */
    SESSION_NOTE = 10,  /* node: text for the person, a line */
    SESSION_READY = 11, /* node: the program runs, or the forward takes connections */
    SESSION_WINDOW = 12, /* 4 bytes: so many more bytes of the channel may be sent */
};

struct session_size {
    uint16_t rows, columns, x_pixels, y_pixels;
};

struct session_frame {
    enum session_frame_type type;
    uint16_t channel;
    const uint8_t *data; /* borrowed */
    size_t size;
};

/* session_frame_head - in front of size (SESSION_DATA_MAX at most) bytes of data */
void session_frame_head(enum session_frame_type type, uint16_t channel, size_t size,
                        uint8_t ret[SESSION_HEAD_BYTES]);

/* What has come of frames so far: one that is not whole is kept. Zeroed is empty; nothing is owned.
 */
struct session_reader {
    uint8_t kept[SESSION_HEAD_BYTES + SESSION_DATA_MAX];
    size_t n_kept;
};

/* session_reader_take - the next whole frame out of *data, which moves on behind what was taken
 * 1: *ret is one, good until the next call; 0: all was taken and none is whole; -EBADMSG with
 * error: no frame of ours, the session is over. A frame of a type that is unknown here is passed
 * over. */
int session_reader_take(struct session_reader *reader, const uint8_t **data, size_t *size,
                        struct session_frame *ret, struct edl_error *error);

/* Numbers in the data of a frame; false: it has another size, or the value cannot be. */
bool session_frame_size(const struct session_frame *frame, struct session_size *ret);
bool session_frame_u16(const struct session_frame *frame, uint16_t *ret);
bool session_frame_u32(const struct session_frame *frame, uint32_t *ret);
void session_put_size(const struct session_size *size, uint8_t ret[8]);
void session_put_u16(uint16_t value, uint8_t ret[2]);
void session_put_u32(uint32_t value, uint8_t ret[4]);

/* Both ends of one direction of a channel: the sender counts may_send, the receiver the rest. */
struct session_window {
    uint32_t may_send; /* bytes of data */
    uint32_t untold;   /* bytes that were taken, and that the sender does not know of */
    uint32_t ahead;    /* bytes that came and were not taken */
};

void session_window_begin(struct session_window *window);
/* session_window_sent - at most may_send */
void session_window_sent(struct session_window *window, size_t size);
/* session_window_granted - SESSION_WINDOW came. false: more than there can be */
bool session_window_granted(struct session_window *window, uint32_t size);
/* session_window_came - data came. false: more than was granted: the peer is none of ours */
bool session_window_came(struct session_window *window, size_t size);
/* session_window_taken - data went on to where it belongs. The size of the SESSION_WINDOW to send
 * now; 0: none yet */
uint32_t session_window_taken(struct session_window *window, size_t size);
