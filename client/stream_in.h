/* SPDX-License-Identifier: Apache-2.0 */
/* stream_in.h - standard input, read by the event loop as far as there is room for it
 *
 * The descriptor stays as it is, for those who share it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <systemd/sd-event.h>

struct stream_in;

struct stream_in_config {
    sd_event *event;
    int fd;                         /* borrowed */
    size_t (*room)(void *userdata); /* no more is read at once; 0: nothing */
    void (*on_data)(void *userdata, const char *data, size_t size);
    void (*on_end)(void *userdata); /* also of what cannot be read; it may be freed there */
    void *userdata;
};

/* stream_in_new - -errno when it cannot be watched; a file, which always can be read, can */
int stream_in_new(const struct stream_in_config *config, struct stream_in **ret);
struct stream_in *stream_in_free(struct stream_in *in);

/* stream_in_want - whether it is read; at first it is */
void stream_in_want(struct stream_in *in, bool want);
