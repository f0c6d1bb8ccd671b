/* SPDX-License-Identifier: Apache-2.0 */
/* errand.h - a program of ours that the agent runs beside itself, and does not wait for */
#pragma once

#include <systemd/sd-event.h>

/* errand_start - argv[0] is a path; *ret_pidfd is the caller's to close
 * ended is called when it has, with the pidfd, of which it reaps the process (waitid(2)). NULL: it
 * did not start, which has been logged. */
sd_event_source *errand_start(sd_event *event, const char *const *argv, sd_event_io_handler_t ended,
                              void *userdata, int *ret_pidfd);
