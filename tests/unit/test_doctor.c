/* SPDX-License-Identifier: Apache-2.0 */
/* test_doctor.c - what `edl doctor` makes of machines: each case is a healthy one with one thing
 * changed, and says the verdict, words of the text, and words of the remedy */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>

#include "agent/doctor/facts.h"
#include "shared/http_probe.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

#define GIB (UINT64_C(1) << 30)

/* healthy - a Debian node under systemd, root, joined, two GPUs */
static struct doctor_facts healthy(void)
{
    struct doctor_facts facts = {
        .cgroups = { .unified = true,
                     .unified_has = "cpuset cpu io memory pids",
                     .can_kill = true,
                     .can_freeze = true },
        .systemd = { .booted = true,
                     .root = true,
                     .version = "252.31-1",
                     .has_unit = true,
                     .kill_mode = "process" },
        .gpus = { .on_bus = 2,
                  .module = "535.129.03",
                  .has_nvml = true,
                  .n = 2,
                  .driver = "535.129.03",
                  .nvml = "12.535.129.03" },
        .clock = { .is_known = true,
                   .is_synchronised = true,
                   .has_offset = true,
                   .offset_us = -400000 },
        .disks = { { .name = "state folder",
                     .path = "/var/lib/edl/agent",
                     .looked_at = "/var/lib/edl/agent",
                     .type = "ext4",
                     .total_bytes = 100 * GIB,
                     .free_bytes = 50 * GIB,
                     .files = 1000000,
                     .files_free = 900000,
                     .outlives_boot = true } },
        .n_disks = 1,
        .workspace_cache_bytes = 8 * GIB,
        .reach = { .server = "https://s:7010",
                   .node = "n1",
                   .joined = true,
                   .ca_path = "/var/lib/edl/agent/ca.pem",
                   .pin = "sha256:00",
                   .tls = true,
                   .stage = HTTP_STAGE_DONE,
                   .peer = "10.0.0.1",
                   .status = 200,
                   .version = EDL_VERSION,
                   .orders_status = 200 },
        .accounts = { .root = true, .self = "root" },
        .machine = { .machine_id = "0123456789abcdef0123456789abcdef",
                     .has_pidfd = true,
                     .kernel = "6.1.0",
                     .files_soft = 1024,
                     .files_hard = 1048576,
                     .processes = UINT64_MAX,
                     .locked_bytes = UINT64_MAX,
                     .pid_max = 4194304 },
    };

    return facts;
}

static void judge_all(const struct doctor_facts *facts, struct findings *ret)
{
    *ret = (struct findings){ .n = 0 };
    judge_machine(facts, ret);
    judge_cgroups(facts, ret);
    judge_systemd(facts, ret);
    judge_gpus(facts, ret);
    judge_disks(facts, ret);
    judge_accounts(facts, ret);
    judge_drop_ins(facts, ret);
    judge_reach(facts, ret);
    judge_clock(facts, ret);
}

static void show(const struct findings *findings)
{
    for (size_t i = 0; i < findings->n; i++)
        print_message("%s %s: %s; try: %s\n", verdict_name(findings->list[i].verdict),
                      findings->list[i].check, findings->list[i].text, findings->list[i].remedy);
}

TEST(test_a_healthy_node_has_neither_warning_nor_problem)
{
    struct doctor_facts facts = healthy();
    struct findings findings;

    judge_all(&facts, &findings);
    if (findings_count(&findings, VERDICT_OK) != findings.n)
        show(&findings);
    assert_int_equal(findings_count(&findings, VERDICT_OK), findings.n);
    assert_true(findings.n >= 18);
    for (size_t i = 0; i < findings.n; i++)
        assert_string_equal(findings.list[i].remedy, "");
}

/* expect - exactly one that is not ok, or at least one of that check */
static void expect(const struct doctor_facts *facts, enum verdict verdict, const char *check,
                   const char *text, const char *remedy)
{
    struct findings findings;

    judge_all(facts, &findings);
    for (size_t i = 0; i < findings.n; i++) {
        const struct finding *finding = &findings.list[i];

        if (finding->verdict == verdict && streq(finding->check, check) &&
            strstr(finding->text, text) != NULL && strstr(finding->remedy, remedy) != NULL)
            return;
    }
    show(&findings);
    fail_msg("nothing says %s %s: %s; try: %s", verdict_name(verdict), check, text, remedy);
}

#define CASE(verdict, check, text, remedy, ...)                                                    \
    do {                                                                                           \
        struct doctor_facts f = healthy();                                                         \
        __VA_ARGS__;                                                                               \
        expect(&f, verdict, check, text, remedy);                                                  \
    } while (0)

