/* SPDX-License-Identifier: Apache-2.0 */
/* unit_readback.h - whether the service manager took the limits that it was asked for */
#pragma once

#include <systemd/sd-bus.h>

struct unit_plan;

/* unit_readback - asks for each limit of the unit, and logs an error for one that is another by now
 * Nobody waits for it: the unit runs, and goes on. plan: copied where it is needed. */
void unit_readback(sd_bus *bus, const char *unit, const struct unit_plan *plan);
