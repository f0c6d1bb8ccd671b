/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_show.c - `edl show`: everything about one job
 *
 * Three questions (job, processes, tasks); with --json one object that holds the three answers. */
#include <inttypes.h>

#include "client/job_array.h"
#include "client/job_view.h"
#include "client/pushes_print.h"
#include "client/json_read.h"
#include "client/server.h"
#include "client/table_print.h"
#include "client/text.h"
#include "client/verb.h"
#include "shared/cleanup.h"
#include "shared/macro.h"

struct show_options {
    struct common_options common;
    bool all;
};

static const struct option_row show_options[] = {
    { "all", NULL, "also the processes that have ended", option_flag,
      OPTION_FIELD(struct show_options, all), .letter = 'a' },
};

static void print_time(const char *label, const json_t *job, const char *name)
{
    char text[40];

    if (json_u64(job, name) != 0)
        (void)printf("%-10s %s\n", label, text_time(json_u64(job, name), text, sizeof(text)));
}

/* Where its document says that it runs: the node of each instance, the folder on each node. */
static void print_places(const json_t *spec)
{
    const char *folder = json_text(spec, "workspace-folder");
    size_t r, i;
    json_t *role, *node;

    if (folder[0] != '\0')
        (void)printf("%-10s %s\n", "folder", folder);
    json_array_foreach(json_object_get(spec, "roles"), r, role)
    {
        const json_t *nodes = json_object_get(role, "nodes");

        if (nodes == NULL)
            continue;
        (void)printf("%-10s %s:", "nodes", json_text(role, "role"));
        json_array_foreach(nodes, i, node)
        {
            (void)printf("%s %s", i > 0 ? "," : "", json_string_value(node));
        }
        (void)fputc('\n', stdout);
    }
}

static void print_job(const json_t *job)
{
    const char *code = json_text(job, "reason_code");

    job_print_line(job);
    if (code[0] != '\0')
        (void)printf("%-10s %s\n", "code", code);
    if (json_text(job, "user")[0] != '\0')
        (void)printf("%-10s %s\n", "user", json_text(job, "user"));
    print_time("submitted", job, "submitted_us");
    print_time("started", job, "started_us");
    print_time("ended", job, "ended_us");
    (void)printf("%-10s %" PRIu64 "\n", "resizes", json_u64(job, "resizes"));
    if (json_u64(job, "updates_lost_of") > 0)
        (void)printf("%-10s %" PRIu64 " of %" PRIu64
                     " update%s, when parameter servers were started again: edl events\n",
                     "lost", json_u64(job, "updates_lost"), json_u64(job, "updates_lost_of"),
                     PLURAL(json_u64(job, "updates_lost_of")));
    print_places(json_object_get(job, "spec"));
}

static void print_roles(const json_t *roles)
{
    static const char *const headers[] = { "ROLE", "MIN", "MAX",    "TARGET", "RUNNING",
                                           "LIVE", "CPU", "MEMORY", "GPUS",   NULL };
    static const char *const names[] = { "min", "max", "target", "running", "live" };
    _cleanup_(cleanup_tablep) struct table *table = table_new(headers, 0x1fe);
    size_t i;
    json_t *role;

    json_array_foreach(roles, i, role)
    {
        char text[32];

        table_add(table, "%s", json_text(role, "role"));
        for (size_t j = 0; j < ELEMENTS(names); j++)
            table_add(table, "%" PRIu64, json_u64(role, names[j]));
        table_add(table, "%s", text_cpu(json_u64(role, "cpu_millicores"), text, sizeof text));
        table_add(table, "%s", text_bytes(json_u64(role, "memory_bytes"), text, sizeof text));
        table_add(table, "%" PRIu64, json_u64(role, "gpus"));
    }
    (void)fputc('\n', stdout);
    table_print(table, stdout);
}

/* tells_end - the scheduler's own words begin with how it ended */
static bool tells_end(const char *reason)
{
    return strncmp(reason, "exit code ", 10) == 0 || strncmp(reason, "signal ", 7) == 0;
}

static void add_end(struct table *table, const json_t *process)
{
    const char *reason = json_text(process, "reason");
    uint64_t sig = json_u64(process, "exit_signal");

    if (reason[0] == '\0' && json_u64(process, "frozen_us") > 0)
        table_add(table, "stood still for %.1f s: its node was cut off",
                  (double)json_u64(process, "frozen_us") / USEC_PER_SEC);
    else if (!streq(json_text(process, "state"), "exited") || tells_end(reason))
        table_add(table, "%s", reason);
    else if (sig != 0)
        table_add(table, "signal %" PRIu64 "%s%s", sig, reason[0] != '\0' ? ", " : "", reason);
    else
        table_add(table, "exit %" PRIu64 "%s%s", json_u64(process, "exit_code"),
                  reason[0] != '\0' ? ", " : "", reason);
}

