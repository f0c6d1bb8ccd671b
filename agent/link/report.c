/* SPDX-License-Identifier: Apache-2.0 */
/* report.c - what an agent says of its node when it joins and when it reports */
#include <sys/statvfs.h>
#include <utlist.h>

#include "agent/agent_internal.h"
#include "agent/core/agent_core.h"
#include "agent/machine/machine.h"
#include "agent/options.h"
#include "agent/machine/ports.h"
#include "agent/machine/probe.h"
#include "agent/link/link.h"
#include "agent/link/membership.h"
#include "agent/link/report_fit.h"
#include "agent/processes/process_id_json.h"
#include "shared/agent_wire.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "shared/own_address.h"
#include "shared/step_sums_json.h"

#define PROGRESS_OLD_US (30 * USEC_PER_SEC)
#define DISK_LEAST_BYTES (UINT64_C(1) << 20) /* for what a start makes, many times over */

static json_t *offer(struct agent *a)
{
    const struct agent_options *o = a->now;
    json_t *labels = json_object(), *gpu_numa = json_array();
    struct labels all = o->labels;
    /* what the operator says of the devices counts also where the machine shows fewer NUMA nodes */
    uint8_t numa_nodes = a->inventory.numa_nodes;

    labels_fill(&all, &a->inventory.labels);
    gpus_label(&a->gpus, &all);
    for (uint32_t i = 0; i < all.n; i++)
        (void)json_object_set_new(labels, all.items[i].name, json_string(all.items[i].value));
    for (uint64_t i = 0; i < a->gpus.n; i++) {
        (void)json_array_append_new(gpu_numa, json_integer(a->gpus.numa[i]));
        numa_nodes = (uint8_t)MAX_OF(numa_nodes, a->gpus.numa[i] + 1);
    }
    return json_pack("{s:s, s:I, s:I, s:I, s:i, s:i, s:i, s:o, s:o}", "address", a->member.address,
                     "cpu_millicores", (json_int_t)a->inventory.cpu_millicores, "memory_bytes",
                     (json_int_t)a->inventory.memory_bytes, "gpus", (json_int_t)a->gpus.n,
                     "port_first", (int)o->port_first, "port_last", (int)o->port_last, "numa_nodes",
                     (int)numa_nodes, "gpu_numa", gpu_numa, "labels", labels);
}

/* set_identity - which machine, which boot of it, and which calls it speaks */
static void set_identity(const struct agent *a, json_t *body)
{
    (void)agent_wire_add(body);
    (void)json_object_set_new(body, "boot_id", json_string(a->boot_id));
    if (a->machine_id[0] != '\0')
        (void)json_object_set_new(body, "machine_id", json_string(a->machine_id));
}

/* An address that this machine has still is kept: a connection may come from another one of it
 * each time. */
static bool has_still(const char *address)
{
    char interface[IF_NAMESIZE];

    return own_address_serves(address) && own_interface(address, interface);
}

void agent_on_address(const char *address, void *userdata)
{
    struct agent *a = userdata;

    if (a->member.address_given || streq(address, a->member.address) ||
        !own_address_serves(address) || has_still(a->member.address))
        return;
    log_info("this node is reached at %s from now on, no longer at %s", address, a->member.address);
    membership_move(&a->member, a->layout.state_dir, address);
    link_moved(a->link);
    link_changed(a->link);
}

json_t *agent_join_body(void *userdata)
{
    struct agent *a = userdata;
    json_t *body = offer(a);

    (void)json_object_set_new(body, "node", json_string(a->layout.node));
    set_identity(a, body);
    return body;
}

/* machine - load as it is now, the rest as it was when the prober answered last */
static json_t *machine(struct agent *a)
{
    json_t *json = machine_load("");
    uint64_t now_us = clock_read_us(CLOCK_BOOTTIME);

    (void)json_object_set(json, "limits", a->limits);
    (void)json_object_set_new(json, "reads_files", json_true()); /* file_reads.h */
    (void)json_object_set_new(json, "sessions", json_true());    /* session/sessions.h */
    if (a->probed != NULL && probe_is_well(a->probe, now_us))
        (void)json_object_update(json, a->probed);
    if (gpus_are_watched(&a->gpus))
        (void)json_object_set(json, "gpus", a->gpus.devices);
    (void)probe_ask(a->probe, now_us);
    return json;
}

/* set_disk - whether there is room for what a start makes: its folders, its record, its log
 * As the prober said last; the runtime folder is in memory and is asked here. A file system without
 * a size (ramfs) is never full; one without an inode left is. One that was full has room when it
 * has twice as much, so that nobody starts into the last of it. */
