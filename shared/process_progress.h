/* SPDX-License-Identifier: Apache-2.0 */
/* process_progress.h - what a process tells of how far it is: {"step": 1200, "loss": 0.31}
 *
 * Used by: agent, scheduler. Shown to people and to their programs, and nothing is decided by it.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>

struct edl_error;

#define PROGRESS_BODY_BYTES 4096
#define PROGRESS_MEMBERS_MAX 16
#define PROGRESS_NAME_BYTES 32
#define PROGRESS_TEXT_BYTES 128

/* progress_check - an object of at most PROGRESS_MEMBERS_MAX numbers, texts and booleans, without
 * what steers a terminal; -EINVAL with a pointer, from the value on */
int progress_check(const json_t *value, struct edl_error *error);
