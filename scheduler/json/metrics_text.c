/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_text.c - all figures in one table: name, unit, meaning
 *
 * A new figure needs a row here and a line in edl-metrics(5); a test compares the two. No label may
 * take a value that grows with use (a job, a user, a node). */
#include <math.h>
#include <sys/resource.h>
#include <unistd.h>

#include "scheduler/api/api.h"
#include "scheduler/core/core.h"
#include "scheduler/core/model/figures.h"
#include "scheduler/json/exposition.h"
#include "scheduler/leadership/copy_wait.h"
#include "scheduler/metrics.h"
#include "scheduler/nodes/log_hub.h"
#include "scheduler/notices/notices.h"
#include "scheduler/scheduler.h"
#include "scheduler/store/store.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/http_server.h"
#include "shared/macro.h"

/* Besides those of enum fair_answer. */
enum { REFUSED_HANDSHAKES = FAIR_ANSWERS, REFUSALS };

/* Of copies of a database that several schedulers share; the last one is every other word. */
static const char *const copy_states[] = { "sync", "quorum", "potential", "async", "unknown" };
enum { COPY_STATES = ELEMENTS(copy_states) };

/* Everything that the table points into, read once for all of it. */
struct view {
    const struct scheduler *scheduler;
    const struct cluster_figures *core;
    struct node_sums nodes;
    struct machine_sums machines;
    uint64_t traffic_bytes[2]; /* receive, transmit */
    struct store_figures store;
    uint64_t jobs[FIGURE_JOB_STATES];
    uint64_t gpus[4]; /* granted, free, withheld, foreign */
    uint64_t oldest_wait_us, oldest_report_us;
    uint64_t utilisation_ppm, max_load_permille, writable;
    uint64_t price_micro[POLICY_RESOURCES], not_for_sale[POLICY_RESOURCES];
    uint64_t longest_waits_us[DISPATCH_TIERS], refused[REFUSALS];
    uint64_t connections, waiting, cut_off, denials, certificate_end_s;
    uint64_t file_bytes[2];  /* database, wal */
    uint64_t archived_bytes; /* of jobs that are over, in the database */
    uint64_t log_bytes[2];   /* in memory, in the database */
    uint64_t held[HOLDING_AMOUNTS], limits[HOLDING_AMOUNTS], over_limit;
    uint64_t sessions, sessions_begun, session_bytes[2]; /* from people, from nodes */
    uint64_t pushes[2];                                  /* of trainers: committed, discarded */
    struct notice_figures notices;
    uint64_t cpu_us, resident_bytes, scheduler_started_us;
    uint64_t roles[LEADERSHIP_ROLES], term, n_schedulers;
    uint64_t copies[COPY_STATES], copy_lag_us, copy_wait_us; /* of the database */
};

/* --- the words of labels --- */

static const char *push_result(unsigned i)
{
    return i == 0 ? "committed" : "discarded";
}

static const char *scheduler_role(unsigned i)
{
    return leadership_role_to_string((enum leadership_role)i);
}

static const char *copy_state(unsigned i)
{
    return copy_states[i];
}

static const char *job_state(unsigned i)
{
    return job_state_to_string((enum job_state)i);
}

static const char *process_state(unsigned i)
{
    return process_state_to_string((enum process_state)i);
}

static const char *node_state(unsigned i)
{
    return node_state_to_string((enum node_state)i);
}

static const char *gpu_state(unsigned i)
{
    static const char *const names[] = { "granted", "free", "withheld", "foreign" };

    return names[i];
}

static const char *policy_resource(unsigned i)
{
    return policy_resource_to_string((enum policy_resource)i);
}

static const char *start_cause(unsigned i)
{
    return process_start_to_string((enum process_start)i);
}

static const char *end_cause(unsigned i)
{
    return process_end_to_string((enum process_end)i);
}

static const char *task_cause(unsigned i)
{
    return task_end_to_string((enum task_end)i);
}

static const char *step_part(unsigned i)
{
    return step_part_to_string((enum step_part)i);
}

