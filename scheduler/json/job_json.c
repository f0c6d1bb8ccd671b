/* SPDX-License-Identifier: Apache-2.0 */
/* job_json.c - jobs and processes as the API shows them */
#include "scheduler/json/job_json.h"

#include <math.h>
#include <utlist.h>

#include "scheduler/core/core.h"
#include "scheduler/core/model/usage.h"
#include "shared/clock.h"
#include "shared/job_document.h"
#include "shared/macro.h"
#include "shared/step_sums_json.h"

static void set_u64(json_t *object, const char *key, uint64_t value)
{
    (void)json_object_set_new(object, key, json_integer((json_int_t)value));
}

static void set_text(json_t *object, const char *key, const char *value)
{
    json_t *text = json_string(value);

    /* A text that was cut within a character is not UTF-8 any more. */
    (void)json_object_set_new(object, key, text != NULL ? text : json_string("(not UTF-8)"));
}

json_t *usage_to_json(const struct usage *usage)
{
    json_t *object = json_object();

    for (int kind = 0; kind < USAGE_KINDS; kind++) {
        const struct resource_time *time = &usage->kinds[kind];

        (void)json_object_set_new(object, usage_kind_to_string((enum usage_kind)kind),
                                  json_pack("{s:f,s:f,s:f}", "cpu_core_seconds",
                                            (double)time->cpu_millicore_ms / 1e6, "gpu_seconds",
                                            (double)time->gpu_ms / 1e3, "memory_gib_seconds",
                                            (double)time->memory_mib_ms / 1024e3));
    }
    return object;
}

static json_t *roles_to_json(const struct job *job)
{
    json_t *array = json_array();

    for (uint32_t r = 0; r < job->spec->n_roles; r++) {
        const struct role_spec *role = &job->spec->roles[r];
        json_t *item = json_object();

        set_text(item, "role", role->name);
        set_u64(item, "min", role->min);
        set_u64(item, "max", role->max);
        set_u64(item, "cpu_millicores", role->cpu_millicores);
        set_u64(item, "memory_bytes", role->memory_bytes);
        set_u64(item, "gpus", role->gpus);
        set_u64(item, "target", job->target[r]);
        set_u64(item, "running", job_count_running(job, r));
        set_u64(item, "starting", job_count(job, r, false) - job_count_running(job, r));
        set_u64(item, "stopping", job_count(job, r, true) - job_count(job, r, false));
        set_u64(item, "live", job_count(job, r, true));
        (void)json_array_append_new(array, item);
    }
    return array;
}

#define NEXT_TASKS 8 /* so many are told of */

/* In which order its tasks come: the seed, if they are shuffled, and those that are next. */
static void add_order(json_t *object, const struct job *job)
{
    uint32_t ids[NEXT_TASKS];
    size_t n = job->queue != NULL ? task_queue_next(job->queue, ids, NEXT_TASKS) : 0;
    json_t *next = json_array();

    for (size_t i = 0; i < n; i++)
        (void)json_array_append_new(next, json_integer((json_int_t)ids[i]));
    (void)json_object_set_new(object, "next", next);
    if (job->spec->shuffled)
        set_u64(object, "shuffle", job->spec->shuffle_seed);
}

/* As its data set says, once it is there. */
static uint32_t job_passes(const struct job *job)
{
    return job->queue != NULL ? task_queue_passes(job->queue) : job_spec_passes(job->spec);
}

static void add_queue(json_t *object, const struct job *job, bool with_tasks)
{
    struct task_queue_counts counts = { 0 };

    if (job->queue != NULL)
        counts = task_queue_counts(job->queue);
    set_u64(object, "pass", job->queue != NULL ? task_queue_pass(job->queue) : 0);
    set_u64(object, "passes", job_passes(job));
    if (with_tasks) {
        set_u64(object, "todo", counts.todo);
        set_u64(object, "leased", counts.leased);
        set_u64(object, "done", counts.done);
        set_u64(object, "discarded", counts.discarded);
    }
    set_u64(object, "records_done", counts.records_done);
    set_u64(object, "records_pass", counts.records_pass);
    set_u64(object, "records_total", counts.records_total);
    set_u64(object, "tasks_discarded", counts.tasks_discarded_total);
    set_u64(object, "records_discarded", counts.records_discarded_total);
    set_u64(object, "records_lost", counts.records_lost_total);
    set_u64(object, "records_lost_pass", counts.records_lost);
    set_u64(object, "chunks_lost", counts.chunks_lost_total);
    if (with_tasks) {
        set_u64(object, "retries", counts.retries_total);
        add_order(object, job);
    }
    set_text(object, "model_path", job->queue != NULL ? task_queue_model_path(job->queue) : "");
    (void)json_object_set_new(object, "model_saved",
                              json_boolean(job->queue != NULL &&
                                           task_queue_is_model_saved(job->queue)));
}

