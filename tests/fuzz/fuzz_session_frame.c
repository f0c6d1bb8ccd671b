/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_session_frame.c - any bytes as frames of a session: whole, and byte by byte with the same
 * outcome; and its data through windows that never hold more than they may */
#include <stdlib.h>
#include <string.h>

#include "shared/error.h"
#include "shared/macro.h"
#include "shared/session_frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A sum of what came out, so that two readings can be compared. */
struct outcome {
    uint64_t sum, n_frames;
    int r;
};

static void add(struct outcome *outcome, uint64_t value)
{
    outcome->sum = (outcome->sum ^ value) * UINT64_C(1099511628211);
}

static void use(struct outcome *outcome, const struct session_frame *frame,
                struct session_window *window)
{
    struct session_size size;
    uint32_t u32 = 0;
    uint16_t u16 = 0;

    if (frame->size > SESSION_DATA_MAX)
        abort();
    add(outcome, frame->type);
    add(outcome, frame->channel);
    for (size_t i = 0; i < frame->size; i++)
        add(outcome, frame->data[i]);
    outcome->n_frames++;
    if (session_frame_size(frame, &size))
        add(outcome, size.columns);
    if (session_frame_u16(frame, &u16))
        add(outcome, u16);
    if (frame->type == SESSION_WINDOW && session_frame_u32(frame, &u32) &&
        session_window_granted(window, u32) && window->may_send > SESSION_WINDOW_BYTES)
        abort();
    if (frame->type != SESSION_DATA)
        return;
    session_window_sent(window, frame->size);
    if (session_window_came(window, frame->size))
        add(outcome, session_window_taken(window, frame->size / 2 + u16));
    if (window->ahead + window->untold > SESSION_WINDOW_BYTES)
        abort();
}

static struct outcome read_all(const uint8_t *data, size_t size, size_t piece)
{
    static struct session_reader reader;
    struct outcome outcome = { 0 };
    struct session_window window;

    memset(&reader, 0, sizeof reader);
    session_window_begin(&window);
    for (size_t from = 0; outcome.r == 0 && from < size; from += piece) {
        const uint8_t *at = data + from;
        size_t left = MIN_OF(piece, size - from);
        struct session_frame frame;

        while ((outcome.r = session_reader_take(&reader, &at, &left, &frame, NULL)) == 1)
            use(&outcome, &frame, &window);
        if (outcome.r == 0 && left != 0)
            abort();
    }
    return outcome;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct outcome whole = read_all(data, size, MAX_OF(size, (size_t)1));
    struct outcome bytes = read_all(data, size, 1);
    struct outcome some = read_all(data, size, 13);

    if (whole.r != bytes.r || whole.n_frames != bytes.n_frames || whole.sum != bytes.sum ||
        some.r != bytes.r || some.sum != bytes.sum)
        abort();
    return 0;
}
