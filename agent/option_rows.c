/* SPDX-License-Identifier: Apache-2.0 */
/* option_rows.c - the options of edl-agent: one row each, see shared/options_table.h */
#include "agent/option_rows.h"

#include "agent/option_values.h"
#include "agent/options.h"
#include "shared/macro.h"
#include "shared/option_kinds.h"
#include "shared/options_reading.h"

#define DEFAULT_CONF "/etc/edl/agent.conf"
#define AT(member) OPTION_FIELD(struct agent_options, member)

static const struct option_row rows[] = {
    { "join", "URL[,URL...]",
      "join the cluster of this scheduler: https://host:port; of\n"
      "several, one of which leads, the addresses of all",
      option_text, OPTION_AT_START, AT(join) },
    { "token", "TOKEN", "good for one join", option_token, OPTION_ONCE, AT(token) },
    { "join-only", NULL, "end when the node has joined: the service does the rest", option_flag,
      OPTION_ONCE, AT(join_only) },
    { "ca-pin", "PIN", "sha256:...: how the scheduler is known for the true one", option_text,
      OPTION_AT_START, AT(ca_pin) },
    { "ca", "FILE", "the same by the certificate of its authority", option_text, OPTION_AT_START,
      AT(ca) },
    { "node", "NAME", "name of this node, unique in the cluster (default: host name)", option_text,
      OPTION_AT_START, AT(node) },
    { "scheduler", "URL[,URL...]", "where the scheduler is, if not where it was joined",
      option_text, OPTION_AT_START, AT(scheduler) },
    { "join-token-file", "FILE", "file with the token, read each time the node has to join",
      option_text, OPTION_AT_START, AT(join_token_file) },
    { "state-dir", "DIR",
      "credential, socket, process folders, logs (default: as root\n"
      "/var/lib/edl/agent, else ~/.local/state/edl/agent)",
      option_text, OPTION_AT_START, AT(state_dir) },
    { "runtime-dir", "DIR", "process folders, on a tmpfs (default: the state folder)", option_text,
      OPTION_AT_START, AT(runtime_dir) },
    { "output-dir", "DIR", "where jobs write results (default: output in the state folder)",
      option_text, OPTION_AT_START, AT(output_dir) },
    { "address", "ADDRESS",
      "where processes of this node are reached (default: the one\n"
      "from which it reached the scheduler when it joined; on the\n"
      "scheduler's own machine the one on the way to others)",
      option_text, OPTION_AT_START, AT(address) },
    { "client-conf", "FILE",
      "where accounts of this machine read which scheduler to ask,\n"
      "written at the join, with ca.pem beside it (default: as root\n"
      "/etc/edl/client.conf, with another state folder none; \"\":\n"
      "none)",
      option_text, OPTION_AT_START, AT(client_conf) },
    { "conf", "FILE",
      "and FILE.d/*.conf: these options, one a line as NAME: VALUE\n"
      "(default: as root " DEFAULT_CONF "; \"\": none)",
      .use = OPTION_ONCE },
    { "cpu", "QUANTITY", "offered: 4, 0.5, 500m (default: all but the reserve)", option_cpu,
      OPTION_LIVE, AT(cpu_millicores) },
    { "memory", "QUANTITY", "offered: 8Gi (default: all but the reserve)", option_bytes,
      OPTION_LIVE, AT(memory_bytes) },
    { "reserve-cpu", "QUANTITY", "not to be offered: kept for the machine itself", option_cpu,
      OPTION_LIVE, AT(reserve_cpu_millicores) },
    { "reserve-memory", "QUANTITY", "the same", option_bytes, OPTION_LIVE,
      AT(reserve_memory_bytes) },
    { "overcommit", NULL,
      "--cpu and --memory may be more than the machine has: to try\n"
      "things out, as edl dev does; nothing runs faster by it",
      option_flag, OPTION_LIVE, AT(overcommit) },
    { "gpus", "N", "devices offered, at most 64 (default: those that NVML knows)", option_gpus,
      OPTION_AT_START, AT(gpus) },
    { "gpu-numa", "N,N,...", "NUMA node of each device (default: all 0)", option_gpu_numa,
      OPTION_AT_START, AT(gpu_numa) },
    { "gpu-idle", "TIME",
      "a granted device that does nothing for so long is told to the\n"
      "scheduler, and goes to others first (default {}; 0: never)",
      option_time, OPTION_AT_START, AT(gpu_idle_us), .fallback = "10m" },
    { "label", "NAME=VALUE",
      "for the node-selector of jobs; may be repeated, see\n"
      "also EDL_LABELS (arch and os are there by themselves)",
      option_label, OPTION_LIVE, AT(labels), .count = OPTION_GATHERED },
    { "ports", "FIRST-LAST", "for processes (default {})", option_ports, OPTION_LIVE,
      AT(port_first), .fallback = "20000-20999" },
    { "heartbeat", "TIME", "between reports when nothing happens (default {})", option_time,
      OPTION_AT_START, AT(heartbeat_us), .fallback = "2s", .least = "50ms", .most = "60s" },
    { "runtime", "WHICH",
      "systemd: a unit for each process, with limits; direct: without;\n"
      "{} (default): systemd where it runs the machine",
      option_runtime, OPTION_AT_START, AT(runtime), .fallback = "auto" },
    { "cut-off-kill", "TIME",
      "a process that stands still because its node is cut off from the\n"
      "scheduler is killed after it (default {}, at least 1s)",
      option_time, OPTION_LIVE, AT(cut_off_kill_us), .fallback = "15m", .least = "1s" },
    { "tasks-max", "N", "threads and processes of one process (default {})", option_u64,
      OPTION_LIVE, AT(tasks_max), .fallback = "4096", .least = "16", .most = "4194304" },
    { "pin-cores", NULL, "a process with whole cores gets some for itself, near each other",
      option_flag, OPTION_AT_START, AT(pin_cores) },
    { "cpu-quota", NULL,
      "no process uses more than it was granted, also of idle cores\n"
      "(default: it has its share when cores are short)",
      option_flag, OPTION_LIVE, AT(cpu_quota) },
    { "cpu-idle", NULL,
      "with the direct runtime: processes have the cores that nothing\n"
      "else wants; with systemd that is for edl.slice to say",
      option_flag, OPTION_AT_START, AT(cpu_idle) },
    { "allow-user", "NAME",
      "an account that processes may run as; may be repeated. Without\n"
      "it and --allow-group: all but root and those of the system",
      option_accounts, OPTION_LIVE, AT(allow_users), .count = OPTION_LIST },
    { "allow-group", "NAME", "the same for members of this group; may be repeated", option_accounts,
      OPTION_LIVE, AT(allow_groups), .count = OPTION_LIST },
    { "default-user", "NAME", "for jobs of people who have no account on this node", option_account,
      OPTION_LIVE, AT(default_user) },
    { "map-user", "NAME[=ACCOUNT]",
      "this person is that account here, or the one of the same name,\n"
      "whatever number the scheduler's machine has for it; *: everybody;\n"
      "may be repeated",
      option_map_user, OPTION_LIVE, AT(map_users), .count = OPTION_LIST },
    { "user-range", "FIRST-LAST", "such people have a number of their own each, of these",
      option_user_range, OPTION_LIVE, AT(user_range) },
    { "workspace-cache", "BYTES", "archives of workspaces that are kept (default {})", option_bytes,
      OPTION_LIVE, AT(workspace_cache_bytes), .fallback = "8Gi" },
    { "log-max", "BYTES",
      "of the output of one process the last so many are kept (default\n"
      "{}, at least 256Ki)",
      option_bytes, OPTION_LIVE, AT(log_max_bytes), .fallback = "1Gi", .least = "256Ki" },
    { "old-logs-max", "BYTES", "of all processes that have ended together (default {})",
      option_bytes, OPTION_LIVE, AT(old_logs_max_bytes), .fallback = "8Gi" },
    { "keep-outputs", "TIME", "files of a process stay after it, for edl fetch (default {})",
      option_time, OPTION_LIVE, AT(kept.keep_us), .fallback = "7d" },
    { "outputs-max", "BYTES", "of such files together (default {})", option_bytes, OPTION_LIVE,
      AT(kept.max_bytes), .fallback = "32Gi" },
    { "prolog-dir", "DIR",
      "executables that run before the first process of a job here\n"
      "(default: as root /etc/edl/prolog.d; else, and \"\": none)",
      option_text, OPTION_LIVE, AT(prolog_dir) },
    { "epilog-dir", "DIR",
      "the same behind the last one (default: as root\n"
      "/etc/edl/epilog.d)",
      option_text, OPTION_LIVE, AT(epilog_dir) },
    { "prolog-timeout", "TIME", "for those of one job together (default {})", option_time,
      OPTION_LIVE, AT(prolog_timeout_us), .fallback = "60s", .least = "1s", .most = "1h" },
    { "epilog-timeout", "TIME", "the same", option_time, OPTION_LIVE, AT(epilog_timeout_us),
      .fallback = "60s", .least = "1s", .most = "1h" },
    { "allow-root", NULL, "run processes of jobs that name no user as root", option_flag,
      OPTION_LIVE, AT(allow_root) },
    { "stop-processes-on-exit", NULL, "on SIGTERM stop all processes first", option_flag,
      OPTION_LIVE, AT(stop_processes_on_exit) },
    { "no-control-groups", NULL, "with the direct runtime: hold nobody to limits; starts take less",
      option_flag, OPTION_AT_START, AT(no_control_groups) },
    { "no-foreign", NULL, "do not report other load (nodes that share a machine)", option_flag,
      OPTION_AT_START, AT(no_foreign) },
};
_Static_assert(ELEMENTS(rows) <= OPTIONS_MAX, "each has its text in options_given");

const struct options_table agent_options_table = {
    .program = "edl-agent",
    .page = "edl-agent(8)",
    .usage =
        "Usage: edl-agent --join URL --token TOKEN --ca-pin PIN [OPTION...]   (see: edl node add)\n"
        "       edl-agent [OPTION...]                                         once it has joined\n"
        "Runs the processes that the scheduler orders on this node.\n\n",
    .ending = "  --help, --version\n",
    .column = 28,
    .files = DEFAULT_CONF,
    .read_files = options_read_files,
    .rows = rows,
    .n_rows = ELEMENTS(rows),
};
