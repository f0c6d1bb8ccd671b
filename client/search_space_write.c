/* SPDX-License-Identifier: Apache-2.0 */
/* search_space_write.c - a search space and its values as JSON, and as text of a command */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "client/search_space.h"
#include "client/text.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

static json_t *number(const struct search_parameter *parameter, double value)
{
    return parameter->kind == SEARCH_INT ? json_integer((json_int_t)value) : json_real(value);
}

static json_t *value_to_json(const struct search_parameter *parameter, double value)
{
    if (parameter->kind == SEARCH_CHOICE)
        return json_incref(parameter->levels[(size_t)value]);
    return number(parameter, value);
}

static json_t *condition_to_json(const struct search_parameter *on, uint64_t levels)
{
    json_t *list = json_array();

    for (unsigned int i = 0; i < on->n_levels; i++)
        if (levels >> i & 1)
            (void)json_array_append_new(list, value_to_json(on, search_from_level(on, i)));
    return list;
}

static json_t *parameter_to_json(const struct search_space *space,
                                 const struct search_parameter *parameter)
{
    static const char *const kinds[] = { "float", "int", "choice" };
    json_t *json = json_pack("{s:s,s:s}", "name", parameter->name, "kind", kinds[parameter->kind]);
    json_t *when = parameter->n_conditions > 0 ? json_object() : NULL;

    if (parameter->kind == SEARCH_CHOICE) {
        json_t *values = json_array();

        for (unsigned int i = 0; i < parameter->n_levels; i++)
            (void)json_array_append(values, parameter->levels[i]);
        (void)json_object_set_new(json, "values", values);
    } else {
        (void)json_object_set_new(json, "min", number(parameter, parameter->min));
        (void)json_object_set_new(json, "max", number(parameter, parameter->max));
        (void)json_object_set_new(json, "log", json_boolean(parameter->is_log));
        if (parameter->has_steps)
            (void)json_object_set_new(json, "steps", json_integer(parameter->n_levels));
    }
    for (unsigned int i = 0; i < parameter->n_conditions; i++) {
        const struct search_condition *condition = &parameter->conditions[i];
        const struct search_parameter *on = &space->parameters[condition->parameter];

        (void)json_object_set_new(when, on->name, condition_to_json(on, condition->levels));
    }
    if (when != NULL)
        (void)json_object_set_new(json, "when", when);
    return json;
}

static void set_count(json_t *json, const char *key, uint64_t value)
{
    if (value > 0)
        (void)json_object_set_new(json, key, json_integer((json_int_t)value));
}

static void set_amount(json_t *json, const char *key, double value)
{
    if (value > 0)
        (void)json_object_set_new(json, key, json_real(value));
}

static json_t *method_to_json(const struct search_space *space)
{
    const struct search_settings *settings = &space->settings;
    json_t *json = json_pack("{s:s}", "kind", search_method_name(space->method));

    set_count(json, "parallel", settings->parallel);
    set_count(json, "population", settings->population);
    set_count(json, "sample", settings->sample);
    set_count(json, "eta", settings->eta);
    set_count(json, "startup", settings->startup);
    set_amount(json, "temperature", settings->temperature);
    set_amount(json, "cooling", settings->cooling);
    return json;
}

static json_t *budget_to_json(const struct search_budget *budget)
{
    json_t *json = json_object();
    char time[40];

    set_count(json, "trials", budget->trials);
    set_amount(json, "core-hours", budget->core_hours);
    if (budget->elapsed_us > 0) {
        (void)snprintf(time, sizeof time, "%" PRIu64 ".%06" PRIu64 "s",
                       budget->elapsed_us / USEC_PER_SEC, budget->elapsed_us % USEC_PER_SEC);
        (void)json_object_set_new(json, "time", json_string(time));
    }
    return json;
}