json_t *job_tasks_to_json(const struct job *job)
{
    json_t *object = json_object();

    add_queue(object, job, true);
    return object;
}

json_t *job_metrics_to_json(const struct job *job)
{
    json_t *metrics = job->metrics != NULL ? json_loads(job->metrics, 0, NULL) : NULL;

    return metrics != NULL ? metrics : json_null();
}

/* --- steps, as processes tell of them --- */

static json_t *steps_to_json(const struct step_sums *sums, double samples_per_s)
{
    json_t *object = step_sums_to_json(sums);

    (void)json_object_set_new(object, "samples_per_s",
                              json_real(round(1000 * samples_per_s) / 1000));
    return object;
}

/* All that its processes told, those included that have ended and are known still. Linear in them;
 * NULL: none told of any. */
static json_t *job_steps_to_json(const struct job *job)
{
    uint64_t now_us = clock_instant().now_us;
    const struct process *process;
    struct step_sums sums = { 0 };
    double samples_per_s = 0;

    if (!job->tells_steps)
        return NULL;
    DL_FOREACH2(job->processes, process, job_next)
    {
        uint64_t step = sums.step;

        if (process->steps == NULL)
            continue;
        step_sums_add(&sums, &process->steps->total);
        sums.step = MAX_OF(sums.step, step);
        if (!process_state_is_final(process->state))
            samples_per_s += steps_samples_per_s(process->steps, now_us);
    }
    return steps_to_json(&sums, samples_per_s);
}

/* shown_document - its deadline is what the wall clock will show */
static json_t *shown_document(const struct job_spec *spec)
{
    struct job_spec shown = *spec; /* borrows all of it */

    shown.deadline_wall_us = clock_shown_us(spec->deadline_wall_us);
    return job_spec_to_document(&shown);
}

/* lasted_us - since it started first, to its end or to now; no jump of the wall clock changes it */
static uint64_t lasted_us(const struct job *job)
{
    const uint64_t end_us = job->ended_wall_us != 0 ? job->ended_wall_us : clock_instant().wall_us;

    return job->started_wall_us != 0 ? end_us - MIN_OF(job->started_wall_us, end_us) : 0;
}

#define TRIAL_VARIABLE "EDL_TRIAL"
#define TRIAL_BYTES_MAX 8192
#define TRIAL_PARAMETERS "parameters"

static bool is_scalar(const json_t *value)
{
    return json_is_string(value) || json_is_number(value) || json_is_boolean(value);
}

/* is_trial - as `edl search` writes it: its owner may have written anything */
static bool is_trial(json_t *value)
{
    json_t *parameters = json_object_get(value, TRIAL_PARAMETERS), *part;
    const char *name;

    if (!json_is_object(parameters) || !json_is_string(json_object_get(value, "search")) ||
        !json_is_integer(json_object_get(value, "trial")))
        return false;
    json_object_foreach(value, name, part)
    {
        if (part != parameters && !is_scalar(part))
            return false;
    }
    json_object_foreach(parameters, name, part)
    {
        if (!is_scalar(part))
            return false;
    }
    return true;
}

/* trial_to_json - which trial of a search it is; NULL: of none. Its values stand in its command as
 * well, which everybody sees. */
static json_t *trial_to_json(const struct job_spec *spec)
{
    json_t *value = NULL;

    for (size_t i = 0; i < spec->n_env && value == NULL; i++)
        if (streq(spec->env[i].name, TRIAL_VARIABLE) &&
            strnlen(spec->env[i].value, TRIAL_BYTES_MAX) < TRIAL_BYTES_MAX)
            value = json_loads(spec->env[i].value, JSON_REJECT_DUPLICATES, NULL);
    if (value != NULL && is_trial(value))
        return value;
    json_decref(value);
    return NULL;
}

