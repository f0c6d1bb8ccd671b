/* SPDX-License-Identifier: Apache-2.0 */
/* job_document_write.c - job_spec to the normalised document that job_spec_from_document reads back
 * unchanged
 *
 * Everything is written out, defaults too: what a job runs with must not change when a later
 * version changes a default. Only empty text, an empty env and
 * what a job does not have (user, on_disconnect: keep, deadline, after, array, teacher,
 * checkpoint) are left out. */
#include <inttypes.h>
#include <stdio.h>

#include "shared/job_document.h"
#include "shared/job_spec.h"
#include "shared/macro.h"
#include "shared/rfc3339.h"

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

    (void)json_object_set_new(json, "role", json_string(role->name));
    (void)json_object_set_new(json, "command", texts_to_json(role->argv));
    if (role->workspace != NULL && role->workspace[0] != '\0')
        (void)json_object_set_new(json, "workspace", json_string(role->workspace));
    (void)json_object_set_new(json, "min", json_integer(role->min));
    (void)json_object_set_new(json, "max", json_integer(role->max));
    (void)json_object_set_new(json, "cpu", json_sprintf("%" PRIu64 "m", role->cpu_millicores));
    (void)json_object_set_new(json, "memory", json_integer((json_int_t)role->memory_bytes));
    (void)json_object_set_new(json, "gpus", json_integer(role->gpus));
    (void)json_object_set_new(json, "ports", json_integer(role->n_ports));
    if (role->selector != NULL)
        (void)json_object_set_new(json, "node-selector", labels_to_json(role->selector));
    return json;
}

static json_t *array_to_json(const struct job_array *array)
{
    if (array->name == NULL)
        return json_sprintf("%" PRIu32 "-%" PRIu32, array->first, array->first + array->n - 1);
    return json_pack("{s:s,s:I,s:I}", "name", array->name, "index", (json_int_t)array->first,
                     "jobs", (json_int_t)array->n);
}

static json_t *env_to_json(const struct job_spec *spec)
{
    json_t *json = json_object();

    for (size_t i = 0; i < spec->n_env; i++)
        (void)json_object_set_new(json, spec->env[i].name, json_string(spec->env[i].value));
    return json;
}

static json_t *checkpoint_to_json(const struct job_spec *spec)
{
    json_t *json = json_object();

    if (spec->checkpoint_path != NULL)
        (void)json_object_set_new(json, "path", json_string(spec->checkpoint_path));
    if (spec->checkpoint_period_us != 0)
        (void)json_object_set_new(json, "period", time_to_json(spec->checkpoint_period_us));
    return json;
}

json_t *job_spec_to_document(const struct job_spec *spec)
{
    json_t *json = json_object(), *restart = json_object(), *roles = json_array();
    char instant[RFC3339_MAX];

    (void)json_object_set_new(json, "name", json_string(spec->name));
    if (spec->user[0] != '\0')
        (void)json_object_set_new(json, "user", json_string(spec->user));
    (void)json_object_set_new(json, "mode", json_string(job_mode_to_string(spec->mode)));
    (void)json_object_set_new(json, "priority", json_integer(spec->priority));
    (void)json_object_set_new(json, "fault_tolerant", json_boolean(spec->fault_tolerant));
    (void)json_object_set_new(json, "autoclean", json_boolean(!spec->keep_remains));
    (void)json_object_set_new(json, "passes", json_integer(spec->passes));
    (void)json_object_set_new(json, "port", json_integer(spec->port));
    (void)json_object_set_new(json, "ports_num", json_integer(spec->ports_num));
    (void)json_object_set_new(json, "ports_num_for_sparse",
                              json_integer(spec->ports_num_for_sparse));
    (void)json_object_set_new(json, "grace", time_to_json(spec->grace_us));
    (void)json_object_set_new(restart, "max", json_integer(spec->restart_max));
    (void)json_object_set_new(restart, "backoff", time_to_json(spec->restart_backoff_us));
    (void)json_object_set_new(json, "restart", restart);
    if (spec->keep_cut_off)
        (void)json_object_set_new(json, "on_disconnect", json_string("keep"));
    if (spec->deadline_wall_us != 0)
        (void)json_object_set_new(json, "deadline",
                                  json_string(rfc3339_format(spec->deadline_wall_us, instant)));
    else if (spec->deadline_us != 0)
        (void)json_object_set_new(json, "deadline", time_to_json(spec->deadline_us));
    if (spec->array.n > 0)
        (void)json_object_set_new(json, "array", array_to_json(&spec->array));
    if (spec->after != NULL)
        (void)json_object_set_new(json, "after", texts_to_json(spec->after));
    if (spec->dataset != NULL && spec->dataset[0] != '\0')
        (void)json_object_set_new(json, "dataset", json_string(spec->dataset));
    if (spec->teacher != NULL)
        (void)json_object_set_new(json, "teacher", json_string(spec->teacher));
    if (spec->checkpoint_path != NULL || spec->checkpoint_period_us != 0)
        (void)json_object_set_new(json, "checkpoint", checkpoint_to_json(spec));
    if (spec->n_env > 0)
        (void)json_object_set_new(json, "env", env_to_json(spec));
    for (size_t i = 0; i < spec->n_roles; i++)
        (void)json_array_append_new(roles, role_to_json(&spec->roles[i]));
    (void)json_object_set_new(json, "roles", roles);
    return json;
}