static void set_disk(struct agent *a, json_t *body)
{
    uint64_t least_bytes = a->disk_full ? 2 * DISK_LEAST_BYTES : DISK_LEAST_BYTES;
    struct statvfs fs;
    size_t i;
    json_t *disk;

    a->disk_full = statvfs(a->layout.runtime_dir, &fs) == 0 &&
                   ((fs.f_blocks > 0 && (uint64_t)fs.f_bavail * fs.f_frsize < least_bytes) ||
                    (fs.f_files > 0 && fs.f_favail == 0));
    json_array_foreach(json_object_get(a->probed, "disks"), i, disk)
    {
        json_int_t free_bytes = json_integer_value(json_object_get(disk, "free_bytes"));

        if (json_integer_value(json_object_get(disk, "size_bytes")) > 0)
            a->disk_full = a->disk_full || (uint64_t)free_bytes < least_bytes;
    }
    if (a->disk_full)
        (void)json_object_set_new(body, "disk_full", json_true());
}

static void set_aside(struct agent *a, json_t *body)
{
    uint64_t number = 0;
    const char *why = agent_set_aside(a, &number);
    json_t *text = why != NULL ? json_string(why) : NULL;

    if (text == NULL)
        return;
    (void)json_object_set_new(body, "set_aside", text);
    (void)json_object_set_new(body, "set_aside_number", json_integer((json_int_t)number));
}

/* stuck_of - what keeps one that does not end although it was killed; NULL: it ended, or is not due
 */
static const char *stuck_of(const struct agent_unit_report *report, const struct process *p)
{
    if (report->state != UNIT_STOPPING || p == NULL || !agent_is_stuck(p))
        return NULL;
    return p->stuck != NULL ? p->stuck : "";
}

/* reason_of - of its end, or why it does not end */
static json_t *reason_of(const struct agent_unit_report *report, const struct process *p)
{
    const char *stuck = stuck_of(report, p);
    json_t *json = json_string(stuck != NULL ? stuck : report->reason);

    return json != NULL ? json : json_string("?");
}

/* is_progress_old - it may stand still: those that serve tell each second */
static bool is_progress_old(const struct process *p)
{
    return json_object_size(p->progress) > 0 &&
           clock_read_us(CLOCK_BOOTTIME) - p->progress_us >= PROGRESS_OLD_US;
}

static json_int_t ran_us(const struct process *p)
{
    uint64_t now_us = clock_read_us(CLOCK_BOOTTIME);

    return now_us > p->started_us ? (json_int_t)(now_us - p->started_us) : 0;
}

/* steps_json - what it told of its steps, and how long ago it told the last */
static json_t *steps_json(const struct process *p)
{
    uint64_t now_us = clock_read_us(CLOCK_BOOTTIME);
    json_t *json = step_sums_to_json(&p->steps);

    (void)json_object_set_new(json, "age_us",
                              json_integer((json_int_t)(now_us - p->steps_told_us)));
    return json;
}

/* frozen_us - for so long it stood still, in all and so far */
static uint64_t frozen_us(const struct process *p)
{
    uint64_t now_us = clock_read_us(CLOCK_BOOTTIME);

    return p->frozen_us + (p->frozen_since_us > 0 ? now_us - p->frozen_since_us : 0);
}

/* unit_json - its entry in a report */
static json_t *unit_json(const struct agent *a, const struct agent_unit *unit)
{
    const struct agent_unit_report report = agent_unit_report(unit);
    struct process *p = process_find(&a->table, &unit->id);
    json_t *json = process_id_json(&unit->id);

    (void)json_object_set_new(json, "state", json_string(unit_state_name(report.state)));
    (void)json_object_set_new(json, "pid", json_integer(p != NULL ? p->pid : 0));
    (void)json_object_set_new(json, "exit_code", json_integer(report.exit_code));
    (void)json_object_set_new(json, "exit_signal", json_integer(report.exit_signal));
    (void)json_object_set_new(json, "reason", reason_of(&report, p));
    if (report.cause != EXIT_CAUSE_NONE)
        (void)json_object_set_new(json, "cause", json_string(exit_cause_to_string(report.cause)));
    if (report.unfit != UNFIT_NOT)
        (void)json_object_set_new(json, "unfit", json_string(unfit_to_string(report.unfit)));
    if (report.fault != START_FAULT_NONE)
        (void)json_object_set_new(json, "start_fault",
                                  json_string(start_fault_to_string(report.fault)));
    (void)json_object_update_new(json, json_pack("{s:I,s:I,s:I,s:I}", "cpu_used_us",
                                                 p != NULL ? (json_int_t)p->cpu_used_us : 0,
                                                 "memory_used_bytes",
                                                 p != NULL ? (json_int_t)p->memory_used_bytes : 0,
                                                 "memory_peak_bytes",
                                                 p != NULL ? (json_int_t)p->memory_peak_bytes : 0,
                                                 "tasks", p != NULL ? (json_int_t)p->tasks : 0));
    if (p != NULL && p->handle != NULL && p->started_us != 0)
        (void)json_object_set_new(json, "ran_us", json_integer(ran_us(p)));
    if (p != NULL && frozen_us(p) > 0)
        (void)json_object_set_new(json, "frozen_us", json_integer((json_int_t)frozen_us(p)));
    if (p != NULL && p->orphans_reaped > 0)
        (void)json_object_set_new(json, "orphans_reaped",
                                  json_integer((json_int_t)p->orphans_reaped));
    if (p != NULL && p->error != NULL)
        (void)json_object_set_new(json, "error", json_string(p->error));
    if (p != NULL && p->error_before_us > 0)
        (void)json_object_set_new(json, "error_before_us",
                                  json_integer((json_int_t)p->error_before_us));
    if (p != NULL && p->silent)
        (void)json_object_set_new(json, "silent", json_true());
    if (p != NULL && json_object_size(p->progress) > 0)
        (void)json_object_set(json, "progress", p->progress);
    if (p != NULL && is_progress_old(p))
        (void)json_object_set_new(json, "progress_old", json_true());
    if (p != NULL && p->steps_told_us != 0)
        (void)json_object_set_new(json, "steps", steps_json(p));
    return json;
}

