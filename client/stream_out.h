/* SPDX-License-Identifier: Apache-2.0 */
/* stream_out.h - standard output or error, written without holding up the event loop
 *
 * The flags of a descriptor that others share stay as they are: a pipe or terminal is opened anew,
 * without blocking; a socket is asked call by call. A regular file takes all at once. */
#pragma once

#include <stddef.h>
#include <systemd/sd-event.h>

struct stream_out;

struct stream_out_config {
    sd_event *event;
    int fd; /* borrowed */
    void (*on_written)(void *userdata, size_t size);
    void (*on_broken)(void *userdata, int code); /* once: -EPIPE, its reader has gone, or another */
    void *userdata;
};

/* stream_out_new - -errno when it cannot be watched */
int stream_out_new(const struct stream_out_config *config, struct stream_out **ret);
struct stream_out *stream_out_free(struct stream_out *out); /* what is not written is lost */

/* stream_out_write - data is copied; on_written tells when so much has gone, maybe at once */
void stream_out_write(struct stream_out *out, const void *data, size_t size);
size_t stream_out_pending(const struct stream_out *out); /* 0 too once it is broken */
