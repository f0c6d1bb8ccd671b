/* SPDX-License-Identifier: Apache-2.0 */
/* grouping.c - see grouping.h */
#include "agent/groups/grouping.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/processes/child.h"
#include "agent/supervisor/notify.h"
#include "agent/processes/process_group.h"
#include "agent/supervisor/process_guard.h"
#include "agent/groups/unit_plan.h"
#include "shared/log.h"
#include "shared/macro.h"

/* choose_in_unit - of a unit that was made for it, and no other: there it is alone */
static void choose_in_unit(struct grouping *g, const char *key)
{
    char unit[CGROUP_PATH_SIZE];

    g->in_unit = cgroup_of_self(unit) == 0 && unit_is_of(unit, key);
    if (!g->in_unit)
        return;
    cgroup_paths_everywhere(&g->paths, unit);
    (void)snprintf(g->program, sizeof g->program, "%s/" GROUPING_PROGRAM, unit);
    if (cgroup_make(g->program) < 0)
        g->program[0] = '\0';
}

static bool holds(const struct grouping *g, const json_t *order, enum cgroup_controller controller)
{
    const json_t *words = json_object_get(json_object_get(order, "cgroup"), "by_unified");
    const json_t *word;
    size_t i;

    json_array_foreach(words, i, word)
    {
        const char *name = json_string_value(word);

        if (name != NULL && streq(name, cgroup_controller_name(controller)))
            return true;
    }
    return g->paths.legacy[controller][0] != '\0';
}

void grouping_choose(struct grouping *ret, const json_t *order, const char *key)
{
    int r;

    *ret = (struct grouping){ 0 };
    if (notify_wanted()) {
        choose_in_unit(ret, key);
        return;
    }
    if (json_object_get(order, "cgroup") == NULL)
        return;
    r = process_group_make(order, key, &ret->paths);
    if (r < 0) {
        log_error("cannot make a control group for process %s: %s; its limits are not held", key,
                  strerror(-r));
        return;
    }
    (void)snprintf(ret->program, sizeof ret->program, "%s", ret->paths.unified);
    ret->holds_memory = json_integer_value(json_object_get(order, "memory_bytes")) > 0 &&
                        holds(ret, order, CGROUP_MEMORY);
    ret->holds_tasks = holds(ret, order, CGROUP_PIDS);
}

int grouping_open(const struct grouping *grouping)
{
    return grouping->program[0] != '\0' ? cgroup_open(grouping->program) : -1;
}

int grouping_enter(const struct grouping *grouping, const json_t *order, bool in_group)
{
    int r = 0;

    if (grouping->in_unit)
        child_be_killable();
    else
        process_guard_self(grouping->holds_memory, grouping->holds_tasks);
    if (grouping->program[0] == '\0')
        return 0;
    if (!in_group)
        r = cgroup_enter(grouping->program);
    return r < 0 || grouping->in_unit ? r : process_group_enter(order, &grouping->paths);
}

void grouping_kill(const struct grouping *grouping)
{
    if (grouping->program[0] != '\0')
        (void)cgroup_kill(grouping->program);
}

void grouping_end(const struct grouping *grouping)
{
    if (!grouping->in_unit && grouping->program[0] != '\0')
        process_group_end(&grouping->paths);
}
