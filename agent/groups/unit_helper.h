/* SPDX-License-Identifier: Apache-2.0 */
/* unit_helper.h - a program of ours as a unit beside the agent, with rights of its own: the sandbox
 * of the agent's unit would leave its children fewer
 *
 * org.freedesktop.systemd1(5): StartTransientUnit. The program talks with the agent over a socket
 * on its standard input, and its end closes that. */
#pragma once

#include <systemd/sd-event.h>

struct edl_error;
struct unit_helpers;

#define UNIT_HELPER_WORDS_MAX 8

struct unit_helper_plan {
    const char *name;         /* "edl-session-0123.service" */
    const char *description;  /* for people */
    const char *const *argv;  /* NULL-terminated; argv[0] is a path */
    const char *const *after; /* the same: a command that is run behind it, however it ended; NULL:
                               * none */
    int stdin_fd;             /* borrowed; kept open until systemd has taken it */
};

/* unit_helpers_new - the bus is connected to with the first helper, and again when it was lost */
struct unit_helpers *unit_helpers_new(sd_event *event);
struct unit_helpers *unit_helpers_free(struct unit_helpers *helpers); /* accepts NULL */

/* unit_helper_start - asks for it; negative: nothing was asked. A refusal that comes later is told
 * in the log, and closes the other end of the socket */
int unit_helper_start(struct unit_helpers *helpers, const struct unit_helper_plan *plan,
                      struct edl_error *error);

/* unit_helper_stop - by force if it has to be; one that is gone is fine */
void unit_helper_stop(struct unit_helpers *helpers, const char *name);
