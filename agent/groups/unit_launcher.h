/* SPDX-License-Identifier: Apache-2.0 */
/* unit_launcher.h - the launcher that has supervisors started by systemd, each in a unit of its own
 *
 * org.freedesktop.systemd1(5): StartTransientUnit, JobRemoved. */
#pragma once

#include <stdbool.h>
#include <systemd/sd-event.h>

#include "agent/processes/launcher.h"

/* unit_launcher_possible - systemd runs this machine, and takes orders from this account */
bool unit_launcher_possible(void);

/* unit_launcher_new - program: edl-supervisor, state_dir: where its logs and workspaces are; both
 * copied. The bus is connected to when the first supervisor is wanted, and again when it was lost.
 */
struct launcher *unit_launcher_new(sd_event *event, const char *program, const char *state_dir);
