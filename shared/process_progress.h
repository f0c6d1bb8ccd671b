/* SPDX-License-Identifier: Apache-2.0 */
/* process_progress.h - what a process tells of how far it is: {"step": 1200, "loss": 0.31}
 *
 * Used by: agent, scheduler. Shown to people and to their programs. Nothing is decided by it, but
 * for the queue of a service: how many instances there are.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>

struct edl_error;

#define PROGRESS_BODY_BYTES 4096
#define PROGRESS_MEMBERS_MAX 16
#define PROGRESS_NAME_BYTES 32
#define PROGRESS_TEXT_BYTES 128
#define PROGRESS_PUSHES "pushes"
#define PROGRESS_PUSHES_MAX 512 /* rows, of all servers of a process */

/* One row of "pushes": [server, trainer, committed, discarded]. */
enum {
    PROGRESS_PUSHES_SHARD,
    PROGRESS_PUSHES_TRAINER,
    PROGRESS_PUSHES_COMMITTED,
    PROGRESS_PUSHES_DISCARDED,
    PROGRESS_PUSHES_COLUMNS
};

/* progress_check - an object of at most PROGRESS_MEMBERS_MAX numbers, texts and booleans, without
 * what steers a terminal; beside them a member PROGRESS_PUSHES may be an array of rows; -EINVAL
 * with a pointer, from the value on */
int progress_check(const json_t *value, struct edl_error *error);

/* progress_keep_pushes - told: it gets those rows of before whose server it does not name, as a
 * process may have several servers, and each tells of itself; without that member it gets all
 * rows. Both were checked; before may be NULL */
void progress_keep_pushes(json_t *told, const json_t *before);
