/* SPDX-License-Identifier: Apache-2.0 */
/* http_multi.h - transfers of libcurl on an event loop: its sockets as io sources, one timer
 *
 * libcurl tells which sockets to watch and when it wants to be woken; both come back to it. Then
 * on_turn is called, outside of libcurl, so that it may start and end transfers and even stop the
 * whole. Used by http_async.c and http_duplex.c, nobody else. */
#pragma once

#include <curl/curl.h>
#include <systemd/sd-event.h>

struct edl_error;

struct http_multi {
    sd_event *event;        /* owned reference */
    sd_event_source *timer; /* owned */
    CURLM *curl;            /* owned */
    int64_t priority;       /* of the sources; 0: that of most */
    struct http_multi_socket *sockets;
    void (*on_turn)(void *userdata); /* libcurl did something: curl_multi_info_read has the rest */
    void *userdata;
};

/* http_multi_start - zeroed before; stopped also after an error. It must not move. The caller has
 * called curl_global_init. */
int http_multi_start(struct http_multi *multi, sd_event *event, void (*on_turn)(void *userdata),
                     void *userdata, struct edl_error *error);
/* http_multi_stop - its transfers were taken away before; closes the connections */
void http_multi_stop(struct http_multi *multi);
/* http_multi_hurry - before the first transfer: SD_EVENT_PRIORITY_IMPORTANT */
void http_multi_hurry(struct http_multi *multi);
