/* SPDX-License-Identifier: Apache-2.0 */
/* session_run.h - the life of one session
 *
 * Used by: edl-session (session_main.c). */
#pragma once

#include <jansson.h>

#include "agent/groups/cgroup.h"

/* session_run - until it is over; SIGTERM is blocked
 * document: what the agent said; agent_fd: becomes readable when the agent is gone. group: of
 * CGROUP_PATH_SIZE, gets the control group of the session; "": none. Processes that the program
 * left are the caller's to end. */
int session_run(const json_t *document, int agent_fd, char *group);
