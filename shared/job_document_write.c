/* SPDX-License-Identifier: Apache-2.0 */
/* job_document_write.c - job_spec to the normalised document that job_spec_from_document reads back
 * unchanged
 *
 * Everything is written out, defaults too: the settings that a job runs with must not change when a
 * later version changes a default. Only empty text, an empty env and members that a job does not
 * have (user, on_disconnect: keep, stdin, parking, deadline, expected, time_limit, after, array,
 * teacher, notify, checkpoint, workspace-folder, nodes) are left out. */
#include <inttypes.h>
#include <stdio.h>

#include "shared/job_document.h"
#include "shared/job_draft.h"
#include "shared/job_spec.h"
#include "shared/macro.h"
#include "shared/rfc3339.h"

/* set - take_value under a key of ours, which needs no look for UTF-8 */
static void set(json_t *object, const char *key, json_t *take_value)
{
    (void)json_object_set_new_nocheck(object, key, take_value);
}

/* time_to_json - in the largest unit that loses nothing */
static json_t *time_to_json(uint64_t us)
{
    static const struct {
        uint64_t us;
        const char *unit;
    } units[] = { { USEC_PER_SEC, "s" }, { USEC_PER_MSEC, "ms" }, { 1, "us" } };
    size_t i = 0;

    while (us % units[i].us != 0)
        i++;
    return json_sprintf("%" PRIu64 "%s", us / units[i].us, units[i].unit);
}

static json_t *labels_to_json(const struct labels *labels)
{
    json_t *json = json_object();

    for (uint32_t i = 0; i < labels->n; i++)
        (void)json_object_set_new(json, labels->items[i].name, json_string(labels->items[i].value));
    return json;
}

static json_t *texts_to_json(char *const *texts)
{
    json_t *json = json_array();

    for (; texts != NULL && *texts != NULL; texts++)
        (void)json_array_append_new(json, json_string(*texts));
    return json;
}

static json_t *role_to_json(const struct role_spec *role)
{
    json_t *json = json_object();

    set(json, "role", json_string(role->name));
    set(json, "command", texts_to_json(role->argv));
    if (role->workspace != NULL && role->workspace[0] != '\0')
        set(json, "workspace", json_string(role->workspace));
    set(json, "min", json_integer(role->min));
    set(json, "max", json_integer(role->max));
    set(json, "cpu", json_sprintf("%" PRIu64 "m", role->cpu_millicores));
    set(json, "memory", json_integer((json_int_t)role->memory_bytes));
    set(json, "gpus", json_integer(role->gpus));
    set(json, "ports", json_integer(role->n_ports));
    if (role->spread)
        set(json, "spread", json_true());
    if (role->takes_input)
        set(json, "stdin", json_true());
    if (role->selector != NULL)
        set(json, "node-selector", labels_to_json(role->selector));
    if (role->nodes != NULL)
        set(json, "nodes", texts_to_json(role->nodes));
    return json;
}

static json_t *array_to_json(const struct job_array *array)
{
    json_t *json;

    if (array->name == NULL && array->most > 0)
        return json_sprintf("%" PRIu32 "-%" PRIu32 "%%%" PRIu32, array->first,
                            array->first + array->n - 1, array->most);
    if (array->name == NULL)
        return json_sprintf("%" PRIu32 "-%" PRIu32, array->first, array->first + array->n - 1);
    json = json_pack("{s:s,s:I,s:I}", "name", array->name, "index", (json_int_t)array->first,
                     "jobs", (json_int_t)array->n);
    if (array->most > 0)
        (void)json_object_set_new(json, "most", json_integer((json_int_t)array->most));
    return json;
}

static json_t *env_to_json(const struct job_spec *spec)
{
    json_t *json = json_object();

    for (size_t i = 0; i < spec->n_env; i++)
        (void)json_object_set_new(json, spec->env[i].name, json_string(spec->env[i].value));
    return json;
}

/* Something is said of the tasks of its data. */
static bool job_spec_has_rules(const struct job_spec *spec)
{
    return spec->shuffled || spec->task_records > 0 || spec->task_tries > 0;
}