json_t *job_to_json(const struct job *job, const char *policy, bool with_spec)
{
    json_t *object = json_object(), *steps, *trial = trial_to_json(job->spec);
    struct usage usage;

    set_u64(object, "id", job->id);
    set_text(object, "name", job->spec->name);
    set_text(object, "state", job_state_to_string(job->state));
    set_text(object, "reason_code", job->reason_code);
    set_text(object, "cause", cause_to_string(job->cause));
    set_text(object, "intent", intent_to_string(job->intent));
    set_text(object, "reason", job->reason);
    set_text(object, "user", job->user);
    set_text(object, "policy", policy);
    set_u64(object, "submitted_us", clock_shown_us(job->submitted_wall_us));
    set_u64(object, "started_us", clock_shown_us(job->started_wall_us));
    set_u64(object, "ended_us", clock_shown_us(job->ended_wall_us));
    set_u64(object, "lasted_us", lasted_us(job));
    set_u64(object, "resizes", job->resizes);
    set_u64(object, "updates_lost", job->updates_lost);
    set_u64(object, "updates_lost_of", job->updates_lost_of);
    usage_of_job(job, clock_instant().wall_us, &usage);
    (void)json_object_set_new(object, "usage", usage_to_json(&usage));
    (void)json_object_set_new(object, "roles", roles_to_json(job));
    add_queue(object, job, false);
    (void)json_object_set_new(object, "dataset", json_boolean(job->queue != NULL));
    (void)json_object_set_new(object, "metrics", job_metrics_to_json(job));
    steps = job_steps_to_json(job);
    if (steps != NULL)
        (void)json_object_set_new(object, "steps", steps);
    if (trial != NULL)
        (void)json_object_set_new(object, "trial", trial);
    if (with_spec)
        (void)json_object_set_new(object, "spec", shown_document(job->spec));
    return object;
}

void job_json_mask(json_t *job)
{
    static const char *const told[] = { "mail", "webhook" };
    json_t *env = json_object_get(json_object_get(job, "spec"), "env");
    json_t *notify = json_object_get(json_object_get(job, "spec"), "notify");
    const char *name;
    json_t *value;

    json_object_foreach(env, name, value)
    {
        (void)json_object_set_new(env, name, json_string(ENV_MASKED));
    }
    for (size_t i = 0; i < ELEMENTS(told); i++)
        if (json_object_get(notify, told[i]) != NULL)
            (void)json_object_set_new(notify, told[i], json_string(ENV_MASKED));
}

json_t *ports_to_json(const struct process *process)
{
    json_t *array = json_array();

    for (uint32_t i = 0; i < process->n_ports; i++)
        (void)json_array_append_new(array, json_integer(process->ports[i]));
    return array;
}

json_t *gpus_to_json(uint64_t mask)
{
    json_t *array = json_array();

    for (int i = 0; i < NODE_GPUS_MAX; i++)
        if (mask & UINT64_C(1) << i)
            (void)json_array_append_new(array, json_integer(i));
    return array;
}

const char *process_address(const struct process *process)
{
    return process->node != NULL ? process->node->offer.address : "";
}

json_t *process_to_json(const struct process *process)
{
    json_t *object = json_object();

    set_u64(object, "job_id", process->job->id);
    set_text(object, "job", process->job->spec->name);
    set_text(object, "role", process->job->spec->roles[process->role].name);
    set_u64(object, "index", process->index);
    set_u64(object, "incarnation", process->incarnation);
    set_text(object, "state", process_state_to_string(process->state));
    set_text(object, "node", process->node_name);
    set_text(object, "address", process_address(process));
    (void)json_object_set_new(object, "ports", ports_to_json(process));
    (void)json_object_set_new(object, "gpus", gpus_to_json(process->gpu_mask));
    (void)json_object_set_new(object, "pid", json_integer(process->pid));
    (void)json_object_set_new(object, "exit_code", json_integer(process->exit_code));
    (void)json_object_set_new(object, "exit_signal", json_integer(process->exit_signal));
    set_text(object, "reason", process->reason);
    set_text(object, "cause", cause_to_string(process->cause));
    set_u64(object, "assigned_us", clock_shown_us(process->assigned_wall_us));
    set_u64(object, "started_us", clock_shown_us(process->started_wall_us));
    set_u64(object, "ended_us", clock_shown_us(process->ended_wall_us));
    set_u64(object, "cpu_used_us", process->cpu_used_us);
    set_u64(object, "memory_used_bytes", process->memory_used_bytes);
    set_u64(object, "memory_peak_bytes", process->memory_peak_bytes);
    set_u64(object, "tasks", process->tasks);
    if (process->frozen_us > 0)
        set_u64(object, "frozen_us", process->frozen_us);
    if (process->stuck != NULL)
        (void)json_object_set_new(object, "stuck", json_string(process->stuck));
    if (process->steps != NULL)
        (void)json_object_set_new(object, "steps",
                                  steps_to_json(&process->steps->total,
                                                process_state_is_final(process->state)
                                                    ? 0
                                                    : steps_samples_per_s(process->steps,
                                                                          clock_instant().now_us)));
    if (process->speed > 0)
        (void)json_object_set_new(object, "speed",
                                  json_real(round(1000 * (double)process->speed) / 1000));
    return object;
}
