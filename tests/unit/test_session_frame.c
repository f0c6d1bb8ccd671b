/* SPDX-License-Identifier: Apache-2.0 */
/* test_session_frame.c - frames of a session, whole and in pieces; windows of both ends */
#include <string.h>

#include "shared/error.h"
#include "shared/macro.h"
#include "shared/session_frame.h"
#include "tests/unit/test.h"

static size_t put(uint8_t *at, enum session_frame_type type, uint16_t channel, const void *data,
                  size_t size)
{
    session_frame_head(type, channel, size, at);
    if (size > 0)
        memcpy(at + SESSION_HEAD_BYTES, data, size);
    return SESSION_HEAD_BYTES + size;
}

static int take(struct session_reader *reader, const uint8_t **data, size_t *size,
                struct session_frame *ret)
{
    struct edl_error error = { 0 };

    return session_reader_take(reader, data, size, ret, &error);
}

TEST(test_the_head_is_as_it_is_written_down)
{
    static const uint8_t expected[] = { 1, 0, 0x01, 0x02, 0, 0, 0x03, 0x04 };
    uint8_t head[SESSION_HEAD_BYTES];

    session_frame_head(SESSION_DATA, 0x0102, 0x0304, head);
    assert_memory_equal(head, expected, sizeof expected);
}

/* However it is cut, the same frames come out. */
TEST(test_frames_come_in_any_pieces)
{
    static struct session_reader reader;
    uint8_t bytes[256];
    size_t n = 0;

    n += put(bytes + n, SESSION_DATA, SESSION_STDOUT, "hello", 5);
    n += put(bytes + n, SESSION_PING, 0, NULL, 0);
    n += put(bytes + n, SESSION_EOF, SESSION_STDOUT, NULL, 0);
    n += put(bytes + n, SESSION_EXIT, 0, "\0\3", 2);
    for (size_t piece = 1; piece <= n; piece++) {
        enum session_frame_type types[8];
        unsigned n_frames = 0;

        memset(&reader, 0, sizeof reader);
        for (size_t from = 0; from < n; from += piece) {
            const uint8_t *data = bytes + from;
            size_t size = MIN_OF(piece, n - from);
            struct session_frame frame;

            while (take(&reader, &data, &size, &frame) == 1) {
                assert_true(n_frames < ELEMENTS(types));
                if (n_frames == 0)
                    assert_memory_equal(frame.data, "hello", 5);
                types[n_frames++] = frame.type;
            }
            assert_int_equal(size, 0);
        }
        assert_int_equal(n_frames, 4);
        assert_int_equal(types[1], SESSION_PING);
        assert_int_equal(types[3], SESSION_EXIT);
    }
}

TEST(test_an_unknown_frame_is_passed_over)
{
    static struct session_reader reader;
    uint8_t bytes[128];
    const uint8_t *data = bytes;
    struct session_frame frame;
    size_t n = put(bytes, (enum session_frame_type)77, 3, "later", 5);

    n += put(bytes + n, SESSION_NOTE, 0, "now", 3);
    assert_int_equal(take(&reader, &data, &n, &frame), 1);
    assert_int_equal(frame.type, SESSION_NOTE);
    assert_int_equal(frame.size, 3);
    assert_int_equal(take(&reader, &data, &n, &frame), 0);
}

TEST(test_what_is_no_frame_is_refused)
{
    static const uint8_t cases[][SESSION_HEAD_BYTES] = {
        { 1, 1, 0, 0, 0, 0, 0, 0 },              /* the byte that is 0 */
        { 1, 0, 0, 0, 0, 0, 0x80, 1 },           /* one more than SESSION_DATA_MAX */
        { 77, 0, 0, 0, 0xff, 0xff, 0xff, 0xff }, /* unknown, but not of any size */
        { 'H', 'T', 'T', 'P', '/', '1', '.', '1' },
    };

    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        static struct session_reader reader;
        const uint8_t *data = cases[i];
        size_t size = SESSION_HEAD_BYTES;
        struct session_frame frame;

        memset(&reader, 0, sizeof reader);
        assert_int_equal(take(&reader, &data, &size, &frame), -EBADMSG);
    }
}

