/* SPDX-License-Identifier: Apache-2.0 */
/* room.h - makes room for a gang by choosing who is shrunk away */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct demand;
struct job;
struct plan;

/* plan_keep_places - takes what the job was promised, if it still is as it was; false: nothing */
bool plan_keep_places(struct plan *plan, const struct job *job, bool now);

/* plan_make_room - stops victims so that the demands fit later, and reserves that room; false:
 * nothing changed */
bool plan_make_room(struct plan *plan, struct job *job, const struct demand *demands, size_t n);