static void print_processes(const json_t *processes)
{
    static const char *const headers[] = { "PROCESS", "INCARNATION", "STATE",  "NODE",
                                           "PID",     "CPU",         "MEMORY", "PEAK",
                                           "TASKS",   "REASON",      NULL };
    _cleanup_(cleanup_tablep) struct table *table = table_new(headers, 0x1f2);
    size_t i;
    json_t *process;

    if (json_array_size(processes) == 0)
        return;
    json_array_foreach(processes, i, process)
    {
        char text[32];

        table_add(table, "%s-%" PRIu64, json_text(process, "role"), json_u64(process, "index"));
        table_add(table, "%" PRIu64, json_u64(process, "incarnation"));
        table_add(table, "%s", json_text(process, "state"));
        table_add(table, "%s", json_text(process, "node"));
        table_add(table, "%" PRIu64, json_u64(process, "pid"));
        table_add(table, "%s", text_duration(json_u64(process, "cpu_used_us"), text, sizeof(text)));
        table_add(table, "%s",
                  text_bytes(json_u64(process, "memory_used_bytes"), text, sizeof(text)));
        table_add(table, "%s",
                  text_bytes(json_u64(process, "memory_peak_bytes"), text, sizeof(text)));
        table_add(table, "%" PRIu64, json_u64(process, "tasks"));
        add_end(table, process);
    }
    (void)fputc('\n', stdout);
    table_print(table, stdout);
}

/* "step 1200, 83.1 samples/s, computes 91 %, waits 9 %" */
static void print_steps_of(const json_t *steps)
{
    double compute_us = (double)json_u64(steps, "compute_us");
    double all_us = compute_us + (double)json_u64(steps, "wait_us");

    (void)printf("step %" PRIu64 ", %.4g samples/s", json_u64(steps, "step"),
                 json_number_value(json_object_get(steps, "samples_per_s")));
    if (all_us > 0)
        (void)printf(", computes %.0f %%, waits %.0f %%", 100 * compute_us / all_us,
                     100 * (1 - compute_us / all_us));
}

static void print_steps(const json_t *job, const json_t *processes)
{
    size_t i;
    json_t *process;

    if (json_object_get(job, "steps") == NULL)
        return;
    (void)printf("\nsteps      ");
    print_steps_of(json_object_get(job, "steps"));
    (void)fputc('\n', stdout);
    json_array_foreach(processes, i, process)
    {
        const json_t *speed = json_object_get(process, "speed");

        if (json_object_get(process, "steps") == NULL)
            continue;
        (void)printf("  %s-%" PRIu64 "  ", json_text(process, "role"), json_u64(process, "index"));
        print_steps_of(json_object_get(process, "steps"));
        if (speed != NULL)
            (void)printf(", %.2g times as fast as its others", json_number_value(speed));
        (void)fputc('\n', stdout);
    }
}

/* Beside rows of pushes, which have lines of their own. */
static bool has_members(const json_t *progress)
{
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)progress, name, value)
    {
        if (!json_is_array(value))
            return true;
    }
    return false;
}

/* "trainer-0  step 1200, loss 0.31" */
static void print_progress(const json_t *processes)
{
    bool first = true;
    size_t i;
    json_t *process;

    json_array_foreach(processes, i, process)
    {
        const char *between = "  ";
        const char *name;
        json_t *value;

        if (!has_members(json_object_get(process, "progress")))
            continue;
        (void)printf("%s%s-%" PRIu64, first ? "\nprogress\n  " : "  ", json_text(process, "role"),
                     json_u64(process, "index"));
        first = false;
        json_object_foreach(json_object_get(process, "progress"), name, value)
        {
            _cleanup_free_ char *text = NULL;

            if (json_is_array(value))
                continue;
            text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(6));

            (void)printf("%s%s %s", between, name, text != NULL ? text : "?");
            between = ", ";
        }
        (void)fputc('\n', stdout);
    }
}

/* Only of a job that serves, once it has told of its queue. */
static void print_serving(const json_t *serving)
{
    const json_t *wanted = json_object_get(serving, "wanted");

    if (!json_is_object(serving))
        return;
    (void)printf("\nserving    %.0f students, %.1f tasks wait for each of %" PRIu64
                 ", %.1f tasks and %.1f samples a second, busy %.0f%%",
                 json_number_value(json_object_get(serving, "students")),
                 json_number_value(json_object_get(serving, "queue_tasks")),
                 json_u64(serving, "told"),
                 json_number_value(json_object_get(serving, "tasks_per_s")),
                 json_number_value(json_object_get(serving, "samples_per_s")),
                 100 * json_number_value(json_object_get(serving, "busy_share")));
    if (json_is_integer(wanted))
        (void)printf("; its queue wants %" JSON_INTEGER_FORMAT, json_integer_value(wanted));
    (void)fputc('\n', stdout);
}

/* In which order tasks come, when that is not the order of the files. */
static void print_order(const json_t *tasks)
{
    const json_t *next = json_object_get(tasks, "next");

    if (!json_is_integer(json_object_get(tasks, "shuffle")))
        return;
    (void)printf("order      shuffled anew in each pass, with seed %" PRIu64,
                 json_u64(tasks, "shuffle"));
    for (size_t i = 0; i < json_array_size(next); i++)
        (void)printf("%s%" JSON_INTEGER_FORMAT, i == 0 ? "; next: " : ", ",
                     json_integer_value(json_array_get(next, i)));
    (void)fputc('\n', stdout);
}