static json_t *numbers_of(uint64_t mask)
{
    json_t *array = json_array();

    for (unsigned i = 0; i < 64; i++)
        if (mask & UINT64_C(1) << i)
            (void)json_array_append_new(array, json_integer(i));
    return array;
}

/* idle_gpus - of the devices that were granted, and whose process runs for as long */
static uint64_t idle_gpus(const struct agent *a, bool known, uint64_t now_us)
{
    uint64_t idle_us = a->options->gpu_idle_us, granted = 0, mask;
    const struct process *p;

    if (idle_us == 0 || now_us <= idle_us)
        return 0;
    mask = gpus_idle(&a->gpus, known, now_us - idle_us);
    DL_FOREACH(a->table.list, p)
    if (p->handle != NULL && p->started_us != 0 && p->started_us <= now_us - idle_us)
        granted |= p->gpus;
    return mask & granted;
}

static void set_gpus(const struct agent *a, json_t *body)
{
    uint64_t now_us = clock_read_us(CLOCK_BOOTTIME);
    bool known = probe_is_well(a->probe, now_us);

    if (!gpus_are_watched(&a->gpus))
        return;
    (void)json_object_set_new(body, "gpus_foreign", numbers_of(gpus_foreign(&a->gpus, known)));
    (void)json_object_set_new(body, "gpus_idle", numbers_of(idle_gpus(a, known, now_us)));
}

/* look_at_ports - of the range that is offered, those that others listen on. Who listens there as a
 * process of a job stays none of them until the next look. */
static json_t *look_at_ports(const struct agent *a)
{
    json_t *array = json_array();
    const struct process *p;
    struct port_set set;

    ports_listened(&set);
    DL_FOREACH(a->table.list, p)
    for (size_t i = 0; p->handle != NULL && i < p->n_ports; i++)
        port_set_remove(&set, p->ports[i]);
    for (unsigned port = a->now->port_first;
         port <= a->now->port_last && json_array_size(array) < AGENT_PORTS_FOREIGN_MAX; port++)
        if (port_set_has(&set, (uint16_t)port))
            (void)json_array_append_new(array, json_integer(port));
    return array;
}

/* fit - without what is too much of what processes told; the log says so when that begins */
static void fit(struct agent *a, json_t *body)
{
    const struct report_left_out left_out = report_fit(body);
    const bool is_cut = left_out.processes + left_out.rows > 0;

    if (is_cut && !a->report_cut)
        log_warning("processes tell more of their progress than a report has room for: left out "
                    "are %zu row%s of pushes, and all that %zu process%s told",
                    left_out.rows, PLURAL(left_out.rows), left_out.processes,
                    PLURAL_ES(left_out.processes));
    a->report_cut = is_cut;
}

json_t *agent_report_body(uint64_t sent_us, uint64_t session, void *userdata)
{
    struct agent *a = userdata;
    json_t *body = offer(a);
    json_t *processes = json_array();
    bool sampled = agent_ask_usage(a);

    if (sampled) {
        json_decref(a->ports_foreign);
        a->ports_foreign = look_at_ports(a);
    }
    if (sampled || a->gpu_news || session != a->machine_session)
        (void)json_object_set_new(body, "machine", machine(a));
    a->gpu_news = false;
    a->machine_session = session;
    set_gpus(a, body);
    (void)json_object_set(body, "ports_foreign", a->ports_foreign);
    set_disk(a, body);
    set_aside(a, body);
    for (const struct agent_unit *unit = agent_core_units(a->core); unit != NULL; unit = unit->next)
        (void)json_array_append_new(processes, unit_json(a, unit));
    set_identity(a, body);
    (void)json_object_set_new(body, "sent_us", json_integer((json_int_t)sent_us));
    (void)json_object_set_new(body, "session", json_integer((json_int_t)session));
    (void)json_object_set_new(body, "version", json_string(EDL_VERSION));
    (void)json_object_set_new(body, "foreign_cpu_millicores",
                              json_integer((json_int_t)a->inventory.foreign_cpu_millicores));
    (void)json_object_set_new(body, "foreign_memory_bytes",
                              json_integer((json_int_t)a->inventory.foreign_memory_bytes));
    (void)json_object_set_new(body, "complete", json_true());
    (void)json_object_set_new(body, "processes", processes);
    fit(a, body);
    return body;
}
