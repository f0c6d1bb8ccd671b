/* SPDX-License-Identifier: Apache-2.0 */
/* http_multi.c - see http_multi.h */
#include "shared/http_multi.h"

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

#include <sys/epoll.h>
#include <utlist.h>

enum { TIMER_ACCURACY_US = 1000 };

/* One socket of libcurl's. */
struct http_multi_socket {
    sd_event_source *source; /* owned */
    struct http_multi_socket *prev;
    struct http_multi_socket *next;
};

static int on_io(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    struct http_multi *multi = userdata;
    int mask = 0;
    int running;

    (void)source;
    if (events & EPOLLIN)
        mask |= CURL_CSELECT_IN;
    if (events & EPOLLOUT)
        mask |= CURL_CSELECT_OUT;
    if (events & (EPOLLERR | EPOLLHUP))
        mask |= CURL_CSELECT_ERR;
    (void)curl_multi_socket_action(multi->curl, fd, mask, &running);
    multi->on_turn(multi->userdata);
    return 0;
}

static int on_timer(sd_event_source *source, uint64_t time_us, void *userdata)
{
    struct http_multi *multi = userdata;
    int running;

    (void)source;
    (void)time_us;
    (void)curl_multi_socket_action(multi->curl, CURL_SOCKET_TIMEOUT, 0, &running);
    multi->on_turn(multi->userdata);
    return 0;
}

static void unwatch(struct http_multi *multi, struct http_multi_socket *watched)
{
    DL_DELETE(multi->sockets, watched);
    (void)sd_event_source_disable_unref(watched->source);
    free(watched);
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *userdata, void *socket_data)
{
    struct http_multi *multi = userdata;
    struct http_multi_socket *watched = socket_data;
    uint32_t events = (what & CURL_POLL_IN ? EPOLLIN : 0) | (what & CURL_POLL_OUT ? EPOLLOUT : 0);

    (void)easy;
    if (what == CURL_POLL_REMOVE) { /* before libcurl closes it */
        if (watched != NULL)
            unwatch(multi, watched);
        (void)curl_multi_assign(multi->curl, fd, NULL);
        return 0;
    }
    if (watched != NULL)
        return sd_event_source_set_io_events(watched->source, events) < 0 ? -1 : 0;
    watched = xcalloc(1, sizeof *watched);
    if (sd_event_add_io(multi->event, &watched->source, fd, events, on_io, multi) < 0) {
        free(watched);
        return -1; /* fails libcurl's calls */
    }
    (void)sd_event_source_set_priority(watched->source, multi->priority);
    (void)sd_event_source_set_description(watched->source, "http-client");
    DL_APPEND(multi->sockets, watched);
    (void)curl_multi_assign(multi->curl, fd, watched);
    return 0;
}

/* When libcurl wishes to be woken; it forbids being called from here. */
static int on_wish(CURLM *curl, long timeout_ms, void *userdata)
{
    struct http_multi *multi = userdata;
    int r;

    (void)curl;
    if (timeout_ms < 0)
        return sd_event_source_set_enabled(multi->timer, SD_EVENT_OFF) < 0 ? -1 : 0;
    if (timeout_ms == 0) /* a time long past: at once, not within the accuracy */
        r = sd_event_source_set_time(multi->timer, 0);
    else
        r = sd_event_source_set_time_relative(multi->timer, (uint64_t)timeout_ms * USEC_PER_MSEC);
    if (r >= 0)
        r = sd_event_source_set_enabled(multi->timer, SD_EVENT_ONESHOT);
    return r < 0 ? -1 : 0;
}

int http_multi_start(struct http_multi *multi, sd_event *event, void (*on_turn)(void *userdata),
                     void *userdata, struct edl_error *error)
{
    int r;

    multi->event = sd_event_ref(event);
    multi->on_turn = on_turn;
    multi->userdata = userdata;
    r = sd_event_add_time(event, &multi->timer, CLOCK_MONOTONIC, 0, TIMER_ACCURACY_US, on_timer,
                          multi);
    if (r >= 0)
        r = sd_event_source_set_enabled(multi->timer, SD_EVENT_OFF);
    if (r < 0)
        return edl_error_errno(error, r, "cannot put the HTTP client on the event loop");
    (void)sd_event_source_set_description(multi->timer, "http-client-timeout");
    multi->curl = curl_multi_init();
    if (multi->curl == NULL)
        return edl_error_set(error, -ENOMEM, "cannot start the HTTP client");
    (void)curl_multi_setopt(multi->curl, CURLMOPT_SOCKETFUNCTION, on_socket);
    (void)curl_multi_setopt(multi->curl, CURLMOPT_SOCKETDATA, multi);
    (void)curl_multi_setopt(multi->curl, CURLMOPT_TIMERFUNCTION, on_wish);
    (void)curl_multi_setopt(multi->curl, CURLMOPT_TIMERDATA, multi);
    (void)curl_multi_setopt(multi->curl, CURLMOPT_PIPELINING, (long)CURLPIPE_NOTHING);
    return 0;
}

void http_multi_stop(struct http_multi *multi)
{
    (void)curl_multi_cleanup(multi->curl); /* closes the connections, and unwatches them */
    while (multi->sockets != NULL)
        unwatch(multi, multi->sockets);
    (void)sd_event_source_disable_unref(multi->timer);
    (void)sd_event_unref(multi->event);
    *multi = (struct http_multi){ 0 };
}

void http_multi_hurry(struct http_multi *multi)
{
    multi->priority = SD_EVENT_PRIORITY_IMPORTANT;
    (void)sd_event_source_set_priority(multi->timer, multi->priority);
}
