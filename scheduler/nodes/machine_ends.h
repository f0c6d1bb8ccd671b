/* SPDX-License-Identifier: Apache-2.0 */
/* machine_ends.h - whether this machine is being rebooted or switched off: systemd says so, to
 * everybody
 *
 * Used by: leaving.c. */
#pragma once

#include <stdbool.h>
#include <systemd/sd-event.h>

struct machine_ends;

/* machine_ends_ask - fn is called once, later or before this returns; a service manager that is not
 * there, or does not say within a second, ends no machine. *ret: free with machine_ends_free, also
 * after the answer; NULL: fn was called. */
typedef void (*machine_ends_fn)(bool ends, void *userdata);
void machine_ends_ask(sd_event *event, machine_ends_fn fn, void *userdata,
                      struct machine_ends **ret);

/* machine_ends_free - accepts NULL; returns NULL */
struct machine_ends *machine_ends_free(struct machine_ends *asked);
