/* SPDX-License-Identifier: Apache-2.0 */
/* held_limits.c - which limits of processes are held on this node, so that nobody believes in
 * others
 *
 * The order.json of each process says where its control group is to be made, the report of the node
 * what that holds. */
#include <string.h>
#include <sys/vfs.h>
#include <linux/magic.h>
#include <stdio.h>

#include "agent/agent_internal.h"
#include "agent/groups/cgroup_home.h"
#include "agent/options.h"
#include "shared/cleanup.h"
#include "shared/log.h"
#include "shared/macro.h"

/* systemd_holds - by a controller of version 2, or of version 1, which does for all but CPUs */
static bool systemd_holds(const char *controllers, enum cgroup_controller controller)
{
    const char *name = cgroup_controller_name(controller);
    char path[64];
    struct statfs fs;

    if (cgroup_has_word(controllers, name))
        return true;
    (void)snprintf(path, sizeof path, "%s/%s", cgroup_legacy_root(), name);
    return controller != CGROUP_CPUSET && statfs(path, &fs) == 0 && fs.f_type == CGROUP_SUPER_MAGIC;
}

static json_t *limits_of_systemd(void)
{
    _cleanup_fclose_ FILE *file = NULL;
    char path[64], controllers[256] = "";
    json_t *held = json_array();

    (void)snprintf(path, sizeof path, "%s/cgroup.controllers", cgroup_unified_root());
    file = fopen(path, "re");
    if (file != NULL && fgets(controllers, sizeof controllers, file) == NULL)
        controllers[0] = '\0';
    for (enum cgroup_controller i = 0; i < CGROUP_CONTROLLERS; i++)
        if (systemd_holds(controllers, i))
            (void)json_array_append_new(held, json_string(cgroup_limit_name(i)));
    (void)json_array_append_new(held, json_string("devices"));
    return held;
}

static json_t *limits_of_home(const struct cgroup_home *home)
{
    json_t *held = json_array();

    for (enum cgroup_controller i = 0; i < CGROUP_CONTROLLERS; i++)
        if (cgroup_home_holds(home, i))
            (void)json_array_append_new(held, json_string(cgroup_limit_name(i)));
    return held;
}

void agent_open_limits(struct agent *a, bool by_systemd)
{
    struct edl_error error = { 0 };
    struct cgroup_home home = { 0 };

    if (by_systemd) {
        a->limits = limits_of_systemd();
        return;
    }
    if (a->options->no_control_groups)
        log_info("limits of processes are not held: --no-control-groups");
    else if (cgroup_home_open(&home, a->options->cpu_idle, &error) < 0)
        log_entry(LOG_LEVEL_WARNING,
                  &(struct log_subject){ .message = MESSAGE_AGENT_LIMITS_NOT_HELD },
                  "limits of processes are not held: %s; %s", error.text, error.remedy);
    else
        a->cgroup_home = cgroup_home_to_json(&home);
    a->limits = limits_of_home(&home);
}

void agent_close_limits(struct agent *a)
{
    json_decref(a->cgroup_home);
    json_decref(a->limits);
}
