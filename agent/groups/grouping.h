/* SPDX-License-Identifier: Apache-2.0 */
/* grouping.h - in which control group a supervisor keeps its program
 *
 * In a unit: below the unit's, without its supervisor. Else in one that the supervisor makes, if
 * the order says where (process_group.h). Else in the agent's, and only guards are left
 * (process_guard.h). */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "agent/groups/cgroup.h"

/* below the unit's control group: the program and all it starts, without its supervisor */
#define GROUPING_PROGRAM "program"

struct grouping {
    struct cgroup_paths paths; /* for the record: the unit's, or its own; unified is "": none */
    char program[CGROUP_PATH_SIZE + 16]; /* of the program, in the unified hierarchy; "": none */
    bool in_unit;
    bool holds_memory, holds_tasks; /* not of a unit, which holds what it can */
};

/* grouping_choose - and makes it; key: of the process. Never fails: what cannot be had is told in
 * the log, and the process goes on without. */
void grouping_choose(struct grouping *ret, const json_t *order, const char *key);

/* grouping_open - the folder of the program's group, to make the child in; -1: it has none */
int grouping_open(const struct grouping *grouping);

/* grouping_enter - in the child, before it changes its account
 * in_group: it was made in the folder of grouping_open. 0, or -errno */
int grouping_enter(const struct grouping *grouping, const json_t *order, bool in_group);

/* grouping_kill - the whole program, whatever it forks meanwhile; nothing without a group */
void grouping_kill(const struct grouping *grouping);

/* grouping_end - its own one is empty when this returns, and removed; a unit's goes with the unit
 */
void grouping_end(const struct grouping *grouping);
