/* SPDX-License-Identifier: Apache-2.0 */
/* late_systemd.c - the functions of libsystemd that `edl` calls (see late_library.h) */
#include <systemd/sd-event.h>

#include "shared/late_library.h"

static struct late_library systemd = { .name = LIBSYSTEMD_SONAME };

int sd_event_new(sd_event **e)
{
    return LATE(systemd, sd_event_new)(e);
}

sd_event *sd_event_ref(sd_event *e)
{
    return LATE(systemd, sd_event_ref)(e);
}

sd_event *sd_event_unref(sd_event *e)
{
    return LATE(systemd, sd_event_unref)(e);
}

int sd_event_loop(sd_event *e)
{
    return LATE(systemd, sd_event_loop)(e);
}

int sd_event_run(sd_event *e, uint64_t usec)
{
    return LATE(systemd, sd_event_run)(e, usec);
}

int sd_event_exit(sd_event *e, int code)
{
    return LATE(systemd, sd_event_exit)(e, code);
}

int sd_event_add_io(sd_event *e, sd_event_source **s, int fd, uint32_t events,
                    sd_event_io_handler_t callback, void *userdata)
{
    return LATE(systemd, sd_event_add_io)(e, s, fd, events, callback, userdata);
}

int sd_event_add_defer(sd_event *e, sd_event_source **s, sd_event_handler_t callback,
                       void *userdata)
{
    return LATE(systemd, sd_event_add_defer)(e, s, callback, userdata);
}

int sd_event_add_time(sd_event *e, sd_event_source **s, clockid_t clock, uint64_t usec,
                      uint64_t accuracy, sd_event_time_handler_t callback, void *userdata)
{
    return LATE(systemd, sd_event_add_time)(e, s, clock, usec, accuracy, callback, userdata);
}

int sd_event_add_time_relative(sd_event *e, sd_event_source **s, clockid_t clock, uint64_t usec,
                               uint64_t accuracy, sd_event_time_handler_t callback, void *userdata)
{
    return LATE(systemd, sd_event_add_time_relative)(e, s, clock, usec, accuracy, callback,
                                                     userdata);
}

int sd_event_add_signal(sd_event *e, sd_event_source **s, int sig,
                        sd_event_signal_handler_t callback, void *userdata)
{
    return LATE(systemd, sd_event_add_signal)(e, s, sig, callback, userdata);
}

int sd_event_add_inotify(sd_event *e, sd_event_source **s, const char *path, uint32_t mask,
                         sd_event_inotify_handler_t callback, void *userdata)
{
    return LATE(systemd, sd_event_add_inotify)(e, s, path, mask, callback, userdata);
}

sd_event_source *sd_event_source_disable_unref(sd_event_source *s)
{
    return LATE(systemd, sd_event_source_disable_unref)(s);
}

int sd_event_source_set_description(sd_event_source *s, const char *description)
{
    return LATE(systemd, sd_event_source_set_description)(s, description);
}

int sd_event_source_set_enabled(sd_event_source *s, int enabled)
{
    return LATE(systemd, sd_event_source_set_enabled)(s, enabled);
}

int sd_event_source_set_io_events(sd_event_source *s, uint32_t events)
{
    return LATE(systemd, sd_event_source_set_io_events)(s, events);
}

int sd_event_source_set_priority(sd_event_source *s, int64_t priority)
{
    return LATE(systemd, sd_event_source_set_priority)(s, priority);
}

int sd_event_source_set_time(sd_event_source *s, uint64_t usec)
{
    return LATE(systemd, sd_event_source_set_time)(s, usec);
}

int sd_event_source_set_time_relative(sd_event_source *s, uint64_t usec)
{
    return LATE(systemd, sd_event_source_set_time_relative)(s, usec);
}
