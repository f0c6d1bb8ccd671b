/* SPDX-License-Identifier: Apache-2.0 */
/* search_space_parameters.c - the key `parameters` of a search space */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "client/search_space_draft.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/nearest.h"
#include "shared/printable.h"

#define INT_MOST 9007199254740992.0 /* what a double counts without gaps */
#define STEPS_MAX 1000

struct parameter_draft {
    const char *name, *kind;
    const json_t *min, *max, *values, *when, *log, *steps;
};

#define AT(field) offsetof(struct parameter_draft, field)

static const struct document_rule rules[] = {
    { .key = "name", .kind = DOCUMENT_TEXT, .offset = AT(name) },
    { .key = "kind", .kind = DOCUMENT_TEXT, .offset = AT(kind) },
    { .key = "min", .kind = DOCUMENT_CALL, .call = space_keep, .offset = AT(min) },
    { .key = "max", .kind = DOCUMENT_CALL, .call = space_keep, .offset = AT(max) },
    { .key = "log", .kind = DOCUMENT_CALL, .call = space_keep, .offset = AT(log) },
    { .key = "steps", .kind = DOCUMENT_CALL, .call = space_keep, .offset = AT(steps) },
    { .key = "values", .kind = DOCUMENT_CALL, .call = space_keep, .offset = AT(values) },
    { .key = "when", .kind = DOCUMENT_CALL, .call = space_keep, .offset = AT(when) },
};

static const struct space_foreign foreign[] = {
    { "type", "write kind: float, kind: int or kind: choice" },
    { "low", "write min" },
    { "lower", "write min" },
    { "high", "write max" },
    { "upper", "write max" },
    { "choices", "write values: [A, B]" },
    { "options", "write values: [A, B]" },
    { "scale", "write log: true for a logarithmic scale" },
    { "condition", "write when: {PARAMETER: VALUE}" },
    { "if", "write when: {PARAMETER: VALUE}" },
};

static const char *const kinds[] = {
    [SEARCH_FLOAT] = "float",
    [SEARCH_INT] = "int",
    [SEARCH_CHOICE] = "choice",
};

