/* SPDX-License-Identifier: Apache-2.0 */
/* teach_link.h - one student's connection at a teacher, on the event loop: whole frames in, frames
 * out, nothing blocks
 *
 * A body gets memory as it comes, so a header that promises a gigabyte costs nothing. Frames
 * are queued and go as the socket takes them. A connection that breaks while something is
 * sent tells so from the loop, never from within teach_link_send. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "shared/teacher_wire.h"

struct edl_error;
struct teach_link;

struct teach_link_events {
    /* whether a frame may begin now; negative: the connection ends with that error */
    int (*on_header)(void *userdata, const struct teacher_header *header, struct edl_error *error);
    /* a whole frame; body is 8-aligned, and the link's unless teach_link_take_body; negative: the
     * connection ends with that error */
    int (*on_frame)(void *userdata, const struct teacher_header *header, const uint8_t *body,
                    struct edl_error *error);
    void (*on_sent)(void *userdata); /* all that was queued is with the socket */
    /* it is over, and the callee frees it; error->code 0: the other end has closed it */
    void (*on_closed)(void *userdata, const struct edl_error *error);
};

/* teach_link_new - take_fd does not block; events stay there */
int teach_link_new(sd_event *event, int take_fd, const struct teach_link_events *events,
                   void *userdata, struct teach_link **ret, struct edl_error *error);
struct teach_link *teach_link_free(struct teach_link *link);

/* teach_link_take_body - within on_frame: the body is the caller's, who frees it */
uint8_t *teach_link_take_body(struct teach_link *link);

/* teach_link_send - a whole frame of teach_frame_new; teach_link_put - a small one, of a copy */
void teach_link_send(struct teach_link *link, uint8_t *take_frame, size_t size);
void teach_link_put(struct teach_link *link, enum teacher_frame type, const void *body,
                    size_t size);

/* teach_link_last_word - REFUSED, as far as it goes at once */
void teach_link_last_word(struct teach_link *link, const char *text);

/* teach_link_sends - something queued is not with the socket yet */
bool teach_link_sends(const struct teach_link *link);

/* teach_link_moved_us - CLOCK_BOOTTIME when the last byte came or went */
uint64_t teach_link_moved_us(const struct teach_link *link);