static void print_tasks(const json_t *tasks)
{
    if (json_u64(tasks, "records_pass") == 0)
        return;
    (void)printf("\ntasks      pass %" PRIu64 " of %" PRIu64 ": %" PRIu64 " to do, %" PRIu64
                 " leased, %" PRIu64 " done, %" PRIu64 " discarded, %" PRIu64 " tried again\n",
                 MIN_OF(json_u64(tasks, "pass") + 1, json_u64(tasks, "passes")),
                 json_u64(tasks, "passes"), json_u64(tasks, "todo"), json_u64(tasks, "leased"),
                 json_u64(tasks, "done"), json_u64(tasks, "discarded"), json_u64(tasks, "retries"));
    (void)printf("records    %" PRIu64 " of %" PRIu64 " in this pass, %" PRIu64 " in all\n",
                 json_u64(tasks, "records_done"), json_u64(tasks, "records_pass"),
                 json_u64(tasks, "records_total"));
    print_order(tasks);
    job_print_skipped("skipped   ", json_u64(tasks, "tasks_discarded"),
                      json_u64(tasks, "records_discarded"));
    job_print_lost("skipped   ", json_u64(tasks, "chunks_lost"), json_u64(tasks, "records_lost"));
    if (json_is_true(json_object_get(tasks, "model_saved")))
        (void)printf("model      saved%s%s\n", *json_text(tasks, "model_path") != '\0' ? ": " : "",
                     json_text(tasks, "model_path"));
}

static void print_metrics(const json_t *metrics)
{
    const char *name;
    json_t *value;

    if (!json_is_object(metrics) || json_object_size(metrics) == 0)
        return;
    (void)printf("\nmetrics\n");
    json_object_foreach((json_t *)metrics, name, value)
    {
        _cleanup_free_ char *text =
            json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(6));

        (void)printf("  %-20s %s\n", name, text != NULL ? text : "?");
    }
}

static int show(struct server *server, const struct show_options *options, const char *name)
{
    _cleanup_free_ char *path = job_path(name, "");
    _cleanup_json_ json_t *job = NULL;
    _cleanup_json_ json_t *processes = NULL;
    _cleanup_json_ json_t *tasks = NULL;
    _cleanup_json_ json_t *why = NULL;
    int status = server_request(server, "GET", path, NULL, &job);

    if (status == STATUS_OK)
        status = server_get(server, &processes, "%s/processes?state=%s", path,
                            options->all ? "all" : "live");
    if (status == STATUS_OK && json_is_true(json_object_get(job, "dataset")))
        status = server_get(server, &tasks, "%s/tasks", path);
    if (status == STATUS_OK)
        status = server_get(server, &why, "%s/why", path);
    if (status != STATUS_OK)
        return status;
    if (options->common.json) {
        _cleanup_json_ json_t *all =
            json_pack("{s:O, s:O?, s:O?, s:O?, s:O?}", "job", job, "processes",
                      json_object_get(processes, "processes"), "serving",
                      json_object_get(processes, "serving"), "tasks", tasks, "first_error",
                      json_object_get(why, "first_error"));

        json_print(all);
        return STATUS_OK;
    }
    job_print_first_error(json_object_get(why, "first_error"));
    print_job(job);
    print_roles(json_object_get(job, "roles"));
    print_processes(json_object_get(processes, "processes"));
    print_steps(job, json_object_get(processes, "processes"));
    print_serving(json_object_get(processes, "serving"));
    print_progress(json_object_get(processes, "processes"));
    pushes_print(json_object_get(processes, "processes"));
    print_tasks(tasks);
    print_metrics(json_object_get(job, "metrics"));
    return STATUS_OK;
}

static void show_array(const struct show_options *options, const char *name, json_t *jobs)
{
    _cleanup_json_ json_t *groups = array_groups(jobs);

    if (options->common.json) {
        _cleanup_json_ json_t *all = json_pack("{s:s, s:O}", "array", name, "jobs", jobs);

        json_print(all);
        return;
    }
    array_print_summary(name, jobs);
    for (size_t g = 0; g < json_array_size(groups); g++)
        array_print_group(json_array_get(groups, g));
}

static int run(const struct invocation *invocation)
{
    const struct show_options *options = invocation->options;
    const char *name = invocation->arguments.args[0];
    _cleanup_json_ json_t *jobs = NULL;
    struct server server;
    int status = server_open(&options->common, &server);

    if (status != STATUS_OK)
        return status;
    status = array_find(&server, name, &jobs);
    if (status == STATUS_OK && jobs != NULL)
        show_array(options, name, jobs);
    else if (status == STATUS_OK)
        status = show(&server, options, name);
    server_clear(&server);
    return status;
}

const struct verb verb_show = {
    .name = "show",
    .usage = "JOB [--all]",
    .summary = "Show one job: state, reason, roles, processes, tasks, metrics",
    .details = "JOB may name an array: how many of its jobs are in which state, and why.",
    VERB_OPTIONS(show_options, struct show_options),
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
