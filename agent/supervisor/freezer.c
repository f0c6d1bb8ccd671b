/* SPDX-License-Identifier: Apache-2.0 */
/* freezer.c - see freezer.h */
#include "agent/supervisor/freezer.h"

#include <string.h>

#include "agent/groups/cgroup.h"
#include "shared/cleanup.h"

bool freezer_open(struct freezer *ret, const char *group)
{
    *ret = (struct freezer){ .group = group, .events_fd = -1 };
    if (group[0] == '\0' || !cgroup_can_freeze(group))
        return false;
    ret->events_fd = cgroup_open_events(group);
    return ret->events_fd >= 0;
}

void freezer_close(struct freezer *freezer)
{
    freezer->events_fd = safe_close(freezer->events_fd);
}

int freezer_freeze(const struct freezer *freezer)
{
    return cgroup_set_frozen(freezer->group, true);
}

int freezer_thaw(const struct freezer *freezer)
{
    return cgroup_set_frozen(freezer->group, false);
}

bool freezer_stands(const struct freezer *freezer)
{
    return cgroup_is_frozen(freezer->events_fd);
}

bool freezer_holds(const struct freezer *freezer, pid_t pid)
{
    size_t length = strlen(freezer->group);
    struct cgroup_paths paths;

    cgroup_paths_of(pid, &paths);
    return strncmp(paths.unified, freezer->group, length) == 0 &&
           (paths.unified[length] == '\0' || paths.unified[length] == '/');
}

bool freezer_is_undone(const struct freezer *freezer)
{
    return !cgroup_wants_frozen(freezer->group);
}
