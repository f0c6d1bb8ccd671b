/* SPDX-License-Identifier: Apache-2.0 */
/* spawner.h - the agent's end of the spawn server (spawn_server.h)
 *
 * The server is started when the first supervisor is wanted, and again when it died. What it had
 * not answered by then is asked of the next one, once: should the first one have made a supervisor
 * all the same, the lock on the folder lets one of them run the program. */
#pragma once

#include <stdint.h>
#include <sys/types.h>
#include <systemd/sd-event.h>

struct edl_error;
struct spawn;
struct spawner;

/* called once for each spawn, from the loop, never from within spawner_start
 * pid: of the supervisor; 0: there is none, and why is what stopped it.
 * take_pidfd: of the same, now the callee's; -1: it has to be found through its record */
typedef void (*spawned_fn)(pid_t pid, int take_pidfd, const struct edl_error *why, void *userdata);

/* spawner_new - program: edl-supervisor, copied; nothing is started yet */
struct spawner *spawner_new(sd_event *event, const char *program);

/* spawner_free - the server ends, supervisors live on; every spawn has to be cancelled or answered
 * before; accepts NULL, returns NULL */
struct spawner *spawner_free(struct spawner *spawner);

/* spawner_start - orders a supervisor for the process folder at path (absolute, copied)
 * *ret is valid until spawned was called or spawn_cancel. Negative: nothing was ordered. */
int spawner_start(struct spawner *spawner, const char *path, spawned_fn spawned, void *userdata,
                  struct spawn **ret, struct edl_error *error);

/* spawn_cancel - spawned is not called any more; the supervisor may come all the same. Accepts
 * NULL, returns NULL */
struct spawn *spawn_cancel(struct spawn *spawn);
