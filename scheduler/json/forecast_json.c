/* SPDX-License-Identifier: Apache-2.0 */
/* forecast_json.c - a forecast as the API shows it */
#include "scheduler/json/forecast_json.h"

#include <stdio.h>

#include "scheduler/core/ask/forecast.h"
#include "scheduler/json/job_json.h"
#include "shared/macro.h"

static json_t *time_or_null(uint64_t us)
{
    return us == NEVER_US ? json_null() : json_integer((json_int_t)us);
}

static json_t *placements_to_json(const struct forecast *forecast)
{
    json_t *array = json_array();

    for (size_t i = 0; i < forecast->n_placements; i++) {
        const struct forecast_placement *placement = &forecast->placements[i];

        (void)json_array_append_new(array,
                                    json_pack("{s:s,s:s,s:I,s:s,s:o}", "job", placement->job,
                                              "role", placement->role, "index",
                                              (json_int_t)placement->index, "node", placement->node,
                                              "gpus", gpus_to_json(placement->gpu_mask)));
    }
    return array;
}

static json_t *victims_to_json(const struct forecast_role *role)
{
    json_t *array = json_array();

    for (size_t i = 0; i < role->n_victims; i++) {
        const struct forecast_victim *victim = &role->victims[i];
        char process[ROLE_NAME_MAX + 16];

        (void)snprintf(process, sizeof process, "%s-%u", role->role, victim->index);
        (void)json_array_append_new(array,
                                    json_pack("{s:s,s:I,s:s,s:I}", "process", process, "index",
                                              (json_int_t)victim->index, "node", victim->node,
                                              "lost_us", (json_int_t)victim->lost_us));
    }
    return array;
}

/* The subject's own roles, or those of the other jobs. */
static json_t *roles_to_json(const struct forecast *forecast, bool subject)
{
    json_t *array = json_array();

    for (size_t i = 0; i < forecast->n_roles; i++) {
        const struct forecast_role *role = &forecast->roles[i];
        json_t *item;

        if (role->subject != subject)
            continue;
        item = json_pack("{s:s,s:s,s:I,s:I,s:I,s:b,s:o}", "job", role->job, "role", role->role,
                         "from", (json_int_t)role->from, "to", (json_int_t)role->to, "later",
                         (json_int_t)role->later, "ends", role->ends, "victims",
                         victims_to_json(role));
        /* a job that is not there yet has no number */
        if (!subject || role->from > 0)
            (void)json_object_set_new(item, "id", json_integer((json_int_t)role->job_id));
        (void)json_array_append_new(array, item);
    }
    return array;
}

static json_t *array_to_json(const struct forecast_array *array)
{
    return json_pack("{s:I,s:I,s:I,s:{s:o,s:o}}", "jobs", (json_int_t)array->n_jobs, "played",
                     (json_int_t)array->n_played, "start", (json_int_t)array->n_started, "first_us",
                     "least", time_or_null(array->first_least_us), "most",
                     time_or_null(array->first_most_us));
}

json_t *forecast_to_json(const struct forecast *forecast)
{
    json_t *reason = json_string(forecast->reason);
    json_t *json;

    /* A text that was cut within a character is not UTF-8 any more. */
    if (reason == NULL)
        reason = json_string("(not UTF-8)");
    json =
        json_pack("{s:b,s:s,s:{s:s,s:o},s:{s:o,s:o},s:o,s:o,s:o,s:{s:I,s:I,s:I},s:{s:I,s:I}}",
                  "dry_run", 1, "verdict", forecast_verdict_to_string(forecast->verdict), "reason",
                  "code", forecast->code, "text", reason, "wait_us", "least",
                  time_or_null(forecast->wait_least_us), "most",
                  time_or_null(forecast->wait_most_us), "placements", placements_to_json(forecast),
                  "roles", roles_to_json(forecast, true), "jobs", roles_to_json(forecast, false),
                  "cost", "lost_task_us", (json_int_t)forecast->lost_us, "stopped",
                  (json_int_t)forecast->n_victims, "resizes", (json_int_t)forecast->n_resizes,
                  "utilisation_ppm", "before", (json_int_t)forecast->utilisation_before_ppm,
                  "after", (json_int_t)forecast->utilisation_after_ppm);
    if (forecast->array.n_jobs > 0)
        (void)json_object_set_new(json, "array", array_to_json(&forecast->array));
    return json;
}