static void set(char *to, const char *text)
{
    (void)snprintf(to, FACT_SIZE, "%s", text);
}

TEST(test_cgroups)
{
    CASE(VERDICT_OK, "cgroups", "both versions", "",
         set(f.cgroups.v1_has, "memory cpu pids devices"));
    CASE(VERDICT_WARNING, "cgroups", "version 1 alone", "unified_cgroup_hierarchy=1",
         f.cgroups.unified = false;
         set(f.cgroups.v1_has, "memory"));
    CASE(VERDICT_WARNING, "cgroups", "none", "mount -t cgroup2", f.cgroups.unified = false);
    CASE(VERDICT_WARNING, "controllers", "no memory controller", "cgroup_enable=memory",
         set(f.cgroups.unified_has, "cpu pids"));
    CASE(VERDICT_WARNING, "controllers", "no cpu controller", "apt-get",
         set(f.cgroups.unified_has, "cpuset memory pids")); /* not: the beginning of cpuset */
    CASE(VERDICT_WARNING, "controllers", "no devices controller", "apt-get",
         set(f.cgroups.v1_has, "memory cpu pids"));
    CASE(VERDICT_WARNING, "cgroup.kill", "not there", "5.14", f.cgroups.can_kill = false);
    CASE(VERDICT_WARNING, "cgroup.freeze", "they are killed", "5.2", f.cgroups.can_freeze = false);
}

TEST(test_systemd)
{
    CASE(VERDICT_WARNING, "systemd", "does not run", "runtime: direct", f.systemd.booted = false);
    CASE(VERDICT_OK, "systemd", "not wanted", "", f.systemd.booted = false;
         f.systemd.wanted = WANTED_DIRECT);
    CASE(VERDICT_PROBLEM, "systemd", "does not run", "runtime: direct", f.systemd.booted = false;
         f.systemd.wanted = WANTED_SYSTEMD);
    CASE(VERDICT_PROBLEM, "system bus", "No such file", "systemctl start dbus",
         set(f.systemd.bus_fault, "No such file or directory"));
    CASE(VERDICT_WARNING, "limits", "not root", "sudo edl doctor", f.systemd.root = false);
    CASE(VERDICT_OK, "limits", "which holds: memory, tasks", "", f.systemd.booted = false;
         set(f.cgroups.own_holds, "memory, tasks"));
    CASE(VERDICT_WARNING, "limits", "to their requests; it is read-only", "give it",
         f.systemd.booted = false;
         set(f.cgroups.own_fault, "it is read-only"); set(f.cgroups.own_remedy, "give it"));
    CASE(VERDICT_WARNING, "limits", "as agent.conf says", "runtime: auto",
         f.systemd.wanted = WANTED_DIRECT);
    CASE(VERDICT_OK, "agent's unit", "control-group", "",
         set(f.systemd.kill_mode, "control-group")); /* each process has a unit of its own */
    CASE(VERDICT_PROBLEM, "agent's unit", "kills every process", "KillMode=process",
         set(f.systemd.kill_mode, "control-group");
         f.systemd.wanted = WANTED_DIRECT);
}

TEST(test_gpus)
{
    CASE(VERDICT_OK, "gpus", "2, driver 535.129.03, NVML 12.535.129.03", "", (void)f);
    CASE(VERDICT_OK, "gpus", "none", "", f.gpus = (struct gpu_facts){ 0 });
    CASE(VERDICT_OK, "gpus", "2 as agent.conf says", "",
         f.gpus = ((struct gpu_facts){ .is_given = true, .given = 2 }));
    CASE(VERDICT_WARNING, "gpus", "no driver is loaded", "nvidia-driver",
         f.gpus = (struct gpu_facts){ .on_bus = 2 });
    CASE(VERDICT_WARNING, "gpus", "library (NVML) is missing", "libnvidia-ml1",
         f.gpus.has_nvml = false);
    CASE(VERDICT_WARNING, "gpus", "offers 4 GPUs, and the driver knows 2", "agent.conf",
         f.gpus.is_given = true;
         f.gpus.given = 4);
    CASE(VERDICT_WARNING, "gpus", "3 NVIDIA devices", "nvidia-smi", f.gpus.on_bus = 3);
    CASE(VERDICT_PROBLEM, "gpus", "does not answer", "reboot", f.gpus.timed_out = true);
    CASE(VERDICT_PROBLEM, "gpus", "version mismatch", "reboot", f.gpus.has_nvml = false;
         set(f.gpus.complaint, "GPUs are not seen: Driver/library version mismatch"));
    CASE(VERDICT_PROBLEM, "gpus", "cannot be started", "package", f.gpus.prober_missing = true;
         set(f.gpus.complaint, "No such file or directory"));
}

