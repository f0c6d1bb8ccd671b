/* SPDX-License-Identifier: Apache-2.0 */
/* judge_systemd.c - what starts processes here, and with which limits */
#include "agent/doctor/facts.h"
#include "shared/macro.h"

static bool is_by_units(const struct systemd_facts *facts)
{
    return facts->booted && facts->root && facts->wanted != WANTED_DIRECT;
}

static void judge_presence(const struct systemd_facts *facts, struct findings *ret)
{
    if (facts->booted) {
        found_ok(ret, "systemd", "%s%sruns this machine", facts->version,
                 facts->version[0] != '\0' ? " " : "");
    } else if (facts->wanted == WANTED_SYSTEMD) {
        found_problem(ret, "systemd",
                      "does not run this machine, and agent.conf wants it to start"
                      " processes");
        found_remedy(ret, "set runtime: direct in /etc/edl/agent.conf");
    } else if (facts->wanted == WANTED_DIRECT) {
        found_ok(ret, "systemd", "does not run this machine, and is not wanted (runtime: direct)");
    } else {
        found_warning(ret, "systemd", "does not run this machine");
        found_remedy(ret, "set runtime: direct in /etc/edl/agent.conf when that is meant");
    }
}

/* Without units: control groups that supervisors make, as far as those can be had. */
static void judge_own_limits(const struct systemd_facts *facts, const struct cgroup_facts *cgroups,
                             struct findings *ret)
{
    const char *why = facts->wanted == WANTED_DIRECT ? "as agent.conf says, without units"
                      : !facts->booted               ? "without units, as systemd does not run here"
                                                     : "without units, as you are not root";

    if (cgroups->own_holds[0] != '\0') {
        found_ok(ret, "limits", "processes start %s; each in a control group, which holds: %s", why,
                 cgroups->own_holds);
        return;
    }
    found_warning(ret, "limits", "processes start %s: nothing holds them to their requests%s%s",
                  why, cgroups->own_fault[0] != '\0' ? "; " : "", cgroups->own_fault);
    if (facts->booted)
        found_remedy(ret, facts->root ? "set runtime: auto in /etc/edl/agent.conf"
                                      : "run edl-agent as root; and this as well: sudo edl doctor");
    else if (cgroups->own_remedy[0] != '\0')
        found_remedy(ret, "%s", cgroups->own_remedy);
}

static void judge_limits(const struct doctor_facts *all, struct findings *ret)
{
    if (is_by_units(&all->systemd))
        found_ok(
            ret, "limits",
            "each process gets a unit: memory, share of the cores, 4096 tasks, its GPUs alone");
    else
        judge_own_limits(&all->systemd, &all->cgroups, ret);
}

/* At the end of its node's lease a process stands still if it has a group. */
static void judge_freezer(const struct doctor_facts *all, struct findings *ret)
{
    const struct cgroup_facts *cgroups = &all->cgroups;
    bool has_group = is_by_units(&all->systemd) || cgroups->own_fault[0] == '\0';

    if (cgroups->can_freeze && has_group) {
        found_ok(ret, "cgroup.freeze", "processes of a node that is cut off stand still");
        return;
    }
    found_warning(ret, "cgroup.freeze",
                  "is not there for processes: when this node is cut off, or the scheduler's"
                  " machine restarts, they are killed; they would stand still and go on");
    if (!cgroups->can_freeze && cgroups->unified)
        found_remedy(ret, "run Linux 5.2 or later: apt-get install linux-image-amd64");
    else if (cgroups->own_remedy[0] != '\0' && cgroups->unified)
        found_remedy(ret, "%s", cgroups->own_remedy);
    else
        found_remedy(ret, "start the kernel with systemd.unified_cgroup_hierarchy=1"
                          " (/etc/default/grub, then update-grub and reboot)");
}

/* A restart of the agent must disturb nobody: with units each process is in a group of its own. */
static void judge_unit(const struct systemd_facts *facts, struct findings *ret)
{
    if (!facts->has_unit)
        return;
    if (is_by_units(facts) || streq(facts->kill_mode, "process")) {
        found_ok(ret, "agent's unit", "KillMode=%s: its restart disturbs no process",
                 facts->kill_mode);
        return;
    }
    found_problem(ret, "agent's unit", "KillMode=%s: a restart of the agent kills every process",
                  facts->kill_mode);
    found_remedy(ret, "systemctl edit edl-agent, and write: [Service] KillMode=process");
}

void judge_systemd(const struct doctor_facts *all, struct findings *ret)
{
    const struct systemd_facts *facts = &all->systemd;

    judge_presence(facts, ret);
    if (is_by_units(facts) && facts->bus_fault[0] != '\0') {
        found_problem(ret, "system bus", "cannot be reached: %s", facts->bus_fault);
        found_remedy(ret, "apt-get install dbus; systemctl start dbus");
    } else if (is_by_units(facts)) {
        found_ok(ret, "system bus", "is reached");
    }
    judge_limits(all, ret);
    judge_freezer(all, ret);
    judge_unit(facts, ret);
}
