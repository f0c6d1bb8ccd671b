/* SPDX-License-Identifier: Apache-2.0 */
/* judge_cgroups.c - control groups: which layout, whether limits can be held, whether a whole group
 * can be killed at once */
#include "agent/groups/cgroup.h"
#include "agent/doctor/facts.h"
#include "shared/macro.h"

static void judge_layout(const struct cgroup_facts *facts, struct findings *ret)
{
    if (facts->unified && facts->v1_has[0] == '\0') {
        found_ok(ret, "cgroups", "version 2");
    } else if (facts->unified) {
        found_ok(ret, "cgroups", "both versions: limits by version 1, life and death by version 2");
    } else if (facts->v1_has[0] != '\0') {
        found_warning(ret, "cgroups",
                      "version 1 alone: leftovers of a killed supervisor are not found");
        found_remedy(ret, "start the kernel with systemd.unified_cgroup_hierarchy=1"
                          " (/etc/default/grub, then update-grub and reboot)");
    } else {
        found_warning(ret, "cgroups",
                      "none are mounted: no limit is held, and figures of processes"
                      " are sums over /proc");
        found_remedy(ret, "mount -t cgroup2 none /sys/fs/cgroup");
    }
}

static void judge_controllers(const struct cgroup_facts *facts, struct findings *ret)
{
    static const struct {
        const char *name, *loses;
        bool v1_only; /* version 2 has it without a controller */
    } wanted[] = {
        { "memory", "limits of memory are not held", false },
        { "cpu", "processes do not share the cores by their requests", false },
        { "pids", "a fork bomb is not held", false },
        { "devices", "processes see devices that they were not granted", true },
    };
    size_t missing = 0;

    for (size_t i = 0; i < ELEMENTS(wanted); i++) {
        const char *name = wanted[i].name;
        bool is_v1 = cgroup_has_word(facts->v1_has, name);
        bool by_version_2 = wanted[i].v1_only ? facts->unified && facts->v1_has[0] == '\0'
                                              : cgroup_has_word(facts->unified_has, name);

        if (is_v1 || by_version_2)
            continue;
        missing++;
        found_warning(ret, "controllers", "there is no %s controller: %s", name, wanted[i].loses);
        if (streq(name, "memory"))
            found_remedy(ret, "start the kernel with cgroup_enable=memory (/etc/default/grub, then"
                              " update-grub and reboot)");
        else
            found_remedy(ret,
                         "run a kernel that is built with it, such as Debian's: apt-get install"
                         " linux-image-amd64");
    }
    if (missing == 0)
        found_ok(ret, "controllers", "memory, cpu, pids and devices are limited");
}

void judge_cgroups(const struct doctor_facts *all, struct findings *ret)
{
    const struct cgroup_facts *facts = &all->cgroups;

    judge_layout(facts, ret);
    if (facts->unified || facts->v1_has[0] != '\0')
        judge_controllers(facts, ret);
    if (facts->can_kill) {
        found_ok(ret, "cgroup.kill", "a whole group is killed at once");
    } else if (facts->unified) {
        found_warning(ret, "cgroup.kill",
                      "is not there: trees are killed process by process, and a program that forks "
                      "faster lives longer");
        found_remedy(ret, "run Linux 5.14 or later: apt-get install linux-image-amd64");
    }
}
