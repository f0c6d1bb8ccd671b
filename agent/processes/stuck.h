/* SPDX-License-Identifier: Apache-2.0 */
/* stuck.h - why a process that was killed is still there
 *
 * Used by: usage_question.c, of processes that should have been gone. Test: 242-stuck.sh. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#define STUCK_TEXT_SIZE 200

/* stuck_say - who of the tree below the supervisor does not end, and what it waits for, as a
 * sentence */
void stuck_say(pid_t supervisor_pid, char text[static STUCK_TEXT_SIZE]);