TEST(test_clock)
{
    CASE(VERDICT_WARNING, "clock", "no time service", "set-ntp", f.clock.is_synchronised = false);
    CASE(VERDICT_OK, "clock offset", "within 2 s", "", f.clock.offset_us = 2000000);
    CASE(VERDICT_WARNING, "clock offset", "3 s ahead of", "set-ntp", f.clock.offset_us = 3000000);
    CASE(VERDICT_WARNING, "clock offset", "3 s behind", "set-ntp", f.clock.offset_us = -3000000);
    CASE(VERDICT_PROBLEM, "clock offset", "3600 s behind", "set-ntp",
         f.clock.offset_us = INT64_C(-3600000000));
}

TEST(test_disks)
{
    CASE(VERDICT_PROBLEM, "state folder", "cannot be looked at: Permission denied", "ls -ld",
         f.disks[0].failure = -EACCES);
    CASE(VERDICT_PROBLEM, "state folder", "you may not make it in /var", "mkdir -p",
         f.disks[0].cannot_make = true;
         set(f.disks[0].looked_at, "/var"));
    CASE(VERDICT_PROBLEM, "state folder", "others may write", "chmod go-w",
         set(f.disks[0].fault, "others may write to /var/lib/edl/agent"));
    CASE(VERDICT_PROBLEM, "state folder", "is on NFS", "disk of this machine",
         f.disks[0].network = "NFS");
    CASE(VERDICT_OK, "output folder", "nfs4", "", f.n_disks = 2; f.disks[1] = f.disks[0];
         f.disks[1].name = "output folder"; f.disks[1].network = "NFS";
         f.disks[1].may_be_network = true;
         (void)snprintf(f.disks[1].type, sizeof f.disks[1].type, "nfs4"));
    CASE(VERDICT_PROBLEM, "state folder", "only 63 MiB", "du -xsh",
         f.disks[0].free_bytes = UINT64_C(63) << 20);
    CASE(VERDICT_PROBLEM, "state folder", "999 more files", "df -i", f.disks[0].files_free = 999);
    CASE(VERDICT_OK, "state folder", "51200 MiB", "", f.disks[0].files = 0;
         f.disks[0].files_free = 0);
    CASE(VERDICT_WARNING, "state folder", "512 MiB of", "make room",
         f.disks[0].free_bytes = GIB / 2);
    CASE(VERDICT_WARNING, "state folder", "archives of workspaces", "workspace-cache: 2048Mi",
         f.disks[0].total_bytes = 4 * GIB;
         f.disks[0].free_bytes = 3 * GIB);
    CASE(VERDICT_WARNING, "state folder", "tmpfs", "--state-dir",
         (void)snprintf(f.disks[0].type, sizeof f.disks[0].type, "tmpfs"));
}

TEST(test_reach)
{
    CASE(VERDICT_WARNING, "membership", "has not joined", "edl node add",
         f.reach = (struct reach_facts){ 0 });
    CASE(VERDICT_PROBLEM, "membership", "damaged", "remove it",
         edl_error_set(&f.reach.member_fault, -EINVAL, "member.json is damaged");
         edl_error_remedy(&f.reach.member_fault, "remove it"));
    CASE(VERDICT_PROBLEM, "authority", "true one", "--ca", set(f.reach.ca_path, ""));
    CASE(VERDICT_PROBLEM, "scheduler's name", "Could not resolve", "getent hosts",
         f.reach.stage = HTTP_STAGE_NAME;
         set(f.reach.text, "Could not resolve host: s"));
    CASE(VERDICT_PROBLEM, "connection", "refused", "firewall",
         f.reach.stage = HTTP_STAGE_CONNECTION;
         set(f.reach.text, "Connection refused"));
    CASE(VERDICT_OK, "scheduler's name", "is found", "", f.reach.stage = HTTP_STAGE_CONNECTION);
    CASE(VERDICT_PROBLEM, "tls", "not signed", "pin", f.reach.stage = HTTP_STAGE_TLS;
         set(f.reach.text, "its certificate is not signed by the authority that is believed"));
    CASE(VERDICT_PROBLEM, "version", "not as a scheduler does", "address", f.reach.status = 404);
    CASE(VERDICT_PROBLEM, "version", "more than one version apart", "upgrade",
         (void)snprintf(f.reach.version, sizeof f.reach.version, "9.0.0"));
    CASE(VERDICT_PROBLEM, "credential", "refuses it (401): no such node", "edl node add n1",
         f.reach.orders_status = 401;
         set(f.reach.orders_text, "no such node"));
    CASE(VERDICT_OK, "credential", "not reported yet", "", f.reach.orders_status = 503);
    CASE(VERDICT_PROBLEM, "scheduler's store", "its synchronous copy", "start that copy",
         f.reach.orders_status = 503;
         set(f.reach.unstored_text, "the database at n2 waits for its synchronous copy \"edl\"");
         set(f.reach.unstored_remedy, "start that copy"));
    CASE(VERDICT_PROBLEM, "scheduler's store", "disk", "journalctl",
         set(f.reach.unstored_text, "the disk of the database is full"));
}