static const char *file_name(unsigned i)
{
    static const char *const names[] = { "database", "wal" };

    return names[i];
}

static const char *log_place(unsigned i)
{
    static const char *const names[] = { "memory", "database" };

    return names[i];
}

static const char *direction(unsigned i)
{
    static const char *const names[] = { "receive", "transmit" };

    return names[i];
}

static const char *session_direction(unsigned i)
{
    return i == 0 ? "in" : "out";
}

static const char *channel(unsigned i)
{
    return i == NOTICE_MAIL ? "mail" : "webhook";
}

static const char *tier(unsigned i)
{
    return dispatch_tier_to_string((enum dispatch_tier)i);
}

static const char *refusal(unsigned i)
{
    static const char *const names[] = {
        [FAIR_CALLER_FULL] = "caller", [FAIR_FULL] = "all", [REFUSED_HANDSHAKES] = "handshake"
    };

    return names[i];
}

/* --- rows with a shape of their own --- */

static void write_build(FILE *out, const char *name, const struct view *view)
{
    const struct exposition_label labels[] = {
        { "version", EDL_VERSION },
        { "policy", cluster_config(view->scheduler->cluster)->policy->name },
    };

    exposition_sample(out, name, labels, ELEMENTS(labels), 1, SCALE_ONE);
}

static void write_tasks(FILE *out, const char *name, const struct view *view)
{
    const struct exposition_label todo = { "state", "todo" };
    const struct exposition_label leased = { "state", "leased" };

    exposition_sample(out, name, &todo, 1, view->core->tasks_todo, SCALE_ONE);
    exposition_sample(out, name, &leased, 1, view->core->tasks_leased, SCALE_ONE);
}

static void write_resizes(FILE *out, const char *name, const struct view *view)
{
    for (unsigned d = 0; d < RESIZE_DIRECTIONS; d++)
        for (unsigned r = 0; r < RESIZE_REASONS; r++) {
            const struct exposition_label labels[] = {
                { "direction", resize_direction_to_string((enum resize_direction)d) },
                { "reason", resize_reason_to_string((enum resize_reason)r) },
            };

            exposition_sample(out, name, labels, ELEMENTS(labels), view->core->resizes[d][r],
                              SCALE_ONE);
        }
}

static void write_resize_seconds(FILE *out, const char *name, const struct view *view)
{
    const struct exposition_label start = { "phase", "start" };
    const struct exposition_label stop = { "phase", "stop" };

    exposition_histogram(out, name, &start, &view->core->resize_start);
    exposition_histogram(out, name, &stop, &view->core->resize_stop);
}

static void write_queue_wait(FILE *out, const char *name, const struct view *view)
{
    exposition_histogram(out, name, NULL, &view->core->queue_wait);
}

static void write_plans(FILE *out, const char *name, const struct view *view)
{
    exposition_histogram(out, name, NULL, &view->scheduler->metrics.plans);
}

static void write_commits(FILE *out, const char *name, const struct view *view)
{
    exposition_histogram(out, name, NULL, view->store.commits);
}

static void write_loop(FILE *out, const char *name, const struct view *view)
{
    exposition_histogram(out, name, NULL, &view->scheduler->metrics.loop_busy);
}

/* Every class of every route, also at 0: a series that begins with its first error hides it from
 * rate(). 1xx is never answered. */
static void write_requests(FILE *out, const char *name, const struct view *view)
{
    static const char *const classes[] = { "1xx", "2xx", "3xx", "4xx", "5xx" };
    size_t n;
    const struct http_route *table = routes(&n);

    for (size_t route = 0; route <= n; route++)
        for (unsigned c = 2; c <= HTTP_STATUS_CLASSES; c++) {
            const struct exposition_label labels[] = {
                { "method", route < n ? table[route].method : "any" },
                { "route", route < n ? table[route].path : "none" },
                { "code", classes[c - 1] },
            };

            exposition_sample(out, name, labels, ELEMENTS(labels),
                              listeners_answers(&view->scheduler->listeners, route, c), SCALE_ONE);
        }
}

