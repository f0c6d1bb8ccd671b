/* SPDX-License-Identifier: Apache-2.0 */
/* notify.h - what a supervisor that is a unit's main process says to the service manager
 *
 * The protocol of sd_notify(3), without the library: loading it costs more than the rest of a
 * supervisor's start. */
#pragma once

#include <stdbool.h>

/* notify_wanted - a service manager waits for it: this is the main process of a unit */
bool notify_wanted(void);

/* notify_ready - READY=1; nothing when nobody waits for it */
void notify_ready(void);