TEST(test_accounts)
{
    CASE(VERDICT_PROBLEM, "agent.conf", "line 3", "lists all",
         edl_error_set(&f.accounts.conf_fault, -EINVAL, "agent.conf line 3: no such key");
         edl_error_remedy(&f.accounts.conf_fault, "edl-agent(8) lists all"));
    CASE(VERDICT_OK, "accounts", "all but root", "", (void)f);
    CASE(VERDICT_OK, "accounts", "runs every process as ann", "", f.accounts.root = false;
         (void)snprintf(f.accounts.self, sizeof f.accounts.self, "ann"));
    CASE(VERDICT_WARNING, "accounts", "allow-root", "user-range", f.accounts.allow_root = true);
    CASE(VERDICT_PROBLEM, "accounts", "no account jobs", "adduser", f.accounts.n_named = 1;
         f.accounts.named[0] = ((struct named_account){ .name = "jobs", .is_default = true }));
    CASE(VERDICT_WARNING, "accounts", "everybody without an account here is jobs", "user-range",
         f.accounts.n_named = 1;
         f.accounts.named[0] = ((struct named_account){
             .name = "jobs", .exists = true, .is_default = true, .uid = 900 }));
    CASE(VERDICT_WARNING, "accounts", "no group staff", "getent group staff",
         f.accounts.n_named = 1;
         f.accounts.named[0] = ((struct named_account){ .name = "staff", .is_group = true }));
    CASE(VERDICT_WARNING, "accounts", "toor is root", "not root", f.accounts.n_named = 1;
         f.accounts.named[0] = ((struct named_account){ .name = "toor", .exists = true }));
    CASE(VERDICT_OK, "accounts", "1 user", "", f.accounts.n_named = 1;
         f.accounts.named[0] =
             ((struct named_account){ .name = "ann", .exists = true, .uid = 1000 }));
}

TEST(test_drop_ins)
{
    CASE(VERDICT_OK, "prolog", "in this order: 10-a 20-b", "", f.drop_ins[0].n = 2;
         set(f.drop_ins[0].names, "10-a 20-b"));
    CASE(VERDICT_WARNING, "epilog", "a.sh", "run-parts", set(f.drop_ins[1].ignored, "a.sh"));
    CASE(VERDICT_PROBLEM, "prolog", "no job starts", "chown", f.drop_ins[0].n = 1;
         edl_error_set(&f.drop_ins[0].fault, -EPERM, "/etc/edl/prolog.d/a is not root's alone");
         edl_error_remedy(&f.drop_ins[0].fault, "chown root /etc/edl/prolog.d/a"));
}

TEST(test_machine)
{
    static const char *const bad[] = { "", "uninitialized", "0123456789ABCDEF0123456789abcdef",
                                       "00000000000000000000000000000000", "0123" };

    for (size_t i = 0; i < ELEMENTS(bad); i++)
        CASE(VERDICT_PROBLEM, "machine-id", "told apart", "systemd-machine-id-setup",
             (void)snprintf(f.machine.machine_id, sizeof f.machine.machine_id, "%s", bad[i]));
    CASE(VERDICT_WARNING, "machine-id", "copy", "ln -sf",
         (void)snprintf(f.machine.dbus_id, sizeof f.machine.dbus_id, "%032d", 7));
    CASE(VERDICT_PROBLEM, "pidfd", "has none", "5.4", f.machine.has_pidfd = false);
    CASE(VERDICT_WARNING, "ulimits", "1024 open files", "LimitNOFILE", f.machine.files_hard = 1024);
    CASE(VERDICT_WARNING, "ulimits", "100 processes", "nproc", f.machine.processes = 100);
    CASE(VERDICT_WARNING, "ulimits", "pid_max is 4096", "sysctl", f.machine.pid_max = 4096);
    CASE(VERDICT_WARNING, "ulimits", "64 KiB", "LimitMEMLOCK", f.machine.locked_bytes = 65536);
    CASE(VERDICT_OK, "ulimits", "enough", "", f.machine.locked_bytes = 65536; f.gpus.n = 0);
}