TEST(test_the_largest_frame)
{
    static struct session_reader reader;
    static uint8_t bytes[SESSION_HEAD_BYTES + SESSION_DATA_MAX + SESSION_HEAD_BYTES];
    static uint8_t body[SESSION_DATA_MAX];
    const uint8_t *data = bytes;
    struct session_frame frame;
    size_t n;

    memset(body, 'x', sizeof body);
    n = put(bytes, SESSION_DATA, 0, body, sizeof body);
    n += put(bytes + n, SESSION_EOF, 0, NULL, 0);
    assert_int_equal(take(&reader, &data, &n, &frame), 1);
    assert_int_equal(frame.size, SESSION_DATA_MAX);
    assert_memory_equal(frame.data, body, sizeof body);
    assert_int_equal(take(&reader, &data, &n, &frame), 1);
    assert_int_equal(frame.type, SESSION_EOF);
}

TEST(test_numbers_have_their_size_or_are_none)
{
    struct session_size size = { 40, 120, 800, 600 }, read = { 0 };
    uint8_t bytes[8];
    struct session_frame frame = { .type = SESSION_RESIZE, .data = bytes, .size = 8 };
    uint32_t u32;
    uint16_t u16;

    session_put_size(&size, bytes);
    assert_true(session_frame_size(&frame, &read));
    assert_int_equal(read.rows, 40);
    assert_int_equal(read.columns, 120);
    assert_int_equal(read.x_pixels, 800);
    assert_int_equal(read.y_pixels, 600);
    assert_false(session_frame_u16(&frame, &u16));
    assert_false(session_frame_u32(&frame, &u32));
    frame.size = 7;
    assert_false(session_frame_size(&frame, &read));
    session_put_u16(8888, bytes);
    frame.size = 2;
    assert_true(session_frame_u16(&frame, &u16));
    assert_int_equal(u16, 8888);
    session_put_u32(0x12345678, bytes);
    frame.size = 4;
    assert_true(session_frame_u32(&frame, &u32));
    assert_int_equal(u32, 0x12345678);
}

/* A sender and a receiver: never more on the way than the window, and it never comes to a stop. */
TEST(test_a_window_opens_as_its_data_is_taken)
{
    struct session_window sender, receiver;
    size_t moved = 0, kept = 0;

    session_window_begin(&sender);
    session_window_begin(&receiver);
    for (unsigned turn = 0; turn < 1000; turn++) {
        size_t n = MIN_OF(sender.may_send, (uint32_t)SESSION_DATA_MAX);
        uint32_t told;

        session_window_sent(&sender, n);
        assert_true(session_window_came(&receiver, n));
        kept += n;
        assert_true(kept <= SESSION_WINDOW_BYTES);
        if (turn % 40 != 39) /* it takes rarely, and then all */
            continue;
        told = session_window_taken(&receiver, kept);
        moved += kept;
        kept = 0;
        if (told > 0)
            assert_true(session_window_granted(&sender, told));
    }
    assert_true(moved > (size_t)20 * SESSION_WINDOW_BYTES);
}

TEST(test_a_peer_beyond_its_window_is_seen)
{
    struct session_window window;

    session_window_begin(&window);
    assert_true(session_window_came(&window, SESSION_WINDOW_BYTES));
    assert_false(session_window_came(&window, 1));
    /* taken, and not told yet: still not to be sent */
    assert_int_equal(session_window_taken(&window, 10), 0);
    assert_false(session_window_came(&window, 1));
    assert_int_equal(session_window_taken(&window, SESSION_WINDOW_BYTES / 4),
                     SESSION_WINDOW_BYTES / 4 + 10);
    assert_true(session_window_came(&window, SESSION_WINDOW_BYTES / 4 + 10));
    assert_false(session_window_came(&window, 1));
    session_window_begin(&window);
    assert_false(session_window_granted(&window, 1));
    session_window_sent(&window, 100);
    assert_false(session_window_granted(&window, 101));
    assert_false(session_window_granted(&window, UINT32_MAX));
    assert_true(session_window_granted(&window, 100));
}
