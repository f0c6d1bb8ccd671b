/* SPDX-License-Identifier: Apache-2.0 */
/* unit_start.h - the bound of the systemd runtime: StartTransientUnit alone, with the properties
 * that edl-agent asks for */
#pragma once

#include <stdbool.h>

/* unit_start - a unit for argv, named after key ("1.trainer.0.7", process_id.h); with_limits: as
 * the agent does, else those of life and death alone. Returns when the manager has answered; ends
 * the program when it refuses. */
void unit_start(const char *key, bool with_limits, const char *const *argv);