static void write_waits(FILE *out, const char *name, const struct view *view)
{
    for (unsigned i = 0; i < DISPATCH_TIERS; i++) {
        const struct exposition_label label = { "caller", tier(i) };

        exposition_histogram(out, name, &label, &view->scheduler->dispatch.waits[i]);
    }
}

/* --- the table --- */

struct row {
    const char *name;
    enum exposition_type type;
    const char *help;
    void (*write)(FILE *out, const char *name, const struct view *view); /* or: */
    uint16_t at;       /* of the value in the view, or in the core's figures */
    bool core;         /* the latter */
    bool always;       /* it tells of the process, and is told by one that does not lead as well */
    unsigned digits;   /* SCALE_* */
    const char *label; /* the value is an array of n; NULL: it is one */
    const char *(*word)(unsigned i);
    unsigned first, n;
};

#define OWN(name, type, fn, help)                                                                  \
    {                                                                                              \
        name, type, help, .write = (fn)                                                            \
    }
#define VIEW(name, type, field, digits_, help)                                                     \
    {                                                                                              \
        name, type, help, .at = offsetof(struct view, field), .digits = (digits_)                  \
    }
/* of the process */
#define SELF(name, type, field, digits_, help)                                                     \
    {                                                                                              \
        name, type, help, .at = offsetof(struct view, field), .digits = (digits_), .always = true  \
    }
#define SELF_BY(name, type, field, label_, word_, n_, help)                                        \
    {                                                                                              \
        name, type, help, .at = offsetof(struct view, field), .always = true, .label = (label_),   \
                          .word = (word_), .n = (n_)                                               \
    }
#define CORE(name, type, field, help)                                                              \
    {                                                                                              \
        name, type, help, .at = offsetof(struct cluster_figures, field), .core = true              \
    }
#define VIEW_BY(name, type, field, digits_, label_, word_, n_, help)                               \
    {                                                                                              \
        name, type, help, .at = offsetof(struct view, field), .digits = (digits_),                 \
                          .label = (label_), .word = (word_), .n = (n_)                            \
    }
#define CORE_BY(name, type, field, label_, word_, first_, n_, help)                                \
    {                                                                                              \
        name, type, help, .at = offsetof(struct cluster_figures, field), .core = true,             \
                          .label = (label_), .word = (word_), .first = (first_), .n = (n_)         \
    }

