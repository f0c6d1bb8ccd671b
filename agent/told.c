/* SPDX-License-Identifier: Apache-2.0 */
/* told.c - what the processes of this node tell their agent (link/proxy.h), and which one does */
#include <utlist.h>

#include "agent/agent_internal.h"
#include "agent/core/agent_core.h"
#include "agent/groups/cgroup.h"
#include "agent/processes/process.h"
#include "shared/clock.h"

bool agent_of_supervisor(pid_t supervisor_pid, uid_t uid, void *userdata, void **ret)
{
    const struct agent *a = userdata;
    struct process *p;

    DL_FOREACH(a->table.list, p)
    {
        if (p->supervisor_pid != supervisor_pid || p->handle == NULL)
            continue;
        *ret = p;
        return process_uid(p) == uid;
    }
    return false;
}

struct process *agent_in_group(const struct agent *a, pid_t pid)
{
    struct cgroup_paths paths;
    struct process *p;

    cgroup_paths_of(pid, &paths);
    DL_FOREACH(a->table.list, p)
    if (p->cgroup != NULL && p->handle != NULL &&
        cgroup_is_below(paths.unified, p->cgroup->unified))
        return p;
    return NULL;
}

bool agent_of_group(pid_t pid, uid_t uid, void *userdata, void **ret)
{
    struct process *p = agent_in_group(userdata, pid);

    if (p != NULL)
        *ret = p;
    return p != NULL && process_uid(p) == uid;
}

bool agent_on_checkpoint_done(struct process *p, void *userdata)
{
    struct agent *a = userdata;
    bool stopping = agent_core_checkpoint_done(a->core, &p->id);

    if (stopping)
        agent_decided(a);
    return stopping;
}

void agent_on_alive(struct process *p, uint64_t within_us, void *userdata)
{
    struct agent *a = userdata;

    if (!agent_core_promised(a->core, &p->id, within_us, clock_read_us(CLOCK_BOOTTIME)))
        return;
    process_promise(p, within_us);
    agent_decided(a);
}
