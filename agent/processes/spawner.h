/* SPDX-License-Identifier: Apache-2.0 */
/* spawner.h - the launcher that has supervisors forked by the spawn server (spawn_server.h)
 *
 * The server is started when the first supervisor is wanted, and again when it died. Requests that
 * it had not answered by then go to the next one, once: should the first one have made a supervisor
 * all the same, the lock on the folder lets one of them run the program. */
#pragma once

#include <systemd/sd-event.h>

#include "agent/processes/launcher.h"

/* spawner_new - program: edl-supervisor, copied; nothing is started yet */
struct launcher *spawner_new(sd_event *event, const char *program);