static const struct row table[] = {
    OWN("edl_build_info", EXPOSE_GAUGE, write_build, "Version and allocation policy; always 1."),

    VIEW_BY("edl_jobs", EXPOSE_GAUGE, jobs, SCALE_ONE, "state", job_state, FIGURE_JOB_STATES,
            "Jobs by state; ended ones are counted as long as they are kept."),
    CORE("edl_jobs_submitted_total", EXPOSE_COUNTER, jobs_submitted, "Jobs that were accepted."),
    CORE_BY("edl_jobs_ended_total", EXPOSE_COUNTER, jobs_ended, "state", job_state, JOB_SUCCEEDED,
            FIGURE_JOB_STATES, "Jobs that ended, by how."),
    VIEW_BY("edl_active_amount", EXPOSE_GAUGE, held, SCALE_ONE, "amount", holding_amount_to_string,
            HOLDING_AMOUNTS,
            "Load of the jobs that are not over: jobs, instances, bytes of documents."),
    VIEW_BY("edl_active_limit", EXPOSE_GAUGE, limits, SCALE_ONE, "amount", holding_amount_to_string,
            HOLDING_AMOUNTS, "Limits of that load (--max-jobs, --max-instances); 0: any."),
    VIEW("edl_over_limit_total", EXPOSE_COUNTER, over_limit, SCALE_ONE,
         "Submissions and changes that were refused for a limit of a user or of all."),
    VIEW("edl_queue_oldest_wait_seconds", EXPOSE_GAUGE, oldest_wait_us, SCALE_MICRO,
         "How long the queued job that was submitted first has waited; 0: none waits."),
    OWN("edl_queue_wait_seconds", EXPOSE_HISTOGRAM, write_queue_wait,
        "From the submission of a job to the start of its gang."),

    VIEW_BY("edl_nodes", EXPOSE_GAUGE, nodes.nodes, SCALE_ONE, "state", node_state,
            FIGURE_NODE_STATES, "Nodes by state."),
    CORE("edl_nodes_lost_total", EXPOSE_COUNTER, nodes_lost, "Leases of nodes that ran out."),
    CORE("edl_stalls_total", EXPOSE_COUNTER, stalls,
         "Times that the scheduler stood still so long that leases were made longer."),
    { "edl_stalled_seconds_total", EXPOSE_COUNTER, "How long it stood still, in sum.",
      .at = offsetof(struct cluster_figures, stalled_us), .core = true, .digits = SCALE_MICRO },
    VIEW("edl_heartbeat_age_seconds", EXPOSE_GAUGE, oldest_report_us, SCALE_MICRO,
         "Since the last report of the node that has been silent longest; lost ones left out."),
    VIEW("edl_cpu_capacity_cores", EXPOSE_GAUGE, nodes.cpu_millicores, SCALE_MILLI,
         "CPU that nodes offer; lost ones left out here and below."),
    VIEW("edl_cpu_granted_cores", EXPOSE_GAUGE, nodes.cpu_granted_millicores, SCALE_MILLI,
         "CPU that is granted to processes."),
    VIEW("edl_cpu_foreign_cores", EXPOSE_GAUGE, nodes.cpu_foreign_millicores, SCALE_MILLI,
         "CPU used on the nodes by foreign load."),
    VIEW("edl_memory_capacity_bytes", EXPOSE_GAUGE, nodes.memory_bytes, SCALE_ONE,
         "Memory that nodes offer."),
    VIEW("edl_memory_granted_bytes", EXPOSE_GAUGE, nodes.memory_granted_bytes, SCALE_ONE,
         "Memory that is granted to processes."),
    VIEW("edl_memory_foreign_bytes", EXPOSE_GAUGE, nodes.memory_foreign_bytes, SCALE_ONE,
         "Memory used on the nodes by foreign load."),
    VIEW("edl_memory_available_bytes", EXPOSE_GAUGE, machines.memory_available_bytes, SCALE_ONE,
         "Memory of the machines that is available, as their kernels reckon."),
    VIEW("edl_load_average", EXPOSE_GAUGE, machines.load_milli, SCALE_MILLI,
         "Load of the machines in sum, mean of a minute."),
    VIEW_BY("edl_pressure_max_ratio", EXPOSE_GAUGE, machines.pressure_most_ppm, SCALE_MICRO,
            "resource", machine_word_of_pressure, PRESSURES,
            "Part of the last 10 s in which some task waited, on the machine with most of it."),
    VIEW("edl_disk_free_min_bytes", EXPOSE_GAUGE, machines.disk_free_least_bytes, SCALE_ONE,
         "Room in the state or output folder of the agent that has least; 0: none tells."),
    VIEW_BY("edl_network_bytes_total", EXPOSE_COUNTER, traffic_bytes, SCALE_ONE, "direction",
            direction, 2, "Bytes that the network interfaces of the machines received and sent."),
    VIEW_BY("edl_gpus", EXPOSE_GAUGE, gpus, SCALE_ONE, "state", gpu_state, 4,
            "GPUs: granted, free, withheld because their node takes no processes, foreign: used by "
            "others."),
    VIEW("edl_gpus_idle", EXPOSE_GAUGE, nodes.gpus_idle, SCALE_ONE,
         "GPUs that are granted and have done nothing for long."),
    VIEW("edl_cpu_utilisation_ratio", EXPOSE_GAUGE, utilisation_ppm, SCALE_MICRO,
         "CPU granted and foreign, as a share of the offer."),
    VIEW("edl_max_load_ratio", EXPOSE_GAUGE, max_load_permille, SCALE_MILLI,
         "Jobs grow while the requested share stays below this (--max-load)."),
    VIEW_BY("edl_price_ratio", EXPOSE_GAUGE, price_micro, SCALE_MICRO, "resource", policy_resource,
            POLICY_RESOURCES,
            "Seconds saved in a second by the cheapest core, GiB or GPU in use; 0: some is free."),
    VIEW_BY("edl_not_for_sale", EXPOSE_GAUGE, not_for_sale, SCALE_ONE, "resource", policy_resource,
            POLICY_RESOURCES,
            "1: only minima and the needs of deadlines are in use; its price is 0 then."),

    CORE_BY("edl_processes", EXPOSE_GAUGE, processes, "state", process_state, 0, PROCESS_EXITED,
            "Processes that have not ended, by state."),
    VIEW("edl_processes_stale", EXPOSE_GAUGE, nodes.stale, SCALE_ONE,
         "Processes that agents still report although nothing is granted to them."),
    CORE_BY("edl_process_starts_total", EXPOSE_COUNTER, process_starts, "cause", start_cause, 0,
            START_CAUSES, "Processes that were assigned to a node: new, or again in their slot."),
    CORE_BY("edl_process_ends_total", EXPOSE_COUNTER, process_ends, "cause", end_cause, 0,
            END_CAUSES, "Processes that ended, by cause."),
    CORE("edl_orphans_reaped_total", EXPOSE_COUNTER, orphans_reaped,
         "Processes that others left behind when they ended, and that their supervisors killed."),
    OWN("edl_resizes_total", EXPOSE_COUNTER, write_resizes,
        "Changes of the size of a running job, by the reason of the decision."),
    OWN("edl_resize_seconds", EXPOSE_HISTOGRAM, write_resize_seconds,
        "Processes of running jobs: from assigned to running, and from asked to stop to gone."),

    CORE("edl_jobs_parked_total", EXPOSE_COUNTER, jobs_parked,
         "Times that a job went back to the queue so that another one started."),
    CORE("edl_stragglers_moved_total", EXPOSE_COUNTER, stragglers_moved,
         "Instances that were moved off a node on which they were slow."),
    CORE("edl_instances_exchanged_total", EXPOSE_COUNTER, instances_exchanged,
         "Instances that were stopped to take the place of one of another job, and it theirs."),

    OWN("edl_tasks", EXPOSE_GAUGE, write_tasks, "Tasks of the present passes of live jobs."),
    CORE("edl_task_leases_total", EXPOSE_COUNTER, task_leases, "Tasks that were handed out."),
    CORE_BY("edl_task_ends_total", EXPOSE_COUNTER, task_ends, "cause", task_cause, 0, TASK_ENDS,
            "How leases of tasks ended."),
    CORE("edl_task_records_total", EXPOSE_COUNTER, task_records,
         "Records of data that were trained and counted."),
    CORE("edl_task_records_lost_total", EXPOSE_COUNTER, task_records_lost,
         "Records of tasks that are done and were not trained: their chunks are damaged."),
    CORE("edl_updates_lost_total", EXPOSE_COUNTER, updates_lost,
         "Updates that parameter servers lacked when they were started again."),
    VIEW_BY("edl_pushes_total", EXPOSE_COUNTER, pushes, SCALE_ONE, "result", push_result, 2,
            "Gradients that parameter servers took from trainers, or dropped as too old; each "
            "server counts a push."),
    CORE("edl_steps_total", EXPOSE_COUNTER, steps, "Steps of training that processes told of."),
    CORE("edl_step_samples_total", EXPOSE_COUNTER, step_samples,
         "Samples in those steps, as their programs count them."),
    { "edl_step_seconds_total", EXPOSE_COUNTER,
      "Time of those steps: at work, and waiting for other processes or for data.",
      .at = offsetof(struct cluster_figures, step_us), .core = true, .digits = SCALE_MICRO,
      .label = "part", .word = step_part, .n = STEP_PARTS },

    OWN("edl_schedule_cycle_seconds", EXPOSE_HISTOGRAM, write_plans,
        "Duration of planning, where there was something to plan."),
    OWN("edl_db_commit_seconds", EXPOSE_HISTOGRAM, write_commits,
        "Duration of transactions that were written, with their fsync."),
    VIEW("edl_db_commit_failures_total", EXPOSE_COUNTER, store.commit_failures, SCALE_ONE,
         "Transactions that could not be written."),
    VIEW("edl_db_writable", EXPOSE_GAUGE, writable, SCALE_ONE,
         "1; 0 while nothing can be stored: changes are refused, and processes go on."),
    VIEW_BY("edl_db_size_bytes", EXPOSE_GAUGE, file_bytes, SCALE_ONE, "file", file_name, 2,
            "Size of the database and of its write-ahead log."),
    VIEW("edl_archived_job_bytes", EXPOSE_GAUGE, archived_bytes, SCALE_ONE,
         "Rows of jobs that are over, in the database (--keep-jobs-size)."),
    VIEW_BY("edl_log_bytes", EXPOSE_GAUGE, log_bytes, SCALE_ONE, "place", log_place, 2,
            "Output of processes that is kept: of late in memory, ends in the database."),
    VIEW("edl_db_disk_free_bytes", EXPOSE_GAUGE, store.disk_free_bytes, SCALE_ONE,
         "Room left on the file system of the state directory."),
    OWN("edl_loop_busy_seconds", EXPOSE_HISTOGRAM, write_loop,
        "How long each pass of the event loop kept everything else waiting (loop lag)."),

    OWN("edl_http_requests_total", EXPOSE_COUNTER, write_requests,
        "Answers by route and class of status; route none: it matched no route."),
    OWN("edl_http_wait_seconds", EXPOSE_HISTOGRAM, write_waits,
        "How long requests waited before they were handled, at the longest, by kind of caller."),
    VIEW_BY("edl_http_longest_wait_seconds", EXPOSE_GAUGE, longest_waits_us, SCALE_MICRO, "caller",
            tier, DISPATCH_TIERS, "The longest of those waits since the scheduler was started."),
    { "edl_http_refused_total", EXPOSE_COUNTER,
      "Asked to come again: too many requests of the caller, or of all, waited; or too many TLS "
      "handshakes came at once.",
      .at = offsetof(struct view, refused), .label = "reason", .word = refusal,
      .first = FAIR_CALLER_FULL, .n = REFUSALS },
    VIEW("edl_http_connections", EXPOSE_GAUGE, connections, SCALE_ONE, "Open connections."),
    VIEW("edl_http_cut_off_total", EXPOSE_COUNTER, cut_off, SCALE_ONE,
         "Connections without a credential that were ended for their number or their age."),
    VIEW("edl_http_denials_total", EXPOSE_COUNTER, denials, SCALE_ONE,
         "Calls that were refused because of their caller."),
    VIEW("edl_http_waiting", EXPOSE_GAUGE, waiting, SCALE_ONE,
         "Requests that wait for their answer: long polls, and changes before their commit."),

    VIEW("edl_sessions_open", EXPOSE_GAUGE, sessions, SCALE_ONE,
         "Sessions of people in processes that are not over."),
    VIEW("edl_sessions_total", EXPOSE_COUNTER, sessions_begun, SCALE_ONE,
         "Sessions that were asked for and let in."),
    VIEW_BY("edl_session_bytes_total", EXPOSE_COUNTER, session_bytes, SCALE_ONE, "direction",
            session_direction, 2, "Bytes of sessions that came: in from people, out from nodes."),

    VIEW("edl_notices_waiting", EXPOSE_GAUGE, notices.waiting, SCALE_ONE,
         "Messages to owners of jobs that wait to be sent or tried again, or are being sent."),
    VIEW_BY("edl_notices_sent_total", EXPOSE_COUNTER, notices.sent, SCALE_ONE, "channel", channel,
            NOTICE_CHANNELS, "Messages to owners of jobs that were sent."),
    VIEW_BY("edl_notices_failed_total", EXPOSE_COUNTER, notices.failed, SCALE_ONE, "channel",
            channel, NOTICE_CHANNELS, "Messages to owners of jobs that were given up."),
    VIEW_BY("edl_notice_tries_failed_total", EXPOSE_COUNTER, notices.tries_failed, SCALE_ONE,
            "channel", channel, NOTICE_CHANNELS, "Tries to send such a message that failed."),
    VIEW("edl_notices_dropped_total", EXPOSE_COUNTER, notices.dropped, SCALE_ONE,
         "Notices of jobs that became no message: too many waited, or nothing can send them."),

    SELF("edl_tls_certificate_end_seconds", EXPOSE_GAUGE, certificate_end_s, SCALE_ONE,
         "When the scheduler's certificate expires, since 1970; 0: it speaks no TLS."),

    SELF_BY("edl_scheduler_role", EXPOSE_GAUGE, roles, "role", scheduler_role, LEADERSHIP_ROLES,
            "1 at the role of this scheduler among those of one database, else 0."),
    SELF("edl_leader_term", EXPOSE_GAUGE, term, SCALE_ONE,
         "The term of the scheduler that leads; 0: it is not known, or there is only one "
         "scheduler."),
    SELF("edl_schedulers", EXPOSE_GAUGE, n_schedulers, SCALE_ONE,
         "Schedulers that the database knows; 0: it is that of one scheduler alone."),
    SELF_BY("edl_database_copies", EXPOSE_GAUGE, copies, "state", copy_state, COPY_STATES,
            "Copies of such a database that follow it, by whether commits wait for them."),
    SELF("edl_database_copy_lag_seconds", EXPOSE_GAUGE, copy_lag_us, SCALE_MICRO,
         "How far the slowest of those copies is behind."),
    SELF("edl_database_copy_wait_seconds", EXPOSE_GAUGE, copy_wait_us, SCALE_MICRO,
         "How long a commit has waited for a synchronous copy of the database; 0: none waits."),

    SELF("process_cpu_seconds_total", EXPOSE_COUNTER, cpu_us, SCALE_MICRO,
         "CPU time of the scheduler itself."),
    SELF("process_resident_memory_bytes", EXPOSE_GAUGE, resident_bytes, SCALE_ONE,
         "Resident memory of the scheduler itself."),
    SELF("process_start_time_seconds", EXPOSE_GAUGE, scheduler_started_us, SCALE_MICRO,
         "When the scheduler was started, since 1970."),
};

