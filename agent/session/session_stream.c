/* SPDX-License-Identifier: Apache-2.0 */
/* session_stream.c - see session_stream.h */
#include "agent/session/session_stream.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include "agent/session/session_wire.h"
#include "shared/cleanup.h"
#include "shared/macro.h"

/* What Linux holds of a terminal, in the line discipline and in front of it, is some 20 KB. */
#define TERMINAL_HELD_MAX ((size_t)64 * 1024)
#define QUIET_US (100 * USEC_PER_MSEC)

/* ---- out ---- */

static void finish(struct session_outlet *outlet)
{
    outlet->readable = sd_event_source_disable_unref(outlet->readable);
    outlet->quiet = sd_event_source_disable_unref(outlet->quiet);
    outlet->fd = safe_close(outlet->fd);
    session_wire_send(outlet->wire, SESSION_EOF, outlet->channel, NULL, 0);
    outlet->over(outlet->userdata);
}

static size_t may_read(const struct session_outlet *outlet)
{
    size_t n = MIN_OF(session_wire_room(outlet->wire), (size_t)outlet->window.may_send);

    return outlet->bounded ? MIN_OF(n, outlet->left) : n;
}

/* on_quiet - nothing came; where it could not, session_outlet_go_on awaits it again */
static int on_quiet(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct session_outlet *outlet = userdata;

    (void)source;
    (void)usec;
    if (may_read(outlet) > 0)
        finish(outlet);
    return 0;
}

/* await_quiet - from now on; while nothing may be read, nothing tells whether there is more */
static void await_quiet(const struct session_outlet *outlet)
{
    if (outlet->quiet == NULL)
        return;
    (void)sd_event_source_set_time_relative(outlet->quiet, QUIET_US);
    (void)sd_event_source_set_enabled(outlet->quiet,
                                      may_read(outlet) > 0 ? SD_EVENT_ONESHOT : SD_EVENT_OFF);
}

static int on_readable(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    struct session_outlet *outlet = userdata;
    static uint8_t data[SESSION_DATA_MAX]; /* one thread */
    size_t most = may_read(outlet);
    ssize_t n;

    (void)revents;
    if (outlet->bounded && outlet->left == 0) {
        finish(outlet);
        return 0;
    }
    if (most == 0) {
        await_quiet(outlet);
        return sd_event_source_set_enabled(source, SD_EVENT_OFF);
    }
    n = read(fd, data, most);
    if (n == -1 && (errno == EAGAIN || errno == EINTR)) {
        if (outlet->bounded && outlet->quiet == NULL && errno == EAGAIN)
            finish(outlet);
        return 0;
    }
    if (n <= 0) { /* of a terminal whose last user is gone: EIO */
        finish(outlet);
        return 0;
    }
    session_wire_send(outlet->wire, SESSION_DATA, outlet->channel, data, (size_t)n);
    session_window_sent(&outlet->window, (size_t)n);
    outlet->left -= outlet->bounded ? (size_t)n : 0;
    if (outlet->bounded && outlet->left == 0)
        finish(outlet);
    else
        await_quiet(outlet);
    return 0;
}

int session_outlet_open(struct session_outlet *outlet, sd_event *event, struct session_wire *wire,
                        unsigned channel, int take_fd, session_stream_fn over, void *userdata)
{
    *outlet = (struct session_outlet){
        .wire = wire, .channel = channel, .fd = take_fd, .over = over, .userdata = userdata
    };
    session_window_begin(&outlet->window);
    return sd_event_add_io(event, &outlet->readable, take_fd, EPOLLIN, on_readable, outlet);
}

void session_outlet_go_on(struct session_outlet *outlet)
{
    if (outlet->fd < 0)
        return;
    (void)sd_event_source_set_enabled(outlet->readable, SD_EVENT_ON);
    if (outlet->quiet != NULL && sd_event_source_get_enabled(outlet->quiet, NULL) == SD_EVENT_OFF)
        await_quiet(outlet);
}

bool session_outlet_granted(struct session_outlet *outlet, uint32_t size)
{
    if (outlet->fd < 0) /* it is over: what was on its way counts no more */
        return true;
    if (!session_window_granted(&outlet->window, size))
        return false;
    session_outlet_go_on(outlet);
    return true;
}

void session_outlet_bound(struct session_outlet *outlet)
{
    int n = 0;

    if (outlet->fd < 0 || outlet->bounded)
        return;
    outlet->bounded = true;
    outlet->left = ioctl(outlet->fd, FIONREAD, &n) == 0 && n > 0 ? (size_t)n : 0;
    if (outlet->left == 0)
        finish(outlet);
    else
        session_outlet_go_on(outlet);
}

void session_outlet_bound_terminal(struct session_outlet *outlet)
{
    if (outlet->fd < 0 || outlet->bounded)
        return;
    outlet->bounded = true;
    outlet->left = TERMINAL_HELD_MAX;
    if (sd_event_add_time_relative(sd_event_source_get_event(outlet->readable), &outlet->quiet,
                                   CLOCK_MONOTONIC, QUIET_US, 0, on_quiet, outlet) < 0) {
        finish(outlet);
        return;
    }
    /* bytes that are there come first, also after this program stood still */
    (void)sd_event_source_set_priority(outlet->quiet, SD_EVENT_PRIORITY_IDLE);
    session_outlet_go_on(outlet);
    await_quiet(outlet);
}