json_t *search_space_to_json(const struct search_space *space)
{
    json_t *parameters = json_array(), *resource = json_object();

    for (unsigned int i = 0; i < space->n_parameters; i++)
        (void)json_array_append_new(parameters, parameter_to_json(space, &space->parameters[i]));
    if (space->resource.name[0] != '\0')
        (void)json_object_set_new(resource, "name", json_string(space->resource.name));
    set_count(resource, "min", space->resource.min);
    set_count(resource, "max", space->resource.max);
    return json_pack("{s:o,s:{s:s,s:s,s:s},s:o,s:o,s:o,s:I,s:I}", "parameters", parameters,
                     "metric", "name", space->metric, "direction",
                     space->is_maximised ? "maximize" : "minimize", "take",
                     space->takes_best ? "best" : "last", "budget", budget_to_json(&space->budget),
                     "resource", resource, "method", method_to_json(space), "failures",
                     (json_int_t)space->failures, "seed", (json_int_t)space->seed);
}

/* ---- values ---- */

json_t *search_values_to_json(const struct search_space *space, const double *values)
{
    json_t *json = json_object();

    for (unsigned int i = 0; i < space->n_parameters; i++)
        if (!isnan(values[i]))
            (void)json_object_set_new(json, space->parameters[i].name,
                                      value_to_json(&space->parameters[i], values[i]));
    return json;
}

static int refuse_value(const struct search_parameter *parameter, struct edl_error *error,
                        const char *what)
{
    char pointer[SEARCH_NAME_MAX + 2];

    (void)snprintf(pointer, sizeof pointer, "/%s", parameter->name);
    (void)edl_error_at(error, EDL_EBADSPEC, pointer, "%s: %s", parameter->name, what);
    return edl_error_remedy(error, "these values are of another space: give the search of this one"
                                   " another name");
}

static int value_from_json(const struct search_parameter *parameter, const json_t *json,
                           double *ret, struct edl_error *error)
{
    double value = json_number_value(json);

    if (parameter->kind == SEARCH_CHOICE) {
        for (unsigned int i = 0; i < parameter->n_levels; i++)
            if (json_equal(parameter->levels[i], json)) {
                *ret = i;
                return 0;
            }
        return refuse_value(parameter, error, "its value is none of the choice");
    }
    if (!json_is_number(json))
        return refuse_value(parameter, error, "its value is no number");
    if (!(value >= parameter->min && value <= parameter->max) ||
        (parameter->n_levels > 0 && search_level(parameter, value) < 0))
        return refuse_value(parameter, error, "its value is outside its range, or between steps");
    *ret = value;
    return 0;
}

int search_values_from_json(const struct search_space *space, const json_t *json, double *values,
                            struct edl_error *error)
{
    size_t n_read = 0;

    for (unsigned int i = 0; i < space->n_parameters; i++) {
        const struct search_parameter *parameter = &space->parameters[i];
        const json_t *value = json_object_get(json, parameter->name);

        values[i] = NAN;
        if (search_is_active(space, i, values) != (value != NULL))
            return refuse_value(parameter, error,
                                value == NULL ? "its value is missing"
                                              : "it has a value, and is not active");
        if (value != NULL && value_from_json(parameter, value, &values[i], error) < 0)
            return EDL_EBADSPEC;
        n_read += value != NULL;
    }
    if (n_read == json_object_size(json))
        return 0;
    (void)edl_error_set(error, EDL_EBADSPEC, "a value is of no parameter of the space");
    return edl_error_remedy(error, "give the search of another space another name");
}

/* The ends of a range may have more than the six digits of what is chosen between them. */
static char *float_text(double value)
{
    char *text = text_format("%.6g", value);

    if (strtod(text, NULL) == value)
        return text;
    free(text);
    return text_format("%.17g", value);
}

char *search_value_text(const struct search_parameter *parameter, double value)
{
    const json_t *level;

    if (isnan(value))
        return xstrdup("");
    if (parameter->kind == SEARCH_INT)
        return text_format("%.0f", value);
    if (parameter->kind == SEARCH_FLOAT)
        return float_text(value);
    level = parameter->levels[(size_t)value];
    if (json_is_string(level))
        return xstrdup(json_string_value(level));
    if (json_is_integer(level))
        return text_format("%" JSON_INTEGER_FORMAT, json_integer_value(level));
    if (json_is_real(level))
        return text_format("%.12g", json_real_value(level));
    return xstrdup(json_is_true(level) ? "true" : "false");
}