static void write_row(FILE *out, const struct row *row, const struct view *view)
{
    const char *base = row->core ? (const char *)view->core : (const char *)view;
    const uint64_t *values = (const void *)(base + row->at);

    exposition_family(out, row->name, row->type, row->help);
    if (row->write != NULL)
        row->write(out, row->name, view);
    else if (row->label == NULL)
        exposition_sample(out, row->name, NULL, 0, *values, row->digits);
    for (unsigned i = row->first; i < row->n; i++) {
        const struct exposition_label label = { row->label, row->word(i) };

        exposition_sample(out, row->name, &label, 1, values[i], row->digits);
    }
}

static uint64_t cpu_us(void)
{
    struct rusage used = { 0 };

    (void)getrusage(RUSAGE_SELF, &used);
    return (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * USEC_PER_SEC +
           (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

static uint64_t resident_bytes(void)
{
    _cleanup_fclose_ FILE *file = fopen("/proc/self/statm", "re");
    unsigned long long pages;

    if (file == NULL || fscanf(file, "%*s %llu", &pages) != 1)
        return 0;
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void look_at_prices(struct view *view)
{
    struct policy_price prices[POLICY_RESOURCES];

    if (!cluster_prices(view->scheduler->cluster, prices))
        return;
    for (enum policy_resource r = 0; r < POLICY_RESOURCES; r++) {
        view->price_micro[r] = (uint64_t)fmin(prices[r].worth * 1e6, 1e18);
        view->not_for_sale[r] = !prices[r].for_sale;
    }
}

static void look_at_leadership(struct view *view)
{
    const struct leadership *leadership = &view->scheduler->leadership;
    const struct shared_facts *facts = &leadership->facts;

    view->roles[leadership_shown_role(leadership)] = 1;
    view->term = leadership->leader_term;
    view->n_schedulers = facts->n_schedulers;
    view->copy_wait_us = copy_wait_is_on(facts) ? facts->commit_waits_us : 0;
    for (size_t i = 0; i < facts->n_copies; i++) {
        size_t state = 0;

        while (state < COPY_STATES - 1 && !streq(facts->copies[i].state, copy_states[state]))
            state++;
        view->copies[state]++;
        view->copy_lag_us = MAX_OF(view->copy_lag_us, facts->copies[i].lag_us);
    }
}

/* What the database tells of what is in it. */
static void look_at_store(struct view *view)
{
    struct store *store = view->scheduler->store;

    if (store == NULL)
        return;
    store_figures(store, &view->store);
    store_archived_counts(store, view->jobs);
    view->archived_bytes = store_archived_bytes(store);
}

static struct view look(const struct scheduler *scheduler)
{
    const struct cluster *cluster = scheduler->cluster;
    struct instant now = clock_instant();
    struct view view = {
        .scheduler = scheduler,
        .core = cluster_figures(cluster),
        .nodes = figures_sum_nodes(cluster),
        .machines = machines_sum(&scheduler->machines, cluster),
        .traffic_bytes = { scheduler->machines.received_bytes, scheduler->machines.sent_bytes },
        .oldest_wait_us = figures_oldest_wait_us(cluster, now),
        .oldest_report_us = figures_oldest_report_us(cluster, now),
        .utilisation_ppm = cluster_utilisation_ppm(cluster),
        .max_load_permille = cluster_config(cluster)->max_load_permille,
        .writable = !scheduler->degraded.on,
        .connections = listeners_connections(&scheduler->listeners),
        .waiting = listeners_waiting(&scheduler->listeners),
        .cut_off = listeners_cut_off(&scheduler->listeners),
        .denials = scheduler->denials.total,
        .certificate_end_s = scheduler->listeners.tls.server_end_s,
        .over_limit = scheduler->metrics.over_limit,
        .sessions = scheduler->sessions.n_open,
        .sessions_begun = scheduler->sessions.begun,
        .session_bytes = { scheduler->sessions.bytes[0], scheduler->sessions.bytes[1] },
        .cpu_us = cpu_us(),
        .resident_bytes = resident_bytes(),
        .scheduler_started_us = scheduler->metrics.started_wall_us,
    };

    look_at_prices(&view);
    notices_figures(scheduler, &view.notices);
    look_at_store(&view);
    look_at_leadership(&view);
    for (size_t i = 0; i < FIGURE_JOB_STATES; i++)
        view.jobs[i] += view.core->jobs[i];
    memcpy(view.longest_waits_us, scheduler->dispatch.longest_wait_us,
           sizeof view.longest_waits_us);
    memcpy(view.refused, scheduler->dispatch.refused, sizeof scheduler->dispatch.refused);
    view.refused[REFUSED_HANDSHAKES] = listeners_shut_out(&scheduler->listeners);
    memcpy(view.held, cluster_holdings(cluster)->all, sizeof view.held);
    memcpy(view.pushes, scheduler->progresses.pushes, sizeof view.pushes);
    memcpy(view.limits, scheduler->options.limits.all, sizeof view.limits);
    view.gpus[0] = view.nodes.gpus_granted;
    view.gpus[1] = view.nodes.gpus_free;
    view.gpus[2] = view.nodes.gpus_withheld;
    view.gpus[3] = view.nodes.gpus_foreign;
    view.log_bytes[0] = log_hub_bytes(scheduler->logs);
    view.log_bytes[1] = view.store.log_bytes;
    view.file_bytes[0] = view.store.database_bytes;
    view.file_bytes[1] = view.store.wal_bytes;
    return view;
}

char *metrics_text(const struct scheduler *scheduler)
{
    struct view view = look(scheduler);
    bool all = leadership_knows_state(scheduler) && !scheduler_hangs(scheduler);
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (out == NULL)
        abort();
    for (size_t i = 0; i < ELEMENTS(table); i++)
        if (all || table[i].always)
            write_row(out, &table[i], &view);
    if (fclose(out) != 0)
        abort(); /* memory is out: the unit restarts, and state is on disk */
    return text;
}
