/* SPDX-License-Identifier: Apache-2.0 */
/* judge_machine.c - identity, pidfds, limits of the account that starts the agent */
#include "agent/doctor/facts.h"
#include "shared/macro.h"

#define MACHINE_ID_DIGITS 32
#define FILES_WANTED 4096U
#define PROCESSES_WANTED 4096U
#define PIDS_WANTED 32768U
#define LOCKED_WANTED_BYTES (UINT64_C(64) << 20)

#define REMEDY_MACHINE_ID "rm -f /etc/machine-id; systemd-machine-id-setup; then reboot"

static bool is_machine_id(const char *text)
{
    return strlen(text) == MACHINE_ID_DIGITS &&
           strspn(text, "0123456789abcdef") == MACHINE_ID_DIGITS &&
           strspn(text, "0") < MACHINE_ID_DIGITS;
}

static void judge_machine_id(const struct machine_facts *facts, struct findings *ret)
{
    if (!is_machine_id(facts->machine_id)) {
        found_problem(ret, "machine-id", "/etc/machine-id %s%.40s: machines cannot be told apart",
                      facts->machine_id[0] == '\0' ? "is missing or empty" : "says ",
                      facts->machine_id);
        found_remedy(ret, REMEDY_MACHINE_ID);
    } else if (facts->dbus_id[0] != '\0' && !streq(facts->dbus_id, facts->machine_id)) {
        found_warning(ret, "machine-id",
                      "/var/lib/dbus/machine-id is another one, as in a copy of a machine");
        found_remedy(ret, "ln -sf /etc/machine-id /var/lib/dbus/machine-id");
    } else {
        found_ok(ret, "machine-id",
                 "is there; whether a copy has the same one is seen when that"
                 " joins");
    }
}

static void judge_limits(const struct doctor_facts *all, struct findings *ret)
{
    const struct machine_facts *facts = &all->machine;
    size_t before = ret->n;

    if (facts->files_hard < FILES_WANTED) {
        found_warning(ret, "ulimits", "%llu open files at most: too few for many processes",
                      (unsigned long long)facts->files_hard);
        found_remedy(ret, "systemctl edit edl-agent: [Service] LimitNOFILE=65536; or ulimit -Hn"
                          " 65536 before it is started");
    }
    if (facts->processes < PROCESSES_WANTED) {
        found_warning(ret, "ulimits", "at most %llu processes for this account",
                      (unsigned long long)facts->processes);
        found_remedy(ret, "/etc/security/limits.conf: nproc; or ulimit -u unlimited");
    }
    if (facts->pid_max < PIDS_WANTED) {
        found_warning(ret, "ulimits", "kernel.pid_max is %llu", (unsigned long long)facts->pid_max);
        found_remedy(ret, "sysctl -w kernel.pid_max=4194304");
    }
    if (all->gpus.n > 0 && facts->locked_bytes < LOCKED_WANTED_BYTES) {
        found_warning(ret, "ulimits",
                      "%llu KiB of memory can be locked: NCCL over InfiniBand needs more",
                      (unsigned long long)(facts->locked_bytes >> 10));
        found_remedy(ret,
                     "ulimit -l unlimited before the agent is started (LimitMEMLOCK=infinity)");
    }
    if (ret->n == before)
        found_ok(ret, "ulimits", "open files, processes and pids are enough (of this shell)");
}

void judge_machine(const struct doctor_facts *all, struct findings *ret)
{
    const struct machine_facts *facts = &all->machine;

    judge_machine_id(facts, ret);
    if (facts->has_pidfd) {
        found_ok(ret, "pidfd", "Linux %s has them: nobody is signalled by a recycled number",
                 facts->kernel);
    } else {
        found_problem(ret, "pidfd", "Linux %s has none: the agent cannot keep processes",
                      facts->kernel);
        found_remedy(ret, "run Linux 5.4 or later: apt-get install linux-image-amd64");
    }
    judge_limits(all, ret);
}