/* The files alone where there is nothing to say of them. */
static json_t *dataset_to_json(const struct job_spec *spec)
{
    json_t *dataset;

    if (!job_spec_has_rules(spec))
        return json_string(spec->dataset);
    dataset = json_object();
    if (spec->dataset != NULL)
        set(dataset, "files", json_string(spec->dataset));
    if (spec->shuffled)
        set(dataset, "shuffle", json_integer((json_int_t)spec->shuffle_seed));
    if (spec->task_records > 0)
        set(dataset, "task_records", json_integer(spec->task_records));
    if (spec->task_tries > 0)
        set(dataset, "tries", json_integer(spec->task_tries));
    return dataset;
}

static json_t *checkpoint_to_json(const struct job_spec *spec)
{
    json_t *json = json_object();

    if (spec->checkpoint_path != NULL)
        set(json, "path", json_string(spec->checkpoint_path));
    if (spec->checkpoint_period_us != 0)
        set(json, "period", time_to_json(spec->checkpoint_period_us));
    return json;
}

json_t *job_spec_to_document(const struct job_spec *spec)
{
    json_t *json = json_object(), *restart = json_object(), *roles = json_array();
    char instant[RFC3339_MAX];

    set(json, "name", json_string(spec->name));
    if (spec->user[0] != '\0')
        set(json, "user", json_string(spec->user));
    set(json, "mode", json_string(job_mode_to_string(spec->mode)));
    set(json, "priority", json_integer(spec->priority));
    set(json, "fault_tolerant", json_boolean(spec->fault_tolerant));
    set(json, "autoclean", json_boolean(!spec->keep_remains));
    if (spec->passes > 0)
        set(json, "passes", json_integer(spec->passes));
    set(json, "port", json_integer(spec->port));
    set(json, "ports_num", json_integer(spec->ports_num));
    set(json, "ports_num_for_sparse", json_integer(spec->ports_num_for_sparse));
    set(json, "grace", time_to_json(spec->grace_us));
    if (spec->has_umask)
        set(json, "umask", json_sprintf("%04o", spec->umask));
    set(restart, "max", json_integer(spec->restart_max));
    set(restart, "tries_at_once", json_integer(spec->tries_at_once));
    set(restart, "backoff", time_to_json(spec->restart_backoff_us));
    set(json, "restart", restart);
    if (spec->keep_cut_off)
        set(json, "on_disconnect", json_string("keep"));
    if (spec->parking != JOB_PARKING_UNSAID)
        set(json, "parking", json_string(job_parking_to_string(spec->parking)));
    if (spec->deadline_wall_us != 0)
        set(json, "deadline", json_string(rfc3339_format(spec->deadline_wall_us, instant)));
    else if (spec->deadline_us != 0)
        set(json, "deadline", time_to_json(spec->deadline_us));
    if (spec->expected_us != 0)
        set(json, "expected", time_to_json(spec->expected_us));
    if (spec->time_limit_us != 0)
        set(json, "time_limit", time_to_json(spec->time_limit_us));
    if (spec->array.n > 0)
        set(json, "array", array_to_json(&spec->array));
    if (spec->after != NULL)
        set(json, "after", texts_to_json(spec->after));
    if (spec->dataset != NULL || job_spec_has_rules(spec))
        set(json, "dataset", dataset_to_json(spec));
    if (spec->workspace_folder != NULL)
        set(json, "workspace-folder", json_string(spec->workspace_folder));
    if (spec->teacher != NULL)
        set(json, "teacher", json_string(spec->teacher));
    if (spec->checkpoint_path != NULL || spec->checkpoint_period_us != 0)
        set(json, "checkpoint", checkpoint_to_json(spec));
    if (spec->notify != NULL)
        set(json, "notify", job_notify_to_json(spec->notify));
    if (spec->n_env > 0)
        set(json, "env", env_to_json(spec));
    for (size_t i = 0; i < spec->n_roles; i++)
        (void)json_array_append_new(roles, role_to_json(&spec->roles[i]));
    set(json, "roles", roles);
    return json;
}