void session_outlet_close(struct session_outlet *outlet)
{
    outlet->readable = sd_event_source_disable_unref(outlet->readable);
    outlet->quiet = sd_event_source_disable_unref(outlet->quiet);
    outlet->fd = safe_close(outlet->fd);
}

/* ---- in ---- */

static void taken(struct session_inlet *inlet, size_t size)
{
    session_wire_window(inlet->wire, inlet->channel, session_window_taken(&inlet->window, size));
}

/* close_it - the inlet may be freed by that */
static void close_it(struct session_inlet *inlet)
{
    inlet->writable = sd_event_source_disable_unref(inlet->writable);
    inlet->fd = safe_close(inlet->fd);
    if (inlet->over != NULL)
        inlet->over(inlet->userdata);
}

/* drop - nobody reads any more: who sends is not to wait for that */
static void drop(struct session_inlet *inlet)
{
    taken(inlet, inlet->size - inlet->from);
    free(inlet->data);
    inlet->data = NULL;
    inlet->from = inlet->size = inlet->room = 0;
    close_it(inlet);
}

/* tell_terminal - its other direction goes on: Ctrl-D. false: it has no room for that yet */
static bool tell_terminal(const struct session_inlet *inlet)
{
    struct termios modes;
    uint8_t eof = tcgetattr(inlet->fd, &modes) == 0 ? modes.c_cc[VEOF] : 4;

    return write(inlet->fd, &eof, 1) >= 0 || (errno != EAGAIN && errno != EINTR);
}

/* tell_end - when it can be written; until then on_writable comes again */
static void tell_end(struct session_inlet *inlet)
{
    if (inlet->is_terminal) {
        if (!tell_terminal(inlet))
            return;
    } else if (inlet->is_socket) {
        (void)shutdown(inlet->fd, SHUT_WR);
    }
    close_it(inlet);
}

static int on_writable(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    struct session_inlet *inlet = userdata;
    ssize_t n = 0;

    (void)revents;
    if (inlet->from < inlet->size)
        n = write(fd, inlet->data + inlet->from, inlet->size - inlet->from);
    if (n == -1 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n == -1) {
        drop(inlet);
        return 0;
    }
    inlet->from += (size_t)n;
    taken(inlet, (size_t)n);
    if (inlet->from < inlet->size)
        return 0;
    inlet->from = inlet->size = 0;
    if (inlet->ended)
        tell_end(inlet);
    else
        (void)sd_event_source_set_enabled(source, SD_EVENT_OFF);
    return 0;
}

int session_inlet_open(struct session_inlet *inlet, sd_event *event, struct session_wire *wire,
                       unsigned channel, int take_fd)
{
    int r;

    *inlet = (struct session_inlet){ .wire = wire, .channel = channel, .fd = take_fd };
    session_window_begin(&inlet->window);
    if (take_fd < 0)
        return 0;
    r = sd_event_add_io(event, &inlet->writable, take_fd, EPOLLOUT, on_writable, inlet);
    return r < 0 ? r : sd_event_source_set_enabled(inlet->writable, SD_EVENT_OFF);
}

static void keep(struct session_inlet *inlet, const uint8_t *data, size_t size)
{
    if (inlet->size + size > inlet->room && inlet->from > 0) {
        memmove(inlet->data, inlet->data + inlet->from, inlet->size - inlet->from);
        inlet->size -= inlet->from;
        inlet->from = 0;
    }
    if (inlet->size + size > inlet->room) {
        inlet->room = MAX_OF(2 * inlet->room, inlet->size + size);
        inlet->data = xreallocarray(inlet->data, inlet->room, 1);
    }
    memcpy(inlet->data + inlet->size, data, size);
    inlet->size += size;
}

bool session_inlet_take(struct session_inlet *inlet, const uint8_t *data, size_t size)
{
    if (!session_window_came(&inlet->window, size))
        return false;
    if (inlet->fd < 0) {
        taken(inlet, size);
    } else if (size > 0 && !inlet->ended) {
        keep(inlet, data, size);
        (void)sd_event_source_set_enabled(inlet->writable, SD_EVENT_ON);
    }
    return true;
}

void session_inlet_end(struct session_inlet *inlet)
{
    if (inlet->fd < 0 || inlet->ended)
        return;
    inlet->ended = true;
    (void)sd_event_source_set_enabled(inlet->writable, SD_EVENT_ON);
}

void session_inlet_close(struct session_inlet *inlet)
{
    inlet->writable = sd_event_source_disable_unref(inlet->writable);
    inlet->fd = safe_close(inlet->fd);
    free(inlet->data);
    inlet->data = NULL;
    inlet->from = inlet->size = inlet->room = 0;
}