static int read_name(struct document_reader *reader, const char *name,
                     const struct search_space *space, struct search_parameter *parameter)
{
    static const char *const reserved[] = { "trial", "rung", "resource" };
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    size_t n = strlen(name);

    if (n == 0 || n > SEARCH_NAME_MAX || strchr(letters, name[0]) == NULL ||
        strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") != n)
        return space_refuse(reader, NULL,
                            "use up to 31 letters, digits and _, not a digit at first",
                            "\"%.60s\" is no name of a parameter", name);
    for (size_t i = 0; i < ELEMENTS(reserved); i++)
        if (streq(name, reserved[i]))
            return space_refuse(reader, NULL, "give the parameter another name",
                                "%s: {%s} stands for a number of the trial itself", name, name);
    for (unsigned int i = 0; i < space->n_parameters; i++)
        if (streq(name, space->parameters[i].name))
            return space_refuse(reader, NULL, "give one of them another name",
                                "two parameters are called %s", name);
    (void)snprintf(parameter->name, sizeof parameter->name, "%s", name);
    return 0;
}

static int read_kind(struct document_reader *reader, const struct parameter_draft *draft,
                     struct search_parameter *parameter)
{
    const char *nearest;

    if (draft->kind == NULL)
        return space_refuse(reader, "kind", "write kind: float, kind: int or kind: choice",
                            "%s: its kind is missing", parameter->name);
    for (size_t i = 0; i < ELEMENTS(kinds); i++)
        if (streq(draft->kind, kinds[i])) {
            parameter->kind = (enum search_kind)i;
            return 0;
        }
    nearest = nearest_word(draft->kind, kinds, ELEMENTS(kinds));
    (void)space_refuse(reader, "kind", "write float, int or choice",
                       "%s: kind \"%.40s\" is not known", parameter->name, draft->kind);
    if (nearest != NULL)
        (void)edl_error_remedy(reader->error, "did you mean \"%s\"?", nearest);
    return EDL_EBADSPEC;
}

/* ---- choices ---- */

static int check_choice(struct document_reader *reader, const struct search_parameter *parameter,
                        const json_t *level)
{
    if (json_is_string(level) && strlen(json_string_value(level)) != json_string_length(level))
        return document_refuse(reader, "text must not contain NUL");
    if (json_is_string(level) && !printable_is(json_string_value(level)))
        return space_refuse(reader, NULL, "name such a text by a word that the program knows",
                            "%s: value %u has a control character, such as a line's end",
                            parameter->name, parameter->n_levels + 1);
    if (!json_is_string(level) && !json_is_number(level) && !json_is_boolean(level))
        return document_expected(reader, "text, a number, true or false", level);
    for (unsigned int i = 0; i < parameter->n_levels; i++)
        if (json_equal(parameter->levels[i], level))
            return space_refuse(reader, NULL, "write each value once",
                                "%s: values %u and %u are the same", parameter->name, i + 1,
                                parameter->n_levels + 1);
    return 0;
}

static int read_choice(struct document_reader *reader, const struct parameter_draft *draft,
                       struct search_parameter *parameter)
{
    size_t n = json_array_size(draft->values), length;

    if (draft->min != NULL || draft->max != NULL || draft->log != NULL || draft->steps != NULL)
        return space_refuse(reader, NULL, "write values: [A, B], or kind: float or kind: int",
                            "%s: a choice has values, neither min, max, log nor steps",
                            parameter->name);
    length = document_enter(reader, "values");
    if (draft->values != NULL && !json_is_array(draft->values)) {
        (void)document_expected(reader, "an array", draft->values);
        return edl_error_remedy(reader->error, "write values: [A, B]");
    }
    if (n == 0)
        return space_refuse(reader, NULL, "write values: [A, B]",
                            "%s: the choice is empty, it has no values", parameter->name);
    if (n > SEARCH_LEVELS_MAX)
        return space_refuse(reader, NULL, "write an int with min and max if they are numbers",
                            "%s: values: %zu, more than the %d allowed", parameter->name, n,
                            SEARCH_LEVELS_MAX);
    parameter->levels = xcalloc(n, sizeof(json_t *));
    for (size_t i = 0; i < n; i++) {
        json_t *level = json_array_get(draft->values, i);
        size_t inner = document_enter_index(reader, i);

        if (check_choice(reader, parameter, level) < 0)
            return EDL_EBADSPEC;
        document_leave(reader, inner);
        parameter->levels[parameter->n_levels++] = json_incref(level);
    }
    document_leave(reader, length);
    return 0;
}

/* ---- floats and ints ---- */

static int read_bound(struct document_reader *reader, const json_t *value, const char *key,
                      const struct search_parameter *parameter, double *ret)
{
    if (value == NULL)
        return space_refuse(reader, key, "write both min and max", "%s: %s is missing",
                            parameter->name, key);
    if (space_number(reader, value, key, parameter->kind == SEARCH_INT ? -INT_MOST : -1e300,
                     parameter->kind == SEARCH_INT ? INT_MOST : 1e300, ret) < 0)
        return EDL_EBADSPEC;
    if (parameter->kind == SEARCH_INT && *ret != floor(*ret))
        return space_refuse(reader, key, "write a whole number, or kind: float",
                            "%s: %s %g is no whole number", parameter->name, key, *ret);
    return 0;
}

static int read_log(struct document_reader *reader, const struct parameter_draft *draft,
                    struct search_parameter *parameter)
{
    if (draft->log != NULL && !json_is_boolean(draft->log)) {
        (void)document_enter(reader, "log");
        return document_expected(reader, "true or false", draft->log);
    }
    parameter->is_log = json_is_true(draft->log);
    if (parameter->is_log && parameter->min <= 0)
        return space_refuse(reader, "min", "write a min above 0, or leave log out",
                            "%s: min %g has no logarithm", parameter->name, parameter->min);
    return 0;
}

static int read_steps(struct document_reader *reader, const struct parameter_draft *draft,
                      struct search_parameter *parameter)
{
    double range = parameter->max - parameter->min + 1, steps = 0;

    if (draft->steps == NULL && parameter->kind == SEARCH_INT && range > INT32_MAX)
        return space_refuse(reader, "max", "write a narrower range, or kind: float",
                            "%s: an int has at most %d values", parameter->name, INT32_MAX);
    if (draft->steps == NULL) {
        parameter->n_levels = parameter->kind == SEARCH_INT ? (unsigned int)range : 0;
        return 0;
    }
    if (space_number(reader, draft->steps, "steps", 2, STEPS_MAX, &steps) < 0)
        return EDL_EBADSPEC;
    parameter->n_levels = (unsigned int)steps;
    parameter->has_steps = true;
    if (!json_is_integer(draft->steps))
        return space_refuse(reader, "steps", "write a whole number", "%s: steps %g is none",
                            parameter->name, steps);
    for (unsigned int i = 0; i + 1 < parameter->n_levels; i++)
        if (!(search_from_level(parameter, i) < search_from_level(parameter, i + 1)))
            return space_refuse(reader, "steps", "write fewer steps, or a wider range",
                                "%s: steps: %u, and two of them are both %g", parameter->name,
                                parameter->n_levels, search_from_level(parameter, i));
    return 0;
}

static int read_range(struct document_reader *reader, const struct parameter_draft *draft,
                      struct search_parameter *parameter)
{
    if (draft->values != NULL)
        return space_refuse(reader, "values", "write min and max, or kind: choice",
                            "%s: a %s has no values", parameter->name, kinds[parameter->kind]);
    if (read_bound(reader, draft->min, "min", parameter, &parameter->min) < 0 ||
        read_bound(reader, draft->max, "max", parameter, &parameter->max) < 0)
        return EDL_EBADSPEC;
    if (parameter->min >= parameter->max)
        return space_refuse(reader, "max", "write a min below max; one value needs no parameter",
                            "%s: min %g is not below max %g", parameter->name, parameter->min,
                            parameter->max);
    if (read_log(reader, draft, parameter) < 0)
        return EDL_EBADSPEC;
    return read_steps(reader, draft, parameter);
}

/* ---- conditions ---- */

/* level_of - of a value as the document has it; -1: it is none of the parameter */
static int64_t level_of(const struct search_parameter *parameter, const json_t *value)
{
    if (parameter->kind != SEARCH_CHOICE)
        return json_is_number(value) ? search_level(parameter, json_number_value(value)) : -1;
    for (unsigned int i = 0; i < parameter->n_levels; i++)
        if (json_equal(parameter->levels[i], value))
            return i;
    return -1;
}

static int read_levels(struct document_reader *reader, const char *key, const json_t *values,
                       const struct search_parameter *on, uint64_t *ret)
{
    bool is_list = json_is_array(values);
    size_t n = is_list ? json_array_size(values) : 1;

    if (n == 0)
        return space_refuse(reader, key, "name one or more of its values, or leave it out",
                            "when %s is none of its values the parameter is never used", key);
    for (size_t i = 0; i < n; i++) {
        int64_t level = level_of(on, is_list ? json_array_get(values, i) : values);

        if (level < 0)
            return space_refuse(reader, key, "name values that the parameter can have",
                                "value %zu is none that %s has", i + 1, key);
        *ret |= UINT64_C(1) << level;
    }
    return 0;
}

static int read_condition(struct document_reader *reader, const char *key, const json_t *values,
                          const struct search_space *space, struct search_parameter *parameter)
{
    struct search_condition *condition = &parameter->conditions[parameter->n_conditions];
    unsigned int on = 0;

    while (on < space->n_parameters && !streq(space->parameters[on].name, key))
        on++;
    if (on == space->n_parameters)
        return space_refuse(reader, key, "name a parameter that stands above this one",
                            "%s: when names \"%.40s\", which is no parameter above it",
                            parameter->name, key);
    if (parameter->n_conditions == SEARCH_CONDITIONS_MAX)
        return space_refuse(reader, NULL, "name fewer parameters", "%s: more than %d conditions",
                            parameter->name, SEARCH_CONDITIONS_MAX);
    if (space->parameters[on].n_levels == 0 || space->parameters[on].n_levels > SEARCH_LEVELS_MAX)
        return space_refuse(reader, key, "let it depend on a choice, or on an int of few values",
                            "%s: when names %s, which has no values to name or more than %d",
                            parameter->name, key, SEARCH_LEVELS_MAX);
    *condition = (struct search_condition){ .parameter = on };
    parameter->n_conditions++;
    return read_levels(reader, key, values, &space->parameters[on], &condition->levels);
}

static int read_when(struct document_reader *reader, const json_t *when,
                     const struct search_space *space, struct search_parameter *parameter)
{
    size_t length = document_enter(reader, "when");
    const char *key;
    json_t *values;

    if (when != NULL && !json_is_object(when)) {
        (void)document_expected(reader, "an object", when);
        return edl_error_remedy(reader->error, "write when: {PARAMETER: VALUE}");
    }
    json_object_foreach((json_t *)(uintptr_t)when, key,
                        values) if (read_condition(reader, key, values, space, parameter) <
                                    0) return EDL_EBADSPEC;
    document_leave(reader, length);
    return 0;
}

/* ---- all of them ---- */

/* read_parameter - name: NULL: in the value, which is of a list */
static int read_parameter(struct document_reader *reader, const char *name, const json_t *value,
                          struct search_space *space)
{
    struct search_parameter *parameter = &space->parameters[space->n_parameters];
    struct parameter_draft draft = { .name = name };

    if (name != NULL && json_is_array(value)) { /* optimizer: [sgd, adam] */
        draft.kind = kinds[SEARCH_CHOICE];
        draft.values = value;
    } else if (space_refuse_foreign(reader, value, foreign, ELEMENTS(foreign)) < 0 ||
               document_read(reader, value, rules, ELEMENTS(rules), &draft) < 0) {
        return EDL_EBADSPEC;
    }
    if (draft.name == NULL || (name != NULL && !streq(draft.name, name)))
        return space_refuse(reader, "name", "write name: NAME", "its name is missing");
    if (read_name(reader, draft.name, space, parameter) < 0 ||
        read_kind(reader, &draft, parameter) < 0)
        return EDL_EBADSPEC;
    if (parameter->kind == SEARCH_CHOICE ? read_choice(reader, &draft, parameter) < 0
                                         : read_range(reader, &draft, parameter) < 0)
        return EDL_EBADSPEC;
    return read_when(reader, draft.when, space, parameter);
}

static int read_list(struct document_reader *reader, const json_t *parameters,
                     struct search_space *space)
{
    for (size_t i = 0; i < json_array_size(parameters); i++) {
        size_t length = document_enter_index(reader, i);

        if (read_parameter(reader, NULL, json_array_get(parameters, i), space) < 0)
            return EDL_EBADSPEC;
        space->n_parameters++;
        document_leave(reader, length);
    }
    return 0;
}

static int read_mapping(struct document_reader *reader, const json_t *parameters,
                        struct search_space *space)
{
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)parameters, name, value)
    {
        size_t length = document_enter(reader, name);

        if (read_parameter(reader, name, value, space) < 0)
            return EDL_EBADSPEC;
        space->n_parameters++;
        document_leave(reader, length);
    }
    return 0;
}

int space_read_parameters(struct document_reader *reader, const json_t *parameters,
                          struct search_space *space)
{
    size_t n =
        json_is_array(parameters) ? json_array_size(parameters) : json_object_size(parameters);
    size_t length = document_enter(reader, "parameters");
    int r;

    if (parameters != NULL && !json_is_array(parameters) && !json_is_object(parameters))
        return document_expected(reader, "an object", parameters);
    if (n == 0)
        return space_refuse(reader, NULL,
                            "write parameters: {lr: {kind: float, min: 0.001, max: 0.1}}",
                            "the space has no parameters");
    if (n > SEARCH_PARAMETERS_MAX)
        return space_refuse(reader, NULL, "search fewer at once",
                            "parameters: %zu, more than the %d allowed", n, SEARCH_PARAMETERS_MAX);
    space->parameters = xcalloc(n, sizeof *space->parameters);
    /* a choice that is refused half-way has values that search_space_free looks for */
    r = json_is_array(parameters) ? read_list(reader, parameters, space)
                                  : read_mapping(reader, parameters, space);
    if (r < 0)
        space->n_parameters++;
    else
        document_leave(reader, length);
    return r;
}
